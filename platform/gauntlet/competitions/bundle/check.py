"""Reading a bundle as a whole: a plan, or every finding that stands in its way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from gauntlet.accounts.models import User
from gauntlet.competitions.bundle.boards import read_boards
from gauntlet.competitions.bundle.document import Section, read_document
from gauntlet.competitions.bundle.files import MANIFEST, BundleFiles, opened_bundle
from gauntlet.competitions.bundle.findings import Finding, Findings, Place, suggestion
from gauntlet.competitions.bundle.phases import read_phases
from gauntlet.competitions.bundle.plan import CompetitionPlan, PagePlan
from gauntlet.competitions.bundle.tasks import read_tasks

_NO_EFFECT: Final = "is kept and has no effect in this version."
_MOST_MEMBERS: Final = 50
_KEPT: Final = {
    "docker_image": "is kept; a task's `sandbox_image` and `scorer_image` say what its programs run in.",
    "fact_sheet": _NO_EFFECT,
    "competition_type": _NO_EFFECT,
    "enable_detailed_results": "is kept; where agents run, a phase's `visibility` decides who sees detailed results.",
    "show_detailed_results_in_submission_panel": "is kept; a phase's `visibility` decides who sees detailed results.",
    "show_detailed_results_in_leaderboard": "is kept; a phase's `visibility` decides who sees detailed results.",
    "auto_run_submissions": _NO_EFFECT,
    "can_participants_make_submissions_public": _NO_EFFECT,
    "make_programs_available": _NO_EFFECT,
    "make_input_data_available": _NO_EFFECT,
    "forum_enabled": _NO_EFFECT,
}


@dataclass(frozen=True)
class CheckedBundle:
    """What a bundle says, while it is open. There is a plan exactly when no finding is an error."""

    plan: CompetitionPlan | None
    findings: list[Finding]
    root: Path | None

    @property
    def errors(self) -> list[Finding]:
        """The findings that keep the bundle out."""
        return [finding for finding in self.findings if finding.level == "error"]


@contextmanager
def checked_bundle(path: Path, *, organizer: User | None = None) -> Iterator[CheckedBundle]:
    """Check a bundle folder or zip; the plan's paths exist while the context lasts.

    Args:
        path: a folder, or a zip of one.
        organizer: who is to import it, whose own queues it may name.
    """
    findings = Findings()
    with opened_bundle(path, findings) as files:
        plan = _read(files, findings, organizer) if files else None
        yield CheckedBundle(
            plan=None if findings.errors else plan, findings=findings.sorted, root=files.root if files else None
        )


def _read(files: BundleFiles, findings: Findings, organizer: User | None) -> CompetitionPlan | None:
    path = files.root / MANIFEST
    if not path.is_file():
        names = [p.name for p in files.root.iterdir() if p.is_file()]
        findings.error(Place(MANIFEST), f"is missing.{suggestion(MANIFEST, names)}")
        return None
    root = read_document(path.read_bytes(), file=MANIFEST, findings=findings)
    if root is None or not _is_version_2(root):
        return None
    plan = _competition(root, files, organizer)
    root.close()
    return plan


def _is_version_2(root: Section) -> bool:
    value = root.get("version")
    if value is not None and value.scalar == "2":
        return True
    message = "must be 2." if value else "is missing: only version 2 of the format can be read."
    root.findings.error(root.where("version"), message, allowed=["2"])
    return False


def _competition(root: Section, files: BundleFiles, organizer: User | None) -> CompetitionPlan:
    zone = _zone(root)
    tasks, indexes, task_extras = read_tasks(root, files)
    phases, phase_extras = read_phases(root, files, zone=zone, tasks=tasks, indexes=indexes, organizer=organizer)
    boards = read_boards(root, tasks, trials=max((phase.trials for phase in phases), default=1))
    if logo := root.get("image"):
        files.file(logo)
    terms = root.needed("terms")
    _check_solutions(root, files, indexes)
    extras: dict[str, Any] = root.kept(_KEPT)
    return CompetitionPlan(
        title=root.text("title", required=True, longest=256),
        description=root.text("description"),
        terms=files.text(terms) if terms else "",
        registration_auto_approve=root.flag("registration_auto_approve", default=False),
        time_zone=zone.key,
        contact_email=_email(root),
        reward=root.text("reward", longest=256),
        max_team_size=root.integer("max_team_size", default=1, least=1, most=_MOST_MEMBERS),
        pages=_pages(root, files),
        tasks=tasks,
        phases=phases,
        boards=boards,
        extras=extras
        | ({"tasks": task_extras} if task_extras else {})
        | ({"phases": phase_extras} if phase_extras else {}),
    )


def _zone(root: Section) -> ZoneInfo:
    """The competition's time zone: in it a day of the quota begins, and dates without an offset are meant."""
    value = root.get("time_zone")
    name = (value.scalar or "") if value else "UTC"
    if value is not None and name not in available_timezones():
        hint = suggestion(name, available_timezones())
        root.findings.error(value.place, f"{name[:60]!r} is no time zone.{hint}", allowed=["such as Europe/Belgrade"])
        return ZoneInfo("UTC")
    return ZoneInfo(name)


def _email(root: Section) -> str:
    address = root.text("contact_email", longest=254)
    if address:
        try:
            validate_email(address)
        except ValidationError:
            root.findings.error(root.where("contact_email"), "is not an e-mail address.")
    return address


def _pages(root: Section, files: BundleFiles) -> list[PagePlan]:
    pages = []
    for section in root.sections("pages"):
        title = section.text("title", required=True, longest=100)
        value = section.needed("file")
        pages.append(PagePlan(title=title, source=files.text(value) if value else ""))
        section.close()
    if not pages:
        root.findings.warning(root.where("pages"), "lists no page; visitors will see the phases and the board only.")
    return pages


def _check_solutions(root: Section, files: BundleFiles, indexes: set[int]) -> None:
    """An organizer's own solutions are checked for being there."""
    for section in root.sections("solutions"):
        if value := section.needed("index"):
            value.integer()
        for task in section.values("tasks"):
            if (index := task.integer()) is not None and index not in indexes:
                root.findings.error(task.place, f"no task has the index {index}.", allowed=sorted(indexes))
        section.get("name"), section.get("description"), section.get("key")
        if path := section.get("path"):
            files.folder_of(path)
        section.close()
