"""What a participant writes an agent with."""
