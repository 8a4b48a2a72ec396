"""Agreement computed by hand, and what is left out where answers are missing."""

from __future__ import annotations

import pytest

from gauntlet.reviews import services
from gauntlet.reviews.criteria import KEYS
from gauntlet.reviews.results import judge_results, majority_of, realism_results

COMPLETION = KEYS[0]


def by_scenario(study):
    """The items in the order of scenarios: the judge says yes to the first four and no to the last two."""
    return list(study.items.order_by("scenario__index"))


def say(reviewer, items, answers, key=COMPLETION):
    for item, answer in zip(items, answers, strict=True):
        if answer is not None:
            services.save_judgement(reviewer, item, answers={key: answer}, comment="")


Y, N = True, False


@pytest.mark.parametrize(
    ("answers", "expected"),
    [([Y, Y, N], Y), ([Y, N, N], N), ([Y, N], None), ([None, Y], Y), ([None], None), ([], None)],
)
def test_a_majority_is_more_than_half_of_those_who_answered(answers, expected):
    assert majority_of(answers) is expected


def test_accuracy_and_kappa_of_the_judge_by_hand(study, ask):
    items = by_scenario(study)
    first, second, third = ask(study), ask(study), ask(study)
    # The judge: Y Y Y Y N N.
    say(first, items, [Y, Y, Y, N, N, N])
    say(second, items, [Y, Y, N, N, N, None])
    say(third, items, [N, Y, Y, N, Y, None])
    found = judge_results(study)
    row = found.criteria[0]
    assert row.criterion.key == COMPLETION
    # 5 of 6 agree; by chance (4 * 3 + 2 * 3) / 36 = 1/2; so (5/6 - 1/2) / (1/2).
    assert row.experts[0].accuracy.value == pytest.approx(5 / 6)
    assert row.experts[0].kappa.value == pytest.approx(2 / 3)
    # Five in common, of which 3 agree; by chance (4 * 2 + 1 * 3) / 25 = 11/25; so (15/25 - 11/25) / (14/25).
    assert row.experts[1].accuracy.items == 5
    assert row.experts[1].kappa.value == pytest.approx(2 / 7)
    # The majority: Y Y Y N N N, as the first expert says.
    assert row.majority.kappa.value == pytest.approx(2 / 3)
    # Fleiss, with unequal numbers: items (2,1) (3,0) (2,1) (0,3) (1,2) of three ratings, and one of a single one.
    agreed = (1 / 3 + 1 + 1 / 3 + 1 + 1 / 3) / 5
    yes = (2 / 3 + 1 + 2 / 3 + 0 + 1 / 3) / 5
    chance = yes**2 + (1 - yes) ** 2
    assert row.among_experts.value == pytest.approx((agreed - chance) / (1 - chance))
    assert row.among_experts.items == 5
    # What no program scores has no judge beside it, and nobody has answered it yet.
    assert found.criteria[3].majority is None
    assert found.criteria[3].among_experts.value is None
    assert found.criteria[3].among_experts.note


def test_disagreements_stand_side_by_side_and_first_those_of_the_judge_alone(study, ask):
    items = by_scenario(study)
    first, second = ask(study), ask(study)
    say(first, items, [Y, Y, Y, N, N, N])
    say(second, items, [Y, N, Y, N, N, N])
    services.save_judgement(first, items[3], answers={COMPLETION: N}, comment="It counted twice.")
    idle = ask(study)
    found = judge_results(study)
    assert idle not in found.experts
    assert found.disputed[0].item == items[3]
    assert [one.judge_alone for one in found.disputed] == [True, False]
    alone, split = found.disputed
    assert [(one.criterion.key, one.judge, one.answers) for one in alone.disagreements] == [(COMPLETION, Y, [N, N])]
    assert alone.comments == [(first.user.username, "It counted twice.")]
    assert split.item == items[1]
    assert [one.answers for one in split.disagreements] == [[Y, N]]


def test_experts_who_differ_where_no_judge_judges_are_in_dispute_too(study, ask):
    items = by_scenario(study)
    for answer in (Y, N):
        services.save_judgement(ask(study), items[0], answers={"hallucinations": answer}, comment="")
    (dispute,) = judge_results(study).disputed
    assert [(one.criterion.key, one.judge) for one in dispute.disagreements] == [("hallucinations", None)]
    assert not dispute.judge_alone


def test_a_study_without_answers_has_no_numbers_and_says_why(study, survey):
    found = judge_results(study)
    assert (found.experts, found.disputed) == ([], [])
    assert all(one.majority is None or one.majority.kappa.value is None for one in found.criteria)
    told = realism_results(survey)
    assert (told.people, told.complete, told.mean, told.alpha.value, told.fleiss.value) == ([], 0, None, None, None)
    assert told.alpha.note


def test_one_kind_of_answer_leaves_kappa_undefined(study, ask):
    items = by_scenario(study)[:4]
    say(ask(study), items, [Y] * 4)
    majority = judge_results(study).criteria[0].majority
    assert (majority.accuracy.value, majority.kappa.value) == (1.0, None)
    assert "undefined" in majority.kappa.note


def rate(reviewer, items, values, comment=""):
    for item, value in zip(items, values, strict=False):
        services.save_rating(reviewer, item, value=value, comment=comment)


def test_the_survey_by_hand_and_what_is_missing(survey, ask):
    """Three whole rows: alpha and ICC from sums of squares done on paper; a half one counts for kappa alone."""
    items = list(survey.items.all())
    rows = [[1, 1, 2, 1, 1, 2], [2, 2, 2, 2, 3, 2], [3, 3, 3, 2, 3, 3]]
    for row in rows:
        rate(ask(survey), items, row)
    before = realism_results(survey)
    sums = [8, 13, 17]
    mean = sum(sums) / 3
    between = sum((one / 6 - mean / 6) ** 2 for one in sums) * 6 / 2
    within = sum((value - sum(row) / 6) ** 2 for row in rows for value in row) / 15
    assert before.icc1.value == pytest.approx((between - within) / (between + 5 * within))
    assert before.icc2.value == pytest.approx((between - within) / between)
    single = before.icc1.value
    assert before.icc2.value == pytest.approx(6 * single / (1 + 5 * single))
    total = sum((one - mean) ** 2 for one in sums) / 2
    columns = [[row[at] for row in rows] for at in range(6)]
    apart = sum(sum((v - sum(c) / 3) ** 2 for v in c) / 2 for c in columns)
    assert before.alpha.value == pytest.approx(6 / 5 * (1 - apart / total))
    half = ask(survey)
    rate(half, items, [3, 3], comment="We ask this every week.")
    services.save_rating(half, items[2], value=None, comment="Unclear.")
    after = realism_results(survey)
    assert (len(after.people), after.complete) == (4, 3)
    assert after.alpha == before.alpha.__class__(
        before.alpha.value, items=3, raters=6, note="Left out: 1 row with a missing rating."
    )
    assert (after.icc1.value, after.icc2.value) == (before.icc1.value, before.icc2.value)
    assert after.fleiss.value != before.fleiss.value
    assert list(after.scenarios[0].counts) == [1, 1, 2]
    assert after.scenarios[0].mean == pytest.approx(9 / 4)
    assert after.scenarios[2].comments == [(half.user.username, "Unclear.")]
    assert after.mean == pytest.approx((38 + 6) / 20)
