"""The same numbers, ranks and names on the page, in the API and in the CSV, however hostile they are."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Column, Participation, Phase, Team
from gauntlet.evaluation.story import ScoreStory
from gauntlet.leaderboards.figures import figure
from gauntlet.leaderboards.scores import TaskScores, Trial, TrialScore
from gauntlet.leaderboards.selectors import Cell
from gauntlet.leaderboards.services import record_result
from gauntlet.submissions.models import Submission
from gauntlet.web.story_page import scores
from gauntlet.web.templatetags.gauntlet_ui import bar

HUGE = 1.7e308
NAMES = ["=1+1", "＝1+1", 'say "hi"', "a,b", "אבג", "<b>bold</b>", "'quoted"]


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    """A board whose primary column has no scale."""
    phase = make_phase()
    phase.competition.leaderboards.get().columns.filter(primary=True).update(low=None, high=None)
    return phase


@pytest.fixture
def enter(phase: Phase, make_submission: Callable[..., Submission]) -> Callable[..., Submission]:
    def enter(score: float | None, *, participant: User | None = None, **fields: Any) -> Submission:
        submission = make_submission(phase, participant, **fields)
        aggregates = {} if score is None else {"rubric.score": score}
        record_result(submission, tasks=[TaskScores(aggregates=aggregates)], scenarios=3)
        return submission

    return enter


@dataclass(frozen=True, kw_only=True)
class Shown:
    page: str
    rows: list[tuple[str, str, str]]  # of the page: rank, participant, score
    answer: dict[str, Any]
    lines: list[dict[str, str]]


@pytest.fixture
def shown(phase: Phase) -> Callable[[], Shown]:
    def shown() -> Shown:
        slug, index = phase.competition.slug, phase.index
        address = f"/api/v1/competitions/{slug}/phases/{index}/leaderboard"
        client = Client()
        page = client.get(f"/competitions/{slug}/leaderboard/{index}/")
        assert page.status_code == 200
        text = page.content.decode()
        rows = re.findall(r"<tr[^>]*><td>([^<]*)<th>([^<]*)<td>([^<]*)", text)
        whole = client.get(f"{address}.csv").getvalue().decode()
        return Shown(
            page=html.unescape(text),
            rows=[(rank, html.unescape(name).strip(), score) for rank, name, score in rows],
            answer=client.get(address).json(),
            lines=list(csv.DictReader(io.StringIO(whole, newline=""))),
        )

    return shown


@pytest.mark.parametrize("sorting", ["desc", "asc"])
def test_extreme_values_stand_alike_everywhere(
    phase: Phase, enter: Callable[..., Submission], shown: Callable[[], Shown], sorting: str
) -> None:
    phase.competition.leaderboards.get().columns.filter(primary=True).update(sorting=sorting)
    values = [HUGE, -HUGE, 1e22, 123456789.125, 1.0, 1.0, 1.0000000000000002, 5e-324, -0.0, 0.0, -1e-9, None]
    for value in values:
        enter(value)
    found = shown()
    told = [(row["rank"], row["scores"].get("score", {}).get("value")) for row in found.answer["rows"]]
    better = {one: sum((a > one) if sorting == "desc" else (a < one) for a in values if a is not None) for one in values
              if one is not None}  # fmt: skip
    assert [value for _, value in told] == [
        *sorted((v for v in values if v is not None), reverse=sorting == "desc"),
        None,
    ]
    assert [rank for rank, _ in told] == [len(values) if v is None else 1 + better[v] for _, v in told]
    assert [(int(line["rank"]), float(line["score"]) if line["score"] else None) for line in found.lines] == told
    assert [(int(rank), score) for rank, _, score in found.rows] == [
        (rank, "–" if value is None else figure(value, 3)) for rank, value in told
    ]
    assert "-0.0" not in {line["score"] for line in found.lines}


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.0, "0.00"), (-0.001, "0.00"), (-0.01, "-0.01"), (1e14, "100000000000000.00"), (-1e15, "-1.00e+15")],
)
def test_a_figure_is_short_and_its_zero_has_no_sign(value: float, text: str) -> None:
    assert figure(value, 2) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "at"),
    [(HUGE, -HUGE, HUGE, 120), (0.0, -HUGE, HUGE, 60), (0.75, 0.0, 1.0, 90), (2.0, 0.0, 1.0, 120)],
)
def test_a_bar_has_its_place_on_any_scale(value: float, low: float, high: float, at: int) -> None:
    assert f"M{at} 1v10" in bar(Cell(value, None, None, 2), low, high)


def test_a_scale_without_width_has_no_bar() -> None:
    for high in (0.0, 5e-324, -1.0):
        assert bar(Cell(0.0, None, None, 2), 0.0, high) == "<svg></svg>"


def test_names_come_through_and_none_is_a_formula(
    phase: Phase, enter: Callable[..., Submission], shown: Callable[[], Shown], make_user: Callable[..., User]
) -> None:
    board = phase.competition.leaderboards.get()
    for index, name in enumerate(NAMES):
        captain = make_user()
        team = Team.objects.create(competition=phase.competition, name=name, captain=captain, code=name)
        enter(1.0 - index / 10, participant=captain, team=team)
        Participation.objects.filter(user=captain).update(team=team, terms_accepted_at=timezone.now())
        board.baselines.create(index=index, name=f"{name}\u202e\r\n", source=name, scores={"score": index})
    found = shown()
    assert [row["participant"] for row in found.answer["rows"]] == NAMES
    assert [name for _, name, _ in found.rows[: len(NAMES)]] == NAMES
    safe = [f"'{name}" if name[0] in "=＝" else name for name in NAMES]
    assert [line["participant"] for line in found.lines[: len(NAMES)]] == safe
    assert [line["participant"] for line in found.lines[len(NAMES) :]] == [f"{name}\u202e\r\n" for name in safe][::-1]
    assert [line["source"] for line in found.lines[len(NAMES) :]] == safe[::-1]


def test_a_team_is_renamed_everywhere_at_once(
    phase: Phase, enter: Callable[..., Submission], shown: Callable[[], Shown], make_user: Callable[..., User]
) -> None:
    captain = make_user("ada")
    team = Team.objects.create(competition=phase.competition, name="Before", captain=captain, code="code")
    enter(0.5, participant=captain, team=team)
    Team.objects.update(name="After")
    found = shown()
    assert [found.answer["rows"][0]["participant"], found.rows[0][1], found.lines[0]["participant"]] == ["After"] * 3


def test_equal_figures_of_unequal_rank_are_explained_and_ties_are_not(
    enter: Callable[..., Submission], shown: Callable[[], Shown]
) -> None:
    enter(0.5)
    enter(0.5)
    assert "digits that are not shown" not in shown().page
    enter(0.50001)
    found = shown()
    assert [(rank, score) for rank, _, score in found.rows] == [("1", "0.500"), ("2", "0.500"), ("2", "0.500")]
    assert "digits that are not shown decide; the CSV and the JSON have them all." in found.page


@pytest.mark.parametrize(("trials", "said"), [(1, ["Spread", "Both"]), (2, [])])
def test_a_column_that_needs_more_trials_than_there_are_says_so(
    phase: Phase, make_submission: Callable[..., Submission], shown: Callable[[], Shown], trials: int, said: list[str]
) -> None:
    phase.trials = trials
    phase.save()
    board = phase.competition.leaderboards.get()
    for index, (over, title) in enumerate([("std", "Spread"), ("pass^2", "Both"), ("pass^1", "One")], start=2):
        Column.objects.create(
            leaderboard=board,
            index=index,
            key=title.lower(),
            title=title,
            source="rubric.score",
            over=over,
            pass_at=1.0,
        )
    rows = [TrialScore(f"s{n}", at, 1.0) for n in range(2) for at in range(1, trials + 1)]
    ran = [Trial(row.scenario, row.trial) for row in rows]
    task = TaskScores(aggregates={}, scenarios={"rubric.score": rows}, trials=ran)
    record_result(make_submission(phase), tasks=[task], scenarios=2)
    found = shown()
    told = re.findall(
        r"(\w+) has no value here: it needs 2 trials of a scenario, and this phase runs each once", found.page
    )
    assert told == said
    has = found.answer["rows"][0]["scores"]
    assert (set(has) == {"score", "one"}) == bool(said)
    assert {key for key in has if has[key]["value"] is None} == set()
    needed = {column["key"]: column["trials_needed"] for column in found.answer["columns"]}
    assert (found.answer["trials"], needed) == (trials, {"score": 1, "steps": 1, "spread": 2, "both": 2, "one": 1})


def test_the_page_speaks_of_intervals_only_where_it_shows_one(
    phase: Phase, make_submission: Callable[..., Submission], shown: Callable[[], Shown]
) -> None:
    def score(scenarios: int) -> None:
        rows = [TrialScore(f"s{n}", 1, float(n)) for n in range(scenarios)]
        record_result(
            make_submission(phase), tasks=[TaskScores(aggregates={}, scenarios={"rubric.score": rows})], scenarios=3
        )

    score(1)
    assert "The line beside a score is its 95" not in shown().page
    score(2)
    assert "The line beside a score is its 95" in shown().page


def test_a_scale_that_ends_at_zero_is_shown_so(enter: Callable[..., Submission], shown: Callable[[], Shown]) -> None:
    enter(-5.0)
    enter(0.0)
    assert "higher is better, -5 to 0<" in shown().page


@pytest.mark.parametrize(
    ("value", "sorting", "said"),
    [
        (0.50001, "desc", "this one is less than 0.001 better"),
        (0.49999, "desc", "this one is less than 0.001 worse"),
        (0.49999, "asc", "this one is less than 0.001 better"),
        (0.5, "desc", "equal"),
        (0.431, "desc", "this one is 0.069 worse"),
    ],
)
def test_a_submissions_page_calls_equal_what_shares_a_rank_and_nothing_else(
    value: float, sorting: str, said: str
) -> None:
    score = ScoreStory(
        column="score",
        title="Score",
        source="rubric.score",
        precision=3,
        sorting=sorting,
        primary=True,
        value=value,
        low=None,
        high=None,
        own_best=None,
        leader=0.5,
        unverified=0,
        unverified_rule="",
    )
    (line,) = scores(SimpleNamespace(scores=[score]))
    assert (line.against_own, line.against_leader) == ("", said)
