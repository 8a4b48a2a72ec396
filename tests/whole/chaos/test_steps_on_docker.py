"""Workers are killed while their containers run: the containers are removed, and the work is done again, once."""

from __future__ import annotations

from typing import Any

import docker
import pytest
from docker_engine import docker_engine
from doomed_plans import Aftermath, attempts, submit, work_off
from leftovers import Remains

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

#: Those at which an engine has something, or nothing yet, of the job: files and rows are the same in both sandboxes.
STEPS = (
    *("claimed", "gateway started", "environment up", "agent started", "episode open", "results before the commit"),
    *("scorer started", "scores before the commit"),
)
QUICK = 'return "done", {"value": episode.call("look_up")["value"]}'
SCORER = """
import json
json.dump({"patience": 1}, open("/app/output/scores.json", "w"))
"""


@pytest.fixture(scope="module")
def engine() -> Any:
    """The host's engine, or one that is stopped afterwards."""
    with docker_engine() as why_not:
        assert why_not is None, why_not
        yield docker.from_env()


@pytest.fixture(scope="module")
def aftermath(
    installation: Any, emptied: None, engine: Any, module_workshop: Any, small_task: Any, tmp_path_factory: Any
) -> Aftermath:
    """A submission for each step."""
    from gauntlet.accounts.models import User
    from gauntlet.competitions.services import join

    task = small_task({"scenario-0": "What?"}, programs="quick", scorer_image="gauntlet/agent")
    organizer = User.objects.create_user("organizer", "organizer@example.org", "a long pass phrase")
    bundle = module_workshop.written([task], [(0, "full")])
    (bundle / "quick").mkdir()
    (bundle / "quick/metadata.yaml").write_text("command: python score.py\n")
    (bundle / "quick/score.py").write_text(SCORER)
    manifest = bundle / "competition.yaml"
    manifest.write_text(manifest.read_text().replace("rubric.score, interval: bootstrap", "quick.patience"))
    competition = module_workshop.imported(bundle, organizer)
    submissions = {}
    for number, step in enumerate(STEPS):
        person = User.objects.create_user(f"user{number}", f"user{number}@example.org", "a long pass phrase")
        join(competition, user=person, terms_accepted=True)
        submissions[step] = submit(competition.phases.get(), person, module_workshop.agent(QUICK))
    entries = [{"submission": str(submissions[step].pk), "step": step, "how": "die"} for step in STEPS]
    told, living = work_off(installation, tmp_path_factory.mktemp("doomed"), entries, SANDBOX="docker")
    return Aftermath(submissions, told, living)


@pytest.mark.parametrize("step", STEPS)
def test_a_job_whose_worker_died_is_done_again_and_counts_once(aftermath, step):
    submission, told = aftermath.of(step)
    evaluation = submission.evaluations.get()
    assert told["deaths"] == 1
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    assert [score.value for score in evaluation.scores.all()] == [1.0]
    assert attempts(submission) == [1, 2]


def test_no_container_and_nothing_else_is_left(aftermath, installation, engine):
    names = [f"job-{job}" for submission in aftermath.submissions.values() for job in jobs_of(submission)]
    labels = [str(one.labels) for one in engine.containers.list(all=True)]
    assert [label for label in labels if any(name in label for name in names)] == []
    assert aftermath.living == []
    assert Remains(installation.var).found() == []


def jobs_of(submission: Any) -> list[Any]:
    """The ids of its jobs."""
    return [job.pk for evaluation in submission.evaluations.all() for job in evaluation.jobs.all()]
