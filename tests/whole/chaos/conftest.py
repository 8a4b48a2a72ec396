"""One small competition, an agent that takes its time, and what must be true when it is over, whatever was killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCENARIOS = 5
# A second for each scenario: long enough to be killed in, and a kill in it loses work that must be done again.
SLOW = """
time.sleep(1)
value = episode.call("look_up")["value"]
return f"It is {value}.", {"value": value}
"""
# Scores nothing for as long as the test needs to find it at work.
SLOW_SCORER = """
import json, time
time.sleep(3)
json.dump({"patience": 1}, open("/app/output/scores.json", "w"))
"""


@pytest.fixture
def competition(platform: Any, workshop: Any, small_task: Any) -> Any:
    """A competition with a handful of scenarios; its first phase is scored at once, its second slowly."""
    texts = {f"scenario-{number}": f"What is the value of {number}?" for number in range(SCENARIOS)}
    tasks = [small_task(texts), small_task(texts, programs="rubric, slow")]
    return workshop.competition(
        platform.person("organizer").user,
        tasks,
        [(0, "full"), (1, "full")],
        programs={"slow": {"metadata.yaml": "command: python score.py\n", "score.py": SLOW_SCORER}},
    )


@pytest.fixture
def slow_agent(workshop: Any) -> bytes:
    """The bundle of an agent that is right, and slow."""
    return workshop.agent(SLOW)


@pytest.fixture
def assert_finished_once(platform: Any) -> Callable[[str], None]:
    """The submission was finished once and scored once, with every episode, each once, and all of them right."""

    def check(submission: str) -> None:
        from gauntlet.accounts.models import Event
        from gauntlet.evaluation.models import Evaluation, ScenarioScore
        from gauntlet.leaderboards.models import ColumnValue, Entry

        evaluation = platform.wait_for_end(submission)
        assert (evaluation.state, evaluation.failure_message) == ("finished", "")
        assert Evaluation.objects.filter(submission=submission).count() == 1
        finished = Event.objects.filter(subject_id=str(evaluation.pk), name="evaluation.finished")
        assert finished.count() == 1
        episodes = list(evaluation.episodes.values_list("scenario__key", "outcome"))
        assert sorted(episodes) == [(f"scenario-{number}", "answered") for number in range(SCENARIOS)]
        assert evaluation.episodes_done == SCENARIOS
        keys = list(evaluation.scores.values_list("key", flat=True))
        assert len(keys) == len(set(keys)) > 0
        assert evaluation.scores.get(key="rubric.score").value == 1.0
        rows = ScenarioScore.objects.filter(episode__evaluation=evaluation, key="rubric.score")
        assert rows.count() == SCENARIOS
        assert Entry.objects.filter(submission=submission).count() == 1
        assert ColumnValue.objects.filter(submission=submission).count() == 1
        assert not evaluation.jobs.filter(state__in=["ready", "leased", "lost"]).exists()

    return check


class Remains:
    """What a sandbox or a job can leave on this host."""

    def __init__(self, var: Path) -> None:
        self._var = var

    def found(self, *, but: str = "") -> list[str]:
        """Everything that is there of this installation's sandboxes and jobs; ``but`` leaves out a living worker's."""
        runs = [path for path in (self._var / "sandbox" / "runs").glob("*") if path.is_dir()]
        names = [run.name for run in runs]
        jobs = [path for path in (self._var / "work" / "jobs").glob("*/*") if not but or not path.match(f"{but}-*/*")]
        groups = [path for path in Path("/sys/fs/cgroup").glob("**/gauntlet/job-*") if self._is_ours(path)]
        leases = [path for path in (self._var / "sandbox" / "uids").glob("*") if path.stat().st_size]
        mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(self._var) in line]
        return [*names, *map(str, jobs), *map(str, groups), *map(str, leases), *mounts]

    def _is_ours(self, group: Path) -> bool:
        from gauntlet.evaluation.models import Job

        return any(f"job-{pk}" in group.name for pk in Job.objects.values_list("pk", flat=True))


@pytest.fixture
def remains(platform: Any) -> Remains:
    """Looks for what was left behind."""
    return Remains(platform.installation.var)
