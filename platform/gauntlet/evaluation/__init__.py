"""Evaluations and jobs: claim, lease, retry, collect."""
