"""Pages of workers: what is wrong stands first for an operator, and hundreds of workers stand on pages."""

from __future__ import annotations

from html import unescape

from django.test import Client
from django.utils import timezone

from gauntlet.evaluation.models import Worker

PAGE = "/operators/workers/"


def as_operator(world) -> Client:
    client = Client()
    client.force_login(world.operator)
    return client


def test_who_takes_no_job_is_counted_first_and_a_silent_worker_is_explained(world, db):
    html = unescape(as_operator(world).get(PAGE).content.decode())
    assert "2 of 7 take jobs; 1 silent, 1 paused, 2 without room on a disk, 1 ended." in html
    assert "It was killed, or is cut off from the platform." in html


def test_one_worker_alone_takes_jobs(world, db):
    Worker.objects.exclude(name="worker-1:1").delete()
    assert "1 of 1 takes jobs." in as_operator(world).get(PAGE).content.decode()


def test_hundreds_of_workers_leave_the_page_small(world, db):
    name = "worker.rack-17.row-b.north-hall.machines.example.org"
    now = timezone.now()
    more = [Worker(name=f"{name}:{n:03}", host=name, queues=["default"], seen_at=now) for n in range(250)]
    Worker.objects.bulk_create(more)
    client = as_operator(world)
    pages = [client.get(f"{PAGE}?page={number}").content.decode() for number in (1, 2, 3)]
    assert max(len(page.encode()) for page in pages) < 60_000
    assert "Page 1 of 3" in pages[0]
    assert sum(page.count('data-l="State"') for page in pages) == 257


def test_hundreds_of_workers_of_an_own_queue_leave_its_page_small(world, organizer):
    now, token = timezone.now(), world.queue.tokens.all()[0]
    name = "plant-gpu/worker.rack-17.row-b.north-hall.machines.example.org"
    own = {"host": name, "queues": ["plant-gpu"], "queue_token": token, "sandbox": "docker", "seen_at": now}
    Worker.objects.bulk_create(Worker(name=f"{name}:{n:03}", **own) for n in range(250))
    pages = [organizer.get(f"/queues/plant-gpu/?page={number}").content.decode() for number in (1, 2, 3)]
    assert max(len(page.encode()) for page in pages) < 60_000
    assert sum(page.count('data-l="State"') for page in pages) == 252
