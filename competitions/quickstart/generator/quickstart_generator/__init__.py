"""Makes the quickstart competition: a plant's records, questions about them, and their answers by an oracle."""
