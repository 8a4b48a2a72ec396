"""What an organizer brings: a Codabench bundle with Gauntlet's keys, checked as a whole before anything is created."""

from gauntlet.competitions.bundle.findings import Finding, Findings, Level, Place

__all__ = ["Finding", "Findings", "Level", "Place"]
