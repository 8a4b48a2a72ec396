"""`gauntlet test` with a provider of one's own: the same door and the same budgets of tokens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from model_server import KEY

from gauntlet_runtime.gateway.model_requests import prompt_bound
from gauntlet_runtime.local import run_locally

FIXTURES = Path(__file__).parents[1] / "run_fixtures"
DOOR = Path(__file__).parents[2] / "security/zoo/agent/door/gateway.py"
AGENT = """
import json
from door import *
while (e := next_episode()):
    body = {"model": "small", "messages": [{"role": "user", "content": "x"}], "max_tokens": 100}
    status, said = ask("POST", "/llm/v1/chat/completions", body)
    say(status, said.get("code"))
    answer(e)
"""
LLM = "phases:\n- name: p\n- llm: {models: [small], per_episode: {tokens: 1000}, per_evaluation: {tokens: TOKENS}}\n"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    agent, competition = tmp_path / "agent", tmp_path / "competition"
    agent.mkdir()
    shutil.copy(DOOR, agent / "door.py")
    (agent / "agent.py").write_text(AGENT)
    (agent / "agent.yaml").write_text("name: a\ncommand: python agent.py\n")
    shutil.copytree(FIXTURES / "environment", competition / "environment")
    (competition / "environment/metadata.yaml").write_text("command: python server.py\n")
    (competition / "data").mkdir()
    (competition / "data/sites.json").write_text('["east"]')
    (competition / "public.jsonl").write_text('{"id": "a", "text": "first?"}\n{"id": "b", "text": "second?"}\n')
    return agent, competition


def write(competition: Path, *, tokens: int) -> None:
    task = "  environment: environment\n  input_data: data\n  scenarios: public.jsonl\n"
    manifest = f"version: 2\ntasks:\n- index: 0\n  name: t\n{task}{LLM.replace('TOKENS', str(tokens))}"
    (competition / "competition.yaml").write_text(manifest)


def test_an_agent_calls_its_makers_own_provider(folders, provider, monkeypatch):
    monkeypatch.setenv("GAUNTLET_MODEL_URL", provider.url)
    monkeypatch.setenv("GAUNTLET_MODEL_KEY", KEY)
    write(folders[1], tokens=10_000)
    run = run_locally(*folders)
    assert [episode.tokens for episode, _ in run.episodes] == [1 + 4] * 2
    assert [event.kind for event in run.episodes[0][1]] == ["scenario", "model_call", "model_result", "answer", "end"]
    assert KEY not in run.log
    body = {"model": "small", "messages": [{"role": "user", "content": "x"}], "max_tokens": 100}
    write(folders[1], tokens=prompt_bound(body) + 100 + 4)  # once; the first call leaves 5 tokens less
    run = run_locally(*folders)
    assert [episode.failure for episode, _ in run.episodes] == [None, "budget_exceeded"]
    assert len(provider.seen) == 3


def test_without_a_provider_there_are_no_models(folders, monkeypatch):
    monkeypatch.delenv("GAUNTLET_MODEL_URL", raising=False)
    write(folders[1], tokens=10_000)
    run = run_locally(*folders, limit=1)
    assert 'said [503, "no_models"]' in run.log
