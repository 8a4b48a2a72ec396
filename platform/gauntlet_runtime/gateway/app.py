"""The episode API as an ASGI application: routes, bodies and errors. What an episode is, is the job's business."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, TypeVar

import pydantic
import pydantic_core
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from gauntlet_runtime.gateway.actions import Actions
from gauntlet_runtime.gateway.bodies import read_body, send_json
from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.job import Job
from gauntlet_runtime.gateway.model_door import ModelDoor
from gauntlet_runtime.gateway.model_replies import send_error
from gauntlet_runtime.gateway.tool_door import ToolDoor, episode_error
from gauntlet_scoring.phrases import first_phrase
from gauntlet_scoring.trajectory import PlanStep

MESSAGE_BYTES: Final = 64 << 10
NOTE_BYTES: Final = 16 << 10
PLAN_BYTES: Final = 256 << 10
CONCURRENT_REQUESTS: Final = 64  # with the limits of bodies, what an agent can make its gateway hold
KEY_LENGTH: Final = 200
KEYS: Final = 10_000

_log = logging.getLogger(__name__)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TextBody(_Body):
    """What /messages and /notes take."""

    text: str


class PlanBody(_Body):
    """What /plan takes."""

    steps: list[PlanStep] = Field(max_length=500)


class AnswerBody(_Body):
    """What /answer takes."""

    text: str
    data: Any | None = None


BodyT = TypeVar("BodyT", bound=_Body)


class EpisodeApi:
    """One application for every agent sandbox of a job; ``generation`` says which sandbox a listener belongs to."""

    def __init__(self, job: Job, actions: Actions, door: ToolDoor, models: ModelDoor | None = None) -> None:
        self._job = job
        self._actions = actions
        self._door = door
        self._models = models
        self._running = 0
        self._keys: dict[tuple[int, str], asyncio.Task[dict[str, Any] | None]] = {}

    async def serve(self, generation: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request of that sandbox."""
        if scope["type"] != "http":
            return
        self._running += 1
        try:
            if self._running > CONCURRENT_REQUESTS:
                raise ApiError(
                    503, "too_many_requests", f"{CONCURRENT_REQUESTS} requests may be under way.", retry_after=1.0
                )
            await self._route(generation, scope, receive, send)
        except ApiError as error:
            await send_json(send, error.status, error.body())
        except Exception:  # noqa: BLE001 - one request's fault must not reach another's
            _log.exception("a request failed")
            await send_json(send, 500, {"code": "internal_error", "message": "The gateway failed at this request."})
        finally:
            self._running -= 1

    async def _route(self, generation: int, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        parts = [part for part in scope["path"].split("/") if part]
        match parts:
            case ["episodes"] if method == "POST":
                await self._open(generation, scope, receive, send)
            case ["episodes"] if method == "GET":
                listed = [episode.describe() for episode in self._job.open_episodes(generation)]
                await send_json(send, 200, {"episodes": listed})
            case ["episodes", episode_id, "mcp"]:
                await self._tools(episode_id, generation, scope, receive, send)
            case ["episodes", episode_id, ("messages" | "plan" | "notes" | "answer") as what]:
                if method != ("PUT" if what == "plan" else "POST"):
                    raise ApiError(405, "method_not_allowed", f"/{what} does not take {method}.")
                await self._act(self._job.find(episode_id, generation), what, scope, receive, send)
            case ["episodes", episode_id, "llm", "v1", *rest] if self._models is not None:
                await self._models(generation, episode_id, rest, scope, receive, send)
            case ["llm", "v1", *rest] if self._models is not None:
                await self._models(generation, None, rest, scope, receive, send)
            case ["llm", "v1", *_] | ["episodes", _, "llm", "v1", *_]:
                await send_error(send, ApiError(503, "no_models", "This competition offers no language model."))
            case _:
                raise ApiError(404, "not_found", "There is nothing here. See /episodes.")

    async def _tools(self, episode_id: str, generation: int, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            episode = self._job.find(episode_id, generation)
        except ApiError as error:
            await send_json(send, error.status, episode_error(error))
            return
        await self._door(episode, scope, receive, send)

    async def _open(self, generation: int, scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(scope, receive, NOTE_BYTES)
        key = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"idempotency-key"), None)
        if key is None:
            opened = await self._open_now(generation)
        else:
            opened = await self._open_once(generation, key)
        await send_json(send, 204 if opened is None else 201, opened)

    async def _open_now(self, generation: int) -> dict[str, Any] | None:
        episode = await self._job.open_episode(generation)
        return None if episode is None else episode.describe()

    async def _open_once(self, generation: int, key: str) -> dict[str, Any] | None:
        """The same key gives the same answer, also where the first asker hung up while it was being made."""
        if len(key) > KEY_LENGTH:
            raise ApiError(422, "bad_key", f"An Idempotency-Key has {KEY_LENGTH} characters at most.")
        name = (generation, key)
        task = self._keys.get(name)
        if task is None:
            if len(self._keys) >= KEYS:
                raise ApiError(422, "bad_key", f"{KEYS} keys were used: send none, or one of them again.")
            task = self._keys[name] = asyncio.create_task(self._open_now(generation))
        try:
            return await asyncio.shield(task)
        except ApiError:
            self._keys.pop(name, None)  # a refusal is no answer to hold on to
            raise

    async def _act(self, episode: Episode, what: str, scope: Scope, receive: Receive, send: Send) -> None:
        answer: dict[str, Any] = {}
        if what == "answer":
            given = await self._body(episode, AnswerBody, episode.limits.answer_bytes, scope, receive)
            await self._actions.answer(episode, given.text, given.data)
            await send_json(send, 200, {"episode": episode.id, "closed": True})
            return
        if what == "plan":
            plan = await self._body(episode, PlanBody, PLAN_BYTES, scope, receive)
            _check_dependencies(plan)
        else:
            limit = MESSAGE_BYTES if what == "messages" else NOTE_BYTES
            words = await self._body(episode, TextBody, limit, scope, receive)
        try:
            if what == "messages":
                answer = await self._actions.say(episode, words.text)
            elif what == "notes":
                self._actions.note(episode, words.text)
            else:
                self._actions.plan(episode, plan.steps)
        except ApiError as error:
            if error.status == 429:
                self._actions.refused(episode)
            raise
        described = episode.describe()
        await send_json(send, 200, {**answer, "seconds_left": described["seconds_left"], "budget": described["budget"]})

    async def _body(self, episode: Episode, kind: type[BodyT], limit: int, scope: Scope, receive: Receive) -> BodyT:
        """The request's body; a nonsense one is counted against its episode.

        Raises:
            ApiError: 413, 422, or what became of the episode while the body came in.
        """
        raw = await read_body(scope, receive, limit)
        try:
            body = kind.model_validate(pydantic_core.from_json(raw, allow_inf_nan=False))
        except pydantic.ValidationError as error:
            self._actions.malformed(episode)
            raise ApiError(422, "invalid_body", f"{first_phrase(error, whole='the body')}.") from error
        except ValueError as error:
            self._actions.malformed(episode)
            raise ApiError(422, "invalid_json", "The body is not valid JSON.") from error
        self._job.find(episode.id, episode.generation)
        return body


def _check_dependencies(plan: PlanBody) -> None:
    """Steps may depend on earlier steps only.

    Raises:
        ApiError: 422.
    """
    for position, step in enumerate(plan.steps):
        if any(earlier < 0 or earlier >= position for earlier in step.depends_on):
            raise ApiError(
                422, "invalid_plan", f"Step {position}: depends_on holds positions of earlier steps, counted from 0."
            )
