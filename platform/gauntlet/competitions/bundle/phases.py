"""Phases: windows in time with limits, a visibility, and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

from gauntlet.accounts.models import User
from gauntlet.competitions.bundle.document import Section
from gauntlet.competitions.bundle.files import BundleFiles
from gauntlet.competitions.bundle.findings import Place
from gauntlet.competitions.bundle.llm import read_llm
from gauntlet.competitions.bundle.plan import PhasePlan, TaskPlan
from gauntlet.competitions.bundle.queues import read_queue, tell_missing_keys
from gauntlet.competitions.models import Takes, Visibility
from gauntlet_scoring.model_names import same_model

_MOST_TRIALS: Final = 100
_ISOLATION: Final = ("submission", "scenario")
_KEPT: Final = {
    "auto_migrate_to_this_phase": "is kept; submissions are not carried from phase to phase in this version.",
    "hide_prediction_output": "is kept; `visibility` decides what participants see.",
    "accepts_only_result_submissions": "is kept and has no effect, as on Codabench: the phase's tasks decide.",
}


def read_phases(
    root: Section,
    files: BundleFiles,
    *,
    zone: ZoneInfo,
    tasks: Sequence[TaskPlan],
    indexes: set[int],
    organizer: User | None,
) -> tuple[list[PhasePlan], dict[str, object]]:
    """The phases in the order of their indexes, and what is kept of them."""
    queue = read_queue(root, default="default", organizer=organizer)
    found: list[tuple[int, PhasePlan, Place]] = []
    kept: dict[str, object] = {}
    sections = root.sections("phases")
    if not sections:
        root.findings.error(root.where("phases"), "must list at least one phase.")
    for number, section in enumerate(sections):
        index = section.integer("index", default=number, most=32767)
        own = read_queue(section, default=queue, organizer=organizer)
        phase, extras = _phase(section, files, zone=zone, tasks=tasks, indexes=indexes, queue=own)
        if phase:
            found.append((index, phase, section.where("start")))
        if extras:
            kept[str(index)] = extras
        section.close()
    found.sort(key=lambda entry: entry[0])  # stable: equal indexes keep the order of the file, as on Codabench
    _check_order(root, found)
    return [phase for _, phase, _ in found], kept


def _check_order(root: Section, found: Sequence[tuple[int, PhasePlan, Place]]) -> None:
    for (_, earlier, _), (_, later, place) in pairwise(found):
        if later.start < earlier.start:
            root.findings.error(place, f"the phase begins before the one ahead of it ('{earlier.name}').")
        elif earlier.end is None or later.start < earlier.end:
            root.findings.warning(
                place, f"the phase begins while '{earlier.name}' is still open: both take submissions."
            )


def _phase(
    section: Section, files: BundleFiles, *, zone: ZoneInfo, tasks: Sequence[TaskPlan], indexes: set[int], queue: str
) -> tuple[PhasePlan | None, dict[str, object]]:
    start = section.moment("start", zone, required=True)
    end = section.moment("end", zone)
    if start and end and end <= start:
        section.findings.error(section.where("end"), "must be after the start.")
        return None, {}
    wanted = _tasks(section, indexes)
    hidden = any(task.hidden for task in tasks if task.index in wanted)
    visibility = _visibility(section, hidden=hidden)
    reveal_at = _reveal_at(section, zone, visibility=visibility)
    trials = section.integer("trials", default=1, least=1, most=_MOST_TRIALS)
    llm = read_llm(section)
    judged = [task for task in tasks if task.index in wanted]
    _check_judges(section, llm, judged)
    providers = [asked["provider"] for asked in (llm, *(task.judge for task in judged)) if asked]
    tell_missing_keys(section, queue, providers=providers)
    phase = PhasePlan(
        name=section.text("name", required=True, longest=256),
        description=section.text("description"),
        start=start or datetime.min.replace(tzinfo=zone),
        end=end,
        tasks=wanted,
        takes=_takes(section, [task for task in tasks if task.index in wanted]),
        queue=queue,
        max_submissions_per_day=_limit(section, "max_submissions_per_day", default=5),
        max_submissions=_limit(section, "max_submissions", default=100),
        max_failed_starts_per_day=_limit(section, "max_failed_starts_per_day", default=10),
        visibility=visibility,
        reveal_at=reveal_at,
        trials=trials,
        isolation=section.choice("isolation", _ISOLATION, default="submission" if trials == 1 else "scenario"),
        max_parallel_episodes=section.integer("max_parallel_episodes", default=1, least=1, most=1000),
        llm=llm,
        execution_time_limit=section.integer("execution_time_limit", default=600, least=1, most=7 * 86400),
        kit=files.folder(section, "starting_kit"),
        public_data=files.folder(section, "public_data"),
    )
    return phase if start else None, section.kept(_KEPT)


def _check_judges(section: Section, llm: dict[str, Any] | None, tasks: Sequence[TaskPlan]) -> None:
    """A model may not judge itself: what judges a task is not among what its agents may call."""
    for task in tasks:
        judge = task.judge["model"] if task.judge else ""
        if own := next((name for name in (llm["models"] if llm else []) if same_model(name, judge)), None):
            message = (
                f"offers {own!r} to agents, and task {task.index} ('{task.name}') is judged by {judge!r}: a model may "
                "not judge its own work. Name another judge, or do not offer this model."
            )
            section.findings.error(section.where("llm"), message)


def _limit(section: Section, key: str, *, default: int) -> int | None:
    """A quota; 0, or nothing after the colon, is no limit, as on Codabench."""
    if section.is_null(key):
        return None
    return section.integer(key, default=default, least=0) or None


def _tasks(section: Section, indexes: set[int]) -> list[int]:
    wanted: list[int] = []
    if section.needed("tasks") is None:
        return wanted
    for value in section.values("tasks"):
        index = value.integer()
        if index is None:
            continue
        if index not in indexes:
            section.findings.error(value.place, f"no task has the index {index}.", allowed=sorted(indexes))
        elif index in wanted:
            section.findings.error(value.place, f"names the task {index} twice.")
        wanted.append(index)
    if not wanted:
        section.findings.error(section.where("tasks"), "must name at least one task.", allowed=sorted(indexes))
    return wanted


def _takes(section: Section, tasks: Sequence[TaskPlan]) -> Takes:
    """What participants submit: one file for all of the phase's tasks."""
    wanted = {task.takes for task in tasks}
    if len(wanted) > 1:
        message = "names tasks that run agents (with an environment) and tasks that score results (without one)."
        section.findings.error(section.where("tasks"), f"{message} Make two phases of them.")
    return min(wanted, default=Takes.AGENTS)


def _visibility(section: Section, *, hidden: bool) -> Visibility:
    """What participants see; without Gauntlet's key Codabench's switches and hidden scenarios decide."""
    hide_output = section.flag("hide_output", default=False)
    hide_scores = section.flag("hide_score_output", default=False)
    if section.get("visibility") is None:
        if hide_scores:
            return Visibility.NONE
        return Visibility.SCORES if hidden or hide_output else Visibility.FULL
    chosen = Visibility(section.choice("visibility", Visibility.values, default=Visibility.SCORES))
    if chosen is Visibility.FULL and hidden:
        message = "what programs print is shown to participants, and can give hidden scenarios or the reference away."
        section.findings.warning(section.where("visibility"), message)
    return chosen


def _reveal_at(section: Section, zone: ZoneInfo, *, visibility: Visibility) -> datetime | None:
    reveal_at = section.moment("reveal_at", zone)
    if reveal_at and visibility is not Visibility.NONE:
        section.findings.warning(section.where("reveal_at"), "has an effect only with `visibility: none`.")
    return reveal_at
