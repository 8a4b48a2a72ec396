"""Metered language models: their providers, what they cost, what was used of a budget, and kept answers."""
