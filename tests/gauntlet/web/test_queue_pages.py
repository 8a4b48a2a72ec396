"""Pages of own queues: made, served, shared, ended; which queue a phase uses; and what those who submit are told."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

PLANT = "/competitions/plant-floor-questions"
FAULTS = "/competitions/fault-trees"
QUEUE = "/queues/plant-gpu/"


def text(answer: Any) -> str:
    """What a page says, without markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.content.decode()))


def client_of(user: Any) -> Client:
    """Somebody's browser."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def colleague(world: Any, db: None) -> Any:
    """With whom the queue is shared."""
    return world.queue.organizers.get()


def use_own_queue(phase: Any) -> None:
    """Let a phase use the organizer's queue."""
    type(phase).objects.filter(pk=phase.pk).update(queue="plant-gpu")


def test_an_organizer_makes_a_queue_and_its_first_token(organizer: Client) -> None:
    made = organizer.post("/queues/", {"name": "second-lab"}, follow=True)
    assert made.redirect_chain == [("/queues/second-lab/", 302)]
    assert "No worker takes jobs now. Nothing waits, 0 in work." in text(made)
    assert "There is no token: no worker can serve this queue." in text(made)
    issued = organizer.post("/queues/second-lab/tokens", {"label": "rack 3"})
    (secret,) = re.findall(r"gqt_[\w-]{20,}", issued.content.decode())
    assert (issued.status_code, "no-store" in issued["Cache-Control"]) == (200, True)
    again = organizer.get("/queues/second-lab/").content.decode()
    assert secret not in again
    assert secret[:12] in again
    assert "second-lab" in text(organizer.get("/queues/"))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "Name the queue."),
        ("Not This", "Use up to 60 small letters"),
        ("plant-gpu", "There is a queue named 'plant-gpu' already"),
        ("default", "There is a queue named 'default' already"),
        ("x" * 61, "at most 60 characters"),
    ],
)
def test_a_wrong_name_is_told_beside_it(organizer: Client, name: str, problem: str) -> None:
    refused = organizer.post("/queues/", {"name": name})
    assert refused.status_code == 422
    assert problem in text(refused).replace("&#x27;", "'")
    assert 'aria-invalid="true"' in refused.content.decode()


def test_who_may_have_no_queue_reads_why_and_gets_no_form(stranger: Client) -> None:
    page = stranger.get("/queues/")
    assert "Ask the operator of this installation" in text(page)
    assert "Make the queue" not in text(page)
    assert stranger.post("/queues/", {"name": "lab"}).status_code == 403


def test_the_owner_sees_its_workers_and_how_to_start_one(organizer: Client, settings: Any) -> None:
    settings.SITE_URL = "https://gauntlet.example.org"
    page = text(organizer.get(QUEUE))
    assert "1 worker takes jobs. Nothing waits, 0 in work." in page
    assert "lab-gpu-1:4120" in page
    assert "Less than 1 GiB is free" in page
    assert "gauntlet-worker --url https://gauntlet.example.org --token-file token.txt" in page
    assert "GPU machine in the lab" in page


def test_a_token_is_revoked(organizer: Client, world: Any) -> None:
    token = world.queue.tokens.get(label="GPU machine in the lab")
    page = organizer.post(f"{QUEUE}tokens/{token.pk}/revoke", follow=True)
    assert "The token “GPU machine in the lab” no longer works." in text(page)
    assert f"{token.prefix}" not in page.content.decode().partition("Tokens</h2>")[2]
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_with_whom_it_is_shared_sees_it_without_its_tokens_and_changes_nothing(world: Any, colleague: Any) -> None:
    client = client_of(colleague)
    page = client.get(QUEUE)
    assert "lab-gpu-1:4120" in text(page)
    for part in (
        "GPU machine",
        "gqt_",
        "Make the token",
        "Delete the queue",
        "token-file",
        colleague.username + "</th",
    ):
        assert part not in page.content.decode(), part
    assert "plant-gpu" in text(client.get("/queues/"))
    phase = world.approval.phases.get()
    token = world.queue.tokens.first()
    for path in ("tokens", f"tokens/{token.pk}/revoke", "share", "unshare", f"phases/{phase.pk}/send-back", "delete"):
        answer = client.post(
            f"{QUEUE}{path}", {"label": "x", "person": colleague.username, "typed": "plant-gpu", "name": "plant-gpu"}
        )
        assert answer.status_code == 403, path
    assert (world.queue.tokens.filter(revoked_at=None).count(), world.queue.organizers.get()) == (2, colleague)


def test_sharing_and_taking_back(organizer: Client, stranger: Client, world: Any) -> None:
    assert stranger.get(QUEUE).status_code == 404
    refused = organizer.post(f"{QUEUE}share", {"person": "nobody-of-that-name"})
    assert (refused.status_code, "Nobody here is named" in text(refused)) == (422, True)
    organizer.post(f"{QUEUE}share", {"person": world.newcomer.username})
    assert stranger.get(QUEUE).status_code == 200
    organizer.post(f"{QUEUE}unshare", {"person": world.newcomer.username})
    assert stranger.get(QUEUE).status_code == 404


def test_a_queue_is_deleted_by_its_name_once_nothing_uses_it(organizer: Client, world: Any) -> None:
    from gauntlet.queues.models import Queue

    wrong = organizer.post(f"{QUEUE}delete", {"typed": "plant"})
    assert (wrong.status_code, "Type the name of the queue" in text(wrong)) == (422, True)
    used = organizer.post(f"{QUEUE}delete", {"typed": "plant-gpu"})
    assert (used.status_code, "Phases use this queue" in text(used)) == (422, True)
    phase = world.approval.phases.get()
    sent = organizer.post(f"{QUEUE}phases/{phase.pk}/send-back", follow=True)
    assert f"The phase {phase.name} waits for the platform's workers now." in text(sent).replace("&#x27;", "'")
    gone = organizer.post(f"{QUEUE}delete", {"typed": "plant-gpu"}, follow=True)
    assert "was deleted with its tokens" in text(gone)
    assert not Queue.objects.filter(name="plant-gpu").exists()


def test_an_organizer_gives_a_phase_another_queue(organizer: Client, world: Any) -> None:
    development = world.plant.phases.all()[0]
    page = organizer.get(f"{PLANT}/organizer/workers/")
    assert "plant-gpu (plantops&#x27;s own)" in page.content.decode()
    done = organizer.post(
        f"{PLANT}/organizer/workers/", {"phase": development.index, "queue": "plant-gpu"}, follow=True
    )
    assert f"The phase {development.name} uses the queue plant-gpu." in text(done)
    development.refresh_from_db()
    assert development.queue == "plant-gpu"
    for number in ("77", "x", "", "9" * 5000, "٣", "-1"):
        sent = {"phase": number, "queue": "default"}
        assert organizer.post(f"{PLANT}/organizer/workers/", sent).status_code == 404
    for name in ("nothing", "", "x" * 5000):
        refused = organizer.post(f"{PLANT}/organizer/workers/", {"phase": development.index, "queue": name})
        assert (refused.status_code, "Nothing was changed" in text(refused)) == (409, True)


def test_a_phase_whose_queue_is_gone_still_shows_it(organizer: Client, world: Any) -> None:
    type(world.approval.phases.get()).objects.filter(competition=world.approval).update(queue="another-installations")
    page = organizer.get(f"{FAULTS}/organizer/workers/")
    assert '<option value="another-installations" selected>' in page.content.decode()


def test_keys_that_own_workers_lack_are_told(organizer: Client, world: Any, settings: Any) -> None:
    from pydantic import SecretStr

    from gauntlet.metering.configuration import Provider
    from gauntlet.metering.services import set_provider

    settings.MODEL_PROVIDERS = {"ours": Provider(url="https://example.org/v1", key=SecretStr("k"))}
    phase = world.plant.phases.all()[0]
    llm = {"provider": "ours", "models": ["small"], "per_episode": {"tokens": 10}, "per_evaluation": {}}
    type(phase).objects.filter(pk=phase.pk).update(llm=llm)
    task = phase.tasks.get()
    type(task).objects.filter(pk=task.pk).update(judge={"provider": "theirs", "model": "large", "token_budget": 9})
    pages = (f"{PLANT}/organizer/workers/", f"{PLANT}/organizer/models/")
    sentence = f"{phase.name}: the provider “ours” has no key for your workers"
    for page in pages:
        assert sentence not in text(organizer.get(page))
    use_own_queue(phase)
    for page in pages:
        told = text(organizer.get(page))
        assert sentence in told
        assert f"{phase.name}: the provider “theirs” has no key for your workers" in told
        assert "Its judge comes from there" in told
    key = {"url": "https://models.example.org/v1", "key": SecretStr("own")}
    set_provider(competition=world.plant, name="ours", trusted=True, **key)
    assert sentence in text(organizer.get(pages[0]))
    for name in ("ours", "theirs"):
        set_provider(competition=world.plant, name=name, trusted=False, **key)
    for page in pages:
        assert "has no key for your workers" not in text(organizer.get(page))


def test_those_who_submit_are_told_whose_workers_run_it(visitor: Client, participant: Client, world: Any) -> None:
    own = "Runs on the workers of plantops, not on the platform's."
    platforms = "Runs on the platform's own workers."

    def told(client: Client, page: str) -> str:
        return text(client.get(page)).replace("&#x27;", "'")

    assert own in told(visitor, f"{FAULTS}/")
    assert own not in told(visitor, f"{PLANT}/")
    assert platforms in told(visitor, f"{PLANT}/")
    assert platforms in told(participant, f"{PLANT}/submit/")
    for phase in world.plant.phases.all():
        use_own_queue(phase)
    assert own in told(visitor, f"{PLANT}/")
    assert own in told(participant, f"{PLANT}/submit/")


def test_a_submission_names_the_workers_that_its_jobs_are_for(participant: Client, world: Any) -> None:
    """Those of its own jobs: of a phase that was given another queue since, what had begun stayed where it was."""
    submission = world.by_state["finished"]
    page = f"/submissions/{submission.pk}/"
    assert "Ran on the platform's own workers." in text(participant.get(page)).replace("&#x27;", "'")
    use_own_queue(submission.phase)
    assert "Ran on the platform's own workers." in text(participant.get(page)).replace("&#x27;", "'")
    submission.evaluations.get().jobs.update(queue="plant-gpu")
    assert "Ran on the workers of plantops" in text(participant.get(page))


def test_of_a_submission_that_was_cancelled_before_it_ran_no_workers_are_named(participant: Client, world: Any) -> None:
    told = text(participant.get(f"/submissions/{world.by_state['cancelled'].pk}/"))
    assert "It was cancelled" in told
    assert "own workers" not in told


def test_who_waits_for_a_queue_that_nobody_serves_reads_whose_it_is(participant: Client, world: Any) -> None:
    from gauntlet.evaluation.models import Job, Worker

    submission = world.by_state["queued"]
    use_own_queue(submission.phase)
    Job.objects.filter(evaluation__submission=submission).update(queue="plant-gpu")
    page = f"/submissions/{submission.pk}/"
    assert "Runs on the workers of plantops" in text(participant.get(page))
    assert "serves" not in text(participant.get(page))
    Worker.objects.filter(queues__contains=["plant-gpu"]).update(seen_at=timezone.now() - timedelta(hours=1))
    told = text(participant.get(page)).replace("&#x27;", "'")
    assert "in the queue 'plant-gpu', which only plantops's own workers serve, and none of them does now." in told
    assert "write to the organizer" in told


@pytest.mark.parametrize(
    ("state", "left"), [("running", "episodes are done, and the rest waits"), ("scoring", "its scoring")]
)
def test_who_waits_for_what_began_on_workers_that_went_away_reads_whose_they_are(
    participant: Client, world: Any, state: str, left: str
) -> None:
    from gauntlet.evaluation.models import Job, Worker

    submission = world.by_state[state]
    jobs = Job.objects.filter(evaluation__submission=submission)
    evaluation = submission.evaluations.get()
    jobs.delete()
    now = timezone.now()
    Job.objects.create(evaluation=evaluation, participant=world.participant, queue="plant-gpu", available_at=now)
    page = f"/submissions/{submission.pk}/"
    assert "held up" not in text(participant.get(page))
    Worker.objects.filter(queues__contains=["plant-gpu"]).update(seen_at=now - timedelta(hours=1))
    told = text(participant.get(page)).replace("&#x27;", "'")
    assert left in told
    assert "in the queue 'plant-gpu', which only plantops's own workers serve, and none of them does now." in told
    assert "It goes on once one does; if that takes long, write to the organizer." in told


def test_a_profile_leads_to_queues_whom_they_serve(
    organizer: Client, stranger: Client, participant: Client, colleague: Any
) -> None:
    """Who may make none, and was lent none, would find nothing there to do."""
    told = {client: "Your queues" in text(client.get("/accounts/profile/")) for client in (organizer, stranger)}
    assert told == {organizer: True, stranger: False}
    assert "Your queues" not in text(participant.get("/accounts/profile/"))
    assert "Your queues" in text(client_of(colleague).get("/accounts/profile/"))


def test_the_pages_take_the_same_queries_however_much_there_is(organizer: Client, world: Any) -> None:
    from gauntlet.evaluation.models import Worker
    from gauntlet.queues.services import create_queue, issue_token, share_queue

    def queries(page: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            assert organizer.get(page).status_code == 200
        return len(asked)

    pages = ["/queues/", QUEUE, f"{PLANT}/organizer/workers/"]
    before = [queries(page) for page in pages]
    for number in range(5):
        create_queue(f"more-{number}", owner=world.organizer)
        token, _ = issue_token(world.queue, label=f"more {number}", actor=world.organizer)
        queues = {"queues": ["plant-gpu"], "queue_token": token}
        Worker.objects.create(name=f"more:{number}", host="more", seen_at=timezone.now(), **queues)
    for user in (world.participant, world.newcomer):
        share_queue(world.queue, username=user.username, actor=world.organizer)
    use_own_queue(world.plant.phases.all()[0])
    use_own_queue(world.telemetry.phases.get())
    after = [queries(page) for page in pages]
    assert after[:2] == before[:2]
    assert after[2] <= before[2] + 5  # a phase on an own queue: whose it is, and which keys it lacks
    assert max(after) <= 22
