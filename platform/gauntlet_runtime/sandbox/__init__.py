"""One interface, two backends: Docker and bubblewrap."""
