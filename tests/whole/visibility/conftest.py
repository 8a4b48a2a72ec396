"""A world full of canaries: unique strings in everything that somebody must not see, and runs that have touched it all.

Two participants have submitted to three phases: one shows everything and has public scenarios, one shows scores, one
shows nothing; the scenarios of the latter two are hidden.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

PHASES = ("full", "scores", "none")
# It repeats what it was told, in its log, its notes and its answer: all that can leak through what an agent leaves.
PARROT = """
print("said", "{mark}", episode.text, flush=True)
episode.note("{mark} " + episode.text)
return "{mark} " + episode.text, {{"value": episode.call("look_up")["value"]}}
"""


class Canaries:
    """Makes the strings and remembers them by kind."""

    def __init__(self) -> None:
        self.by_kind: dict[str, list[str]] = {}

    def make(self, kind: str) -> str:
        """A string that occurs nowhere else: canary-<kind>-<16 hex digits>."""
        made = f"canary-{kind}-{secrets.token_hex(8)}"
        self.by_kind.setdefault(kind, []).append(made)
        return made

    def of(self, *kinds: str) -> list[str]:
        """All of these kinds."""
        return [canary for kind in kinds for canary in self.by_kind[kind]]


@dataclass
class World:
    """What was made and what ran."""

    canaries: Canaries
    platform: Any
    competition: Any
    organizer: Any
    owner: Any
    rival: Any
    outsider: Any
    submissions: dict[tuple[str, int], str] = field(default_factory=dict)  # by who and phase
    expert: Any = None  # who was invited to the studies, and is none of the others
    studies: list[Any] = field(default_factory=list)

    @property
    def visitors(self) -> dict[str, httpx.Client]:
        """Everybody who is not the organizer, by name: with a session, with a token, and with neither."""
        people = {"owner": self.owner, "rival": self.rival, "outsider": self.outsider}
        clients = {f"{name}, signed in": self.session(person) for name, person in people.items()}
        clients |= {f"{name}, with a token": person.api for name, person in people.items()}
        return {**clients, "anonymous": httpx.Client(base_url=self.platform.base, timeout=60)}

    def session(self, person: Any) -> httpx.Client:
        """A browser in which somebody is logged in."""
        from django.test import Client

        client = Client()
        client.force_login(person.user)
        cookies = {"sessionid": client.cookies["sessionid"].value}
        return httpx.Client(base_url=self.platform.base, cookies=cookies, timeout=60)

    def evaluation(self, who: str, phase: int) -> Any:
        """The newest evaluation of a submission."""
        return self.platform.evaluation(self.submissions[who, phase])

    def forbidden(self, who: str) -> list[str]:
        """What must not reach this visitor in any response."""
        hidden = self.canaries.of(
            *("hiddentext", "hiddenkey", "plan", "out", "form", "data", "program", "environment"),
            *("queuetoken", "queueworker"),
        )
        own = who.split(",")[0]
        others = [name for name in ("owner", "rival") if name != own]
        of_others = [one for name in others for one in self.canaries.of(f"{name}name", f"{name}mark")]
        ids = [self.submissions[name, phase] for name in others for phase in range(len(PHASES))]
        # In the phases that do not show it, not even one's own agent's words: they can repeat a hidden scenario.
        marks = self.canaries.by_kind[f"{own}mark"][1:] if own in ("owner", "rival") else []
        texts = [] if own in ("owner", "rival") else self.canaries.of("opentext")
        return [*hidden, *of_others, *ids, *marks, *texts]


@pytest.fixture(scope="module")
def world(module_platform: Any, module_workshop: Any, small_task: Any) -> World:
    """The world, with every submission finished."""
    canaries = Canaries()
    organizer = module_platform.person("organizer")
    competition = _competition(canaries, module_workshop, organizer, small_task)
    made = World(
        canaries=canaries,
        platform=module_platform,
        competition=competition,
        organizer=organizer,
        owner=module_platform.person("owner"),
        rival=module_platform.person("rival"),
        outsider=module_platform.person("outsider"),
    )
    for person in (made.owner, made.rival):
        for phase in range(len(PHASES)):
            name, mark = canaries.make(f"{person.name}name"), canaries.make(f"{person.name}mark")
            agent = module_workshop.agent(PARROT.format(mark=mark))
            made.submissions[person.name, phase] = person.submit(competition, phase, agent, name=name)
    for submission in made.submissions.values():
        assert module_platform.wait_for_end(submission, patience=240).state == "finished"
    made.expert = module_platform.person("expert")
    made.studies = _studies(competition, organizer.user, made.expert.user)
    _make_queue(canaries, organizer.user)
    return made


def _make_queue(canaries: Canaries, organizer: Any) -> None:
    """A queue of the organizer's, "lab", with a token and a worker that no phase uses."""
    from django.utils import timezone

    from gauntlet.evaluation.models import Worker
    from gauntlet.queues.models import Queue
    from gauntlet.queues.services import issue_token

    queue = Queue.objects.create(name="lab", owner=organizer)
    token, _ = issue_token(queue, label=canaries.make("queuetoken"), actor=organizer)
    name = f"lab/{canaries.make('queueworker')}:1"
    Worker.objects.create(name=name, host="lab/x", queues=["lab"], queue_token=token, seen_at=timezone.now())


def _studies(competition: Any, organizer: Any, expert: Any) -> list[Any]:
    """Hidden scenarios, what is expected of them and both participants' runs, before an expert who is neither."""
    from gauntlet.reviews import services

    phase = competition.phases.get(index=1)
    studies = [
        services.draw_judge_study(phase, program="rubric", size=6, seed=1, actor=organizer),
        services.draw_realism_study(phase, size=3, seed=1, actor=organizer),
    ]
    for study in studies:
        services.invite(study, names=[expert.username], actor=organizer)
    return studies


def _competition(canaries: Canaries, workshop: Any, organizer: Any, small_task: Any) -> Any:
    tasks = [_task(canaries, small_task, public=True), _task(canaries, small_task, public=False)]
    folder = workshop.written(tasks, [(0, "full"), (1, "scores"), (1, "none")])
    for index in (0, 1):
        (folder / f"data-{index}" / "secret.txt").write_text(canaries.make("data" if index else "opendata"))
    # The environment and the scoring program are the organizer's in every phase.
    with (folder / "environment" / "server.py").open("a") as program:
        program.write(f"# {canaries.make('environment')}\n")
    (folder / "own").mkdir()
    (folder / "own" / "metadata.yaml").write_text("command: python score.py\n")
    (folder / "own" / "score.py").write_text(_scorer(canaries.make("program")))
    return workshop.imported(folder, organizer.user)


def _scorer(canary: str) -> str:
    """A program that says too much: in its log and in its report, which a phase that shows everything shows."""
    return (
        "import json, pathlib\n"
        "secret = pathlib.Path('/app/input/ref/ground_truth.jsonl').read_text()\n"
        f"print('{canary}', secret)\n"
        "out = pathlib.Path('/app/output')\n"
        "(out / 'scores.json').write_text(json.dumps({'one': 1}))\n"
        "(out / 'detailed_results.html').write_text('<p>' + secret)\n"
    )


def _task(canaries: Canaries, small_task: Any, *, public: bool) -> Any:
    prefix = "open" if public else "hidden"
    texts = {canaries.make(f"{prefix}key"): f"What is it, {canaries.make(f'{prefix}text')}?" for _ in range(3)}
    kinds = ("openplan", "openout", "openform") if public else ("plan", "out", "form")

    def truth(key: str) -> dict[str, Any]:
        plan, out, form = (canaries.make(kind) for kind in kinds)
        return {
            "planning_steps": [{"agent": "IoTAgent", "instruction": plan}],
            "final_out": {"secret": out},
            "characteristic_form": form,
        }

    return small_task(texts, public=public, truth=truth, programs="rubric, own")


@pytest.fixture(scope="session")
def leaks() -> Callable[[bytes, list[str]], list[str]]:
    """Which of the strings a response holds."""

    def find(content: bytes, forbidden: list[str]) -> list[str]:
        text = content.decode(errors="replace")
        return [one for one in forbidden if one in text]

    return find
