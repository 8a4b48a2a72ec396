"""Budgets that several jobs draw on: reserved before, settled after, and counted once whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from decimal import Decimal
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, connection
from django.db.models import F

from gauntlet.metering import services
from gauntlet.metering.models import Account, Reservation
from gauntlet_runtime import metering as contract
from gauntlet_runtime.metering import ModelBudget, ModelOffer, Refusal, Settlement, Shortage

EVALUATION, SUBMISSION, JOB = uuid4(), uuid4(), uuid4()


def reserve(spec: Any, wanted: Any, *, holder: Any = JOB) -> Refusal | None:
    return services.reserve(account=EVALUATION, holder=holder, spec=spec, reservation=wanted)


def settle(wanted: Any, *, tokens: int, cost: str = "0", paid: bool = True, holder: Any = JOB) -> None:
    services.settle(Settlement(id=wanted.id, tokens=tokens, cost=Decimal(cost), paid=paid), holder=holder)


@pytest.mark.django_db
def test_what_is_reserved_counts_until_it_is_settled(model_budget: Any, wanted: Any) -> None:
    spec = model_budget(tokens=1000, cost=Decimal("0.01"))
    first = wanted(600, "0.002")
    assert reserve(spec, first) is None
    assert reserve(spec, wanted(500)) == Refusal(shortage=Shortage.TOKENS, limit="1000", used="600", retry_after=1.0)
    settle(first, tokens=100, cost="0.0005")
    assert reserve(spec, wanted(500)) is None
    assert reserve(spec, wanted(1, "0.00951")) == Refusal(shortage=Shortage.COST, limit="0.01", used="0.0005")
    account = Account.objects.get()
    assert (account.tokens, account.cost, account.paid) == (600, Decimal("0.0005"), Decimal("0.0005"))
    assert Reservation.objects.count() == 2  # a refusal leaves nothing


@pytest.mark.parametrize(("tokens", "cost"), [(100, "0"), (1, "0.1")])
@pytest.mark.django_db
def test_a_refusal_says_whether_calls_under_way_hold_what_is_missing(
    model_budget: Any, wanted: Any, tokens: int, cost: str
) -> None:
    """Who is refused for good ends as `budget_exceeded`: that must not depend on what happens to be under way."""
    spec = model_budget(tokens=100, cost=Decimal("0.1"))
    under_way = wanted(60, "0.06")
    reserve(spec, under_way)
    for _ in range(2):
        refused = reserve(spec, wanted(tokens, cost))
        assert refused is not None
        assert refused.retry_after is not None
    beyond = reserve(spec, wanted(101, cost))
    assert beyond is not None
    assert (beyond.shortage, beyond.retry_after) == (Shortage.TOKENS, None)
    settle(under_way, tokens=1, cost="0.001")
    used_up = reserve(spec, wanted(tokens, cost))
    assert used_up is not None
    assert used_up.retry_after is None
    assert reserve(spec, wanted(99, "0.099")) is None  # to the last token


@pytest.mark.django_db
def test_the_cost_of_many_calls_is_counted_to_the_last_digit(model_budget: Any) -> None:
    """The smallest and the largest price that there can be; nothing is rounded on the way through the database."""
    offer = ModelOffer(name="small", price_in=Decimal("0.000001"), price_out=Decimal("999999999.999999"))
    spec, sum_of_all = model_budget(), Decimal(0)
    for tokens in range(1, 200):
        held, used = (offer.cost(tokens_in=tokens * times, tokens_out=tokens) for times in (7, 3))
        one = contract.Reservation(id=str(uuid4()), tokens=tokens, cost=held)
        assert reserve(spec, one) is None
        services.settle(Settlement(id=one.id, tokens=tokens, cost=used, paid=True), holder=JOB)
        sum_of_all += used
    account = Account.objects.get()
    assert account.cost == account.paid == sum_of_all


@pytest.mark.django_db(transaction=True)
def test_what_comes_back_while_a_refusal_is_made_up_does_not_change_what_it_says(
    model_budget: Any, wanted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, under_way, add = model_budget(tokens=1000), wanted(800), services._add
    reserve(spec, under_way)

    def settled_elsewhere() -> None:
        try:
            settle(under_way, tokens=100)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:

        def add_and_let_settle(*given: Any) -> bool:
            added = add(*given)
            tried.append(added)
            if len(tried) == 2:  # it was refused for good
                wait([pool.submit(settled_elsewhere)], timeout=0.5)  # which may have to wait for whoever asks here
            return added

        tried: list[bool] = []
        monkeypatch.setattr(services, "_add", add_and_let_settle)
        refused = reserve(spec, wanted(900))
    assert refused is not None
    assert (tried, refused.shortage, refused.retry_after) == ([False, False], Shortage.TOKENS, 1.0)
    assert Account.objects.get().tokens == 100


@pytest.mark.django_db
def test_asking_and_settling_twice_count_once(model_budget: Any, wanted: Any) -> None:
    spec, one = model_budget(tokens=1000), wanted(800)
    assert [reserve(spec, one), reserve(spec, one)] == [None, None]
    assert Account.objects.get().tokens == 800
    for _ in range(2):
        settle(one, tokens=300, cost="0.1")
    account = Account.objects.get()
    assert (account.tokens, account.paid) == (300, Decimal("0.1"))


@pytest.mark.django_db
def test_a_kept_answer_counts_and_costs_nothing(model_budget: Any, wanted: Any) -> None:
    spec, one = model_budget(cost=Decimal(1)), wanted(10, "0.5")
    reserve(spec, one)
    settle(one, tokens=5, cost="0.2", paid=False)
    account = Account.objects.get()
    assert (account.tokens, account.cost, account.paid) == (5, Decimal("0.2"), 0)


@pytest.mark.django_db
def test_more_than_was_reserved_is_not_counted(model_budget: Any, wanted: Any) -> None:
    spec, one = model_budget(tokens=100), wanted(100)
    reserve(spec, one)
    settle(one, tokens=10**9)
    assert Account.objects.get().tokens == 100


@pytest.mark.django_db
def test_what_an_ended_job_left_open_counts_as_used(model_budget: Any, wanted: Any) -> None:
    spec, lost, others = model_budget(tokens=1000), wanted(700, "0.3"), wanted(100)
    other = uuid4()
    reserve(spec, lost)
    reserve(spec, others, holder=other)
    services.abandon(JOB)
    settle(lost, tokens=1)  # too late
    assert (Account.objects.get().tokens, Account.objects.get().paid) == (800, Decimal("0.3"))
    settle(others, tokens=0)  # another job's
    assert Account.objects.get().tokens == 800
    settle(others, tokens=0, holder=other)
    assert Account.objects.get().tokens == 700


@pytest.mark.django_db
def test_concurrency_counts_calls_under_way_and_rate_those_of_a_minute(model_budget: Any, wanted: Any) -> None:
    spec = model_budget(tokens=10**6, concurrency=2, calls_per_minute=3)
    calls = [wanted(10) for _ in range(5)]
    assert [reserve(spec, one) for one in calls[:2]] == [None, None]
    refused = reserve(spec, calls[2])
    assert refused is not None
    assert (refused.shortage, refused.retry_after) == (Shortage.CONCURRENCY, 1.0)
    settle(calls[0], tokens=10)
    assert reserve(spec, calls[3]) is None
    settle(calls[1], tokens=10)
    refused = reserve(spec, calls[4])
    assert refused is not None
    assert refused.shortage is Shortage.RATE
    assert refused.retry_after is not None
    assert 0 < refused.retry_after <= 60
    assert Account.objects.get().tokens == 30  # what was refused is not reserved
    Reservation.objects.update(made_at=F("made_at") - services._MINUTE)
    assert reserve(spec, calls[4]) is None


@pytest.mark.django_db
def test_the_database_itself_holds_the_limit(model_budget: Any, wanted: Any) -> None:
    reserve(model_budget(tokens=100), wanted(60))
    with pytest.raises(IntegrityError, match="account_within_tokens"):
        Account.objects.update(tokens=101)


def together(work: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """Do the same to each at once, each on a connection of its own."""
    barrier = Barrier(len(items))

    def one(item: Any) -> Any:
        try:
            barrier.wait(60)
            return work(item)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(one, items))


@pytest.mark.django_db(transaction=True)
def test_jobs_that_ask_at_once_never_get_more_than_there_is(model_budget: Any, wanted: Any) -> None:
    spec = model_budget(tokens=500, concurrency=100)
    refusals = together(lambda one: reserve(spec, one), [wanted(100) for _ in range(8)])
    assert sum(refusal is None for refusal in refusals) == 5
    assert Account.objects.get().tokens == 500


@pytest.mark.django_db(transaction=True)
def test_control_without_the_one_statement_they_would(model_budget: Any, wanted: Any) -> None:
    """Look first and add then: every job sees the budget as it was, and only the database's constraint is left."""
    Account.objects.create(pk=EVALUATION, token_limit=None, tokens=0)
    barrier = Barrier(4)

    def look_then_add(one: Any) -> bool:
        used = Account.objects.get().tokens
        barrier.wait(60)
        if used + one.tokens > 150:
            return False
        Account.objects.update(tokens=F("tokens") + one.tokens)
        return True

    assert together(look_then_add, [wanted(100) for _ in range(4)]) == [True] * 4
    assert Account.objects.get().tokens == 400


def reserve_in(task: Any, spec: Any, wanted: Any) -> Refusal | None:
    """A call in one of a submission's tasks."""
    return services.reserve(account=task, shared=SUBMISSION, holder=JOB, spec=spec, reservation=wanted)


@pytest.mark.django_db
def test_the_tasks_of_a_submission_share_its_budget_and_have_their_own(model_budget: Any, wanted: Any) -> None:
    spec = model_budget(tokens=1000, per_submission=ModelBudget(tokens=1500, cost=Decimal("0.5")))
    one, other = uuid4(), uuid4()
    first = wanted(900)
    assert reserve_in(one, spec, first) is None
    refused = Refusal(shortage=Shortage.TOKENS, limit="1000", used="900", retry_after=1.0)
    assert reserve_in(one, spec, wanted(200)) == refused
    refused = Refusal(shortage=Shortage.TOKENS, limit="1500", used="900", whose="submission", retry_after=1.0)
    assert reserve_in(other, spec, wanted(700)) == refused
    assert reserve_in(other, spec, wanted(1, "0.6")) == Refusal(
        shortage=Shortage.COST, limit="0.5", used="0", whose="submission"
    )
    used = {account.pk: account.tokens for account in Account.objects.all()}
    assert used == {one: 900, SUBMISSION: 900}  # a refusal leaves nothing in either
    settle(first, tokens=100, cost="0.1")
    assert reserve_in(other, spec, wanted(700)) is None
    accounts = {account.pk: account for account in Account.objects.all()}
    assert {key: account.tokens for key, account in accounts.items()} == {one: 100, other: 700, SUBMISSION: 800}
    assert (accounts[SUBMISSION].what, accounts[SUBMISSION].paid) == ("submission", Decimal("0.1"))


@pytest.mark.django_db
@pytest.mark.parametrize(("pace", "shortage"), [({"concurrency": 2}, "concurrency"), ({"calls_per_minute": 2}, "rate")])
def test_the_tasks_of_a_submission_share_its_pace(
    model_budget: Any, wanted: Any, pace: dict[str, int], shortage: str
) -> None:
    spec = model_budget(**pace)
    assert [reserve_in(uuid4(), spec, wanted(1)) for _ in range(2)] == [None, None]
    refused = reserve_in(uuid4(), spec, wanted(1))
    assert refused is not None
    assert refused.shortage == shortage
    alone = services.reserve(account=uuid4(), holder=JOB, spec=spec, reservation=wanted(1), shared=uuid4())
    assert alone is None  # another submission's is its own


@pytest.mark.django_db
def test_what_an_ended_job_left_open_is_paid_in_both_accounts(model_budget: Any, wanted: Any) -> None:
    assert reserve_in(EVALUATION, model_budget(), wanted(5, "0.2")) is None
    services.abandon(JOB)
    assert [account.paid for account in Account.objects.all()] == [Decimal("0.2")] * 2


@pytest.mark.django_db(transaction=True)
def test_tasks_at_once_never_overspend_together(model_budget: Any, wanted: Any) -> None:
    """Without the shared account's condition all eight would fit into their own."""
    spec = model_budget(tokens=100, per_submission=ModelBudget(tokens=300))
    barrier = Barrier(8)

    def call(number: int) -> bool:
        try:
            barrier.wait()
            return reserve_in(UUID(int=number + 1), spec, wanted(100)) is None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(call, range(8))) == 3
    assert Account.objects.get(pk=SUBMISSION).tokens == 300
