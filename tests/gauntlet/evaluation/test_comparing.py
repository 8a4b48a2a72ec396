"""Two submissions side by side: who may compare what, what comes out, and what a page says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from gauntlet_runtime.jobs import RunSpec, ScoreResult

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase
    from gauntlet.submissions.models import Submission


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase(scenarios=12, visibility="scores")


@pytest.fixture
def scored(phase: Phase, start: Callable[..., Any], worker: Any) -> Callable[..., Submission]:
    """A submission whose scenarios have these scores, one after the other and from the beginning again."""

    def scored(participant: User, *values: float, where: Phase | None = None, name: str = "agent") -> Submission:
        evaluation = start(where or phase, participant=participant, name=name)
        while claim := worker.claim():
            if isinstance(claim.spec, RunSpec):
                worker.source.finish(claim, worker.run(claim))
                continue
            result = worker.scores(claim)
            (program,) = result.programs
            rows = sorted(program.scenarios, key=lambda row: row["scenario"])
            rows = [{**row, "scores": {"score": values[at % len(values)]}} for at, row in enumerate(rows)]
            worker.source.finish(claim, ScoreResult(programs=[program.model_copy(update={"scenarios": rows})]))
        submission: Submission = evaluation.submission
        return submission

    return scored


@pytest.fixture
def ada(make_user: Callable[..., User]) -> User:
    return make_user("ada")


def ask(user: User, a: Submission, b: Submission) -> tuple[int, dict[str, Any]]:
    client = Client()
    client.force_login(user)
    answer = client.get(f"/api/v1/submissions/{a.pk}/comparison/{b.pk}")
    return answer.status_code, answer.json()


def page(user: User, a: Submission, query: str = "") -> tuple[int, str]:
    client = Client()
    client.force_login(user)
    answer = client.get(f"/submissions/{a.pk}/compare/{query}")
    return answer.status_code, " ".join(answer.content.decode().split())


def test_the_better_one_is_named_with_p_effect_and_interval(ada: User, scored: Callable[..., Submission]) -> None:
    good, bad = scored(ada, 0.9, 0.8, 0.7, name="good"), scored(ada, 0.5, 0.3, 0.4, name="bad")
    status, told = ask(ada, good, bad)
    assert status == 200
    score = next(column for column in told["columns"] if column["key"] == "score")
    assert (score["better"], score["scenarios"], score["wins"], score["losses"]) == ("a", 12, 12, 0)
    assert score["difference"] == pytest.approx(0.4)
    assert score["p"] == pytest.approx(2 / 2**12)  # all twelve signs the same way, out of 2 to the 12th
    steps = next(column for column in told["columns"] if column["key"] == "steps")
    assert steps["better"] == "undecided"  # both took as many
    assert ask(ada, bad, good)[1]["columns"][0]["better"] == "b"
    _, html = page(ada, bad, f"?with={good.pk}")
    assert "“good” by ada is better than “bad” by ada on 12 scenarios (p &lt; 0.001)" in html


def test_a_difference_that_may_be_chance_is_called_so(ada: User, scored: Callable[..., Submission]) -> None:
    one, other = scored(ada, 0.5, 0.6, name="one"), scored(ada, 0.6, 0.5, name="other")
    assert ask(ada, one, other)[1]["columns"][0]["better"] == "undecided"
    assert "the two are not surely apart on 12 scenarios (p = 1.000)" in page(ada, one, f"?with={other.pk}")[1]


def test_where_less_is_better_the_smaller_one_is_better(
    ada: User, phase: Phase, scored: Callable[..., Submission]
) -> None:
    phase.competition.leaderboards.get().columns.filter(key="score").update(sorting="asc")
    slow, fast = scored(ada, 0.9, name="slow"), scored(ada, 0.2, name="fast")
    told = ask(ada, slow, fast)[1]["columns"][0]
    assert (told["better"], told["sorting"], told["wins"], told["losses"]) == ("b", "asc", 0, 12)
    assert told["difference"] == pytest.approx(-0.7)  # in which more is better
    html = page(ada, slow, f"?with={fast.pk}")[1]
    assert "“fast” by ada is better than “slow” by ada" in html
    assert "<b>+0.700</b>" in html  # as the column has it


def test_where_a_composite_ranks_no_other_column_speaks_for_it(
    ada: User, phase: Phase, scored: Callable[..., Submission]
) -> None:
    columns = phase.competition.leaderboards.get().columns
    columns.update(primary=False)
    columns.create(index=9, key="both", title="Both", computation="avg", computation_indexes=[0], primary=True)
    one, other = scored(ada, 0.9), scored(ada, 0.2)
    assert "The column that decides the rank is no mean over scenarios" in page(ada, one, f"?with={other.pk}")[1]


def test_scores_too_large_to_be_reckoned_with_are_left_out(ada: User, scored: Callable[..., Submission]) -> None:
    one, other = scored(ada, 1.7e308, -1.7e308), scored(ada, -1.7e308, 1.7e308)
    status, told = ask(ada, one, other)
    assert status == 200
    assert [column["key"] for column in told["columns"]] == ["steps"]


def test_nobody_compares_with_what_they_may_not_see(
    ada: User, make_user: Callable[..., User], phase: Phase, scored: Callable[..., Submission]
) -> None:
    bob = make_user("bob")
    mine, theirs = scored(ada, 0.5), scored(bob, 0.6, name="bobs")
    assert ask(ada, mine, theirs)[0] == 404
    assert ask(ada, theirs, mine)[0] == 404
    status, html = page(ada, mine, f"?with={theirs.pk}")
    assert status == 200
    assert "bobs" not in html
    assert "nothing to compare it with yet" in html
    organizer = phase.competition.organizer
    assert ask(organizer, mine, theirs)[0] == 200
    assert "bobs by bob" in page(organizer, mine)[1]


def test_hidden_scores_are_not_compared(ada: User, phase: Phase, scored: Callable[..., Submission]) -> None:
    one, other = scored(ada, 0.5), scored(ada, 0.6)
    phase.visibility = "none"
    phase.save()
    assert ask(ada, one, other) == (
        403,
        {"code": "not_visible", "message": "The organizer of this phase does not show its scores yet."},
    )
    assert page(ada, one, f"?with={other.pk}")[0] == 403


def test_two_phases_and_unscored_submissions_are_not_comparable(
    ada: User,
    make_phase: Callable[..., Phase],
    start: Callable[..., Any],
    phase: Phase,
    scored: Callable[..., Submission],
) -> None:
    one = scored(ada, 0.5)
    elsewhere = scored(ada, 0.5, where=make_phase(scenarios=12))
    status, told = ask(ada, one, elsewhere)
    assert (status, told["code"]) == (409, "not_comparable")
    unscored = start(phase, participant=ada).submission
    status, told = ask(ada, one, unscored)
    assert (status, told["message"]) == (409, "The submission agent has no score yet.")


def test_a_word_that_is_no_submission_is_told(ada: User, scored: Callable[..., Submission]) -> None:
    one = scored(ada, 0.5)
    scored(ada, 0.6)
    assert "There is no such submission to compare with." in page(ada, one, "?with=x<b>")[1]


def test_what_changed_is_told_by_scenario_the_losses_first(ada: User, scored: Callable[..., Submission]) -> None:
    one, other = scored(ada, 0.9, 0.5, 0.5), scored(ada, 0.6, 0.5, 0.7, name="other")
    html = page(ada, one, f"?with={other.pk}")[1]
    assert "In Score: 8 scenarios differ, 4 are the same." in html
    changes = html.partition("What changed, scenario by scenario")[2]
    told = re.findall(r'data-l="A" class="r">(.*?)</td><td data-l="B" class="r">(.*?)</td>.*?<b>(.*?)</b>', changes)
    assert told == [("0.500", "0.700", "−0.200")] * 4 + [("0.900", "0.600", "+0.300")] * 4
    assert "/episodes/" not in changes  # the phase shows scores, under opaque ids, and nothing of what was done
    texts = one.phase.tasks.get().scenarios.values_list("text", flat=True)
    assert not [text for text in texts if text in html]


def test_where_less_is_better_the_losses_are_the_larger_values(
    ada: User, phase: Phase, scored: Callable[..., Submission]
) -> None:
    phase.competition.leaderboards.get().columns.filter(key="score").update(sorting="asc")
    one, other = scored(ada, 0.9, 0.2), scored(ada, 0.5, name="other")
    changes = page(ada, one, f"?with={other.pk}")[1].partition("What changed, scenario by scenario")[2]
    told = re.findall(r'data-l="A" class="r">(.*?)</td>.*?</svg>(.)</span>', changes)
    assert told == [("0.900", "B")] * 6 + [("0.200", "A")] * 6


def test_without_a_choice_the_newest_other_one_is_shown(ada: User, scored: Callable[..., Submission]) -> None:
    one, _, newest = scored(ada, 0.9), scored(ada, 0.6, name="older"), scored(ada, 0.9, name="newest")
    html = page(ada, one)[1]
    assert f'value="{newest.pk}" selected' in html
    assert "In Score: 0 scenarios differ, 12 are the same." in html


def test_scenarios_whose_trials_have_one_mean_are_the_same(
    ada: User, phase: Phase, scored: Callable[..., Submission]
) -> None:
    """As floats 0.1 and 0.2 add up to more than 0.3 and 0."""
    phase.trials = 2
    phase.save()
    one, other = scored(ada, 0.1, 0.2), scored(ada, 0.3, 0.0, name="other")
    score = next(column for column in ask(ada, one, other)[1]["columns"] if column["key"] == "score")
    assert (score["wins"], score["ties"], score["losses"], score["p"]) == (0, 12, 0, 1.0)
    assert "In Score: 0 scenarios differ, 12 are the same." in page(ada, one, f"?with={other.pk}")[1]
