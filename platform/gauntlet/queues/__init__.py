"""Queues of organizers' own: workers on their machines take jobs over HTTPS, by a token that opens one queue."""
