"""Hostile programs, each with the exact verdict that it must get; the programs themselves are the caller's."""
