"""Competitions, phases, tasks, pages, participation; bundles in."""
