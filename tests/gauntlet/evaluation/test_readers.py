"""Readers who ask all the time while a submission goes through all that can happen to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.db.models.functions import Now
from django.test import Client, RequestFactory

from gauntlet.competitions.models import Phase
from gauntlet.evaluation import api, claims
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.services import cancel_submission, start_evaluations
from gauntlet.submissions import checks
from gauntlet.submissions.models import Submission
from gauntlet_runtime.jobs import Claim, Failure, JobEvent, RunResult, RunSpec
from gauntlet_scoring.failures import FailureCode

if TYPE_CHECKING:
    from tests.gauntlet.evaluation.conftest import FakeWorker

pytestmark = pytest.mark.django_db(transaction=True)

ORDER = ("received", "checking", "queued", "running", "scoring", "finished", "failed", "cancelled")
FAILURE = Failure(code=FailureCode.INFRASTRUCTURE, message="The sandbox could not be started.")


@dataclass
class Reader:
    """Asks one thing again and again; what it was told, in order."""

    ask: Callable[[], tuple[str, int, bool] | None]  # status, episodes that are done, whether there are scores
    told: list[tuple[str, int, bool]] = field(default_factory=list)
    error: BaseException | None = None

    def run(self, over: threading.Event) -> None:
        try:
            while True:
                last = over.is_set()  # once more after the end
                if (told := self.ask()) is not None:
                    self.told.append(told)
                if last:
                    return
        except BaseException as error:  # noqa: BLE001 - told by the test
            self.error = error
        finally:
            connection.close()


def _of_story(story: dict[str, Any]) -> tuple[str, int, bool]:
    finished = [one for one in story["evaluations"] if one["state"] == "finished"]
    assert all(one["ended_at"] and one["episodes"] for one in finished)
    assert story["final"] == (story["status"] in ("rejected", "finished", "failed", "cancelled"))
    done = sum(one["episodes_done"] for one in story["evaluations"])
    return story["status"], done, any(score["value"] is not None for score in story["scores"])


class Readers:
    """Of a submission: its story, its page, the list, and live events."""

    def __init__(self, submission: Submission) -> None:
        self.pk, self.user = submission.pk, submission.participant
        self.all = {name: Reader(self._asking(name)) for name in ("story", "page", "list", "events")}

    @contextmanager
    def asking(self) -> Iterator[None]:
        over = threading.Event()
        threads = [threading.Thread(target=one.run, args=[over]) for one in self.all.values()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(120)

    def _asking(self, name: str) -> Callable[[], tuple[str, int, bool] | None]:
        client = Client(raise_request_exception=True)
        client.force_login(self.user)

        def get(address: str) -> Any:
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.status_code)
            return answer

        def story() -> tuple[str, int, bool]:
            return _of_story(get(f"/api/v1/submissions/{self.pk}").json())

        def page() -> None:
            get(f"/submissions/{self.pk}/")

        def listed() -> tuple[str, int, bool]:
            (row,) = get("/api/v1/submissions").json()["results"]
            return row["status"], 0, row["status"] == "finished"

        told: list[Any] = []
        request = RequestFactory().get("/")
        request.session = client.session

        def events() -> tuple[str, int, bool]:
            if told:
                told[:] = [async_to_sync(api._told_anew)(request, self.pk, told[0])]
            else:
                told[:] = [async_to_sync(api._tell)(self.user, self.pk)]
            return _of_story(json.loads(told[0].payload))

        return {"story": story, "page": page, "list": listed, "events": events}[name]


@dataclass
class Course:
    """All that happens to a submission of two tasks, with workers that are lost at each step."""

    submission: Submission
    worker: FakeWorker

    def check(self) -> None:
        with checks._claimed() as claimed:
            assert claimed is not None
            checks.put_back(claimed, reason="The checker died.")
        Submission.objects.update(check_started_at=None)
        assert checks.check_next(sandbox=None, on_accept=start_evaluations)  # type: ignore[arg-type]

    def claim(self) -> Claim | None:
        Job.objects.filter(state="ready").update(available_at=Now(), avoided_until=None)
        return self.worker.claim()

    def lose(self, claim: Claim) -> None:
        Job.objects.filter(pk=UUID(claim.job)).update(leased_until=Now())
        claims.sweep()

    def step(self) -> bool:
        """One job, of which the first two workers are lost."""
        claim = self.claim()
        if claim is None:
            return False
        self.tell(claim)
        self.lose(claim)
        claim = self.claim()
        assert claim is not None
        self.tell(claim)
        self.worker.source.give_back(claim, FAILURE)
        claim = self.claim()
        assert claim is not None
        self.tell(claim)
        self.worker.source.finish(
            claim, self.worker.run(claim) if isinstance(claim.spec, RunSpec) else self.worker.scores(claim)
        )
        return True

    def tell(self, claim: Claim) -> None:
        if isinstance(claim.spec, RunSpec):
            self.worker.source.report(claim, JobEvent.AGENT_STARTED, {})
            for one in claim.spec.episodes:
                self.worker.source.report(claim, JobEvent.EPISODE_STARTED, {"episode": one.episode})
                self.worker.source.report(claim, JobEvent.EPISODE_ENDED, {"episode": one.episode})

    def finished(self) -> None:
        while self.step():
            pass

    def cancelled(self) -> None:
        self.step()
        assert self.claim() is not None
        assert cancel_submission(self.submission, actor=self.submission.participant) == 2

    def failed(self) -> None:
        self.step()
        while (claim := self.claim()) is not None:
            broken = Failure(code=FailureCode.AGENT_ERROR, message="It crashed.")
            if isinstance(claim.spec, RunSpec):
                self.worker.source.finish(claim, RunResult(episodes=[], failure=broken))
            else:
                self.worker.source.finish(claim, self.worker.scores(claim))


@pytest.fixture
def submission(make_phase: Callable[..., Phase], make_submission: Any, agent_zip: bytes, make_artifact: Any) -> Any:
    """Just received, to a phase with two tasks of which its owner sees all."""
    phase = make_phase(visibility="full", public=True)
    other = make_phase(competition=phase.competition)
    phase.tasks.add(other.tasks.get())
    return make_submission(
        phase, state="received", bundle=make_artifact(agent_zip), agent_bundle=None, checked_at=None, agent={}
    )


@pytest.fixture
def agent_zip() -> bytes:
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("agent.yaml", "name: x\ncommand: python agent.py\n")
        archive.writestr("agent.py", "")
    return out.getvalue()


@pytest.mark.parametrize("end", ["finished", "cancelled", "failed"])
def test_nobody_is_told_what_goes_backwards_or_is_finished_before_its_score(
    end: str, submission: Submission, worker: FakeWorker, settings: Any
) -> None:
    settings.RUN_SLICE = 1
    readers, course = Readers(submission), Course(submission, worker)
    with readers.asking():
        course.check()
        getattr(course, end)()
    for name, reader in readers.all.items():
        assert reader.error is None, (name, reader.error)
        if name == "page":
            continue
        assert reader.told[-1][0] == end, name
        statuses = [ORDER.index(status) for status, _, _ in reader.told]
        assert statuses == sorted(statuses), name
        done = [number for _, number, _ in reader.told]
        assert done == sorted(done), name
        assert all(scored == (status == "finished") for status, _, scored in reader.told), name
