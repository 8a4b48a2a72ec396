"""What came out of a study: how far judge and experts, and people among themselves, agree.

The coefficients are gauntlet_scoring.agreement's, which says of each what it was computed from and what was left out.
An answer counts as soon as it is given: of a trajectory that an expert has begun, the questions that are answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from gauntlet.reviews.criteria import CRITERIA, SCALE, Criterion
from gauntlet.reviews.models import Item, Judgement, Rating, Reviewer, Study
from gauntlet_scoring.agreement import (
    Coefficient,
    cohen_kappa,
    cronbach_alpha,
    fleiss_kappa,
    icc1,
    icc2,
    observed_agreement,
    rating_table,
)

_Judgements = Mapping[tuple[int, int], Judgement]  # by reviewer and item


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The judge beside somebody, on one criterion."""

    accuracy: Coefficient  # the share of items on which they agree
    kappa: Coefficient  # Cohen's


@dataclass(frozen=True, kw_only=True)
class CriterionResult:
    """One criterion: the judge against the majority of experts and each of them, and the experts among themselves."""

    criterion: Criterion
    majority: Comparison | None  # None: no program scores this criterion
    experts: Sequence[Comparison]  # in the order of the study's experts; empty where ``majority`` is None
    among_experts: Coefficient  # Fleiss' kappa


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A criterion of a trajectory about which not all are of one mind."""

    criterion: Criterion
    judge: bool | None
    answers: Sequence[bool | None]  # of the experts, in their order


@dataclass(frozen=True, kw_only=True)
class DisputedItem:
    """A trajectory with the criteria that are in dispute, and what experts wrote about it."""

    item: Item
    disagreements: Sequence[Disagreement]
    comments: Sequence[tuple[str, str]]  # user name, text

    @property
    def judge_alone(self) -> bool:
        """Whether the judge says something else than most experts on some criterion."""
        return any(
            one.judge is not None and majority_of(one.answers) not in (None, one.judge) for one in self.disagreements
        )


@dataclass(frozen=True, kw_only=True)
class JudgeResults:
    """All of a judge validation."""

    experts: Sequence[Reviewer]
    criteria: Sequence[CriterionResult]
    disputed: Sequence[DisputedItem]  # first those on which the judge stands alone, then by number


def judge_results(study: Study) -> JudgeResults:
    """Compare; three queries, whatever the number of items and experts. Only experts who have answered count."""
    items = list(study.items.select_related("scenario", "episode"))
    everyone = list(study.reviewers.select_related("user"))
    rows = list(Judgement.objects.filter(reviewer__study=study))
    judgements = {(row.reviewer_id, row.item_id): row for row in rows}
    answered = {row.reviewer_id for row in rows}
    experts = [one for one in everyone if one.pk in answered]
    disputed = [found for item in items if (found := _disputed(item, experts, judgements=judgements)) is not None]
    return JudgeResults(
        experts=experts,
        criteria=[_criterion_result(one, items, experts, judgements=judgements) for one in CRITERIA],
        disputed=sorted(disputed, key=lambda one: (not one.judge_alone, one.item.number)),
    )


def _answer(judgements: _Judgements, expert: Reviewer, item: Item, *, key: str) -> bool | None:
    row = judgements.get((expert.pk, item.pk))
    return None if row is None else row.answers[key]


def _criterion_result(
    criterion: Criterion, items: Sequence[Item], experts: Sequence[Reviewer], *, judgements: _Judgements
) -> CriterionResult:
    said = [[_answer(judgements, expert, item, key=criterion.key) for expert in experts] for item in items]
    among = fleiss_kappa(rating_table(said))
    if not criterion.scores:
        return CriterionResult(criterion=criterion, majority=None, experts=[], among_experts=among)
    judge = [item.verdicts.get(criterion.key) for item in items]
    return CriterionResult(
        criterion=criterion,
        majority=_compare(judge, [majority_of(row) for row in said]),
        experts=[_compare(judge, [row[at] for row in said]) for at in range(len(experts))],
        among_experts=among,
    )


def majority_of(answers: Sequence[bool | None]) -> bool | None:
    """What more than half of those who answered said; None of a tie, and where nobody has."""
    given = [answer for answer in answers if answer is not None]
    yes = sum(given)
    return None if 2 * yes == len(given) else 2 * yes > len(given)


def _compare(judge: Sequence[bool | None], person: Sequence[bool | None]) -> Comparison:
    return Comparison(accuracy=observed_agreement(judge, person), kappa=cohen_kappa(judge, person))


def _disputed(item: Item, experts: Sequence[Reviewer], *, judgements: _Judgements) -> DisputedItem | None:
    found = []
    for criterion in CRITERIA:
        judge = item.verdicts.get(criterion.key) if criterion.scores else None
        answers = [_answer(judgements, expert, item, key=criterion.key) for expert in experts]
        given = [answer for answer in answers if answer is not None]
        if given and len({*given, *([] if judge is None else [judge])}) > 1:
            found.append(Disagreement(criterion=criterion, judge=judge, answers=answers))
    if not found:
        return None
    rows = [(expert, judgements.get((expert.pk, item.pk))) for expert in experts]
    comments = [(expert.user.username, row.comment) for expert, row in rows if row is not None and row.comment]
    return DisputedItem(item=item, disagreements=found, comments=comments)


@dataclass(frozen=True, kw_only=True)
class ScenarioRatings:
    """A scenario and how it was rated."""

    item: Item
    counts: Sequence[int]  # of each value of the scale, in its order
    mean: float | None
    comments: Sequence[tuple[str, str]]  # user name, text


@dataclass(frozen=True, kw_only=True)
class RealismResults:
    """All of a realism survey."""

    people: Sequence[Reviewer]  # who have rated at least one scenario
    complete: int  # of them, who have rated every one
    alpha: Coefficient
    icc1: Coefficient
    icc2: Coefficient
    fleiss: Coefficient
    scenarios: Sequence[ScenarioRatings]
    mean: float | None


def realism_results(study: Study) -> RealismResults:
    """Compute; three queries, whatever the number of scenarios and people.

    Alpha and both ICC stand on people as rows and scenarios as columns, as in the study of the paper (A48), and so on
    those who have rated every scenario; Fleiss' kappa on every scenario with two ratings.
    """
    items = list(study.items.select_related("scenario"))
    everyone = list(study.reviewers.select_related("user"))
    rows = list(Rating.objects.filter(reviewer__study=study))
    ratings = {(row.reviewer_id, row.item_id): row for row in rows}
    rated = {row.reviewer_id for row in rows if row.value is not None}
    people = [one for one in everyone if one.pk in rated]
    matrix = [[_value(ratings, one, item) for item in items] for one in people]
    by_item = [[row[at] for row in matrix] for at in range(len(items))]
    values = [row.value for row in rows if row.value is not None]
    return RealismResults(
        people=people,
        complete=sum(None not in row for row in matrix),
        alpha=cronbach_alpha(matrix),
        icc1=icc1(matrix),
        icc2=icc2(matrix),
        fleiss=fleiss_kappa(rating_table(by_item)),
        scenarios=[
            _scenario_ratings(item, given, everyone, ratings=ratings)
            for item, given in zip(items, by_item, strict=True)
        ],
        mean=fmean(values) if values else None,
    )


def _value(ratings: Mapping[tuple[int, int], Rating], one: Reviewer, item: Item) -> int | None:
    row = ratings.get((one.pk, item.pk))
    return None if row is None else row.value


def _scenario_ratings(
    item: Item, given: Sequence[int | None], people: Sequence[Reviewer], *, ratings: Mapping[tuple[int, int], Rating]
) -> ScenarioRatings:
    values = [value for value in given if value is not None]
    rows = [(one, ratings.get((one.pk, item.pk))) for one in people]
    return ScenarioRatings(
        item=item,
        counts=[values.count(value) for value in SCALE],
        mean=fmean(values) if values else None,
        comments=[(one.user.username, row.comment) for one, row in rows if row is not None and row.comment],
    )
