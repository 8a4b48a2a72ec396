"""An agent's folder against a competition's folder, without a platform."""

from __future__ import annotations

from pathlib import Path

import pytest

from gauntlet_runtime.local import LocalRunFailed, run_locally
from gauntlet_scoring.trajectory import Outcome

FIXTURES = Path(__file__).parents[1] / "run_fixtures"
DOOR = Path(__file__).parents[2] / "security/zoo/agent/door/gateway.py"


@pytest.fixture
def competition(tmp_path):
    folder = tmp_path / "competition"
    (folder / "environment").mkdir(parents=True)
    (folder / "environment/metadata.yaml").write_text("command: python server.py\n")
    (folder / "environment/server.py").write_text((FIXTURES / "environment/server.py").read_text())
    (folder / "data").mkdir()
    (folder / "data/sites.json").write_text('["east"]')
    (folder / "public.jsonl").write_text(
        '{"id": "secret-1", "text": "first?", "show": {"hint": 1}, "public": true}\n\n{"id": 2, "text": "second?"}\n'
    )
    (folder / "competition.yaml").write_text(
        "version: 2\ntasks:\n- index: 0\n  name: t\n  environment: environment\n  input_data: data\n"
        "  scenarios: public.jsonl\n  limits: {tool_calls: 1}\n"
    )
    return folder


@pytest.fixture
def agent(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: a\ncommand: python agent.py\n")
    (folder / "door.py").write_text(DOOR.read_text())
    (folder / "agent.py").write_text(
        "from door import *\nwhile (e := next_episode()):\n"
        "    say(e['scenario'], tool(e, 'sites')[1]['result'], tool(e, 'sites')[1]['result']['isError'])\n"
        "    answer(e, 'one')\n"
    )
    return folder


def test_it_runs_the_scenarios_and_returns_what_was_recorded(agent, competition):
    seen = []
    run = run_locally(agent, competition, on_event=lambda event, detail: seen.append(event.value))
    assert [episode.outcome for episode, _ in run.episodes] == [Outcome.ANSWERED] * 2
    events = run.episodes[0][1]
    assert [event.kind for event in events] == ["scenario", "tool_call", "tool_result", "answer", "end"]
    assert events[2].structured == {"sites": ["east"]}
    assert (events[0].text, events[0].show) == ("first?", {"hint": 1})
    assert events[-1].state["scenario"] == "secret-1"
    assert "secret-1" not in run.log
    assert seen == ["episode_started", "episode_ended"] * 2


def test_a_limit_takes_the_first_scenarios(agent, competition):
    assert len(run_locally(agent, competition, limit=1).episodes) == 1


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("competition.yaml", "tasks: []\n", "no task with an environment"),
        ("competition.yaml", "tasks: [{environment: ../agent, scenarios: public.jsonl}]\n", "not in its folder"),
        ("competition.yaml", "a: [\n", "is not YAML"),
        ("public.jsonl", "nonsense\n", "line 1: this is not JSON"),
        ("public.jsonl", '{"text": "x"}\n', "line 1: a scenario has an `id`"),
        ("environment/metadata.yaml", "name: x\n", "cannot be started"),
    ],
)
def test_what_is_missing_is_said(agent, competition, file, content, said):
    (competition / file).write_text(content)
    with pytest.raises(LocalRunFailed, match=said):
        run_locally(agent, competition)


def test_packages_that_cannot_be_installed_are_said_in_pips_words(agent, competition):
    (agent / "requirements.txt").write_text("no_such_package_at_all\n")
    with pytest.raises(LocalRunFailed, match="no_such_package_at_all"):
        run_locally(agent, competition)
