"""The job inside its gateway where things meet: agents that end, environments that die, episodes that close."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from gauntlet_runtime.gateway.actions import Actions
from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.job import Job
from gauntlet_runtime.gateway.messages import (
    AgentClosed,
    AgentIdle,
    EpisodeEnded,
    JobSetup,
)
from gauntlet_runtime.jobs import EpisodeLimits, EpisodeSpec
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome, read_events

SERVER = Path(__file__).parents[1] / "run_fixtures/environment/server.py"
SECONDS = 60.0  # after which what should come will not


async def soon(what: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(what, SECONDS)


class Bench:
    """A job in this process, with the notices that it gave and environments without sandboxes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._news = asyncio.Event()
        self.notices: list[Any] = []
        self.environments: dict[int, subprocess.Popen[bytes]] = {}

    def _note(self, notice: Any) -> None:
        self.notices.append(notice)
        self._news.set()

    def begin(self, *keys: str, **given: Any) -> Job:
        setup = {
            "slots": 1,
            "isolation": "submission",
            "probe": False,
            "idle_seconds": SECONDS,
            "grace_seconds": SECONDS,
            "leave_seconds": SECONDS,
            "call_seconds": SECONDS,
            **given,
        }
        episodes = [
            EpisodeSpec(episode=f"e{n}", scenario=f"s{n}", key=key, seed=n, text="?") for n, key in enumerate(keys)
        ]
        self.job = Job(JobSetup(episodes=episodes, limits=EpisodeLimits(), folder=self._folder, **setup), self._note)
        return self.job

    def environment(self, slot: int = 0) -> subprocess.Popen[bytes]:
        """Start the program of this place."""
        program = subprocess.Popen([sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert program.stdin is not None
        assert program.stdout is not None
        self.environments[program.pid] = program
        self.job.environment_up(slot, os.dup(program.stdin.fileno()), os.dup(program.stdout.fileno()))
        program.stdin.close()
        program.stdout.close()
        return program

    async def open(self, generation: int) -> Episode | None:
        opened: Episode | None = await soon(self.job.open_episode(generation))
        return opened

    async def answer(self, episode: Episode) -> None:
        await soon(Actions(self.job).answer(episode, "done", None))

    def crash(self, generation: int) -> asyncio.Task[None]:
        return asyncio.create_task(self.job.agent_ended(generation, FailureCode.AGENT_ERROR, "It crashed."))

    def told(self, kind: type) -> list[Any]:
        return [notice for notice in self.notices if isinstance(notice, kind)]

    async def until_told(self, kind: type) -> None:
        while not self.told(kind):
            await soon(self._news.wait())
            self._news.clear()

    def close(self) -> None:
        for program in self.environments.values():
            program.send_signal(signal.SIGKILL)
            program.wait()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


async def settle() -> None:
    """Let everything run that can run without waiting for a program."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_an_agent_that_ends_while_its_episode_is_being_set_up_leaves_it_to_the_next(bench: Bench) -> None:
    job = bench.begin("A", "B")
    environment = bench.environment()
    job.agent_starting(1)
    first = await bench.open(1)
    assert first is not None
    await bench.answer(first)
    environment.send_signal(signal.SIGSTOP)
    request = asyncio.create_task(job.open_episode(1))
    await settle()
    closing = bench.crash(1)
    await settle()
    if bench.told(AgentClosed):  # upon which the platform starts the next one
        job.agent_starting(2)
        assert await bench.open(2) is not None
    environment.send_signal(signal.SIGCONT)
    await soon(closing)
    with pytest.raises(ApiError, match="over"):
        await soon(request)
    job.agent_starting(2)
    second = await bench.open(2)
    assert second is not None
    assert second.spec.episode == "e1"


async def test_an_agent_that_ends_while_it_waits_for_an_environment_is_closed_at_once(bench: Bench) -> None:
    job = bench.begin("A")
    job.agent_starting(1)
    request = asyncio.create_task(job.open_episode(1))
    await settle()
    await soon(bench.crash(1))  # no environment has come yet
    with pytest.raises(ApiError, match="over"):
        await soon(request)


async def test_a_sandbox_of_its_own_never_meets_a_second_scenario(bench: Bench) -> None:
    """Also where its environment died and another sandbox is quicker to ask for an episode."""
    job = bench.begin("A", "B", "C", slots=2, isolation="scenario")
    bench.environment(0)
    bench.environment(1)
    job.agent_starting(1)
    job.agent_starting(2)
    first, second = await bench.open(1), await bench.open(2)
    assert first is not None
    assert second is not None
    for program in list(bench.environments.values()):
        program.kill()
    await soon(first.finished.wait())
    await soon(second.finished.wait())
    bench.environment(0)
    bench.environment(1)
    job.agent_starting(3)
    third = await bench.open(3)
    assert third is not None
    assert third.spec.episode == "e2"  # the others are kept for those that had them, and may have no other
    for generation, mine in ((1, first), (2, second)):
        again = await bench.open(generation)
        assert again is not None
        assert (again.spec, again.attempt) == (mine.spec, 2)
        await bench.answer(again)


async def test_an_agent_that_leaves_when_it_has_answered_did_not_lose_that_episode(bench: Bench) -> None:
    """It need not wait until the environment's last state was read."""
    job = bench.begin("A", "B", probe=True)
    environment = bench.environment()
    job.agent_starting(1)
    episode = await bench.open(1)
    assert episode is not None
    environment.send_signal(signal.SIGSTOP)
    answered = asyncio.create_task(bench.answer(episode))
    await settle()
    closing = bench.crash(1)
    await settle()
    environment.send_signal(signal.SIGCONT)
    await soon(closing)
    await soon(answered)
    (ended,) = bench.told(EpisodeEnded)
    assert (ended.outcome, ended.failure) == (Outcome.ANSWERED, None)
    assert not ended.lost


async def test_an_environments_fault_says_nothing_of_the_agent_so_episodes_go_on_one_at_a_time(bench: Bench) -> None:
    job = bench.begin("dies-in-state", "A", "B", probe=True, slots=2)
    job.agent_starting(1)
    for attempt in (1, 2):
        bench.environment(0)
        episode = await bench.open(1)
        assert episode is not None
        assert (episode.spec.episode, episode.attempt) == ("e0", attempt)
        with pytest.raises(ApiError):
            await bench.answer(episode)
    (ended,) = bench.told(EpisodeEnded)
    assert ended.failure is FailureCode.ENVIRONMENT_ERROR
    bench.environment(0)
    bench.environment(1)
    first = await bench.open(1)
    assert first is not None
    second = asyncio.create_task(job.open_episode(1))
    with pytest.raises(TimeoutError):  # the other environment is ready within that time
        await asyncio.wait_for(asyncio.shield(second), 1.0)
    await bench.answer(first)
    assert await soon(second) is not None


async def test_an_agent_that_is_being_stopped_for_idleness_opens_nothing_more(bench: Bench) -> None:
    job = bench.begin("A", idle_seconds=0.0)
    bench.environment()
    job.agent_starting(1)
    await bench.until_told(AgentIdle)
    with pytest.raises(ApiError, match="over"):
        await bench.open(1)


STATES = ["half-a-character", "deep-state", "deepish-state", "words-for-blocks", "endless-number", "long-number"]


@pytest.mark.parametrize("key", STATES)
async def test_an_answered_episode_ends_whatever_its_environment_says_of_its_state(bench: Bench, key: str) -> None:
    job = bench.begin(key)
    bench.environment()
    job.agent_starting(1)
    episode = await bench.open(1)
    assert episode is not None
    await bench.answer(episode)
    (ended,) = bench.told(EpisodeEnded)
    assert ended.outcome is Outcome.ANSWERED
    assert list(read_events((ended.folder / "trajectory.jsonl").read_bytes().splitlines()))[-1].kind == "end"


async def test_nothing_is_said_to_the_user_of_an_episode_that_was_answered_meanwhile(bench: Bench) -> None:
    """What an environment lists anew it may list for long."""
    job = bench.begin("A")
    environment = bench.environment()
    job.agent_starting(1)
    episode = await bench.open(1)
    assert episode is not None
    episode.link._tools = None  # as where it says that its list has changed
    environment.send_signal(signal.SIGSTOP)
    late = asyncio.create_task(Actions(job).say(episode, "one more thing"))
    await settle()
    answered = asyncio.create_task(bench.answer(episode))
    await settle()
    environment.send_signal(signal.SIGCONT)
    with pytest.raises(ApiError, match="already"):
        await soon(late)
    await soon(answered)
    kinds = [
        event.kind for event in read_events((episode.recorder.folder / "trajectory.jsonl").read_bytes().splitlines())
    ]
    assert kinds == ["scenario", "answer", "end"]


async def test_a_job_with_an_episode_that_cannot_be_closed_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for that episode for ever: whoever ends it second waits for the first."""

    def give_up(reason: str, error: BaseException) -> NoReturn:
        raise SystemExit(reason) from error

    monkeypatch.setattr("gauntlet_runtime.gateway.job.give_up", give_up)
    job = bench.begin("A")
    bench.environment()
    job.agent_starting(1)
    episode = await bench.open(1)
    assert episode is not None
    episode.recorder._file.close()
    with pytest.raises(SystemExit, match="could not be closed"):
        await job.end(episode, Outcome.FAILED, failure=FailureCode.TIME_LIMIT, message="")
