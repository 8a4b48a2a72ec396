"""A run job inside its gateway: which episode comes next, which environment serves it, and how it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from gauntlet_runtime.gateway.agents import Agent, Agents
from gauntlet_runtime.gateway.endings import (
    FAILED_TWICE,
    LOST_ITS_STATE,
    NOT_SET_UP,
    ended_notice,
    never_began,
    no_answer,
    record_full,
    too_slow,
)
from gauntlet_runtime.gateway.environment import EnvironmentLink, visible
from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.errors import (
    ApiError,
    EnvironmentFailed,
    answered_episode,
    closed_episode,
    unknown_episode,
)
from gauntlet_runtime.gateway.fatal import give_up, watch
from gauntlet_runtime.gateway.messages import (
    AgentClosed,
    EnvironmentLost,
    EnvironmentReady,
    EpisodeOpened,
    JobSetup,
)
from gauntlet_runtime.gateway.slots import Slot, Slots
from gauntlet_runtime.jobs import EpisodeSpec
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

DRAIN_SECONDS: Final = 10.0  # how long the end of an episode waits for what its environment is still busy with
_AGAIN: Final = "The environment of this episode failed, so the episode is handed out again."


@dataclass(frozen=True)
class Waiting:
    """An episode that is still to be handed out."""

    spec: EpisodeSpec
    attempt: int = 1


class Job:
    """The state of a run job. Single-threaded: every method runs on the gateway's event loop."""

    def __init__(self, setup: JobSetup, notify: Callable[[BaseModel], None]) -> None:
        self._setup = setup
        self._notify = notify
        self._queue = deque(Waiting(spec) for spec in setup.episodes)
        self._slots = Slots(
            setup.slots,
            call_seconds=setup.call_seconds,
            spawn=self._spawn,
            ready=lambda number: notify(EnvironmentReady(slot=number)),
            lost=self._lose,
            changed=self._wake,
        )
        self._open: dict[str, Episode] = {}
        self._over: dict[str, ApiError] = {}
        self._opening: dict[object, Agent] = {}  # requests that wait for an episode, in order
        self._probing = setup.probe
        self._changed = asyncio.Event()
        self._agents = Agents(setup, notify, is_busy=self._is_busy)
        self._records = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._spawn(self._agents.watch_idleness())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(watch)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # The agents' lives

    def agent_starting(self, generation: int) -> None:
        """A new sandbox may open episodes from now on."""
        self._agents.starting(generation)

    async def agent_ended(self, generation: int, failure: FailureCode, message: str) -> None:
        """End what that sandbox left open, and tell when done."""
        agent = self._agents.pop(generation)
        self._wake()
        left = [episode for episode in self._open.values() if episode.generation == generation]
        await asyncio.gather(*(self.end(episode, Outcome.FAILED, failure=failure, message=message) for episode in left))
        while agent in self._opening.values():  # what is being set up for it has to be back in the queue by then
            await self._changed.wait()
        self._notify(AgentClosed(generation=generation, opened=agent.opened, asked=agent.asked))

    def _is_busy(self, agent: Agent) -> bool:
        if agent.done:
            return False
        return not self._queue or self._open_of(agent) > 0 or agent in self._opening.values()

    def _open_of(self, agent: Agent) -> int:
        return sum(episode.generation == agent.generation for episode in self._open.values())

    # Environments

    def environment_up(self, number: int, stdin: int, stdout: int) -> None:
        """A program was started for this place."""
        self._slots.up(number, stdin, stdout)

    def environment_down(self, number: int, message: str) -> None:
        """No program will come for this place any more; without any place left, no episode can run."""
        self._slots[number].down = True
        if self._slots.all_down:
            self._drop_queue(message)
        self._wake()

    def give_up(self, message: str) -> None:
        """End every episode, those too that never began: what is set wrongly lets none of them be completed."""
        self._drop_queue(message)
        for episode in list(self._open.values()):
            self.end_soon(episode, FailureCode.ENVIRONMENT_ERROR, message)
        self._wake()

    def _drop_queue(self, message: str) -> None:
        while self._queue:
            waiting = self._queue.popleft()
            self._notify(never_began(waiting.spec, message))

    async def _lose(self, slot: Slot, link: EnvironmentLink, reason: str) -> None:
        if slot.link is not link:
            return
        slot.link = None
        link.close()
        self._notify(EnvironmentLost(slot=slot.number, served=link.served, reason=reason))
        if slot.episode is not None and not slot.episode.closing:
            await self._again_or_end(slot.episode)

    async def _again_or_end(self, episode: Episode) -> None:
        """The environment failed under this episode: once it runs again, then it is the organizer's fault."""
        if episode.attempt > 1:
            await self.end(
                episode,
                Outcome.FAILED,
                failure=FailureCode.ENVIRONMENT_ERROR,
                message=FAILED_TWICE,
            )
            return
        episode.ending.set()
        episode.recorder.discard()
        self._queue.appendleft(Waiting(episode.spec, attempt=2))
        self._leave(episode, ApiError(410, "environment_lost", _AGAIN))

    def _leave(self, episode: Episode, answer: ApiError) -> None:
        """Take a closed episode off the list of open ones; ``answer`` is what its agent hears from now on."""
        del self._open[episode.id]
        self._over[episode.id] = answer
        self._slots[episode.slot].free()
        episode.finished.set()
        self._wake()

    # Handing out

    async def open_episode(self, generation: int) -> Episode | None:
        """The next episode, ready in its environment, or None where none is left.

        Raises:
            ApiError: 429, as many are open as may be; 410, the asking sandbox is over.
        """
        agent = self._agents.running(generation)
        agent.asked = True
        most = agent.parallel(len(self._slots))
        if self._open_of(agent) + sum(waiting is agent for waiting in self._opening.values()) >= most:
            raise ApiError(
                429,
                "too_many_open_episodes",
                f"{most} episode(s) of this agent may be open at once. Answer one first.",
                retry_after=1.0,
            )
        request = object()
        self._opening[request] = agent
        try:
            await self._wait_for_turn(request, generation)
            while self._next_waiting(agent) is not None:
                slot = await self._slots.take(lambda: self._change(generation))
                if slot is None:
                    return None
                episode = await self._begin_or_give_up(slot, agent)
                if episode is not None:
                    return episode
        finally:
            del self._opening[request]
            self._wake()
        agent.overdue = True  # whatever is left is for another sandbox: this one is to leave
        return None

    async def _change(self, generation: int) -> None:
        """Wait until something is different, as long as this sandbox runs.

        Raises:
            ApiError: 410, it is over.
        """
        await self._changed.wait()
        self._agents.running(generation)

    async def _wait_for_turn(self, request: object, generation: int) -> None:
        """Until an agent has brought one episode to its end, a crash costs it no more than the one at hand."""
        while self._probing and (self._open or next(iter(self._opening)) is not request):
            await self._change(generation)

    def _next_waiting(self, agent: Agent) -> Waiting | None:
        """The next episode that this sandbox may have."""
        mine = (waiting for waiting in self._queue if agent.may_have(waiting.spec))
        return next((waiting for waiting in mine if not self._agents.keeps_for_another(agent, waiting.spec)), None)

    async def _begin_or_give_up(self, slot: Slot, agent: Agent) -> Episode | None:
        try:
            return await self._begin(slot, agent)
        except ApiError:
            raise
        except Exception as error:  # noqa: BLE001 - the episode has left the queue and is not open: it would be lost
            give_up("an episode could not be opened", error)

    async def _begin(self, slot: Slot, agent: Agent) -> Episode | None:
        """Put the next episode into this environment; None where that did not work and another try may."""
        link, waiting = slot.link, self._next_waiting(agent)
        if link is None or waiting is None or agent.generation not in self._agents:
            slot.free()
            self._wake()
            self._agents.running(agent.generation)
            return None
        self._queue.remove(waiting)
        agent.trials[waiting.spec.key] = waiting.spec.trial
        try:
            await link.reset(key=waiting.spec.key, seed=waiting.spec.seed)
            tools = [str(tool["name"]) for tool in visible(await link.tools())]
        except EnvironmentFailed as error:
            slot.free()
            await self._failed_to_begin(waiting, slot, link, str(error))
            return None
        if agent.generation not in self._agents or slot.link is not link:
            slot.free()
            self._queue.appendleft(waiting)
            self._wake()
            self._agents.running(agent.generation)
            return None
        return self._opened_episode(waiting, agent, slot, link, tools)

    async def _failed_to_begin(self, waiting: Waiting, slot: Slot, link: EnvironmentLink, reason: str) -> None:
        if not link.served:  # it never ran: that says nothing about this scenario
            self._queue.appendleft(waiting)
        elif waiting.attempt == 1:
            self._queue.appendleft(Waiting(waiting.spec, attempt=2))
        else:
            self._notify(never_began(waiting.spec, NOT_SET_UP))
        await self._lose(slot, link, reason)

    def _opened_episode(
        self, waiting: Waiting, agent: Agent, slot: Slot, link: EnvironmentLink, tools: list[str]
    ) -> Episode:
        folder = self._setup.folder / f"{self._records:05d}"
        self._records += 1
        spec = waiting.spec
        episode = Episode(
            spec,
            attempt=waiting.attempt,
            limits=self._setup.limits,
            link=link,
            slot=slot.number,
            generation=agent.generation,
            models=self._setup.models.per_episode if self._setup.models else None,
            folder=folder,
            on_full=self._record_is_full,
        )
        episode.recorder.scenario(
            scenario=spec.scenario, trial=spec.trial, seed=spec.seed, text=spec.text, show=spec.show, tools=tools
        )
        slot.episode = episode
        self._open[episode.id] = episode
        agent.opened += 1
        agent.had = spec.episode
        agent.overdue = False
        self._notify(EpisodeOpened(episode=spec.episode, attempt=waiting.attempt))
        self._spawn(self._watch_time(episode))
        return episode

    async def _watch_time(self, episode: Episode) -> None:
        while not episode.closing:
            left = episode.clock.left
            if left > 0:
                await asyncio.sleep(max(left, 0.05))
                continue
            if (agent := self._agents.get(episode.generation)) is not None:
                agent.overdue = True
            message = no_answer(episode.limits)
            await self.end(episode, Outcome.FAILED, failure=FailureCode.TIME_LIMIT, message=message)

    def open_episodes(self, generation: int) -> list[Episode]:
        """The episodes that this sandbox has open."""
        return [e for e in self._open.values() if e.generation == generation and not e.closing]

    def find(self, episode_id: str, generation: int) -> Episode:
        """The open episode with this id.

        Raises:
            ApiError: 404, 409 or 410.
        """
        episode = self._open.get(episode_id)
        if episode is None or episode.generation != generation:
            raise self._over.get(episode_id, unknown_episode())
        if episode.closing:
            raise answered_episode() if episode.answered else closed_episode("This episode is being closed.")
        return episode

    async def environment_failed(self, episode: Episode, reason: str) -> ApiError:
        """The environment under this episode is of no use any more; what to tell the agent."""
        await self._lose(self._slots[episode.slot], episode.link, reason)
        return self._over.get(episode.id, closed_episode("This episode is over."))

    async def finish_answered(self, episode: Episode) -> None:
        """Close an episode whose answer is recorded.

        Raises:
            ApiError: 410, the environment was lost before its final state was read.
        """
        await self._finish_or_give_up(episode, Outcome.ANSWERED, failure=None, message="")
        over = self._over[episode.id]
        if over.code != "already_answered":
            raise over

    def check_environment(self, episode: Episode) -> None:
        """Ask no more of an environment that took too long in all: its agent's sandbox is not given more time for it.

        Raises:
            ApiError: 410, which ends the episode.
        """
        if episode.waits.seconds > self._setup.environment_seconds:
            message = too_slow(self._setup.environment_seconds)
            self.end_soon(episode, FailureCode.ENVIRONMENT_ERROR, message)
            raise closed_episode(message)

    def end_soon(self, episode: Episode, failure: FailureCode, message: str) -> None:
        """End an episode from within one of its own requests, which is not to wait for that."""
        self._spawn(self.end(episode, Outcome.FAILED, failure=failure, message=message))

    # Ends

    def _record_is_full(self, episode: Episode) -> None:
        self.end_soon(episode, FailureCode.OUTPUT_LIMIT, record_full(episode.limits))

    async def end(self, episode: Episode, outcome: Outcome, *, failure: FailureCode | None, message: str) -> None:
        """Close an episode, once; whoever comes second waits for the first."""
        if episode.closing:
            await episode.finished.wait()
            return
        episode.ending.set()
        await self._finish_or_give_up(episode, outcome, failure=failure, message=message)

    async def _finish_or_give_up(
        self, episode: Episode, outcome: Outcome, *, failure: FailureCode | None, message: str
    ) -> None:
        try:
            await self._finish(episode, outcome, failure=failure, message=message)
        except Exception as error:  # noqa: BLE001 - the episode is closed and has no end: its job would have none
            give_up("an episode could not be closed", error)

    async def _finish(self, episode: Episode, outcome: Outcome, *, failure: FailureCode | None, message: str) -> None:
        seconds = episode.clock.used
        # Calls that an agent left running when it answered are its own affair: they may take as long as calls may.
        patience = self._setup.call_seconds if outcome is Outcome.ANSWERED else DRAIN_SECONDS
        state, broken = await self._slots.final_state(episode, patience)
        if broken is not None:
            await self._lose(self._slots[episode.slot], episode.link, broken)
            if outcome is Outcome.ANSWERED:  # the state is part of what is scored
                if episode.attempt == 1:
                    await self._again_or_end(episode)
                    return
                outcome, failure, message = Outcome.FAILED, FailureCode.ENVIRONMENT_ERROR, LOST_ITS_STATE
        episode.recorder.end(outcome, failure=failure, message=message, seconds=seconds, state=state)
        agent = self._agents.get(episode.generation)
        answered = outcome is Outcome.ANSWERED
        ended = ended_notice(
            episode, outcome, failure=failure, message=message, seconds=seconds, lost=agent is None and not answered
        )
        if agent is not None:
            agent.ended += 1
        self._probing = self._probing and not ended.proves_agent
        self._notify(ended)
        self._leave(episode, answered_episode() if answered else closed_episode(message))
