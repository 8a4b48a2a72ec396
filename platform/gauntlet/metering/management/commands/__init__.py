"""Commands of the metering app."""
