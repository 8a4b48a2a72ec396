"""The visibility table, walked: every part, every visibility, every audience, before and after the reveal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from gauntlet.competitions.models import Visibility
from gauntlet.competitions.visibility import TABLE, Audience, Part, effective_visibility, may_see

pytestmark = pytest.mark.visibility

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ALL = {part.value for part in Part}
SCORES = {"state", "aggregate_score", "scenario_score"}
# Written out once more, from DESIGN 5.1 and not from the code.
EXPECTED: dict[tuple[str, str], set[str]] = {
    ("full", "owner"): ALL,
    ("scores", "owner"): SCORES,
    ("none", "owner"): {"state"},
    ("full", "organizer"): ALL,
    ("scores", "organizer"): ALL,
    ("none", "organizer"): ALL,
    ("full", "public"): {"aggregate_score"},
    ("scores", "public"): {"aggregate_score"},
    ("none", "public"): set(),
}


@dataclass
class PhaseLike:
    """What the table looks at."""

    visibility: str
    reveal_at: datetime | None = None


@pytest.mark.parametrize(("visibility", "audience", "part"), list(product(Visibility, Audience, Part)))
def test_every_cell(visibility: Visibility, audience: Audience, part: Part) -> None:
    seen = may_see(part, phase=PhaseLike(visibility.value), audience=audience, now=NOW)
    assert seen == (part.value in EXPECTED[visibility.value, audience.value])


def test_the_table_is_complete() -> None:
    assert set(TABLE) == set(product(Visibility, Audience))


@pytest.mark.parametrize(("audience", "part"), list(product(Audience, Part)))
def test_from_the_reveal_on_none_is_scores(audience: Audience, part: Part) -> None:
    phase, scores = PhaseLike("none", reveal_at=NOW), PhaseLike("scores")
    before = NOW - timedelta(microseconds=1)
    assert may_see(part, phase=phase, audience=audience, now=before) == (part.value in EXPECTED["none", audience.value])
    assert may_see(part, phase=phase, audience=audience, now=NOW) == may_see(
        part, phase=scores, audience=audience, now=NOW
    )


@pytest.mark.parametrize("visibility", ["full", "scores"])
def test_a_reveal_changes_nothing_where_there_is_nothing_to_reveal(visibility: str) -> None:
    assert effective_visibility(PhaseLike(visibility, reveal_at=NOW + timedelta(days=1)), now=NOW) == visibility


@pytest.mark.parametrize("part", [Part.SCENARIO_TEXT, Part.TRAJECTORY, Part.SCORER_OUTPUT, Part.DETAILED_RESULTS])
def test_a_hidden_scenarios_words_are_for_organizers_only_even_where_all_is_shown(part: Part) -> None:
    phase = PhaseLike("full")
    assert may_see(part, phase=phase, audience=Audience.OWNER, now=NOW, scenario_public=True)
    assert not may_see(part, phase=phase, audience=Audience.OWNER, now=NOW, scenario_public=False)
    assert may_see(part, phase=phase, audience=Audience.ORGANIZER, now=NOW, scenario_public=False)


@pytest.mark.parametrize(("visibility", "audience", "part"), list(product(Visibility, Audience, Part)))
def test_a_public_scenario_opens_nothing_that_the_table_closes(
    visibility: Visibility, audience: Audience, part: Part
) -> None:
    phase = PhaseLike(visibility.value)
    if may_see(part, phase=phase, audience=audience, now=NOW, scenario_public=True):
        assert part.value in EXPECTED[visibility.value, audience.value]
