"""What must be true when everything that died is replaced: finished and scored once, and nothing left on the host."""

from __future__ import annotations

import glob
from pathlib import Path

from gauntlet_runtime.zoo.leftovers import control_groups


def finished_once(submission: str, *, scenarios: int) -> None:
    """The submission was finished once and scored once, with every episode, each once, and all of them right."""
    from gauntlet.accounts.models import Event
    from gauntlet.evaluation.models import Evaluation, ScenarioScore
    from gauntlet.leaderboards.models import ColumnValue, Entry

    evaluation = Evaluation.objects.get(submission=submission)
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    finished = Event.objects.filter(subject_id=str(evaluation.pk), name="evaluation.finished")
    assert finished.count() == 1
    episodes = list(evaluation.episodes.values_list("scenario__key", "outcome"))
    assert sorted(episodes) == [(f"scenario-{number}", "answered") for number in range(scenarios)]
    assert evaluation.episodes_done == scenarios
    keys = list(evaluation.scores.values_list("key", flat=True))
    assert len(keys) == len(set(keys)) > 0
    assert evaluation.scores.get(key="rubric.score").value == 1.0
    rows = ScenarioScore.objects.filter(episode__evaluation=evaluation, key="rubric.score")
    assert rows.count() == scenarios
    assert Entry.objects.filter(submission=submission).count() == 1
    assert ColumnValue.objects.filter(submission=submission).count() == 1
    assert not evaluation.jobs.filter(state__in=["ready", "leased", "lost"]).exists()


class Remains:
    """What a sandbox or a job can leave on this host."""

    def __init__(self, var: Path) -> None:
        self._var = var

    def found(self, *, but: str = "") -> list[str]:
        """Everything that is there of this installation's sandboxes and jobs; ``but`` leaves out a living worker's."""
        runs = [path for path in (self._var / "sandbox" / "runs").glob("*") if path.is_dir()]
        names = [run.name for run in runs]
        # Not pathlib's, which minds that a living worker removes folders meanwhile.
        jobs = [Path(path) for path in glob.glob(f"{self._var}/work/jobs/*/*", include_hidden=True)]
        jobs = [path for path in jobs if not but or not path.match(f"{but}-*/*")]
        groups = [path for path in control_groups("job-") if self._is_ours(path)]
        leases = [path for path in (self._var / "sandbox" / "uids").glob("*") if path.stat().st_size]
        mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(self._var) in line]
        return [*names, *map(str, jobs), *map(str, groups), *map(str, leases), *mounts]

    def _is_ours(self, group: Path) -> bool:
        from gauntlet.evaluation.models import Job

        return any(f"job-{pk}" in group.name for pk in Job.objects.values_list("pk", flat=True))
