"""What an agent does with an open episode: recorded before it takes effect, the effect recorded before it is told."""

from __future__ import annotations

import time
from typing import Any, Final

from gauntlet_runtime.gateway.code_bench import CodeBench
from gauntlet_runtime.gateway.environment import error_result, visible
from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.errors import ApiError, EnvironmentFailed
from gauntlet_runtime.gateway.job import Job
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import PlanStep

MALFORMED_LIMIT: Final = 20  # requests that are no MCP or no JSON; the next one ends the episode as protocol_error
REFUSED_LIMIT: Final = 1000  # requests beyond a limit that was already told; the next one ends it likewise


class Actions:
    """The actions on the episodes of a job."""

    def __init__(self, job: Job, bench: CodeBench | None = None) -> None:
        self._job = job
        self._bench = bench

    async def call_tool(self, episode: Episode, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Record, forward, record, return the raw MCP result.

        Raises:
            ApiError: 410, the environment was lost, or took too long.
        """
        self._job.check_environment(episode)
        refusal = episode.tool_refusal()
        if refusal is not None:
            self.refused(episode)
            return error_result(refusal)
        episode.actions += 1
        episode.tool_calls += 1
        call = episode.recorder.tool_call(tool, arguments, overlaps=episode.busy)
        begun = time.perf_counter()
        try:
            with episode.waiting():
                if not any(offered.get("name") == tool for offered in visible(await episode.link.tools())):
                    result = error_result(f"Unknown tool: {tool}")
                elif self._bench is not None and tool == self._bench.tool:
                    result = None
                else:
                    result = await episode.link.call(tool, arguments)
                if result is not None:
                    episode.recorder.tool_result(call, tool=tool, result=result, seconds=time.perf_counter() - begun)
                    return result
        except EnvironmentFailed as error:
            raise await self._job.environment_failed(episode, str(error)) from error
        return await self._run_code(episode, arguments, call=call)

    async def _run_code(self, episode: Episode, arguments: dict[str, Any], *, call: str) -> dict[str, Any]:
        """Have the agent's code run in a sandbox of its own, on the agent's own time; its end ends the code too."""
        assert self._bench is not None  # noqa: S101 - the only caller looked
        begun = time.perf_counter()
        with episode.coding():
            result = await self._bench.run(arguments, until=episode.ending)
        if not episode.closing:
            seconds = time.perf_counter() - begun
            episode.recorder.tool_result(call, tool=self._bench.tool, result=result, seconds=seconds)
        return result

    async def say(self, episode: Episode, text: str) -> dict[str, Any]:
        """Say something to the scenario's user.

        Raises:
            ApiError: 409, there is no user; 429, the turns are used up; 410, the environment was lost, or took too
                long, or the episode was closed meanwhile.
        """
        self._job.check_environment(episode)
        try:
            with episode.waiting():
                if not await episode.link.offers("gauntlet_user"):
                    raise ApiError(409, "no_user", "Nobody answers in this scenario: solve it with its tools.")
                self._job.find(episode.id, episode.generation)  # an environment may be listing its tools anew for long
                episode.admit_message()
                episode.recorder.agent_message(text)
                reply, done = await episode.link.say(text)
                episode.recorder.user_message(reply, done=done)
                episode.messages += [{"role": "agent", "text": text}, {"role": "user", "text": reply}]
        except EnvironmentFailed as error:
            raise await self._job.environment_failed(episode, str(error)) from error
        return {"reply": reply, "done": done}

    def plan(self, episode: Episode, steps: list[PlanStep]) -> None:
        """Record the plan."""
        episode.admit_plan()
        episode.recorder.plan(steps)

    def note(self, episode: Episode, text: str) -> None:
        """Record a note."""
        episode.admit_note()
        episode.recorder.note(text)

    async def answer(self, episode: Episode, text: str, data: Any | None) -> None:
        """Record the answer and close the episode.

        Raises:
            ApiError: 410, the environment was lost before its final state was read.
        """
        episode.recorder.answer(text, data)
        episode.ending.set()
        episode.answered = True
        episode.actions += 1
        await self._job.finish_answered(episode)

    def malformed(self, episode: Episode) -> None:
        """Count a request that is no MCP or no JSON; too many end this episode and no other."""
        episode.malformed += 1
        if episode.malformed > MALFORMED_LIMIT:
            self._protocol_error(episode, f"more than {MALFORMED_LIMIT} malformed requests")

    def refused(self, episode: Episode) -> None:
        """Count a request beyond a limit; too many end this episode and no other."""
        episode.refused += 1
        if episode.refused > REFUSED_LIMIT:
            self._protocol_error(episode, f"more than {REFUSED_LIMIT} requests beyond its limits")

    def _protocol_error(self, episode: Episode, what: str) -> None:
        self._job.end_soon(
            episode,
            FailureCode.PROTOCOL_ERROR,
            f"The agent sent {what} in this episode. See the episode API for what it accepts.",
        )
