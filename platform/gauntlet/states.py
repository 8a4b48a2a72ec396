"""A small state machine: the states, the transitions that exist, and an error for every other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import TextChoices


class IllegalTransition(Exception):
    """A transition that is not in the table; a programming error, never a user's."""


@dataclass(frozen=True)
class StateMachine:
    """States and transitions of one kind of row; the table is the whole truth."""

    name: str
    transitions: Mapping[TextChoices, frozenset[TextChoices]]

    def check(self, before: str, after: str) -> None:
        """Raise IllegalTransition unless the table has this transition."""
        if not any(state == before and after in targets for state, targets in self.transitions.items()):
            raise IllegalTransition(f"{self.name}: {before} -> {after}")

    def final(self) -> frozenset[TextChoices]:
        """The states that nothing leads out of."""
        return frozenset(state for state, targets in self.transitions.items() if not targets)
