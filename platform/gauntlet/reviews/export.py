"""What people answered, as CSV: a line an answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from gauntlet.csv_cells import safe_cell
from gauntlet.reviews.criteria import JUDGED, KEYS
from gauntlet.reviews.models import Judgement, Rating, Reviewer, Study, StudyKind


def answers_csv(study: Study) -> str:
    """Every answer of a study, by item and then by person, with what the judge had said."""
    if study.kind == StudyKind.REALISM:
        return _table(_RATING_HEAD, _rating_lines(study))
    return _table(_JUDGEMENT_HEAD, _judgement_lines(study))


_PERSON = ("person", "role", "years", "familiarity")
_RATING_HEAD = ("number", "scenario", "category", *_PERSON, "rating", "comment", "answered_at")
_JUDGEMENT_HEAD = (
    *("number", "scenario", "category", "episode", *_PERSON),
    *KEYS,
    *(f"judge_{criterion.key}" for criterion in JUDGED),
    *("comment", "answered_at"),
)


def _rating_lines(study: Study) -> Iterable[Sequence[object]]:
    rows = Rating.objects.filter(reviewer__study=study).select_related("item__scenario", "reviewer__user")
    for row in rows.order_by("item__number", "reviewer"):
        scenario = row.item.scenario
        yield (
            *(row.item.number, scenario.key, scenario.category, *_person(row.reviewer)),
            *(row.value, row.comment, row.updated_at.isoformat()),
        )


def _judgement_lines(study: Study) -> Iterable[Sequence[object]]:
    rows = Judgement.objects.filter(reviewer__study=study).select_related("item__scenario", "reviewer__user")
    for row in rows.order_by("item__number", "reviewer"):
        scenario = row.item.scenario
        yield (
            *(row.item.number, scenario.key, scenario.category, row.item.episode_id, *_person(row.reviewer)),
            *(_word(answer) for answer in row.answers.values()),
            *(_word(row.item.verdicts.get(criterion.key)) for criterion in JUDGED),
            *(row.comment, row.updated_at.isoformat()),
        )


def _person(reviewer: Reviewer) -> Sequence[object]:
    return reviewer.user.username, reviewer.role, reviewer.years, reviewer.familiarity


def _word(answer: bool | None) -> str:
    return "" if answer is None else str(answer).lower()


def _table(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(head)
    writer.writerows([safe_cell(cell) if isinstance(cell, str) else cell for cell in line] for line in lines)
    return file.getvalue()
