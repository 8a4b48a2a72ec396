"""What is sent again because its answer was lost makes one submission; what is sent anew makes another."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import Event, User
from gauntlet.accounts.services import create_token
from gauntlet.submissions import services
from gauntlet.submissions.models import IdempotencyKey, Submission
from gauntlet.submissions.once import Once

pytestmark = pytest.mark.django_db
KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    """An open phase with one attempt."""
    return make_phase(max_submissions=1)


@pytest.fixture
def user(phase: Any, make_participant: Callable[[Any], User]) -> User:
    """A participant."""
    return make_participant(phase)


@pytest.fixture
def post(agent_zip: Any) -> Callable[..., Any]:
    """Submit over the API."""

    def send(phase: Any, user: User, key: str | None = KEY, content: bytes | None = None) -> Any:
        headers = {"Authorization": f"Bearer {create_token(user, name='test')[1]}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        upload = SimpleUploadedFile("mine.zip", agent_zip() if content is None else content)
        address = f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/submissions"
        return Client().post(address, {"bundle": upload}, headers=headers)

    return send


def test_a_request_whose_answer_was_lost_is_made_again_and_gets_the_same_submission(
    phase: Any, user: User, post: Any
) -> None:
    """Also though it used the last attempt, and after the phase."""
    first, again = post(phase, user), post(phase, user)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    type(phase).objects.filter(pk=phase.pk).update(end=timezone.now())
    assert post(phase, user).json() == first.json()
    assert Submission.objects.count() == 1
    assert Event.objects.filter(name="submission.received").count() == 1


def test_what_is_told_again_does_not_go_backwards(phase: Any, user: User, post: Any) -> None:
    """Its page says that it is being checked, though its checker died and the next has not begun."""
    assert post(phase, user).json()["state"] == "received"
    Submission.objects.update(check_attempts=1)
    assert post(phase, user).json()["state"] == "checking"


def test_another_file_with_the_same_key_is_refused_and_the_first_stays(
    make_phase: Any, make_participant: Any, post: Any, agent_zip: Any
) -> None:
    phase = make_phase()
    user = make_participant(phase)
    assert post(phase, user).status_code == 201
    answer = post(phase, user, content=agent_zip(more="x"))
    assert (answer.status_code, answer.json()["code"]) == (422, "key_used")
    assert "Send a new key with a new file" in answer.json()["message"]
    assert Submission.objects.count() == IdempotencyKey.objects.count() == 1


@pytest.mark.parametrize("keys", [(None, None), ("one", "two")])
def test_the_same_file_is_submitted_once_more_on_purpose(
    keys: tuple[str | None, str | None], make_phase: Any, make_participant: Any, post: Any
) -> None:
    phase = make_phase()
    user = make_participant(phase)
    made = [post(phase, user, key) for key in keys]
    assert [answer.status_code for answer in made] == [201, 201]
    assert len({answer.json()["id"] for answer in made}) == 2


def test_a_key_is_its_senders_own_and_belongs_to_one_phase(make_phase: Any, make_participant: Any, post: Any) -> None:
    phase = make_phase()
    other = make_phase(competition=phase.competition)
    ada, bob = make_participant(phase), make_participant(phase)
    made = [post(phase, ada), post(phase, bob), post(other, ada)]
    assert [answer.status_code for answer in made] == [201] * 3
    assert Submission.objects.count() == 3


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb"])
def test_a_key_that_is_none_is_refused_before_anything_is_stored(key: str, phase: Any, user: User, post: Any) -> None:
    answer = post(phase, user, key)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_key")
    assert not Submission.objects.exists()


def test_what_was_refused_may_be_sent_again_with_its_key(phase: Any, user: User, post: Any) -> None:
    phases = type(phase).objects.filter(pk=phase.pk)
    phases.update(max_submissions=0)
    assert post(phase, user).status_code == 429
    phases.update(max_submissions=1)
    assert post(phase, user).status_code == 201


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attempts", [1, 9])
def test_of_two_requests_with_one_key_at_once_one_submission_is_made(
    phase: Any, user: User, agent_zip: Any, monkeypatch: pytest.MonkeyPatch, at_once: Any, attempts: int
) -> None:
    type(phase).objects.filter(pk=phase.pk).update(max_submissions=attempts)
    phase.refresh_from_db()
    both, store = threading.Barrier(2), services.store

    def store_together(*what: Any, **more: Any) -> Any:
        both.wait(60)
        return store(*what, **more)

    def receive() -> Any:
        upload = ContentFile(agent_zip())
        return services.receive(phase=phase, participant=user, upload=upload, file_name="a.zip", once=Once(KEY)).pk

    monkeypatch.setattr(services, "store", store_together)
    assert at_once(2, receive) == [Submission.objects.get().pk] * 2


# The page's form


@pytest.fixture
def form(user: User, phase: Any) -> Callable[..., Any]:
    """Post the submit page's form as a browser does, with the fields that it was rendered with."""
    client = Client()
    client.force_login(user)
    address = f"/competitions/{phase.competition.slug}/submit/"

    def rendered() -> dict[str, str]:
        html = client.get(address).content.decode()
        fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html)
        return {name: value for name, value in fields if name != "csrfmiddlewaretoken"}

    def post(fields: dict[str, str], content: bytes | None, **more: str) -> Any:
        sent: dict[str, Any] = {"phase": phase.index, **fields, **more}
        if content is not None:
            sent["bundle"] = SimpleUploadedFile("mine.zip", content)
        return client.post(address, sent)

    post.rendered = rendered  # type: ignore[attr-defined]
    return post


def test_a_form_that_is_sent_twice_or_reloaded_leads_to_the_one_submission(
    phase: Any, form: Any, agent_zip: Any
) -> None:
    fields = form.rendered()
    first, again = form(fields, agent_zip()), form(fields, agent_zip())
    assert (first.status_code, again.status_code) == (302, 302)
    assert first["Location"] == again["Location"] == f"/submissions/{Submission.objects.get().pk}/"


def test_another_file_from_the_same_page_is_another_submission_and_so_is_a_page_that_was_opened_anew(
    phase: Any, form: Any, agent_zip: Any
) -> None:
    type(phase).objects.filter(pk=phase.pk).update(max_submissions=3)
    fields = form.rendered()
    made = {form(*sent)["Location"] for sent in ((fields, agent_zip()), (fields, agent_zip(more="x")))}
    made.add(form(form.rendered(), agent_zip())["Location"])
    assert len(made) == Submission.objects.count() == 3


def test_a_file_that_a_script_sent_in_parts_twice_for_one_form_is_submitted_once(
    phase: Any, form: Any, user: User, agent_zip: Any
) -> None:
    from io import BytesIO

    from gauntlet.submissions import resumable

    uploads = []
    for _ in range(2):
        upload = resumable.begin(owner=user, length=len(agent_zip()), file_name="mine.zip")
        resumable.append(upload, BytesIO(agent_zip()), offset=0)
        uploads.append(upload)
    fields = form.rendered()
    made = [form(fields, None, upload=str(upload.pk))["Location"] for upload in uploads]
    assert made == [f"/submissions/{Submission.objects.get().pk}/"] * 2
    for upload in uploads:
        upload.refresh_from_db()
        assert upload.submission == Submission.objects.get()
