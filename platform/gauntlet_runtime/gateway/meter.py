"""What one episode uses of language models: its own budget, calls under way, and what its calls used."""

from __future__ import annotations

import time
from collections import Counter, deque
from decimal import Decimal
from typing import Any, Final, TypeGuard

from gauntlet_runtime.gateway.clock import Stopwatch
from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.metering import ModelBudget, ModelSpec, Refusal, Reservation, Settlement, Shortage, money

_MINUTE: Final = 60.0
_MOST_TOKENS: Final = 1 << 40  # that any provider can mean


class EpisodeMeter:
    """Counts the tokens and the cost of one episode's model calls."""

    def __init__(self, budget: ModelBudget | None) -> None:
        self._budget = budget
        self._held: dict[str, Reservation] = {}
        self._tokens = 0
        self._cost = Decimal(0)
        self._asked: Counter[str] = Counter()
        self.waits = Stopwatch()  # in which at least one call was under way
        self.calls = 0

    @property
    def tokens(self) -> int:
        """Used so far; a call under way counts with its maximum."""
        return self._tokens + sum(held.tokens for held in self._held.values())

    @property
    def cost(self) -> Decimal:
        """The same in the currency of the prices."""
        return self._cost + sum((held.cost for held in self._held.values()), Decimal(0))

    @property
    def under_way(self) -> int:
        """Calls that were not settled yet."""
        return len(self._held)

    def hold(self, reservation: Reservation) -> Refusal | None:
        """Hold a call's maximum against the episode's budget, or say why it does not fit."""
        budget = self._budget or ModelBudget()
        if budget.tokens is not None and self.tokens + reservation.tokens > budget.tokens:
            return Refusal(shortage=Shortage.TOKENS, limit=str(budget.tokens), used=str(self.tokens))
        if budget.cost is not None and self.cost + reservation.cost > budget.cost:
            return Refusal(shortage=Shortage.COST, limit=money(budget.cost), used=money(self.cost))
        self._held[reservation.id] = reservation
        return None

    def settle(self, settlement: Settlement) -> None:
        """Count what a held call used."""
        if self._held.pop(settlement.id, None) is not None:
            self._tokens += settlement.tokens
            self._cost += settlement.cost

    def occurrence(self, request: str) -> int:
        """How often this request has been made in this episode, with this time."""
        self._asked[request] += 1
        return self._asked[request]

    def left(self) -> dict[str, Any]:
        """What the budget still allows, as the agent is told it; nothing where there is no limit."""
        left: dict[str, Any] = {}
        if self._budget is not None and self._budget.tokens is not None:
            left["tokens"] = max(0, self._budget.tokens - self.tokens)
        if self._budget is not None and self._budget.cost is not None:
            left["cost"] = money(max(Decimal(0), self._budget.cost - self.cost))
        return left


class Pace:
    """The rate and the concurrency of the calls of one sandbox, or of a judge.

    Those of all together are kept by the platform. What one alone exceeds is refused at once: it can know better.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._recent: deque[float] = deque()
        self.under_way = 0

    def admit(self) -> None:
        """Count one more call.

        Raises:
            ApiError: 429, too many at once or in a minute.
        """
        if self.under_way >= self._spec.concurrency:
            raise too_many_at_once(self._spec.concurrency)
        most, now = self._spec.calls_per_minute, time.monotonic()
        while self._recent and now - self._recent[0] >= _MINUTE:
            self._recent.popleft()
        if most is not None and len(self._recent) >= most:
            raise too_many_in_a_minute(most, _MINUTE - (now - self._recent[0]))
        self._recent.append(now)


def too_many_at_once(most: int) -> ApiError:
    """The refusal of a call beyond the concurrency."""
    return ApiError(429, "rate_limit_exceeded", f"{most} model call(s) may be under way at once.", retry_after=1.0)


def too_many_in_a_minute(most: int, seconds: float) -> ApiError:
    """The refusal of a call beyond the rate."""
    message = f"{most} model calls may be made in a minute."
    return ApiError(429, "rate_limit_exceeded", message, retry_after=max(0.1, round(seconds, 1)))


def usage_of(usage: Any, *, tokens_in: int, tokens_out: int) -> tuple[int, int, bool]:
    """What a provider says that a call used, within the bounds of its reservation; and whether that could be believed.

    A usage that is missing, no number or beyond the bound counts as the bound: money may have been spent. So does one
    without any prompt, as servers tell it that count nothing. What only the total holds was thought, and some providers
    tell it nowhere else.
    """
    said = usage if isinstance(usage, dict) and usage.get("prompt_tokens") != 0 else {}
    used_in, used_out = said.get("prompt_tokens"), said.get("completion_tokens", 0 if tokens_out == 0 else None)
    total = said.get("total_tokens")
    if _is_count(used_in, tokens_in) and _is_count(used_out, tokens_out) and _is_count(total, _MOST_TOKENS):
        used_out = max(used_out, total - used_in)
    if _is_count(used_in, tokens_in) and _is_count(used_out, tokens_out):
        return used_in, used_out, True
    return (
        used_in if _is_count(used_in, tokens_in) else tokens_in,
        used_out if _is_count(used_out, tokens_out) else tokens_out,
        False,
    )


def _is_count(value: object, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
