"""Columns, ranking, export."""
