"""Workers of an organizer's own queue, on hosts that reach the site's port and nothing else of the platform."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from docker_engine import docker_engine
from leftovers import finished_once
from model_server import KEY
from own_workers import SITE_PORT, OwnWorkers, own_workers, queued
from pydantic import SecretStr

PARTS = Path(__file__).parent / "parts"
STAND_INS = Path(__file__).parents[1] / "stand_ins"
SCENARIOS = 4
TEXTS = {f"scenario-{number}": f"What is the value of {number}?" for number in range(SCENARIOS)}
# Right at all but one of the scenarios.
AGENT = """
value = episode.call("look_up")["value"]
return f"It is {value}.", {"value": value + (2 if episode.text.endswith("0?") else 0)}
"""
SLOW = """
time.sleep(1)
value = episode.call("look_up")["value"]
return f"It is {value}.", {"value": value}
"""
RESULTS_MANIFEST = """\
version: 2
title: Said
terms: terms.md
registration_auto_approve: true
pages: [{title: Overview, file: terms.md}]
tasks:
  - {index: 0, name: Said, scoring_program: scoring, reference_data: reference, scorer_image: gauntlet/agent}
phases:
  - {index: 0, name: Only, start: 2024-01-01, tasks: [0]}
leaderboards:
  - {title: Results, key: main, columns: [{title: Length, key: length, index: 0}]}
"""
RESULTS_FILES = {
    "competition.yaml": RESULTS_MANIFEST,
    "terms.md": "Be fair.\n",
    "scoring/metadata": "command: python3 score.py\n",
    "scoring/score.py": "import json\nsaid = open('/app/input/res/said.txt').read()\n"
    "json.dump({'length': len(said)}, open('/app/output/scores.json', 'w'))\n",
    "reference/truth.txt": "yes\n",
}
# Says what is right from the records and the ground truth, with nothing but Python.
RIGHT = {
    "right/metadata.yaml": "command: python score.py\n",
    "right/score.py": """
import json, pathlib
lines = lambda path: [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
truth = lines("/app/input/ref/ground_truth.jsonl")
truths = {one["id"]: one["checks"]["result_verification"][0]["value"] for one in truth}
rows = []
for episode in lines("/app/input/res/episodes.jsonl"):
    record = lines("/app/input/res/" + episode["trajectory"])
    (said,) = [event["data"]["value"] for event in record if event["kind"] == "answer"]
    right = float(said == truths[episode["scenario"]])
    rows.append({"scenario": episode["scenario"], "trial": episode["trial"], "scores": {"score": right}})
out = pathlib.Path("/app/output")
(out / "scenarios.jsonl").write_text("".join(json.dumps(row) + chr(10) for row in rows))
(out / "scores.json").write_text(json.dumps({"score": sum(row["scores"]["score"] for row in rows) / len(rows)}))
""",
}
MODELS = """\
    llm:
      models: [small]
      provider: mine
      per_episode: {tokens: 50000}
"""
MODEL_AGENT = """
import json, os, urllib.request
value = episode.call("look_up")["value"]
body = json.dumps({"model": "small", "messages": [{"role": "user", "content": f"Is it {value}?"}]}).encode()
request = urllib.request.Request(os.environ["GAUNTLET_LLM_URL"] + "/chat/completions", data=body)
request.add_header("Content-Type", "application/json")
said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
return f"{value}: {said}", {"value": value}
"""
OPERATORS_KEY = "sk-the-operators-own-key-0815"


@pytest.fixture
def far(platform: Any, tmp_path: Path) -> Iterator[OwnWorkers]:
    """The platform with a worker of its own, and two hosts without workers."""
    with own_workers(platform, tmp_path, "host-a", "host-b") as made:
        yield made


@pytest.fixture
def small(far: OwnWorkers, workshop: Any, small_task: Any) -> Any:
    """A competition whose jobs wait for the organizer's own workers."""
    return far.competition(workshop, [small_task(TEXTS)], [(0, "full")])


def scores_of(evaluation: Any) -> Any:
    """All that came out: of the whole, and of each scenario."""
    from gauntlet.evaluation.models import ScenarioScore

    rows = ScenarioScore.objects.filter(episode__evaluation=evaluation)
    return (
        sorted(evaluation.scores.values_list("key", "value")),
        sorted(rows.values_list("episode__scenario__key", "key", "value")),
        sorted(evaluation.episodes.values_list("scenario__key", "outcome", "steps", "tool_calls")),
    )


def workers_of(submission: str) -> set[str]:
    """The hosts that did a submission's jobs."""
    from gauntlet.evaluation.models import Job

    names = Job.objects.filter(evaluation__submission=submission).values_list("worker", flat=True)
    return {next(host for host in ("host-a", "host-b", "") if host in name) for name in names}


def peers(members: list[psutil.Process]) -> set[tuple[str, int]]:
    """Who they and all that they started are connected to over the network, but for this host itself."""
    found = set()
    for process in {one for member in members for one in [member, *member.children(recursive=True)]}:
        with suppress(psutil.NoSuchProcess):
            found |= {tuple(each.raddr) for each in process.net_connections("inet") if each.raddr}
    return {(address, port) for address, port in found if not address.startswith("127.")}


def results() -> bytes:
    """An upload of results."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("said.txt", "some words")
    return content.getvalue()


@pytest.mark.parametrize("backend", ["bubblewrap", "docker"])
def test_scores_are_those_of_the_platforms_own_workers(
    platform: Any, far: OwnWorkers, workshop: Any, small_task: Any, backend: str
) -> None:
    platform.start()
    with docker_engine() as why_not:
        assert why_not is None, why_not
        host = far.hosts[0]
        _, token = far.issue()
        worker = far.start(host, token, sandbox=backend)
        ada = platform.person("ada")
        found = {}
        for queue in ("default", far.queue.name):
            task = small_task(TEXTS, programs="right", scorer_image="gauntlet/agent")  # which every engine has here
            written = workshop.written([task], [(0, "full")])
            bundle = queued(written, queue=queue, files=RIGHT, column="right.score")
            agent = ada.submit(workshop.imported(bundle, far.organizer), 0, workshop.agent(AGENT))
            said = queued(workshop.next_folder(), queue=queue, files=RESULTS_FILES)
            result = ada.submit(workshop.imported(said, far.organizer), 0, results())
            found[queue] = [platform.wait_for_end(submission) for submission in (agent, result)]
            assert [one.state for one in found[queue]] == ["finished"] * 2, far.log(worker)
            hosts = {host.name} if queue == far.queue.name else {""}
            assert (workers_of(agent), workers_of(result)) == (hosts, hosts)
            if queue == far.queue.name:
                assert peers(far.members(worker)) <= {(host.hub_address, SITE_PORT)}
        scores = [[scores_of(one) for one in ours] for ours in found.values()]
        assert scores[0] == scores[1]
        assert dict(scores[1][0][0]) == {"right.score": 1 - 1 / SCENARIOS}
        assert dict(scores[1][1][0]) == {"scoring.length": 10.0}
        episodes = found[far.queue.name][0].episodes.all()
        assert all(episode.trajectory_id for episode in episodes)
        assert far.secrets[0] not in far.log(worker)


@pytest.mark.chaos
def test_a_worker_that_was_killed_is_followed_by_another_and_scored_once(
    platform: Any, far: OwnWorkers, small: Any, workshop: Any, wait_until: Callable[..., Any]
) -> None:
    platform.start()
    _, token = far.issue()
    first = far.start(far.hosts[0], token)
    submission = platform.person("ada").submit(small, 0, workshop.agent(SLOW))
    job = platform.wait_for_job(submission, done=1)
    held = job.attempt
    far.kill(first, wait_until)
    far.start(far.hosts[1], token)
    finished = platform.wait_for_end(submission)
    finished_once(submission, scenarios=SCENARIOS)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", held + 1)
    assert finished.jobs.filter(worker__contains="host-b").exists()

    left = far.folder / "host-a"
    assert list(left.glob("jobs/*/*")), "the test killed nothing that had begun"
    heir = far.start(far.hosts[0], token, "--once")
    assert far.processes.running[heir].wait(60) == 0
    assert list(left.glob("jobs/*/*")) == []
    assert [path for path in left.glob("sandbox/runs/*") if path.is_dir()] == []


@pytest.mark.chaos
def test_a_worker_that_is_cut_off_loses_its_job_and_works_again_when_it_is_back(
    platform: Any, far: OwnWorkers, small: Any, workshop: Any, wait_until: Callable[..., Any]
) -> None:
    platform.start()
    _, token = far.issue()
    first = far.start(far.hosts[0], token)
    ada = platform.person("ada")
    submission = ada.submit(small, 0, workshop.agent(SLOW))
    job = platform.wait_for_job(submission, done=1)
    held = job.attempt
    far.hosts[0].cut()
    second = far.start(far.hosts[1], token)
    platform.wait_for_end(submission)
    finished_once(submission, scenarios=SCENARIOS)
    far.hosts[0].mend()
    wait_until(lambda: "site_answers_again" in far.log(first))
    wait_until(lambda: any("job_ended" in line and "lost" in line for line in far.log(first).splitlines()))
    far.kill(second, wait_until)
    assert platform.wait_for_end(ada.submit(small, 0, workshop.agent(AGENT))).state == "finished"
    finished_once(submission, scenarios=SCENARIOS)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", held + 1)


@pytest.mark.chaos
def test_a_revoked_tokens_job_goes_to_another_worker_and_its_result_is_refused(
    platform: Any, far: OwnWorkers, small: Any, workshop: Any, wait_until: Callable[..., Any]
) -> None:
    from gauntlet.queues.services import revoke_token

    platform.start()
    token, file = far.issue("lost")
    first = far.start(far.hosts[0], file)
    submission = platform.person("ada").submit(small, 0, workshop.agent(SLOW))
    job = platform.wait_for_job(submission, done=1)
    held = job.attempt
    revoke_token(token, actor=far.organizer)
    process = far.processes.running[first]
    wait_until(lambda: process.poll() is not None)
    assert "The site does not accept this worker's token" in far.log(first).splitlines()[-1]

    _, another = far.issue("found")
    far.start(far.hosts[1], another)
    platform.wait_for_end(submission)
    finished_once(submission, scenarios=SCENARIOS)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", held)  # nobody's fault: the attempt was given back
    assert workers_of(submission) == {"host-b"}


def test_an_agent_calls_the_models_of_the_organizers_own_provider(
    platform: Any, far: OwnWorkers, workshop: Any, small_task: Any, wait_until: Callable[..., Any]
) -> None:
    """It is called from the worker's machine, and the key is nowhere on its disk, nor in what it says."""
    from gauntlet.metering.services import set_provider

    platform.start()
    host, address = far.hosts[0], "9.9.9.9"  # a public one, in a network of the test's own
    host.add_address(address)
    program = ("env", f"PYTHONPATH={STAND_INS}", sys.executable, str(PARTS / "far_provider.py"), address)
    far.processes.start("provider", host.command(*program))
    wait_until(lambda: "at http" in far.log("provider"))
    url = far.log("provider").split()[1]
    competition = far.competition(workshop, [small_task(TEXTS)], [(0, "full")], phase=MODELS)
    provider = set_provider(competition=competition, name="mine", url=url, key=SecretStr(KEY), trusted=True)
    # Organizers name addresses with https only; here no certificate authority is known that would vouch for one.
    type(provider).objects.update(trusted=False)
    _, token = far.issue()
    worker = far.start(host, token)
    evaluation = platform.wait_for_end(platform.person("ada").submit(competition, 0, workshop.agent(MODEL_AGENT)))
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    assert far.log("provider").count("asked small") == SCENARIOS
    assert {one.model_calls for one in evaluation.episodes.all()} == {1}
    wait_until(lambda: not any((far.folder / host.name / "jobs").glob("*/*")))  # the last job's files go with it
    kept = [path for path in (far.folder / host.name).rglob("*") if path.is_file()]
    kept += [far.processes.logs / f"{worker}.log"]
    assert [path for path in kept if KEY.encode() in path.read_bytes()] == []


def test_an_operators_key_never_leaves_the_platforms_machines(
    platform: Any, workshop: Any, small_task: Any, settings: Any, tmp_path: Path
) -> None:
    from gauntlet.metering.configuration import read_prices, read_providers

    providers = {"mine": {"url": "http://127.0.0.1:9/v1", "key": OPERATORS_KEY}}
    prices = {"small": {"in": "0.15", "out": "0.60"}}
    settings.MODEL_PROVIDERS, settings.MODEL_PRICES = read_providers(providers), read_prices(prices)
    platform.configure(MODEL_PROVIDERS=json.dumps(providers), MODEL_PRICES=json.dumps(prices))
    platform.start()
    with own_workers(platform, tmp_path, "host-a") as far:
        competition = far.competition(workshop, [small_task(TEXTS)], [(0, "full")], phase=MODELS)
        _, token = far.issue()
        worker = far.start(far.hosts[0], token)
        evaluation = platform.wait_for_end(platform.person("ada").submit(competition, 0, workshop.agent(MODEL_AGENT)))
        assert (evaluation.state, evaluation.failure_code) == ("failed", "environment_error")
        assert "is the operator's" in evaluation.failure_message
        assert OPERATORS_KEY not in far.log(worker)
