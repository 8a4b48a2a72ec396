"""What API, page and live events tell while everything is killed: no state goes backwards, none comes before its score.

Three watchers ask as fast as they can. What one was answered before another asked must be no later a state.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from gauntlet_runtime import services

pytestmark = pytest.mark.chaos

ORDER = ("received", "checking", "queued", "running", "scoring", "finished")
WORDS = {
    "Received": "received",
    "Being checked": "checking",
    "Queued": "queued",
    "Running": "running",
    "Begun, held up": "running",
    "Being scored": "scoring",
    "Finished": "finished",
}
CHIP = re.compile(r'<span class="chip[^"]*">.*?</svg>\s*([^<]+?)\s*</span>', re.DOTALL)


@dataclass(frozen=True)
class Seen:
    """One answer: when it was asked for and when it was there."""

    by: str
    asked: float
    answered: float
    status: str
    done: int
    scored: bool


@dataclass
class Watchers:
    """Threads that ask until the submission is final, whatever fails meanwhile."""

    base: str
    submission: str
    headers: dict[str, str]
    cookies: dict[str, str]
    seen: list[Seen] = field(default_factory=list)
    refused: list[tuple[str, int, str]] = field(default_factory=list)  # by whom, with what, and when to ask again
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def begin(self) -> None:
        """Start them."""
        for look in (self._api, self._page, self._events):
            self.threads.append(threading.Thread(target=self._keep_on, args=(look,)))
            self.threads[-1].start()

    def end(self) -> None:
        """End them."""
        self.over.set()
        for thread in self.threads:
            thread.join(60)

    def _keep_on(self, look: Any) -> None:
        """A request that is cut off by what the test kills tells nothing, and is asked again."""
        while not self.over.is_set():
            try:
                look()
            except (httpx.HTTPError, json.JSONDecodeError):
                time.sleep(0.02)

    def _note(self, by: str, asked: float, status: str, *, done: int, scored: bool) -> None:
        self.seen.append(Seen(by, asked, time.monotonic(), status, done, scored))

    def _note_refused(self, by: str, answer: httpx.Response) -> None:
        self.refused.append((by, answer.status_code, answer.headers.get("retry-after", "")))
        time.sleep(0.02)

    def _note_story(self, by: str, asked: float, story: dict[str, Any]) -> None:
        done = sum(one["episodes_done"] for one in story["evaluations"])
        scored = any(score["value"] is not None for score in story["scores"])
        self._note(by, asked, story["status"], done=done, scored=scored)

    def _api(self) -> None:
        asked = time.monotonic()
        answer = httpx.get(f"{self.base}/api/v1/submissions/{self.submission}", headers=self.headers, timeout=30)
        if answer.status_code != 200:
            self._note_refused("api", answer)
            return
        self._note_story("api", asked, answer.json())

    def _page(self) -> None:
        asked = time.monotonic()
        answer = httpx.get(f"{self.base}/submissions/{self.submission}/", cookies=self.cookies, timeout=30)
        if answer.status_code != 200:
            self._note_refused("page", answer)
            return
        _, _, story = answer.text.partition("data-live=")
        word = next(word for word in CHIP.findall(story) if word in WORDS)
        self._note("page", asked, WORDS[word], done=0, scored='data-l="This submission"' in story)

    def _events(self) -> None:
        address = f"{self.base}/api/v1/submissions/{self.submission}/events"
        with httpx.stream("GET", address, headers=self.headers, timeout=30) as answer:
            asked = time.monotonic()
            if answer.status_code != 200:
                self._note_refused("events", answer)
                return
            for line in answer.iter_lines():
                if self.over.is_set():
                    return
                if line.startswith("data: "):
                    # It was read at some time after the last one that was told, so it is compared with its own only.
                    self._note_story("events", asked, json.loads(line.removeprefix("data: ")))


@pytest.fixture
def watch(platform: Any, in_database: None) -> Any:
    """Begins to watch a person's submission."""
    from django.test import Client

    begun: list[Watchers] = []

    def watch(person: Any, submission: str) -> Watchers:
        client = Client()
        client.force_login(person.user)
        cookies = {"sessionid": client.cookies["sessionid"].value}
        headers = {"Authorization": person.api.headers["Authorization"]}
        begun.append(Watchers(platform.base, submission, headers, cookies))
        begun[-1].begin()
        return begun[-1]

    yield watch
    for watchers in begun:
        watchers.end()


def test_no_state_goes_backwards_whatever_is_killed_and_none_is_finished_before_its_score(
    platform, competition, slow_agent, watch, wait_until, kill_now, assert_finished_once
):
    platform.start()
    ada = platform.person("ada")
    submission = ada.submit(competition, 0, slow_agent)
    watchers = watch(ada, submission)
    job = platform.wait_for_job(submission, done=1)
    kill_now(int(job.worker.rpartition(":")[2]))  # the child at work: its episodes are run again
    platform.wait_for_job(submission, done=2)
    var = platform.installation.var
    before = services.status(var)
    kill_now(before.postgres)
    wait_until(lambda: services.status(var).postgres not in (None, before.postgres))
    assert_finished_once(submission)
    for kind in ("api", "page", "events"):
        wait_until(lambda kind=kind: any(seen.by == kind and seen.status == "finished" for seen in watchers.seen))
    watchers.end()

    seen = list(watchers.seen)
    assert {one.status for one in seen} >= {"running", "finished"}
    assert all(one.scored for one in seen if one.status == "finished")
    for kind in ("api", "page", "events"):
        own = [one for one in seen if one.by == kind]
        ranks = [ORDER.index(one.status) for one in own]
        assert ranks == sorted(ranks), (kind, [one.status for one in own])
        done = [one.done for one in own]
        assert done == sorted(done), (kind, done)
    assert backwards([one for one in seen if one.by != "events"]) == []
    # While the database was away.
    assert {(status, again) for _, status, again in watchers.refused} == {(503, "5")}


def backwards(seen: list[Seen]) -> list[tuple[Seen, Seen]]:
    """Pairs in which the second was asked for after the first was answered, and told an earlier state."""
    return [
        (first, second)
        for first in seen
        for second in seen
        if second.asked > first.answered and ORDER.index(second.status) < ORDER.index(first.status)
    ]


def test_what_would_go_backwards_is_noticed():
    first = Seen("api", 0.0, 1.0, "finished", 0, True)
    second = Seen("page", 2.0, 3.0, "running", 0, False)
    assert backwards([first, second]) == [(first, second)]
    assert backwards([first, Seen("page", 0.5, 3.0, "running", 0, False)]) == []
