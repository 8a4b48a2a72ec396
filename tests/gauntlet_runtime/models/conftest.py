"""Agents with language models: a provider of our own, a platform in memory, and the official client's packages."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from model_server import KEY, ModelServer, model_server
from openai_client import openai_files

from gauntlet_runtime.metering import (
    ModelAccess,
    ModelBudget,
    ModelOffer,
    ModelPatience,
    ModelSpec,
    ModelSupply,
    Refusal,
    Reservation,
    Settlement,
)

QUICK = ModelPatience(call_seconds=5.0, tries=3, backoff_seconds=0.05, longest_backoff_seconds=2.0)


@dataclass
class Platform(ModelSupply):
    """The platform's side, in memory: it notes what it is asked, and refuses what it is told to."""

    url: str
    key: str = KEY
    reserved: list[Reservation] = field(default_factory=list)
    settled: list[Settlement] = field(default_factory=list)
    refusal: Refusal | None = None
    refusals: list[Refusal] = field(default_factory=list)  # of the next reservations, before that one
    answers: dict[str, bytes] = field(default_factory=dict)
    failing: int = 0

    def access(self) -> ModelAccess | None:
        return ModelAccess(url=self.url, key=self.key) if self.url else None

    def reserve(self, reservation: Reservation) -> Refusal | None:
        if self.failing:
            self.failing -= 1
            raise ConnectionError("the platform restarts")
        refusal = self.refusals.pop(0) if self.refusals else self.refusal
        if refusal is None:
            self.reserved.append(reservation)
        return refusal

    def settle(self, settlement: Settlement) -> None:
        self.settled.append(settlement)

    def find_answer(self, key: str, into: Path) -> bool:
        if key in self.answers:
            into.write_bytes(self.answers[key])
        return key in self.answers

    def keep_answer(self, key: str, answer: Path) -> None:
        self.answers.setdefault(key, answer.read_bytes())


@dataclass
class ModelRoom:
    """Runs lines as an agent that may call models."""

    room: Any
    server: ModelServer
    platform: Platform
    packages: Path | None = None

    def spec(self, **fields: Any) -> ModelSpec:
        """Two models that chat and one that makes embeddings; `small` has prices."""
        offers = [
            ModelOffer(name="small", price_in=Decimal("0.15"), price_out=Decimal("0.6")),
            ModelOffer(name="free"),
            ModelOffer(name="vectors", embeds=True),
        ]
        return ModelSpec(
            **{
                "provider": "ours",
                "models": offers,
                "per_episode": ModelBudget(tokens=100_000),
                "max_tokens": 1000,
                "patience": QUICK,
                **fields,
            }
        )

    def agent(self, agent: str, *, llm: dict[str, Any] | None = None, **given: Any) -> Any:
        """Run these lines as an agent; ``llm`` are fields of the model spec."""
        self.room.models = self.platform
        spec = self.room.spec(HELP + agent, llm=self.spec(**(llm or {})), **given)
        return self.room.run(spec)

    def openai(self, agent: str, **given: Any) -> Any:
        """The same, with the official client installed beside the agent."""
        assert self.packages is not None
        self.room.models = self.platform
        spec = self.room.spec(OPENAI + agent, llm=self.spec(**given.pop("llm", {})), **given)
        bundle = spec.agent.model_copy(update={"packages": self.room.artifacts.keep(self.packages.read_bytes())})
        return self.room.run(spec.model_copy(update={"agent": bundle}))


HELP = """
def chat(text, episode=None, **more):
    path = f"/episodes/{episode['id']}/llm/v1" if episode else "/llm/v1"
    body = {"model": "small", "messages": [{"role": "user", "content": text}], **more}
    return ask("POST", f"{path}/chat/completions", body)
"""
OPENAI = """
import os
import openai
client = openai.OpenAI()
def asked(text, **more):
    return client.chat.completions.create(model="small", messages=[{"role": "user", "content": text}], **more)
"""


@pytest.fixture(scope="session")
def provider_process() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def provider(provider_process: ModelServer) -> Iterator[ModelServer]:
    """The provider, with nothing wrong and nothing seen."""
    provider_process.reset()
    yield provider_process
    provider_process.reset()


@pytest.fixture
def models(room: Any, provider: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelRoom:
    # Agents here go on after their last episode was ended under them; a busy machine must not cut short what they say.
    monkeypatch.setattr("gauntlet_runtime.run_job.LEAVE_SECONDS", 60.0)
    return ModelRoom(room=room, server=provider, platform=Platform(url=provider.url))


@pytest.fixture(scope="session")
def openai_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zip of the official client and all that it needs, as a participant's packages are stored."""
    archive = tmp_path_factory.mktemp("openai") / "packages.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in openai_files().items():
            packed.writestr(zipfile.ZipInfo(name), content)
    return archive


@pytest.fixture
def with_openai(models: ModelRoom, openai_packages: Path) -> ModelRoom:
    models.packages = openai_packages
    return models


@pytest.fixture
def refuse(models: ModelRoom) -> Callable[..., None]:
    """Let the platform refuse every reservation."""

    def refuse(**fields: Any) -> None:
        models.platform.refusal = Refusal(**fields)

    return refuse
