"""The only thing a sandboxed agent can talk to; a process of its own per run job."""
