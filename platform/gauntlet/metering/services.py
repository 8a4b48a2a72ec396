"""Writes of metered models: providers, reservations and their settlement, kept answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Min, Q, Sum
from django.db.models.functions import Coalesce, Greatest, Now
from django.utils import timezone
from pydantic import SecretStr

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.models import Competition
from gauntlet.metering.configuration import checked_key, checked_url
from gauntlet.metering.models import Account, KeptAnswer, ModelProvider, Reservation
from gauntlet.metering.sealing import WrongSecret, seal, unseal
from gauntlet.metering.selectors import is_readable
from gauntlet.storage.models import Form
from gauntlet.storage.services import store
from gauntlet_runtime import metering as contract
from gauntlet_runtime.metering import ModelBudget, ModelSpec, Refusal, Settlement, Shortage, money

_MINUTE: Final = timedelta(minutes=1)
_LOOK_SECONDS: Final = 1.0  # until whoever waits for the end of others' calls asks again


class _Refused(Exception):
    """Undoes the reservation that it comes out of."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.shortage)
        self.refusal = refusal


@transaction.atomic
def set_provider(
    *,
    competition: Competition,
    name: str,
    url: str,
    key: SecretStr,
    limit_field: str = "max_tokens",
    trusted: bool,
    actor: User | None = None,
) -> ModelProvider:
    """Set or replace a competition's provider; the key is sealed and never given out again.

    A key belongs to its address: whoever names another address has to bring the key anew. Emits provider.set.

    Args:
        trusted: an operator says so; an organizer's provider is called at public addresses only, over https

    Raises:
        ValueError: the address is none, or not one that may be named; or the key is none.
    """
    fields = {
        "url": checked_url(url, https=not trusted),
        "sealed_key": seal(checked_key(key)),
        "limit_field": limit_field,
        "trusted": trusted,
    }
    provider, _ = ModelProvider.objects.update_or_create(competition=competition, name=name, defaults=fields)
    record_event(provider, "provider.set", actor=actor, data={"competition": competition.slug, "name": name})
    return provider


@transaction.atomic
def remove_provider(*, competition: Competition, name: str, actor: User | None = None) -> bool:
    """Forget a competition's provider with its key; False where there is none. Emits provider.removed."""
    provider = ModelProvider.objects.filter(competition=competition, name=name).first()
    if provider is None:
        return False
    record_event(provider, "provider.removed", actor=actor, data={"competition": competition.slug, "name": name})
    provider.delete()
    return True


@transaction.atomic
def reseal_keys(*, former: SecretStr) -> tuple[int, list[ModelProvider]]:
    """Seal anew what a former secret of the installation sealed: how many keys, and the providers of the others.

    Others are those that neither secret opens; they stay as they are.
    """
    resealed, others = 0, []
    for provider in ModelProvider.objects.select_for_update(of=["self"]).select_related("competition"):
        if is_readable(provider):
            continue
        try:
            key = unseal(provider.sealed_key, former=former)
        except WrongSecret:
            others.append(provider)
            continue
        ModelProvider.objects.filter(pk=provider.pk).update(sealed_key=seal(key))
        resealed += 1
    return resealed, others


def reserve(
    *,
    account: UUID,
    holder: UUID,
    spec: ModelSpec,
    reservation: contract.Reservation,
    shared: UUID | None = None,
    what: str = "evaluation",
) -> Refusal | None:
    """Hold what a call can use at most against its budgets, or say why not. The same id counts once.

    Locks the accounts, the shared one first: of calls that come at once, each sees what the others reserved.

    Args:
        account: of the evaluation, or of its judge
        shared: of the submission in all of its tasks; rate and concurrency are then counted there
        what: what ``account`` is
    """
    try:
        _reserve(_Accounts(account, what, shared), holder=holder, spec=spec, wanted=reservation)
    except _Refused as error:
        return error.refusal
    return None


@dataclass(frozen=True)
class _Accounts:
    """Where a call counts."""

    own: UUID
    what: str
    shared: UUID | None


@transaction.atomic
def _reserve(accounts: _Accounts, *, holder: UUID, spec: ModelSpec, wanted: contract.Reservation) -> None:
    if Reservation.objects.filter(pk=wanted.id, holder=holder).exists():  # asked again because the answer was lost
        return
    if accounts.shared is not None:
        _hold(accounts.shared, wanted, limits=spec.per_submission, what="submission")
    _hold(accounts.own, wanted, limits=spec.per_evaluation, what=accounts.what)
    _check_pace(accounts, spec)
    Reservation.objects.create(
        id=wanted.id,
        account_id=accounts.own,
        shared_id=accounts.shared,
        holder=holder,
        tokens=wanted.tokens,
        cost=wanted.cost,
    )


def _hold(account: UUID, wanted: contract.Reservation, *, limits: ModelBudget, what: str) -> None:
    """Add to what is used of an account, which is opened where it is not.

    Raises:
        _Refused: it does not fit.
    """
    if _add(account, wanted):
        return
    opened = Account(id=account, what=what, token_limit=limits.tokens, cost_limit=limits.cost)
    Account.objects.bulk_create([opened], ignore_conflicts=True)
    locked = Account.objects.select_for_update().get(pk=account)  # what is being settled comes back before we judge
    if not _add(account, wanted):
        raise _Refused(_shortage(locked, wanted))


def _add(account: UUID, wanted: contract.Reservation) -> bool:
    """Add to what is used, in one statement and only where it fits."""
    fits = Q(token_limit__isnull=True) | Q(token_limit__gte=F("tokens") + wanted.tokens)
    fits &= Q(cost_limit__isnull=True) | Q(cost_limit__gte=F("cost") + wanted.cost)
    added = Account.objects.filter(fits, pk=account).update(
        tokens=F("tokens") + wanted.tokens, cost=F("cost") + wanted.cost
    )
    return added == 1


def _shortage(account: Account, wanted: contract.Reservation) -> Refusal:
    tokens_lack = account.token_limit is not None and account.tokens + wanted.tokens > account.token_limit
    return Refusal(
        shortage=Shortage.TOKENS if tokens_lack else Shortage.COST,
        limit=str(account.token_limit) if tokens_lack else money(account.cost_limit),
        used=str(account.tokens) if tokens_lack else money(account.cost),
        whose="submission" if account.what == "submission" else "evaluation",
        retry_after=_LOOK_SECONDS if _may_fit_later(account, wanted) else None,
    )


def _may_fit_later(account: Account, wanted: contract.Reservation) -> bool:
    """Whether calls under way hold what is missing: what they do not use comes back."""
    counted_there = Q(shared=account.pk) if account.what == "submission" else Q(account=account.pk)
    held = Reservation.objects.filter(counted_there, settled_at__isnull=True).aggregate(
        tokens=Coalesce(Sum("tokens"), 0), cost=Coalesce(Sum("cost"), Decimal(0))
    )
    tokens, cost = account.tokens - held["tokens"] + wanted.tokens, account.cost - held["cost"] + wanted.cost
    fits = account.token_limit is None or tokens <= account.token_limit
    return fits and (account.cost_limit is None or cost <= account.cost_limit)


def _check_pace(accounts: _Accounts, spec: ModelSpec) -> None:
    """Calls under way and calls of the last minute; the account's row is locked by now."""
    since = Now() - _MINUTE
    counted_there = Q(account=accounts.own) if accounts.shared is None else Q(shared=accounts.shared)
    made = Reservation.objects.filter(counted_there).filter(Q(settled_at__isnull=True) | Q(made_at__gt=since))
    counted = made.aggregate(
        under_way=Count("pk", filter=Q(settled_at__isnull=True)),
        recent=Count("pk", filter=Q(made_at__gt=since)),
        first=Min("made_at", filter=Q(made_at__gt=since)),
    )
    if counted["under_way"] >= spec.concurrency:
        raise _Refused(Refusal(shortage=Shortage.CONCURRENCY, retry_after=_LOOK_SECONDS))
    if spec.calls_per_minute is not None and counted["recent"] >= spec.calls_per_minute:
        left = (counted["first"] + _MINUTE - timezone.now()).total_seconds()
        raise _Refused(Refusal(shortage=Shortage.RATE, retry_after=min(60.0, max(0.1, left))))


@transaction.atomic
def settle(settlement: Settlement, *, holder: UUID) -> None:
    """Give back what a call did not use. A second time, or after its job has ended, nothing happens.

    Args:
        holder: the job that made the call; of another's nothing is settled
    """
    open_ones = Reservation.objects.filter(pk=settlement.id, holder=holder, settled_at__isnull=True)
    reservation = open_ones.select_for_update().first()
    if reservation is None:
        return
    tokens, cost = min(settlement.tokens, reservation.tokens), min(settlement.cost, reservation.cost)
    Reservation.objects.filter(pk=reservation.pk).update(settled_at=Now(), tokens=tokens, cost=cost)
    for account in _accounts_of(reservation):
        Account.objects.filter(pk=account).update(
            tokens=F("tokens") - reservation.tokens + tokens,
            cost=F("cost") - reservation.cost + cost,
            paid=F("paid") + (settlement.cost if settlement.paid else 0),
        )


def _accounts_of(reservation: Reservation) -> list[UUID]:
    """Where it counts, in the order in which accounts are locked."""
    return [account for account in (reservation.shared_id, reservation.account_id) if account is not None]


@transaction.atomic(savepoint=False)
def abandon(holder: UUID) -> None:
    """Count what an ended job has left open as used: its calls may have been made, and money spent."""
    open_ones = list(Reservation.objects.filter(holder=holder, settled_at__isnull=True).select_for_update())
    for reservation in open_ones:
        for account in _accounts_of(reservation):
            Account.objects.filter(pk=account).update(paid=F("paid") + reservation.cost)
    if open_ones:
        Reservation.objects.filter(pk__in=[one.pk for one in open_ones]).update(settled_at=Now())


@transaction.atomic(savepoint=False)
def give_back_all(holder: UUID) -> None:
    """Count nothing against budgets of what a job used that is done again; what was paid stays paid.

    Its calls are closed (`abandon`) and count on for the pace.
    """
    used = Reservation.objects.filter(Q(tokens__gt=0) | Q(cost__gt=0), holder=holder)
    sums = used.values_list("shared", "account").annotate(Sum("tokens"), Sum("cost")).order_by("shared", "account")
    for shared, own, tokens, cost in list(sums):
        give_back(shared=shared, account=own, tokens=tokens, cost=cost)
    if sums:
        used.update(tokens=0, cost=0)


def give_back(*, shared: UUID | None, account: UUID, tokens: int, cost: Decimal) -> None:
    """Count so much less against budgets: it was used for what is done again by nobody's fault who is ranked."""
    for one in [account] if shared is None else [shared, account]:  # in the order in which accounts are locked
        Account.objects.filter(pk=one).update(
            tokens=Greatest(F("tokens") - tokens, 0), cost=Greatest(F("cost") - cost, Decimal(0))
        )


def keep_answer(*, scope: UUID, key: str, answer: Path) -> None:
    """Keep a model's answer; the first one stays."""
    kept = store(answer, form=Form.FILE)
    KeptAnswer.objects.bulk_create([KeptAnswer(scope=scope, key=key, answer=kept)], ignore_conflicts=True)
