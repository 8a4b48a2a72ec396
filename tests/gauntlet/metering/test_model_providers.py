"""Whose provider a competition's models come from, and that its key can be written and never read."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.core.signals import got_request_exception
from django.db import connection
from django.test import Client
from django.views.debug import ExceptionReporter
from pydantic import SecretStr

from gauntlet.accounts.models import Event
from gauntlet.metering.configuration import Provider, read_prices, read_providers
from gauntlet.metering.models import ModelProvider
from gauntlet.metering.sealing import WrongSecret, seal, unseal
from gauntlet.metering.selectors import model_access, model_price
from gauntlet.metering.services import set_provider

KEY = "sk-an-organizers-secret"
URL = "https://models.example.org/v1"


def everything_stored() -> str:
    """Every row of every table, as text."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        rows = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')  # noqa: S608  # the database's own names
            rows += [row[0] for row in cursor.fetchall()]
    return "\n".join(rows)


@pytest.mark.django_db
def test_the_competitions_own_provider_comes_first(make_phase: Any) -> None:
    competition, other = make_phase().competition, make_phase().competition
    set_provider(competition=competition, name="ours", url=f"{URL}/", key=SecretStr(KEY), trusted=True)
    own, operators = model_access(competition, "ours"), model_access(other, "ours")
    assert own is not None
    assert operators is not None
    assert (own.url, own.key.get_secret_value()) == (URL, KEY)
    assert operators.key.get_secret_value() == "sk-operators-key"
    assert model_access(competition, "theirs") is None


@pytest.mark.django_db
def test_the_operators_provider_may_be_for_some_competitions_only(make_phase: Any, settings: Any) -> None:
    competition, other = make_phase().competition, make_phase().competition
    settings.MODEL_PROVIDERS = {"paid": Provider(url=URL, key=SecretStr("k"), competitions=[competition.slug])}
    assert model_access(competition, "paid") is not None
    assert model_access(other, "paid") is None


@pytest.mark.django_db
def test_a_key_is_nowhere_in_the_database(make_phase: Any) -> None:
    competition = make_phase().competition
    provider = set_provider(competition=competition, name="mine", url=URL, key=SecretStr(KEY), trusted=True)
    stored = everything_stored()
    assert provider.sealed_key in stored  # so that the look would have found it
    assert KEY not in stored
    assert "organizers-secret" not in repr(model_access(competition, "mine"))
    assert Event.objects.get(name="provider.set").data == {"competition": competition.slug, "name": "mine"}


def test_a_key_is_sealed_by_the_installations_secret(settings: Any) -> None:
    sealed = seal(SecretStr(KEY))
    assert sealed != seal(SecretStr(KEY))
    assert unseal(sealed).get_secret_value() == KEY
    settings.GAUNTLET_SECRET = "another secret of at least so many letters"
    with pytest.raises(WrongSecret):
        unseal(sealed)


@pytest.mark.django_db
def test_keys_are_sealed_anew_when_the_installations_secret_changes(
    make_phase: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, former = make_phase().competition, settings.GAUNTLET_SECRET
    set_provider(competition=first, name="mine", url=URL, key=SecretStr(KEY), trusted=True)
    settings.GAUNTLET_SECRET = "another secret of at least so many letters"
    second = make_phase().competition
    set_provider(competition=second, name="new", url=URL, key=SecretStr(f"{KEY}2"), trusted=True)

    def reseal(secret: str) -> str:
        said = io.StringIO()
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{secret}\n"))
        call_command("reseal_model_keys", stdout=said, stderr=said)
        return said.getvalue()

    stored = everything_stored()
    with pytest.raises(CommandError, match=f"does not open the keys of: {first.slug}/mine"):
        reseal("a secret that this installation never had")
    assert everything_stored() == stored
    assert reseal(former) == "1 key(s) sealed anew.\n"
    assert reseal(former) == "0 key(s) sealed anew.\n"
    for competition, name, key in ((first, "mine", KEY), (second, "new", f"{KEY}2")):
        access = model_access(competition, name)
        assert access is not None
        assert access.key.get_secret_value() == key


@pytest.mark.django_db
def test_the_command_reads_the_key_from_stdin_and_shows_it_to_nobody(
    make_phase: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug, said = make_phase().competition.slug, io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    call_command("set_model_provider", "mine", competition=slug, url=URL, stdout=said, stderr=said)
    assert unseal(ModelProvider.objects.get().sealed_key).get_secret_value() == KEY
    assert KEY not in said.getvalue()
    call_command("set_model_provider", "mine", competition=slug, remove=True, stdout=said)
    assert not ModelProvider.objects.exists()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("mine", {"competition": "nowhere", "url": URL}, "no competition"),
        ("mine", {"url": "ftp://example.org"}, "must begin with https"),
        ("mine", {"url": "https://user:pass@example.org/v1"}, "no user"),
        ("mi ne", {"url": URL}, "letters, digits"),
        ("mine", {}, "--url"),
        ("mine", {"remove": True}, "has no provider"),
    ],
)
@pytest.mark.django_db
def test_the_command_says_what_is_wrong(
    name: str, options: dict[str, Any], words: str, make_phase: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("k\n"))
    with pytest.raises(CommandError, match=words):
        call_command("set_model_provider", name, **{"competition": make_phase().competition.slug, **options})
    assert not ModelProvider.objects.exists()


@pytest.mark.django_db
def test_the_command_takes_no_key_that_no_request_can_carry(make_phase: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("“copied from a page”\n"))
    with pytest.raises(CommandError, match="The key holds") as caught:
        call_command("set_model_provider", "mine", competition=make_phase().competition.slug, url=URL)
    assert "copied from" not in str(caught.value)
    assert not ModelProvider.objects.exists()


@pytest.mark.django_db
def test_the_operators_page_writes_the_key_and_never_shows_it(make_phase: Any) -> None:
    competition = make_phase().competition
    person = get_user_model().objects.create_superuser("operator", "operator@example.org", "a long pass phrase")
    client = Client()
    client.force_login(person)
    form = {"competition": competition.pk, "name": "mine", "url": URL, "limit_field": "max_tokens"}
    assert client.post("/admin/metering/modelprovider/add/", {**form, "key": KEY}).status_code == 302
    provider = ModelProvider.objects.get()
    page = f"/admin/metering/modelprovider/{provider.pk}/change/"
    assert client.post(page, {**form, "name": "renamed", "key": ""}).status_code == 302
    provider.refresh_from_db()
    assert (provider.name, unseal(provider.sealed_key).get_secret_value()) == ("renamed", KEY)
    for address in (page, "/admin/metering/modelprovider/", f"{page.removesuffix('change/')}history/"):
        shown = client.get(address).content.decode()
        assert KEY not in shown
        assert provider.sealed_key not in shown
    assert "copy it anew" in client.post(page, {**form, "key": "schlüssel"}).content.decode()
    refused = client.post(page, {**form, "url": "example.org", "key": "sk-never-kept"})
    assert "must begin with https" in refused.content.decode()
    assert "sk-never-kept" not in refused.content.decode()


@pytest.mark.django_db
def test_an_operator_who_corrects_an_organizers_provider_does_not_take_it_over(organizer: tuple[Any, Client]) -> None:
    """Else its key would go to another address, or its address might be one of the host's own."""
    competition, client = organizer
    form = {"name": "mine", "url": URL, "key": KEY, "limit_field": "max_tokens"}
    client.post(f"/competitions/{competition.slug}/organizer/models/", form)
    person = get_user_model().objects.create_superuser("operator", "operator@example.org", "a long pass phrase")
    client.force_login(person)
    page = f"/admin/metering/modelprovider/{ModelProvider.objects.get().pk}/change/"
    form = {**form, "competition": competition.pk, "key": "", "limit_field": "max_completion_tokens"}
    assert client.post(page, form).status_code == 302
    access = model_access(competition, "mine")
    assert access is not None
    assert (access.limit_field, access.set_by, access.public_only) == ("max_completion_tokens", "organizer", True)
    refused = client.post(page, {**form, "url": "http://127.0.0.1:8080/v1"})
    assert "the key has to be given anew" in refused.content.decode()
    assert model_access(competition, "mine") == access
    assert client.post(page, {**form, "url": "http://127.0.0.1:8080/v1", "key": "sk-operators"}).status_code == 302
    access = model_access(competition, "mine")
    assert access is not None
    assert (access.set_by, access.key.get_secret_value()) == ("operator", "sk-operators")
    keyless = set_provider(competition=competition, name="local", url=URL, key=SecretStr(""), trusted=True)
    page = f"/admin/metering/modelprovider/{keyless.pk}/change/"
    assert client.post(page, {**form, "name": "local", "url": "http://127.0.0.1:8080/v1"}).status_code == 302


@pytest.mark.parametrize("page", ["/admin/metering/modelprovider/add/", "/competitions/{}/organizer/models/"])
@pytest.mark.django_db
def test_a_report_of_an_error_does_not_hold_the_key(
    page: str, organizer: tuple[Any, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    competition, client = organizer
    competition.organizer.is_staff = competition.organizer.is_superuser = True
    competition.organizer.save()
    reports = []

    def report(request: Any, **_: Any) -> None:
        reports.append(ExceptionReporter(request, *sys.exc_info(), is_email=True).get_traceback_text())

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the database is away")

    monkeypatch.setattr(ModelProvider, "save", fail)
    client.raise_request_exception = False
    form = {"competition": competition.pk, "name": "mine", "url": URL, "key": KEY, "limit_field": "max_tokens"}
    got_request_exception.connect(report)
    try:
        assert client.post(page.format(competition.slug), form).status_code == 500
    finally:
        got_request_exception.disconnect(report)
    (text,) = reports
    assert "limit_field" in text  # so that the key would have been found
    assert KEY not in text


def test_prices_are_decimals_and_a_providers_own_come_first(settings: Any) -> None:
    settings.MODEL_PRICES = read_prices({"small": {"in": "0.1", "out": 0.5}, "ours/small": {"in": "0.3"}})
    own, general = model_price("ours", "small"), model_price("theirs", "small")
    assert own is not None
    assert general is not None
    assert (str(own.tokens_in), str(own.tokens_out), str(general.tokens_out)) == ("0.3", "0", "0.5")
    assert model_price("ours", "large") is None


@pytest.mark.parametrize("price", ["-1", "1e10", "1e30", "0.1234567", "1e-40", 0.1 + 0.2, "NaN", "Infinity", "much"])
def test_a_price_that_cannot_be_counted_to_the_last_digit_stops_the_start(price: Any) -> None:
    for field in ("in", "out"):
        with pytest.raises(ValueError, match=rf"small\.{field}"):
            read_prices({"small": {"in": "1", field: price}})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"p": {"url": "example.org", "key": KEY}}, "p.url: "),
        ({"p": {"url": URL, "key": [KEY]}}, "p.key: "),
        ({"p": {"url": URL, "key": f"{KEY}\n{KEY}"}}, "p.key: .*copy it anew"),
        ({"p": {"url": "https://example.org:0x1/v1", "key": KEY}}, "p.url: .*a port"),
        ({"p": {"url": URL, "keys": KEY}}, "p.keys: "),
        ([KEY], "must be an object"),
    ],
)
def test_a_wrong_provider_is_told_without_its_key(value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        read_providers(value)
    assert KEY not in str(caught.value)


@pytest.fixture
def organizer(make_phase: Any) -> tuple[Any, Client]:
    """A competition whose phase names a provider that nobody has set, and its organizer's client."""
    competition = make_phase(llm={"provider": "mine", "models": ["small"], "per_episode": {"tokens": 5}}).competition
    client = Client()
    client.force_login(competition.organizer)
    return competition, client


@pytest.mark.django_db
def test_an_organizer_sets_a_provider_and_its_key_is_never_shown(organizer: tuple[Any, Client]) -> None:
    competition, client = organizer
    page = f"/competitions/{competition.slug}/organizer/models/"
    assert "The provider “mine” is not set" in client.get(page).content.decode()
    form = {"name": "mine", "url": URL, "key": KEY, "limit_field": "max_tokens"}
    assert client.post(page, form).status_code == 302
    access = model_access(competition, "mine")
    assert access is not None
    assert (access.url, access.key.get_secret_value(), access.public_only) == (URL, KEY, True)
    shown = client.get(page).content.decode()
    assert URL in shown
    assert "is not set" not in shown
    assert KEY not in shown
    assert ModelProvider.objects.get().sealed_key not in shown
    assert Event.objects.get(name="provider.set").actor == competition.organizer
    assert client.post(f"{page}mine/remove").status_code == 302
    assert model_access(competition, "mine") is None


@pytest.mark.django_db
def test_an_organizer_is_told_that_a_key_cannot_be_read_any_more_and_sets_it_again(
    organizer: tuple[Any, Client], settings: Any
) -> None:
    competition, client = organizer
    page = f"/competitions/{competition.slug}/organizer/models/"
    form = {"name": "mine", "url": URL, "key": KEY, "limit_field": "max_tokens"}
    client.post(page, form)
    told = "The key of “mine” cannot be read any more"
    assert told not in client.get(page).content.decode()
    settings.GAUNTLET_SECRET = "another secret of at least so many letters"
    shown = client.get(page)
    assert shown.status_code == 200
    assert told in shown.content.decode()
    assert client.post(page, form).status_code == 302
    assert told not in client.get(page).content.decode()
    assert model_access(competition, "mine") is not None


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("url", "http://models.example.org/v1", "must begin with https"),
        ("url", "https://user@models.example.org/v1", "no user"),
        ("url", "https://models.example.org:99999/v1", "a port that there can be"),
        ("url", "https://models..example.org/v1", "must have a host name"),
        ("url", "https://[::1/v1", "must have a host name"),
        ("url", "https://models.example.org/v 1", "no space"),
        ("key", "", "required"),
        ("key", "“sk-not-kept”", "copy it anew"),
        ("key", "sk-not-kept and more", "copy it anew"),
        ("name", "mi ne", "valid"),
        ("limit_field", "other", "valid choice"),
    ],
)
@pytest.mark.django_db
def test_what_is_wrong_in_an_organizers_form_changes_nothing(
    field: str, value: str, words: str, organizer: tuple[Any, Client]
) -> None:
    competition, client = organizer
    form = {"name": "mine", "url": URL, "key": "sk-not-kept", "limit_field": "max_tokens", field: value}
    answer = client.post(f"/competitions/{competition.slug}/organizer/models/", form)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert "sk-not-kept" not in answer.content.decode()
    assert not ModelProvider.objects.exists()


@pytest.mark.django_db
def test_nobody_else_sets_or_removes_a_provider(organizer: tuple[Any, Client], make_user: Any) -> None:
    competition, client = organizer
    page = f"/competitions/{competition.slug}/organizer/models/"
    form = {"name": "mine", "url": URL, "key": KEY, "limit_field": "max_tokens"}
    client.post(page, form)
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.post(page, {**form, "url": "https://elsewhere.example.org"}).status_code == 403
    assert stranger.post(f"{page}mine/remove").status_code == 403
    assert Client().post(page, form).status_code == 302  # to the log-in page
    assert ModelProvider.objects.get().url == URL
