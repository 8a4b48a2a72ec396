"""How the command ends."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses of every `gauntlet-score` command."""

    DONE = 0  # nothing is wrong
    FOUND = 1  # the command worked, and found errors, leaks or other scores
    FAILED = 2  # the command could not do its work, or was typed wrong


class CommandFailed(Exception):
    """The command cannot do its work; the text is a sentence for the terminal."""
