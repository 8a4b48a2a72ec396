"""Operators change competitions and phases by hand, and nothing beside what they change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

if TYPE_CHECKING:
    from django.db.models import Model

    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


@pytest.fixture
def change(make_user: Callable[..., User]) -> Callable[..., int]:
    """Open an operator's form about something, and send it as it is but for some fields."""
    client = Client()

    def send(what: Model, **fields: str | list[str]) -> int:
        address = f"/admin/{what._meta.app_label}/{what._meta.model_name}/{what.pk}/change/"
        form: Any = client.get(address).context["adminform"].form
        sent: dict[str, Any] = {}
        for bound in form:
            value = bound.value()
            if isinstance(value, datetime):
                value = value.replace(tzinfo=None)
                sent |= {f"{bound.html_name}_0": value.date(), f"{bound.html_name}_1": value.time()}
            elif value is not None:
                sent[bound.html_name] = value
        return client.post(address, sent | fields).status_code

    client.force_login(make_user(is_staff=True, is_superuser=True))
    return send


@pytest.mark.django_db(transaction=True)
def test_what_else_changes_of_a_phase_meanwhile_stays(phase: Phase, change: Any, overlapping: Any) -> None:
    def move() -> None:
        type(phase).objects.filter(pk=phase.pk).update(queue="gpu", max_submissions=7)

    assert overlapping(move, lambda: change(phase, name="Final")) == 302
    phase.refresh_from_db()
    assert (phase.name, phase.queue, phase.max_submissions) == ("Final", "gpu", 7)


@pytest.mark.django_db(transaction=True)
def test_what_else_changes_of_a_competition_meanwhile_stays(
    phase: Phase, change: Any, overlapping: Any, make_user: Callable[..., User]
) -> None:
    competition, helper = phase.competition, make_user()

    def close() -> None:
        type(competition).objects.filter(pk=competition.pk).update(published=False)

    def rename() -> int:
        return int(change(competition, title="Another", collaborators=str(helper.pk)))

    assert overlapping(close, rename) == 302
    competition.refresh_from_db()
    assert (competition.title, competition.published, list(competition.collaborators.all())) == (
        "Another",
        False,
        [helper],
    )


def test_a_form_that_is_sent_as_it_is_changes_nothing(phase: Phase, change: Any) -> None:
    before = type(phase).objects.filter(pk=phase.pk).values().get()
    assert change(phase) == 302
    assert type(phase).objects.filter(pk=phase.pk).values().get() == before
