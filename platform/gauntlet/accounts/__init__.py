"""People and API tokens; the log of what happened to whom."""
