"""The judge's metered door: one language model as an OpenAI-compatible endpoint in the sandbox of a scoring program.

It belongs to no episode. An answer is kept under the place that the program names and the whole request, and looked up
before anything is reserved: what is scored again gets the same answers, costs nothing and needs no budget. Two programs
that ask the same at the same place share the answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pydantic_core
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from gauntlet_runtime.gateway.bodies import read_body
from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.judge_messages import JudgeFailed
from gauntlet_runtime.gateway.meter import Pace, too_many_at_once, too_many_in_a_minute, usage_of
from gauntlet_runtime.gateway.model_bank import ModelBank
from gauntlet_runtime.gateway.model_replies import passed_on, send_content, send_error, send_stream, shown, to_json
from gauntlet_runtime.gateway.model_requests import Call, offered, read_call
from gauntlet_runtime.gateway.upstream import Answer, ProviderFailed, RequestRefused, Upstream, WronglySet
from gauntlet_runtime.metering import ModelOffer, ModelSpec, Refusal, Reservation, Settlement, Shortage, money
from gauntlet_scoring.failures import FailureCode

REQUEST_BYTES: Final = 4 << 20
TURN_SECONDS: Final = 600.0  # for which a question waits for the end of others that hold the budget
PLACE_HEADER: Final = b"x-gauntlet-place"


class JudgeDoor:
    """The judge of one score job, for all of its programs."""

    def __init__(
        self,
        spec: ModelSpec,
        bank: ModelBank,
        upstream: Upstream,
        notify: Callable[[BaseModel], None],
        *,
        limit_field: str,
    ) -> None:
        self._spec = spec
        self._bank = bank
        self._upstream = upstream
        self._notify = notify
        self._limit_field = limit_field
        self._pace = Pace(spec)
        self._never = asyncio.Event()
        self._asked: Counter[tuple[str, str]] = Counter()  # by program and question
        self._under_way: dict[str, asyncio.Task[list[dict[str, Any]]]] = {}  # by the key of the answer

    async def serve(self, program: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request of a scoring program."""
        if scope["type"] != "http":
            return
        try:
            await self._route(program, scope, receive, send)
        except ApiError as error:
            await send_error(send, error)

    async def _route(self, program: str, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["method"], [part for part in scope["path"].split("/") if part]:
            case "GET", ["v1", "models"]:
                listed = [self._described(offer) for offer in self._spec.models]
                await send_content(send, 200, to_json({"object": "list", "data": listed}))
            case "GET", ["v1", "models", *name]:
                await send_content(send, 200, to_json(self._described(offered(self._spec, "/".join(name)))))
            case "POST", ["v1", "chat", "completions"]:
                await self._call(program, scope, receive, send)
            case _:
                raise ApiError(404, "not_found", "There are POST /v1/chat/completions and GET /v1/models here.")

    def _described(self, offer: ModelOffer) -> dict[str, Any]:
        return {"id": offer.name, "object": "model", "created": 0, "owned_by": self._spec.provider}

    async def _call(self, program: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._pace.admit()
        self._pace.under_way += 1
        try:
            call = self._read(await read_body(scope, receive, REQUEST_BYTES))
            place = next((value for name, value in scope["headers"] if name == PLACE_HEADER), b"")
            parts = await self._shared(call, self._key(program, place.decode("latin-1"), call))
        finally:
            self._pace.under_way -= 1
        if call.stream:
            await send_stream(send, shown(parts, wants_usage=call.wants_usage))
        else:
            await send_content(send, 200, to_json(parts[0]))

    def _read(self, body: bytes) -> Call:
        try:
            request = pydantic_core.from_json(body, allow_inf_nan=False)
        except ValueError:
            raise ApiError(400, "invalid_json", "The body is not valid JSON.") from None
        if not isinstance(request, dict):
            raise ApiError(400, "invalid_body", "The body must be a JSON object.")
        return read_call(self._spec, "chat/completions", request, limit_field=self._limit_field)

    def _key(self, program: str, place: str, call: Call) -> str:
        """What an answer is kept under: provider, place, request, and which time the program asks it there."""
        request = json.dumps(call.outgoing, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        whole = json.dumps(["judge", self._spec.provider, place, request])
        digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        self._asked[program, digest] += 1
        return hashlib.sha256(f"{digest} {self._asked[program, digest]}".encode()).hexdigest()

    async def _shared(self, call: Call, key: str) -> list[dict[str, Any]]:
        """The answer, asked for once where two programs want it at the same time."""
        if not self._spec.cache:
            return await self._answer(call, key)
        asked = self._under_way.get(key)
        if asked is None:
            asked = self._under_way[key] = asyncio.create_task(self._answer(call, key))
            asked.add_done_callback(lambda task: self._over(key, task))
        return await asyncio.shield(asked)

    def _over(self, key: str, asked: asyncio.Task[list[dict[str, Any]]]) -> None:
        del self._under_way[key]
        if not asked.cancelled():
            asked.exception()  # whoever asked may be gone, and nobody else looks at it

    async def _answer(self, call: Call, key: str) -> list[dict[str, Any]]:
        """The kept answer, or the model's: reserved, asked for, settled and kept."""
        kept = await self._bank.find_answer(key) if self._spec.cache else None
        if kept is not None:
            parts: list[dict[str, Any]] = json.loads(kept)
            return parts
        reservation = call.reservation()
        refusal = await self._bank.reserve_in_turn(reservation, over=self._never, seconds=TURN_SECONDS)
        if refusal is not None:
            raise self._short(refusal, reservation)
        try:
            answer = await self._upstream.ask(call.endpoint, call.outgoing, stream=call.stream)
        except RequestRefused as error:
            self._settle(call, reservation, None)
            raise passed_on(error) from error
        except ProviderFailed as error:
            self._settle(call, reservation, None)
            raise self._failed(error) from error
        self._settle(call, reservation, answer)
        if self._spec.cache:
            self._bank.keep_answer(key, to_json(answer.parts))
        return answer.parts

    def _settle(self, call: Call, reservation: Reservation, answer: Answer | None) -> None:
        used_in, used_out = 0, 0
        if answer is not None:
            used_in, used_out, _ = usage_of(answer.usage, tokens_in=call.tokens_in, tokens_out=call.tokens_out)
        cost = call.offer.cost(tokens_in=used_in, tokens_out=used_out) if answer is not None else Decimal(0)
        self._bank.settle(Settlement(id=reservation.id, tokens=used_in + used_out, cost=cost, paid=True))

    # Why there is no answer

    def _short(self, refusal: Refusal, reservation: Reservation) -> ApiError:
        match refusal.shortage:
            case Shortage.RATE:
                return too_many_in_a_minute(self._spec.calls_per_minute or 0, refusal.retry_after or 1.0)
            case Shortage.CONCURRENCY:
                return too_many_at_once(self._spec.concurrency)
            case Shortage.UNAVAILABLE:
                said = "The judge's budget could not be asked for, so nothing was scored."
                return self._tell(503, "model_unavailable", FailureCode.INFRASTRUCTURE, said)
            case Shortage.TOKENS:
                budget, next_call = f"{refusal.limit} tokens", f"{reservation.tokens} tokens"
            case Shortage.COST:
                budget, next_call = refusal.limit, money(reservation.cost)
        said = (
            f"The judge's budget of {budget} for an evaluation is exhausted: {refusal.used} is used or reserved, and "
            f"the next call could use {next_call}. The competition's organizer has to raise it; answers that were paid "
            "for are kept."
        )
        return self._tell(429, "budget_exceeded", FailureCode.SCORING_ERROR, said)

    def _failed(self, error: ProviderFailed) -> ApiError:
        if isinstance(error, WronglySet):
            return self._tell(
                503, "model_unavailable", FailureCode.SCORING_ERROR, f"The judge cannot be asked: {error}"
            )
        said = f"The judge's model could not be reached: {error}. That is nobody's score."
        return self._tell(503, "model_unavailable", FailureCode.INFRASTRUCTURE, said)

    def _tell(self, status: int, code: str, failure: FailureCode, said: str) -> ApiError:
        """First the supervisor, which knows then why the program fails in a moment."""
        self._notify(JudgeFailed(code=failure, message=said))
        return ApiError(status, code, said)
