"""The language models as an OpenAI-compatible endpoint: ``/llm/v1`` and ``/episodes/{id}/llm/v1``.

A call belongs to an open episode. It is recorded before it is made and its end before the agent is told; it reserves
the most that it can use and settles what it did. While it lasts the episode's clock stands still. What a request holds
beside the limit of its answer passes through as it is, if it is among what is offered (`model_fields`).
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, cast

import pydantic_core
from starlette.types import Receive, Scope, Send

from gauntlet_runtime.gateway.actions import Actions
from gauntlet_runtime.gateway.bodies import BodyRoom, read_body
from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.job import Job
from gauntlet_runtime.gateway.meter import Pace, usage_of
from gauntlet_runtime.gateway.model_bank import ModelBank
from gauntlet_runtime.gateway.model_replies import (
    passed_on,
    send_content,
    send_error,
    send_stream,
    shown,
    to_json,
)
from gauntlet_runtime.gateway.model_requests import Call, offered, read_call
from gauntlet_runtime.gateway.recorder import ModelEndpoint
from gauntlet_runtime.gateway.upstream import (
    Answer,
    AnswerTooLarge,
    ProviderFailed,
    RequestRefused,
    Upstream,
    WronglySet,
)
from gauntlet_runtime.metering import ModelOffer, ModelSpec, Refusal, Reservation, Settlement, Shortage, money
from gauntlet_scoring.failures import FailureCode

REQUEST_BYTES: Final = 4 << 20
_EPISODE_HEADER: Final = b"x-gauntlet-episode"


@dataclass(frozen=True)
class Made:
    """A call that is being made."""

    call: Call
    reservation: Reservation
    name: str  # in the record
    begun: float = field(default_factory=time.perf_counter)


class ModelDoor:
    """The models of a job, for all of its episodes."""

    def __init__(
        self,
        spec: ModelSpec,
        job: Job,
        actions: Actions,
        bank: ModelBank,
        upstream: Upstream,
        room: BodyRoom,
        *,
        limit_field: str,
        most_seconds: float,
    ) -> None:
        self._spec = spec
        self._job = job
        self._actions = actions
        self._bank = bank
        self._upstream = upstream
        self._room = room
        self._limit_field = limit_field
        self._most_seconds = most_seconds  # for which an episode may wait
        self._paces: defaultdict[int, Pace] = defaultdict(lambda: Pace(spec))  # by sandbox

    async def __call__(
        self, generation: int, episode_id: str | None, rest: list[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer one HTTP request below ``/llm/v1``."""
        try:
            await self._route(generation, episode_id, rest, scope, receive, send)
        except ApiError as error:
            await send_error(send, error)

    async def _route(
        self, generation: int, episode_id: str | None, rest: list[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        method = scope["method"]
        match rest:
            case ["models"] if method == "GET":
                listed = [self._described(offer) for offer in self._spec.models]
                await send_content(send, 200, to_json({"object": "list", "data": listed}))
            case ["models", *name] if method == "GET":
                await send_content(send, 200, to_json(self._described(offered(self._spec, "/".join(name)))))
            case ["chat", "completions"] | ["embeddings"] if method == "POST":
                episode = self._episode(generation, episode_id, scope)
                await self._call(episode, cast(ModelEndpoint, "/".join(rest)), scope, receive, send)
            case ["models", *_] | ["chat", "completions"] | ["embeddings"]:
                raise ApiError(405, "method_not_allowed", f"/{'/'.join(rest)} does not take {method}.")
            case _:
                raise ApiError(404, "not_found", "There are /chat/completions, /embeddings and /models here.")

    def _described(self, offer: ModelOffer) -> dict[str, Any]:
        return {"id": offer.name, "object": "model", "created": 0, "owned_by": self._spec.provider}

    def _episode(self, generation: int, episode_id: str | None, scope: Scope) -> Episode:
        """The open episode that a call belongs to: the one named, or the only one there is."""
        named = episode_id or next((v.decode("latin-1") for k, v in scope["headers"] if k == _EPISODE_HEADER), None)
        if named is not None:
            return self._job.find(named, generation)
        opened = self._job.open_episodes(generation)
        if len(opened) == 1:
            return opened[0]
        said = "has no open episode" if not opened else "has several open episodes"
        raise ApiError(
            409,
            "which_episode",
            f"This agent {said}. A model call belongs to one: send it to /episodes/ID/llm/v1, or name the episode in "
            "the header X-Gauntlet-Episode.",
        )

    async def _call(
        self, episode: Episode, endpoint: ModelEndpoint, scope: Scope, receive: Receive, send: Send
    ) -> None:
        pace = self._paces[episode.generation]
        try:
            pace.admit()
        except ApiError:
            self._actions.refused(episode)
            raise
        pace.under_way += 1
        try:
            body = await read_body(scope, receive, REQUEST_BYTES)
            with self._room.held(body):
                call = self._read(episode, endpoint, body)
                self._job.find(episode.id, episode.generation)
                with episode.clock.stopped(), episode.meter.waits.running():
                    answer = await self._answer(episode, call)
        finally:
            pace.under_way -= 1
        self._job.find(episode.id, episode.generation)  # an answer that comes too late is nobody's
        # Else its sandbox's time would be up, as if it were the agent's fault.
        if episode.meter.waits.seconds > self._most_seconds:
            raise self._took_too_long(episode)
        if call.stream:
            await send_stream(send, shown(answer.parts, wants_usage=call.wants_usage))
        else:
            await send_content(send, 200, to_json(answer.parts[0]))

    def _read(self, episode: Episode, endpoint: ModelEndpoint, body: bytes) -> Call:
        """What is asked for.

        Raises:
            ApiError: 400, it is no request; 404, this model is not offered.
        """
        try:
            request = pydantic_core.from_json(body, allow_inf_nan=False)
        except ValueError:
            self._actions.malformed(episode)
            raise ApiError(400, "invalid_json", "The body is not valid JSON.") from None
        if not isinstance(request, dict):
            self._actions.malformed(episode)
            raise ApiError(400, "invalid_body", "The body must be a JSON object.")
        try:
            return read_call(self._spec, endpoint, request, limit_field=self._limit_field)
        except ApiError:
            self._actions.refused(episode)
            raise

    async def _answer(self, episode: Episode, call: Call) -> Answer:
        """Reserve, record, ask, settle, record."""
        reservation = call.reservation()
        await self._reserve(episode, reservation)
        key = self._key(episode, call) if self._spec.cache else None
        made = Made(
            call=call,
            reservation=reservation,
            name=episode.recorder.model_call(
                model=call.offer.name,
                endpoint=call.endpoint,
                request=call.request,
                overlaps=episode.meter.under_way > 1 or episode.busy,
            ),
        )
        try:
            kept = await self._bank.find_answer(key) if key is not None else None
            if kept is not None:
                answer = Answer(parts=json.loads(kept))
            else:
                answer = await self._upstream.ask(call.endpoint, call.outgoing, stream=call.stream)
        except RequestRefused as error:
            self._actions.refused(episode)
            self._settle(episode, made, status=error.status, response=error.body)
            raise passed_on(error) from error
        except ProviderFailed as error:
            if isinstance(error, AnswerTooLarge) and call.may_be_too_large:
                self._actions.refused(episode)
                self._settle(episode, made, status=400, answered=True, tries=error.tries)
                raise _too_large(call) from error
            self._settle(episode, made, status=503, tries=error.tries)
            if isinstance(error, WronglySet):
                raise self._locked_out(error) from error
            raise self._unavailable(episode, str(error)) from error
        self._settle(episode, made, status=200, answer=answer, cached=kept is not None, tries=answer.tries)
        if key is not None and kept is None:
            self._bank.keep_answer(key, to_json(answer.parts))
        return answer

    def _settle(
        self,
        episode: Episode,
        made: Made,
        *,
        status: int,
        answer: Answer | None = None,
        answered: bool = False,
        cached: bool = False,
        response: Any = None,
        tries: int = 1,
    ) -> None:
        """Count what a call used and record its end; without an answer it used nothing.

        Args:
            answered: there was one that nobody can be handed; it counts as all that was reserved
        """
        call = made.call
        used_in, used_out, believed = 0, 0, True
        if answer is not None or answered:
            usage = None if answer is None else answer.usage
            used_in, used_out, believed = usage_of(usage, tokens_in=call.tokens_in, tokens_out=call.tokens_out)
        if answer is not None:
            response = answer.parts if call.stream else answer.parts[0]
        cost = call.offer.cost(tokens_in=used_in, tokens_out=used_out)
        settlement = Settlement(id=made.reservation.id, tokens=used_in + used_out, cost=cost, paid=not cached)
        episode.meter.settle(settlement)
        self._bank.settle(settlement)
        episode.recorder.model_result(
            made.name,
            model=call.offer.name,
            status=status,
            seconds=time.perf_counter() - made.begun,
            response=response,
            prompt_tokens=used_in,
            completion_tokens=used_out,
            estimated=not believed,
            cost=money(cost),
            cached=cached,
            tries=max(1, tries),
        )

    def _key(self, episode: Episode, call: Call) -> str:
        """What an answer is kept under: the same place of the same scenario and trial, and the same request."""
        spec = episode.spec
        request = json.dumps(call.outgoing, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        place = [self._spec.provider, call.endpoint, spec.scenario, spec.trial, request]
        digest = hashlib.sha256(json.dumps(place).encode()).hexdigest()
        return hashlib.sha256(f"{digest} {episode.meter.occurrence(digest)}".encode()).hexdigest()

    # Budgets

    async def _reserve(self, episode: Episode, reservation: Reservation) -> None:
        """Hold the call's maximum against the episode's budget and the evaluation's.

        What only has to wait for others' calls, of which this agent knows nothing, waits for them here.

        Raises:
            ApiError: it does not fit; or what became of the episode meanwhile.
        """
        refusal, whose = episode.meter.hold(reservation), "an episode"
        if refusal is None:
            seconds = self._most_seconds - episode.meter.waits.seconds
            refusal = await self._bank.reserve_in_turn(reservation, over=episode.ending, seconds=seconds)
            whose = f"this {refusal.whose}" if refusal is not None else whose
            if refusal is not None or episode.closing:
                unused = Settlement(id=reservation.id, tokens=0, cost=Decimal(0), paid=False)
                episode.meter.settle(unused)
                if refusal is None:
                    self._bank.settle(unused)
        if refusal is not None:
            raise self._short(episode, refusal, reservation, whose=whose)
        self._job.find(episode.id, episode.generation)
        episode.meter.calls += 1

    def _short(self, episode: Episode, refusal: Refusal, reservation: Reservation, *, whose: str) -> ApiError:
        if refusal.retry_after is not None:
            self._job.find(episode.id, episode.generation)
            return self._took_too_long(episode)
        if refusal.shortage is Shortage.UNAVAILABLE:
            return self._unavailable(episode, "the platform could not be asked for its budget")
        return self._exhausted(episode, refusal, reservation, whose=whose)

    def _exhausted(self, episode: Episode, refusal: Refusal, reservation: Reservation, *, whose: str) -> ApiError:
        """The end of an episode whose budget does not allow its next call."""
        if refusal.shortage is Shortage.TOKENS:
            said = f"The budget of {refusal.limit} tokens for {whose} is exhausted: {refusal.used} are used"
            more = f"the next call could use {reservation.tokens}"
        else:
            said = f"The budget of {refusal.limit} for the models' cost in {whose} is exhausted: {refusal.used} is used"
            more = f"the next call could cost {money(reservation.cost)}"
        sentence = f"{said} or reserved, and {more}."
        self._job.end_soon(episode, FailureCode.BUDGET_EXCEEDED, sentence)
        return ApiError(429, "budget_exceeded", f"{sentence} This ends the episode.")

    def _locked_out(self, error: WronglySet) -> ApiError:
        """The end of all episodes: no call of any of them would be answered until somebody has set another key."""
        said = f"The language models of this competition cannot be asked: {error}"
        self._job.give_up(said)
        return ApiError(503, "model_unavailable", f"{said} That is not the agent's fault, and it ends the episode.")

    def _unavailable(self, episode: Episode, reason: str) -> ApiError:
        """The end of an episode whose model cannot be had."""
        return self._not_its_fault(episode, f"The language model could not be reached: {reason}")

    def _took_too_long(self, episode: Episode) -> ApiError:
        took = f"{self._most_seconds:.0f} seconds in all"
        return self._not_its_fault(episode, f"The language models took more than {took} for this episode's calls")

    def _not_its_fault(self, episode: Episode, what: str) -> ApiError:
        """The end of an episode that is run again: what happened is never the agent's fault."""
        said = f"{what}. That is not the agent's fault"
        self._job.end_soon(episode, FailureCode.INFRASTRUCTURE, f"{said}; the episode is run again.")
        return ApiError(503, "model_unavailable", f"{said}, and it ends the episode, which is run again later.")


def _too_large(call: Call) -> ApiError:
    """What was asked for is more than anybody can be handed."""
    less = (
        "fewer inputs at once, or them as base64 (encoding_format)"
        if call.endpoint == "embeddings"
        else "fewer answers (n), shorter ones (max_tokens), or fewer log probabilities (top_logprobs)"
    )
    said = f"The answer was larger than any may be, as this request asked for, and counts as used. Ask for {less}."
    return ApiError(400, "answer_too_large", said)
