"""Schemas, validation, metrics and statistics. No Django, no platform."""
