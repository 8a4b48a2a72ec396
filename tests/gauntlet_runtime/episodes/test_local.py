"""An agent's folder against a competition's folder, without a platform."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gauntlet_runtime.local import LocalRunFailed, run_locally
from gauntlet_scoring.trajectory import Outcome

FIXTURES = Path(__file__).parents[1] / "run_fixtures"
DOOR = Path(__file__).parents[2] / "security/zoo/agent/door/gateway.py"
TASK = "{environment: environment, scenarios: public.jsonl,"


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


IN_ANOTHER_LOCALE = """
import locale, sys
from pathlib import Path
from gauntlet_runtime.local import run_locally

assert locale.getpreferredencoding(False) == "ANSI_X3.4-1968", locale.getpreferredencoding(False)
((episode, events),) = run_locally(Path(sys.argv[1]), Path(sys.argv[2])).episodes
print(ascii([episode.outcome.value, events[0].text]))
"""


def test_texts_are_what_they_are_whatever_letters_the_machines_locale_knows(agent, competition):
    (competition / "public.jsonl").write_text('{"id": 1, "text": "Zähler in Ω?"}\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", IN_ANOTHER_LOCALE, str(agent), str(competition)],
        env={**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ascii(["answered", "Zähler in Ω?"]) + "\n", done.stderr


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
        ("competition.yaml", f"tasks: [{TASK} limits: {{tool_calls: many}}}}]\n", "`limits`: tool_calls: must be"),
        ("competition.yaml", f"tasks: [{TASK} limits: {{memory: lots}}}}]\n", "`limits`: memory: must be"),
        ("competition.yaml", f"tasks: [{TASK} sandbox_image: 3}}]\n", "`sandbox_image` must be a name"),
        ("competition.yaml", "tasks: [{environment: 3, scenarios: public.jsonl}]\n", "the task names no environment"),
        ("competition.yaml", "tasks: [{environment: environment}]\n", "the task names no scenarios"),
        ("competition.yaml", "tasks: [{environment: environment, scenarios: data}]\n", "data is a folder"),
        ("public.jsonl", '{"id": 1, "text": "x", "show": [1]}\n', "line 1: `show` must be an object"),
        ("public.jsonl", b'{"id": 1, "text": "\xff"}\n', "public.jsonl is not UTF-8"),
        ("../agent/agent.yaml", "command: python 'agent.py\n", "agent.yaml: `command` must be a line"),
        ("../agent/agent.yaml", "command: python agent.py\nimage: 3\n", "agent.yaml: `image` must be a name"),
    ],
)
def test_what_is_missing_is_said(agent, competition, file, content, said):
    (competition / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LocalRunFailed, match=said):
        run_locally(agent, competition)


def test_packages_that_cannot_be_installed_are_said_in_pips_words(agent, competition):
    (agent / "requirements.txt").write_text("no_such_package_at_all\n")
    with pytest.raises(LocalRunFailed, match="no_such_package_at_all"):
        run_locally(agent, competition)
