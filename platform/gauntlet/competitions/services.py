"""Writes of the competitions app: import, publish, join, approve, deny."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.access import must_organize
from gauntlet.competitions.bundle.findings import Finding
from gauntlet.competitions.bundle.plan import CompetitionPlan
from gauntlet.competitions.creation import Creation
from gauntlet.competitions.errors import BundleRefused, CannotJoin, SlugTaken, TermsNotAccepted
from gauntlet.competitions.models import Competition, Participation, ParticipationState
from gauntlet.queues.services import hold_usable_queue
from gauntlet.storage.models import Artifact, Form
from gauntlet.storage.services import store, store_folder


def check_bundle(path: Path, *, organizer: User | None = None) -> list[Finding]:
    """Everything that is wrong or odd with a bundle folder or zip for whoever imports it; nothing is created."""
    from gauntlet.competitions.bundle.check import checked_bundle  # here: no idle process needs what reads bundles

    with checked_bundle(path, organizer=organizer) as bundle:
        return bundle.findings


def import_bundle(path: Path, *, organizer: User, publish: bool, slug: str = "") -> Competition:
    """Create a competition from a bundle folder or zip, wholly or not at all.

    Args:
        path: a folder, or a zip of one.
        organizer: who owns it.
        publish: whether everybody sees it at once.
        slug: its name in addresses; made from the title where empty.

    Emits ``competition.created``, and ``competition.published``.

    Raises:
        BundleRefused: with every finding.
        SlugTaken: a competition of this name exists.
        QueueNotUsable: an own queue that it names was taken back meanwhile.
    """
    return import_with_warnings(path, organizer=organizer, publish=publish, slug=slug)[0]


def import_with_warnings(
    path: Path, *, organizer: User, publish: bool, slug: str = ""
) -> tuple[Competition, Sequence[Finding]]:
    """The same as ``import_bundle``, and what the check found that is no error."""
    from gauntlet.competitions.bundle.check import checked_bundle

    with checked_bundle(path, organizer=organizer) as bundle:
        if bundle.plan is None or bundle.root is None:
            raise BundleRefused(bundle.findings)
        plan = bundle.plan
        slug = slugify(slug or plan.title)[:80] or "competition"
        if Competition.objects.filter(slug=slug).exists():  # early, before anything is stored; the database has it too
            raise _slug_taken(slug)
        artifacts = {folder: store_folder(folder) for folder in sorted(_folders(plan))}
        original = store_folder(bundle.root) if path.is_dir() else store(path, form=Form.ZIP)
        queues = sorted({phase.queue for phase in plan.phases})
        creation = Creation(plan, artifacts)
        made = _create(creation, slug=slug, organizer=organizer, bundle=original, publish=publish, queues=queues)
        return made, bundle.findings


def _create(
    creation: Creation, *, slug: str, organizer: User, bundle: Artifact, publish: bool, queues: Sequence[str]
) -> Competition:
    try:
        with transaction.atomic():
            for queue in queues:
                hold_usable_queue(queue, user=organizer)
            competition = creation.create(slug=slug, organizer=organizer, bundle=bundle, published=publish)
            record_event(competition, "competition.created", actor=organizer, data={"bundle": bundle.digest})
            if publish:
                record_event(competition, "competition.published", actor=organizer)
    except IntegrityError as error:
        if Competition.objects.filter(slug=slug).exists():
            raise _slug_taken(slug) from error
        raise
    return competition


def _slug_taken(slug: str) -> SlugTaken:
    return SlugTaken(f"A competition named '{slug}' exists; choose another name with --slug.")


def _folders(plan: CompetitionPlan) -> set[Path]:
    """Every folder that becomes an artifact."""
    of_tasks = {p for t in plan.tasks for p in (t.environment, t.input_data, t.reference_data)}
    of_programs = {program.folder for task in plan.tasks for program in task.programs}
    of_phases = {p for phase in plan.phases for p in (phase.kit, phase.public_data)}
    return {folder for folder in of_tasks | of_programs | of_phases if folder is not None}


def publish(competition: Competition, *, actor: User) -> None:
    """Show a competition to everybody; again changes nothing. Emits ``competition.published``.

    Raises:
        NotOrganizer
    """
    must_organize(actor, competition)
    with transaction.atomic():
        if Competition.objects.filter(pk=competition.pk, published=False).update(published=True):
            record_event(competition, "competition.published", actor=actor)
    competition.published = True


def join(competition: Competition, *, user: User, terms_accepted: bool) -> Participation:
    """Join a competition; joining again changes nothing. Open ones approve at once.

    Emits ``participation.approved`` or ``participation.pending``.

    Raises:
        TermsNotAccepted, CannotJoin
    """
    if not terms_accepted:
        raise TermsNotAccepted("Accept the terms of the competition to join it.")
    state = ParticipationState.APPROVED if competition.registration_auto_approve else ParticipationState.PENDING
    with transaction.atomic():
        participation, created = Participation.objects.get_or_create(
            competition=competition, user=user, defaults={"state": state, "terms_accepted_at": timezone.now()}
        )
        if created:
            record_event(participation, f"participation.{state}", actor=user, after=state)
    if participation.state == ParticipationState.DENIED:
        raise CannotJoin("The organizer denied your participation. Write to the organizer if this is a mistake.")
    return participation


@transaction.atomic
def decide_participations(participations: Sequence[Participation], *, approve: bool, actor: User) -> None:
    """Approve or deny these participations, also those that were decided before. Where one fails, none is changed.

    Locks their rows in one order. Emits ``participation.approved`` or ``participation.denied``.

    Raises:
        NotOrganizer
    """
    state = ParticipationState.APPROVED if approve else ParticipationState.DENIED
    for participation in sorted(participations, key=lambda one: one.pk):
        must_organize(actor, participation.competition)
        # Held, so that a submission that is being received sees the one state or the other.
        row = Participation.objects.select_for_update().get(pk=participation.pk)
        if row.state != state:
            record_event(row, f"participation.{state}", actor=actor, before=row.state, after=state)
            row.state = state
            row.save(update_fields=["state"])


def errors_of(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that keep a bundle out."""
    return [finding for finding in findings if finding.level == "error"]
