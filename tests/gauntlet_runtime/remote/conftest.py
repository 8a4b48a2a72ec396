"""A worker's way to a site on loopback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback_site import TOKEN, LoopbackSite
from own_authority import Certified, certify
from pydantic import SecretStr

from gauntlet_runtime.jobs import AgentSpec, Claim, EnvironmentSpec, EpisodeSpec, RunSpec
from gauntlet_runtime.metering import ModelOffer, ModelSpec
from gauntlet_runtime.remote.site import Site
from gauntlet_runtime.remote.source import HttpJobSource


@pytest.fixture
def loopback(artifacts: Any) -> Iterator[LoopbackSite]:
    """The site, over plain HTTP."""
    made = LoopbackSite(artifacts)
    yield made
    made.close()


@pytest.fixture
def certified(tmp_path: Path) -> Certified:
    """An authority of the test's own."""
    return certify(tmp_path, "127.0.0.1")


@pytest.fixture
def loopback_tls(artifacts: Any, certified: Certified) -> Iterator[LoopbackSite]:
    """The site, over TLS, with a certificate of the test's own authority."""
    made = LoopbackSite(artifacts, certified=certified)
    yield made
    made.close()


@pytest.fixture
def source(loopback: LoopbackSite) -> Iterator[HttpJobSource]:
    """A worker's way to the site."""
    with Site(loopback.url, SecretStr(TOKEN)) as site:
        yield HttpJobSource(site)


@pytest.fixture
def claimed(loopback: LoopbackSite, source: HttpJobSource, plain_spec: RunSpec) -> Claim:
    """A job that the source holds."""
    loopback.add(plain_spec)
    claim = source.claim(queues=[], worker="w:1")
    assert claim is not None
    return claim


@pytest.fixture
def plain_spec(artifacts: Any) -> RunSpec:
    """A run job of one episode, with a language model."""
    bundle = artifacts.folder({"agent.py": "print('hello')"})
    return RunSpec(
        agent=AgentSpec(bundle=bundle, command=["python", "agent.py"]),
        environment=EnvironmentSpec(program=artifacts.folder({"server.py": "pass"}), command=["python", "server.py"]),
        episodes=[EpisodeSpec(episode="e0", scenario="s0", key="KEY-0", seed=7, text="question")],
        llm=ModelSpec(provider="mine", models=[ModelOffer(name="small")]),
    )


@pytest.fixture
def wait_until() -> Callable[[Callable[[], Any]], Any]:
    """Waits until a condition is true, and gives what made it so."""

    def wait(condition: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + 60
        while not (found := condition()):
            assert time.monotonic() < deadline, "the condition did not come true"
            time.sleep(0.02)
        return found

    return wait
