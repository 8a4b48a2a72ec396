"""Commands of the competitions app."""
