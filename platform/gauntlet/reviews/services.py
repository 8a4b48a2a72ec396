"""Writes of the reviews app: draw, invite, answer, close."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from django.db import transaction

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.models import Competition, Phase, Scenario
from gauntlet.reviews import drawing
from gauntlet.reviews.access import takes_part
from gauntlet.reviews.criteria import KEYS
from gauntlet.reviews.errors import CannotDraw, CannotInvite, HasAnswered, StudyClosed, StudyNotFound
from gauntlet.reviews.models import STUDY as MACHINE
from gauntlet.reviews.models import Item, Judgement, Rating, Reviewer, Study, StudyKind, StudyState
from gauntlet.reviews.sampling import draw

MOST_ITEMS: Final = 200
MOST_REVIEWERS: Final = 50
_COMMENT: Final = 4000  # characters


@transaction.atomic
def draw_judge_study(phase: Phase, *, program: str, size: int, seed: int | None, actor: User, title: str = "") -> Study:
    """Draw finished episodes of a phase, stratified by the judge's verdict and by category. Emits ``study.drawn``.

    The verdicts and the characteristic forms are kept as they are now: a rejudge later changes no study.

    Args:
        phase: of a competition that the actor organizes.
        program: whose verdicts people are compared with.
        size: how many episodes; all there are, where there are fewer.
        seed: of the draw; a random one where None.
        actor: who draws.
        title: what the study is called; made from the phase's name where empty.

    Raises:
        CannotDraw: no episode of the phase was answered and judged by this program.
    """
    found = drawing.candidates(phase, program=program)
    if not found:
        raise CannotDraw(
            f"No finished episode of the phase {phase.name} has verdicts of the program '{program}'. "
            "Draw once submissions were scored."
        )
    strata: dict[tuple[str, bool], list[drawing.Candidate]] = {}
    for one in found:
        strata.setdefault(one.stratum, []).append(one)
    seed = _seed(seed)
    drawn = draw(dict(sorted(strata.items())), size=min(size, MOST_ITEMS), seed=seed)
    study = Study.objects.create(
        phase=phase,
        kind=StudyKind.JUDGE,
        title=title or f"Judge validation, {phase.name}"[:200],
        program=program,
        seed=seed,
        drawn_from=len(found),
        created_by=actor,
    )
    forms = drawing.characteristic_forms(one.episode.scenario for one in drawn)
    Item.objects.bulk_create(
        Item(
            study=study,
            number=number,
            scenario=one.episode.scenario,
            episode=one.episode,
            characteristic_form=forms.get(one.episode.scenario_id, ""),
            verdicts=one.verdicts,
        )
        for number, one in enumerate(drawn, start=1)
    )
    _record_draw(study, size=len(drawn), actor=actor)
    return study


@transaction.atomic
def draw_realism_study(phase: Phase, *, size: int, seed: int | None, actor: User, title: str = "") -> Study:
    """Draw scenarios of a phase, stratified by category. Emits ``study.drawn``.

    Raises:
        CannotDraw: the phase has no scenario.
    """
    found = drawing.scenarios(phase)
    if not found:
        raise CannotDraw(f"The phase {phase.name} has no scenario to ask about.")
    strata: dict[str, list[Scenario]] = {}
    for one in found:
        strata.setdefault(one.category, []).append(one)
    seed = _seed(seed)
    drawn = draw(dict(sorted(strata.items())), size=min(size, MOST_ITEMS), seed=seed)
    study = Study.objects.create(
        phase=phase,
        kind=StudyKind.REALISM,
        title=title or f"Realism survey, {phase.name}"[:200],
        seed=seed,
        drawn_from=len(found),
        created_by=actor,
    )
    Item.objects.bulk_create(
        Item(study=study, number=number, scenario=one) for number, one in enumerate(drawn, start=1)
    )
    _record_draw(study, size=len(drawn), actor=actor)
    return study


def _seed(seed: int | None) -> int:
    return secrets.randbelow(1 << 31) if seed is None else seed


def _record_draw(study: Study, *, size: int, actor: User) -> None:
    data = {"kind": study.kind, "phase": study.phase.index, "seed": study.seed, "items": size}
    record_event(study, "study.drawn", actor=actor, data=data)


@transaction.atomic
def invite(study: Study, *, names: Iterable[str], actor: User) -> list[Reviewer]:
    """Invite people by user name: all of them or nobody; who is invited already stays so. Locks the study.

    Emits ``study.invited`` for each new one, whom this returns.

    Raises:
        StudyNotFound
        CannotInvite: somebody has no account, is switched off, or takes part in the competition.
    """
    competition = study.phase.competition
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not wanted:
        raise CannotInvite("Name at least one person, by user name.")
    _held(study.pk)
    there = set(study.reviewers.values_list("user", flat=True))
    people = {user.username: user for user in User.objects.filter(username__in=wanted, is_active=True)}
    if len(there | {user.pk for user in people.values()}) > MOST_REVIEWERS:
        raise CannotInvite(f"A study takes at most {MOST_REVIEWERS} people.")
    problems = [_why_not(name, people.get(name), competition=competition) for name in wanted]
    if any(problems):
        raise CannotInvite(" ".join(["Nobody was invited.", *filter(None, problems)]))
    made = [Reviewer(study=study, user=people[name]) for name in wanted if people[name].pk not in there]
    for reviewer in made:
        reviewer.save()
        record_event(study, "study.invited", actor=actor, data={"user": reviewer.user.username})
    return made


def _why_not(name: str, user: User | None, *, competition: Competition) -> str:
    if user is None:
        return f"There is no account named “{name[:150]}”."
    if takes_part(user, competition):
        return f"“{name}” takes part in the competition, and participants may not review it."
    return ""


@transaction.atomic
def withdraw(study: Study, *, reviewer_id: int, actor: User) -> str:
    """Take an invitation back, before its owner has answered; return whose it was, or nothing. Locks the study.

    Emits ``study.withdrawn``.

    Raises:
        StudyNotFound, HasAnswered
    """
    _held(study.pk)
    reviewer = study.reviewers.filter(pk=reviewer_id).select_related("user").first()
    if reviewer is None:
        return ""
    name = reviewer.user.username
    if reviewer.judgements.exists() or reviewer.ratings.exists():
        raise HasAnswered(f"“{name}” has answered already; answers are kept. Close the study to end it for everybody.")
    reviewer.delete()
    record_event(study, "study.withdrawn", actor=actor, data={"user": name})
    return name


@transaction.atomic
def save_judgement(reviewer: Reviewer, item: Item, *, answers: Mapping[str, bool | None], comment: str) -> Judgement:
    """Keep an expert's answers about a trajectory; later ones replace them. Locks the study.

    Args:
        reviewer: who answers.
        item: of the reviewer's study.
        answers: by criterion; what is not in it, or None, is not answered.
        comment: in the expert's own words.

    Raises:
        StudyNotFound, StudyClosed
    """
    _needs_open(reviewer)
    given = {key: answers.get(key) for key in KEYS}
    made, _ = Judgement.objects.update_or_create(
        reviewer=reviewer, item=item, defaults={**given, "comment": _storable(comment)[:_COMMENT]}
    )
    return made


@transaction.atomic
def save_rating(reviewer: Reviewer, item: Item, *, value: int | None, comment: str) -> Rating:
    """Keep how real somebody finds a scenario; a later rating replaces it. Locks the study.

    Raises:
        StudyNotFound, StudyClosed
    """
    _needs_open(reviewer)
    made, _ = Rating.objects.update_or_create(
        reviewer=reviewer, item=item, defaults={"value": value, "comment": _storable(comment)[:_COMMENT]}
    )
    return made


@transaction.atomic
def save_background(reviewer: Reviewer, *, role: str, years: int, familiarity: str) -> None:
    """Keep what somebody says of themselves. Locks the study.

    Raises:
        StudyNotFound, StudyClosed
    """
    _needs_open(reviewer)
    reviewer.role, reviewer.years, reviewer.familiarity = _storable(role)[:100], years, familiarity
    reviewer.save(update_fields=["role", "years", "familiarity"])


def _needs_open(reviewer: Reviewer) -> None:
    """Hold the study while an answer is written: it is in before the study closes, or refused.

    Raises:
        StudyNotFound: it is gone, or the invitation was taken back meanwhile.
        StudyClosed
    """
    study = _held(reviewer.study_id)
    if not study.reviewers.filter(pk=reviewer.pk).exists():
        raise StudyNotFound.any_more()
    if study.state != StudyState.OPEN:
        raise StudyClosed("This study is closed; answers can no longer be changed.")


def _held(study_id: UUID) -> Study:
    """A study, read anew and locked.

    Raises:
        StudyNotFound: it is gone.
    """
    study = Study.objects.select_for_update().filter(pk=study_id).first()
    if study is None:
        raise StudyNotFound.any_more()
    return study


def _storable(text: str) -> str:
    """Without the one character that the database takes in no text."""
    return text.replace("\0", "").strip()


def close(study: Study, *, actor: User) -> None:
    """Take no more answers; again changes nothing. Emits ``study.closed``.

    Raises:
        StudyNotFound
    """
    _move(study, StudyState.CLOSED, actor=actor)


def reopen(study: Study, *, actor: User) -> None:
    """Take answers again; again changes nothing. Emits ``study.open``.

    Raises:
        StudyNotFound
    """
    _move(study, StudyState.OPEN, actor=actor)


@transaction.atomic
def _move(study: Study, state: StudyState, *, actor: User) -> None:
    row = _held(study.pk)
    if row.state != state:
        MACHINE.check(row.state, state)
        record_event(row, f"study.{state}", actor=actor, before=row.state, after=state)
        row.state = state
        row.save(update_fields=["state"])
    study.state = row.state
