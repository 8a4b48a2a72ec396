"""The Gauntlet platform: a Django project."""
