"""Jobs over HTTPS: what a worker sends and gets, and what it makes of every fault on the way."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback_site import LEASE, TOKEN, LoopbackSite
from pydantic import SecretStr
from structlog.testing import capture_logs

from gauntlet_runtime.folders import ArtifactDamaged
from gauntlet_runtime.jobs import (
    Artifact,
    Claim,
    EpisodeResult,
    Failure,
    JobEvent,
    LeaseLost,
    ProgramScores,
    RunResult,
    RunSpec,
    ScoreResult,
    SourceUnavailable,
)
from gauntlet_runtime.lease import Ending, Lease
from gauntlet_runtime.remote import site as site_module
from gauntlet_runtime.remote.errors import SiteAway, SiteFault, Why, WorkerRefused
from gauntlet_runtime.remote.site import Site
from gauntlet_runtime.remote.source import HttpJobSource
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

PATIENCE = (
    *("source.FETCH_PATIENCE", "source.REPORT_PATIENCE", "source.FINISH_PATIENCE", "source.GIVE_BACK_PATIENCE"),
    *("source.HAND_BACK_PATIENCE", "models.ACCESS_PATIENCE"),
)
FAILURE = Failure(code=FailureCode.INFRASTRUCTURE, message="It broke.")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little patience: a fault that stays is known for one soon."""
    for name in PATIENCE:
        monkeypatch.setattr(f"gauntlet_runtime.remote.{name}", 0.3)
    for name in ("_FIRST_PAUSE", "_LOOK_SECONDS"):
        monkeypatch.setattr(site_module, name, 0.02)


def result_with(*trajectories: Path) -> RunResult:
    episodes = [
        EpisodeResult(episode=f"e{number}", outcome=Outcome.ANSWERED, seconds=1.5, trajectory=path)
        for number, path in enumerate(trajectories)
    ]
    return RunResult(episodes=episodes, log="It said hello.")


@pytest.fixture
def trajectories(tmp_path: Path) -> list[Path]:
    """The zips of two episodes; the larger is sent in several pieces."""
    paths = [tmp_path / "e0.zip", tmp_path / "e1.zip"]
    paths[0].write_bytes(b"small")
    paths[1].write_bytes(bytes(range(256)) * 2048)
    return paths


def test_a_job_from_its_claim_to_its_result(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, trajectories: list[Path], tmp_path: Path
) -> None:
    assert claimed.job == "job-1"
    source.renew(claimed)
    source.report(claimed, JobEvent.EPISODE_STARTED, {"episode": "e0"})
    assert isinstance(claimed.spec, RunSpec)
    source.fetch(claimed.spec.agent.bundle, tmp_path / "bundle")
    assert (tmp_path / "bundle").read_bytes() == loopback.artifacts.content[claimed.spec.agent.bundle.digest]

    source.finish(claimed, result_with(*trajectories))
    told = loopback.finished["job-1"]
    assert [episode.trajectory for episode in told.result.episodes] == [None, None]
    assert told.result.log == "It said hello."
    assert [loopback.files[told.trajectories[f"e{n}"].digest] for n in (0, 1)] == [
        path.read_bytes() for path in trajectories
    ]
    assert [told.trajectories[f"e{n}"].size for n in (0, 1)] == [path.stat().st_size for path in trajectories]
    assert [path.partition("/")[2] for _, path, _ in loopback.seen][-1] == "job-1/finish"
    assert loopback.reported[0].event is JobEvent.EPISODE_STARTED
    assert source.claim(queues=[], worker="w:1") is None


def test_a_score_jobs_result_is_sent_whole(loopback: LoopbackSite, source: HttpJobSource, claimed: Claim) -> None:
    program = ProgramScores(key="p", scores={"score": 0.5}, detailed_results="<p>Good</p>")
    source.finish(claimed, ScoreResult(programs=[program]))
    assert loopback.finished["job-1"].result.programs == [program]


def test_a_job_is_given_back_or_handed_back(loopback: LoopbackSite, source: HttpJobSource, plain_spec: RunSpec) -> None:
    for job in ("one", "two"):
        loopback.add(plain_spec, job=job)
    first = source.claim(queues=[], worker="w:1")
    assert first is not None
    source.give_back(first, FAILURE)
    second = source.claim(queues=[], worker="w:1")
    assert second is not None
    source.hand_back(second)
    assert (loopback.given_back, loopback.handed_back) == ({"one": FAILURE}, ["two"])


def calls(source: HttpJobSource, claim: Claim, folder: Path) -> dict[str, Callable[[], Any]]:
    """Every call about a job, by the request that it leads to."""
    assert isinstance(claim.spec, RunSpec)
    bundle = claim.spec.agent.bundle
    trajectory = folder / "trajectory.zip"
    trajectory.write_bytes(b"what happened")
    models = source.models(claim)
    return {
        "renew": lambda: source.renew(claim),
        "report": lambda: source.report(claim, JobEvent.AGENT_STARTED, {}),
        "artifacts": lambda: source.fetch(bundle, folder / "fetched"),
        "files": lambda: source.finish(claim, result_with(trajectory)),
        "finish": lambda: source.finish(claim, RunResult(episodes=[])),
        "give-back": lambda: source.give_back(claim, FAILURE),
        "hand-back": lambda: source.hand_back(claim),
        "access": models.access,
    }


CALLS = ("renew", "report", "artifacts", "files", "finish", "give-back", "hand-back", "access")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("status", [409, 401, 426])
def test_a_job_that_is_not_ours_any_more_is_lost(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, tmp_path: Path, call: str, status: int
) -> None:
    """A token that was revoked meanwhile, too: the worker hears of that when it asks for the next job."""
    loopback.plant(call, status)
    with pytest.raises(LeaseLost):
        calls(source, claimed, tmp_path)[call]()
    assert loopback.faults == []
    assert loopback.finished == {}


@pytest.mark.parametrize("call", [call for call in CALLS if call != "renew"])
@pytest.mark.parametrize("fault", [503, 429, "drop", "lose the answer"])
def test_what_passes_is_tried_again(
    loopback: LoopbackSite,
    source: HttpJobSource,
    claimed: Claim,
    tmp_path: Path,
    call: str,
    fault: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where an answer was lost the site has done it: asked again, it says that the job is over, or does it again."""
    for name in PATIENCE:
        monkeypatch.setattr(f"gauntlet_runtime.remote.{name}", 60.0)
    loopback.plant(call, fault)
    ends = fault == "lose the answer" and call in ("finish", "give-back", "hand-back")
    if ends:
        with pytest.raises(LeaseLost):
            calls(source, claimed, tmp_path)[call]()
    else:
        calls(source, claimed, tmp_path)[call]()
    assert loopback.faults == []
    assert loopback.asked(f"/{call}") == 2


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("fault", [500, 503, 429, "drop", "cut"])
def test_what_does_not_pass_is_told_as_a_source_that_is_away(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, tmp_path: Path, call: str, fault: Any
) -> None:
    loopback.plant(call, *[fault] * 20)
    with pytest.raises(SourceUnavailable):
        calls(source, claimed, tmp_path)[call]()
    assert not (tmp_path / "fetched").exists()
    assert loopback.finished == {}


@pytest.mark.parametrize("fault", [503, "drop", "cut", "garbage"])
def test_a_claim_that_gets_no_answer_is_a_source_that_is_away(
    loopback: LoopbackSite, source: HttpJobSource, fault: Any
) -> None:
    """It is not tried again at once: whoever asks has its own patience, and looks meanwhile whether it is to end."""
    loopback.plant("claims", fault)
    with pytest.raises(SiteAway):
        source.claim(queues=[], worker="w:1")
    assert loopback.asked("claims") == 1
    assert source.claim(queues=[], worker="w:1") is None


@pytest.mark.parametrize(("status", "why"), [(401, Why.TOKEN), (426, Why.OUTDATED)])
def test_a_claim_that_is_refused_ends_the_worker_with_what_to_do(
    loopback: LoopbackSite, source: HttpJobSource, status: int, why: Why
) -> None:
    loopback.plant("claims", status)
    with pytest.raises(WorkerRefused) as refused:
        source.claim(queues=[], worker="w:1")
    assert refused.value.why is why
    assert str(refused.value) == why.sentence


def test_the_site_is_left_alone_for_as_long_as_it_says(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gauntlet_runtime.remote.source.REPORT_PATIENCE", 60.0)
    loopback.plant("report", (503, {"Retry_After": "1"}))
    source.report(claimed, JobEvent.AGENT_STARTED, {})
    first, second = (when for _, path, when in loopback.seen if path.endswith("report"))
    assert second - first >= 1


def test_a_site_that_wants_to_be_left_alone_for_longer_than_the_patience_is_not_asked_again(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim
) -> None:
    loopback.plant("report", (429, {"Retry_After": "3600"}))
    with pytest.raises(SiteAway) as away:
        source.report(claimed, JobEvent.AGENT_STARTED, {})
    assert away.value.after == site_module.LONGEST_PAUSE_SECONDS
    assert loopback.asked("report") == 1


@pytest.mark.parametrize("fault", ["cut", "drop", 503, "wrong bytes"])
def test_an_artifact_is_there_only_once_it_is_right(
    loopback: LoopbackSite,
    source: HttpJobSource,
    claimed: Claim,
    tmp_path: Path,
    fault: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(claimed.spec, RunSpec)
    bundle = claimed.spec.agent.bundle
    monkeypatch.setattr("gauntlet_runtime.remote.source.FETCH_PATIENCE", 60.0)
    (tmp_path / "cache").mkdir()
    loopback.plant("artifacts", fault)
    source.fetch(bundle, tmp_path / "cache" / "fetched")
    assert loopback.asked("artifacts") == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()} == {
        "fetched": loopback.artifacts.content[bundle.digest]
    }


def test_an_artifact_that_stays_wrong_is_damaged(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, tmp_path: Path
) -> None:
    assert isinstance(claimed.spec, RunSpec)
    loopback.plant("artifacts", *["wrong bytes"] * 10)
    with pytest.raises(ArtifactDamaged):
        source.fetch(claimed.spec.agent.bundle, tmp_path / "fetched")
    assert list(tmp_path.iterdir()) == []


def test_an_artifact_of_another_size_is_not_read_to_its_end(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, tmp_path: Path
) -> None:
    assert isinstance(claimed.spec, RunSpec)
    bundle = claimed.spec.agent.bundle
    loopback.artifacts.content[bundle.digest] = b"x" * (8 << 20)
    with pytest.raises(SiteAway, match=f"not of the {bundle.size} bytes"):
        source.fetch(bundle, tmp_path / "fetched")
    assert list(tmp_path.iterdir()) == []


def test_trajectories_that_the_site_has_are_not_sent_again(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, trajectories: list[Path]
) -> None:
    loopback.plant("finish", *[503] * 20)
    with pytest.raises(SourceUnavailable):
        source.finish(claimed, result_with(*trajectories))
    loopback.faults.clear()
    source.finish(claimed, result_with(*trajectories))
    assert loopback.asked("PUT") == 2
    assert set(loopback.finished["job-1"].trajectories) == {"e0", "e1"}


def test_a_request_that_the_site_does_not_take_is_nobodys_absence(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim
) -> None:
    loopback.plant("finish", 413)
    with pytest.raises(SiteFault, match=r"status 413 \(a_code\)"):
        source.finish(claimed, RunResult(episodes=[]))
    assert loopback.asked("finish") == 1


@pytest.mark.parametrize("fault", ["hang", "drip", "drip headers"])
def test_a_site_that_hangs_does_not_outlast_a_lease(
    loopback: LoopbackSite, source: HttpJobSource, plain_spec: RunSpec, fault: str
) -> None:
    """Also one that goes on sending, a byte at a time."""
    loopback.add(plain_spec, lease_seconds=1.5)
    claim = source.claim(queues=[], worker="w:1")
    assert claim is not None
    loopback.plant("renew", *[fault] * 50)
    with Lease(source, claim) as lease:
        assert lease.over.wait(60)
        assert lease.ending is Ending.LOST


@pytest.mark.parametrize("fault", ["hang", "drip", "drip headers"])
def test_a_fetch_that_hangs_ends_when_its_job_is_lost(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, tmp_path: Path, fault: str, wait_until: Any
) -> None:
    large = Artifact(digest="sha256:" + "0" * 64, size=1 << 40)
    loopback.plant("artifacts", fault)
    ended: list[BaseException] = []

    def fetch() -> None:
        try:
            source.fetch(large, tmp_path / "fetched")
        except LeaseLost as error:
            ended.append(error)

    thread = threading.Thread(target=fetch)
    thread.start()
    wait_until(lambda: loopback.asked("artifacts"))
    loopback.held.clear()
    with pytest.raises(LeaseLost):
        source.renew(claimed)
    thread.join(60)
    assert len(ended) == 1


def test_a_fetch_that_hangs_ends_when_the_worker_is_to(
    loopback: LoopbackSite, plain_spec: RunSpec, tmp_path: Path
) -> None:
    loopback.add(plain_spec)
    stop_by = time.monotonic()
    with Site(loopback.url, SecretStr(TOKEN)) as site:
        source = HttpJobSource(site, stop_by=lambda: stop_by)
        claim = source.claim(queues=[], worker="w:1")
        assert claim is not None
        loopback.plant("artifacts", "hang")
        with pytest.raises(LeaseLost):
            source.fetch(plain_spec.agent.bundle, tmp_path / "fetched")
        source.hand_back(claim)
    assert loopback.handed_back == ["job-1"]


def test_threads_ask_at_once(loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, tmp_path: Path) -> None:
    assert isinstance(claimed.spec, RunSpec)
    bundle = claimed.spec.agent.bundle

    def work(number: int) -> None:
        for _ in range(20):
            source.renew(claimed)
            source.report(claimed, JobEvent.EPISODE_STARTED, {"episode": f"e{number}"})
        source.fetch(bundle, tmp_path / f"fetched-{number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (loopback.asked("renew"), len(loopback.reported)) == (160, 160)
    assert len(list(tmp_path.glob("fetched-*"))) == 8


def test_a_site_that_is_away_is_told_of_once(loopback: LoopbackSite, source: HttpJobSource, claimed: Claim) -> None:
    loopback.plant("renew", *["drop"] * 5)
    with capture_logs() as logs:
        for _ in range(5):
            with pytest.raises(SiteAway):
                source.renew(claimed)
        source.renew(claimed)
    assert [line["event"] for line in logs] == ["site_is_away", "site_answers_again"]


@pytest.mark.parametrize("fault", [409, 401, 426, 413, 503, "drop", "cut", "garbage", "wrong bytes"])
def test_no_secret_is_in_what_anybody_reads(
    loopback: LoopbackSite,
    source: HttpJobSource,
    claimed: Claim,
    tmp_path: Path,
    fault: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The site quotes secrets in its refusals here, and its answers hold some."""
    said = [repr(source), repr(claimed), str(claimed), repr(vars(source))]
    for call, ask in calls(source, claimed, tmp_path).items():
        loopback.plant(call, *[fault] * 20)
        try:
            ask()
        except (LeaseLost, SourceUnavailable, SiteFault, ArtifactDamaged):
            said.append(traceback.format_exc())
        loopback.faults.clear()
    said += capsys.readouterr()
    assert [text for text in said if TOKEN in text or LEASE in text] == []


def test_a_claim_that_cannot_be_read_is_quoted_nowhere(
    loopback: LoopbackSite, source: HttpJobSource, plain_spec: RunSpec, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = loopback.add(plain_spec)
    loopback.waiting = [claim.model_copy(update={"job": 7})]
    with pytest.raises(SiteAway) as away:
        source.claim(queues=[], worker="w:1")
    said = "".join(traceback.format_exception(away.value))
    assert "its answer is no Claim" in said
    assert LEASE not in said + "".join(capsys.readouterr())


def test_a_redirect_is_not_followed(loopback: LoopbackSite, source: HttpJobSource, artifacts: Any) -> None:
    """The token goes to one address."""
    elsewhere = LoopbackSite(artifacts)
    try:
        loopback.plant("claims", ("redirect", f"{elsewhere.url}/api/v1/worker/claims"))
        with pytest.raises(SiteAway) as away:
            source.claim(queues=[], worker="w:1")
        assert away.value.hint is Why.NO_SITE
        assert elsewhere.seen == []
    finally:
        elsewhere.close()
