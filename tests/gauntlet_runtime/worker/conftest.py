"""A source of jobs in memory that keeps the fence, and a worker of it."""

from __future__ import annotations

import threading

import pytest

from gauntlet_runtime.jobs import Claim, JobSource, LeaseLost
from gauntlet_runtime.worker import Worker


class Source(JobSource):
    """Jobs in memory; `lost` names the jobs whose token is no longer current."""

    def __init__(self, artifacts):
        self.artifacts = artifacts
        self.waiting = []
        self.finished = {}
        self.given_back = {}
        self.handed_back = []
        self.reported = []
        self.renewed = threading.Event()
        self.lost = set()
        self.lose_at_renewal = False
        self.lease_seconds = 60.0

    def add(self, name, spec):
        self.waiting.append(
            Claim(
                job=name,
                evaluation=f"evaluation-{name}",
                submission="s",
                attempt=1,
                token=f"token-{name}",
                lease_seconds=self.lease_seconds,
                spec=spec,
            )
        )

    def _check(self, claim):
        if claim.job in self.lost:
            raise LeaseLost

    def claim(self, *, queues, worker):
        assert (list(queues), worker) == (["default"], "w1")
        return self.waiting.pop(0) if self.waiting else None

    def renew(self, claim):
        if self.lose_at_renewal:
            self.lost.add(claim.job)
        self._check(claim)
        self.renewed.set()

    def report(self, claim, event, detail):
        self._check(claim)
        self.reported.append((claim.job, event.value, detail.get("episode")))

    def fetch(self, artifact, into):
        self.artifacts.fetch(artifact, into)

    def finish(self, claim, result):
        self._check(claim)
        if claim.spec.kind == "run":
            self.kept = {e.episode: e.trajectory.read_bytes() for e in result.episodes if e.trajectory}
        self.finished[claim.job] = result

    def give_back(self, claim, failure):
        self._check(claim)
        self.given_back[claim.job] = failure

    def hand_back(self, claim):
        self._check(claim)
        self.handed_back.append(claim.job)


@pytest.fixture
def source(artifacts):
    return Source(artifacts)


@pytest.fixture
def worker(source, real_sandbox, gateways, tmp_path):
    with Worker(source, real_sandbox, tmp_path / "worker", ["default"], "w1", gateways=gateways) as made:
        yield made
