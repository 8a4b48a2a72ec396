"""What an episode did: storage and reading of the records."""
