"""Score jobs with a judge: a provider of our own, a platform in memory, and programs of a few lines."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from model_server import KEY, ModelServer

from gauntlet_runtime.jobs import ScoreResult, ScoreSpec, ScoringProgramSpec
from gauntlet_runtime.metering import (
    JudgeSpec,
    ModelAccess,
    ModelBudget,
    ModelOffer,
    ModelPatience,
    ModelSpec,
    ModelSupply,
    Refusal,
    Reservation,
    Settlement,
    Shortage,
)
from gauntlet_runtime.programs import run_score
from gauntlet_runtime.sandbox import this_process

QUICK = ModelPatience(call_seconds=5.0, tries=3, backoff_seconds=0.05, longest_backoff_seconds=2.0)
HELP = """
import json, os, sys, urllib.error, urllib.request
from pathlib import Path
URL = os.environ["GAUNTLET_JUDGE_URL"]
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
def ask(path, body=None, place=""):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, headers={"X-Gauntlet-Place": place})
    try:
        with open_url(request, timeout=60) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
def chat(text, place="", **more):
    body = {"model": os.environ["GAUNTLET_JUDGE_MODEL"], "messages": [{"role": "user", "content": text}], **more}
    status, said = ask("/chat/completions", body, place)
    return status, said["choices"][0]["message"]["content"] if status == 200 else said["code"]
said = []
def say(*values):
    said.extend(values)
def done(**scores):
    out = Path("/app/output")
    (out / "scores.json").write_text(json.dumps(scores or {"a": 1}))
    (out / "detailed_results.html").write_text(json.dumps(said))
"""


@dataclass
class Bank(ModelSupply):
    """The platform's side, in memory: a budget of cost, and kept answers."""

    url: str
    key: str = KEY
    set_by: Any = "organizer"
    limit_field: str = "max_tokens"
    budget: Decimal | None = None
    used: Decimal = Decimal(0)
    held: dict[str, Decimal] = field(default_factory=dict)
    settled: list[Settlement] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    failing: bool = False
    waits: int = 0  # refusals until others' calls are over

    def access(self) -> ModelAccess | None:
        if not self.url:
            return None
        return ModelAccess(url=self.url, key=self.key, set_by=self.set_by, limit_field=self.limit_field)

    def reserve(self, reservation: Reservation) -> Refusal | None:
        if self.failing:
            raise ConnectionError("the platform restarts")
        used = self.used + sum(self.held.values())
        if self.budget is not None and used + reservation.cost > self.budget:
            later = self.used + reservation.cost <= self.budget
            self.waits += later
            again = 0.05 if later else None
            return Refusal(shortage=Shortage.COST, limit=str(self.budget), used=str(used), retry_after=again)
        self.held[reservation.id] = reservation.cost
        return None

    def settle(self, settlement: Settlement) -> None:
        self.held.pop(settlement.id)
        self.used += settlement.cost
        self.settled.append(settlement)

    def find_answer(self, key: str, into: Path) -> bool:
        if key in self.answers:
            into.write_bytes(self.answers[key])
        return key in self.answers

    def keep_answer(self, key: str, answer: Path) -> None:
        self.answers.setdefault(key, answer.read_bytes())


@dataclass
class JudgeRoom:
    """Runs lines as a scoring program that may ask a judge."""

    room: Any
    server: ModelServer
    bank: Bank
    cancelled: threading.Event = field(default_factory=threading.Event)

    def judge(self, **fields: Any) -> JudgeSpec:
        offer = ModelOffer(name="wise", price_in=Decimal("1"), price_out=Decimal("2"))
        models = {
            "provider": "ours",
            "models": [offer],
            "per_evaluation": ModelBudget(cost=Decimal(1)),
            "cache": True,
            "max_tokens": 1000,
            "patience": QUICK,
            **fields,
        }
        return JudgeSpec(models=ModelSpec(**models))

    def score(self, *scripts: str, **fields: Any) -> ScoreResult:
        """Run each script as a program of its own."""
        programs = [
            ScoringProgramSpec(
                key=f"p{n}",
                program=self.room.artifacts.folder({"metadata": "command: python score.py", "score.py": HELP + script}),
            )
            for n, script in enumerate(scripts)
        ]
        spec = ScoreSpec(
            programs=programs, reference=None, episodes=[], image="gauntlet/agent", judge=self.judge(**fields)
        )
        folder = Path(self.room.folder) / f"score-{len(list(Path(self.room.folder).iterdir()))}"
        folder.mkdir()
        return run_score(
            spec,
            sandbox=self.room.sandbox,
            folder=folder,
            files=self.room.files,
            owner=this_process(),
            label="test-judge",
            cancelled=self.cancelled,
            gateway=self.room.gateways,
            models=self.bank,
        )

    def said(self, result: ScoreResult, program: int = 0) -> list[Any]:
        assert result.failure is None, (result.failure, result.log)
        report = result.programs[program].detailed_results
        assert report is not None
        return list(json.loads(report))
