"""A worker that reaches its jobs over HTTPS, with a token of its queue and no other credentials."""
