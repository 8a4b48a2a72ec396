"""What a column makes of results that nobody could verify: the key, its defaults, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gauntlet.accounts.models import User
from gauntlet.competitions.services import import_bundle

JUDGED = "      - index: 3\n        key: {key}\n        title: {key}\n        from: {source}\n"


def add(bundle: Any, source: str, *lines: str) -> None:
    """One more column."""
    text = JUDGED.format(key="more", source=source) + "".join(f"        {line}\n" for line in lines)
    bundle.write("competition.yaml", (bundle.root / "competition.yaml").read_text() + text)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("source", "lines", "expected"),
    [
        ("rubric.score", [], ("fail", 0.0, 0.0)),
        ("rubric.score", ["sorting: asc"], ("fail", 1.0, 0.0)),  # worse is what is worse on the board
        ("scoring.own", ["over: sum"], ("fail", 0.0, 0.0)),  # though a sum has no scale, its score has one
        ("rubric.uncertainty", [], ("", 1.0, 0.0)),
        ("episodes.steps", [], ("", None, 0.0)),
        ("rubric.score", ["unverified: exclude"], ("exclude", 0.0, 0.9)),
        ("rubric.score", ["unverified: exclude", "min_verified: 0"], ("exclude", 0.0, 0.0)),
        ("rubric.score", ["unverified: fail"], ("fail", 0.0, 0.0)),
    ],
)
def test_a_column_says_what_an_unverified_trial_counts(
    bundle: Any, make_user: Callable[..., User], source: str, lines: list[str], expected: tuple[object, ...]
) -> None:
    add(bundle, source, *lines)
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True)
    column = competition.leaderboards.get().columns.get(key="more")
    assert (column.unverified, column.worst, column.min_verified) == expected


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("source", "lines", "expected"),
    [
        ("rubric.score", ["over: std"], "asc"),
        ("rubric.score", [], "desc"),
        ("rubric.uncertainty", [], "asc"),
        ("episodes.cost", [], "asc"),
        ("episodes.total_tokens", [], "asc"),
        ("episodes.answered", [], "desc"),
        ("episodes.steps", ["sorting: desc"], "desc"),
    ],
)
def test_better_lies_where_one_expects_it_unless_the_column_says_otherwise(
    bundle: Any, make_user: Callable[..., User], source: str, lines: list[str], expected: str
) -> None:
    add(bundle, source, *lines)
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True)
    assert competition.leaderboards.get().columns.get(key="more").sorting == expected


@pytest.mark.django_db
def test_a_total_over_all_episodes_is_one_over_all_tasks(bundle: Any, make_user: Callable[..., User]) -> None:
    add(bundle, "episodes.total_cost")
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True)
    assert competition.leaderboards.get().columns.get(key="more").over == "sum"


@pytest.mark.parametrize(
    ("source", "lines", "field", "words"),
    [
        ("rubric.score", ["unverified: skip"], "unverified", "fail, exclude"),
        ("rubric.score", ["min_verified: 0.5"], "min_verified", "`unverified: exclude`"),
        ("rubric.score", ["unverified: exclude", "min_verified: 90"], "min_verified", "0 to 1"),
        ("rubric.score", ["unverified: exclude", "min_verified: most"], "min_verified", "finite number"),
        ("rubric.score", ["unverified: exclude", "over: std"], "unverified", "spread"),
        ("episodes.steps", ["unverified: fail"], "unverified", "for each trial"),
        ("free.score", ["unverified: fail"], "unverified", "needs a `scale`"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_line(
    bundle: Any, findings_of: Callable[[Any], list[Any]], source: str, lines: list[str], field: str, words: str
) -> None:
    bundle.write("free/metadata.yaml", "command: python score.py\n")  # it says nothing of its scores
    bundle.replace("      - scoring\n", "      - scoring\n      - free\n")
    add(bundle, source, *lines)
    (found,) = findings_of(bundle)
    assert (found.level, found.field) == ("error", f"leaderboards[0].columns[3].{field}")
    assert found.line == bundle.line_of(f"        {field}:")
    assert words in f"{found.message} {', '.join(map(str, found.allowed))}"
