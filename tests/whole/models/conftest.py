"""A competition with language models, a provider of our own for it, and an agent with the official client."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_server import KEY, ModelServer, model_server
from openai_client import openai_files

PRICES = {"small": {"in": "0.15", "out": "0.60"}}
LLM = """\
    llm:
      models: [small]
      provider: mine
      per_episode: {tokens: 50000}
      per_evaluation: {tokens: 500000, cost: 1.00}
      cache: true
"""
COLUMNS = """\
      - {index: 1, key: tokens, title: Tokens, from: episodes.tokens, sorting: asc}
      - {index: 2, key: cost, title: Cost, from: episodes.total_cost, sorting: asc, precision: 8}
"""
OPENAI_AGENT = """\
import sys

sys.path.insert(0, "vendor")
import openai
from gauntlet_agent import run

client = openai.OpenAI()


def solve(episode):
    value = episode.call("look_up")["value"]
    said = client.chat.completions.create(model="small", messages=[{"role": "user", "content": f"Is it {value}?"}])
    parts = client.chat.completions.create(
        model="small", stream=True, messages=[{"role": "user", "content": "Are you sure?"}]
    )
    sure = "".join(part.choices[0].delta.content or "" for part in parts)
    print(said.choices[0].message.content, sure)
    return f"{value}: {said.choices[0].message.content}. {sure}", {"value": value}


run(solve)
"""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[ModelServer]:
    """A provider that runs, and an operator who has set its prices and little patience."""
    from gauntlet.metering.configuration import read_prices

    monkeypatch.setenv("MODEL_PRICES", json.dumps(PRICES))
    monkeypatch.setenv("MODEL_TRIES", "2")
    settings.MODEL_PRICES = read_prices(PRICES)
    with model_server() as server:
        yield server


@pytest.fixture
def metered(platform: Any, workshop: Any, small_task: Any, provider: ModelServer) -> Callable[..., Any]:
    """Make a competition with models; its organizer's key is set as an operator sets it."""

    def make(scenarios: int, *, visibility: str = "full", pace: str = "") -> Any:
        from django.core.management import call_command

        texts = {f"scenario-{number}": f"What is the value of {number}?" for number in range(scenarios)}
        bundle = workshop.written([small_task(texts)], [(0, visibility)])
        manifest = bundle / "competition.yaml"
        text, line = manifest.read_text(), f"    visibility: {visibility}\n"
        assert line in text
        manifest.write_text(text.replace(line, line + LLM + pace) + COLUMNS)
        competition = workshop.imported(bundle, platform.person("organizer").user)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
            call_command("set_model_provider", "mine", competition=competition.slug, url=provider.url, verbosity=0)
        return competition

    return make


@pytest.fixture(scope="session")
def openai_agent() -> dict[str, bytes]:
    """The files of an agent that brings the official client."""
    return {
        "agent.yaml": b"name: Agent\ncommand: [python, agent.py]\nmodel: small\n",
        "agent.py": OPENAI_AGENT.encode(),
        **{f"vendor/{name}": content for name, content in openai_files().items()},
    }
