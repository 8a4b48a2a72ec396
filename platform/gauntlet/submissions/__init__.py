"""Intake: uploads, checks, limits."""
