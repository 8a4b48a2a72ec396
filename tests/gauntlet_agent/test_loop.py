"""The loop around an agent."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import gauntlet_agent as ga


def _three(episodes: Any) -> None:
    episodes.scenarios[:] = [{"id": f"s{n}", "text": f"question {n}"} for n in (1, 2, 3)]


def test_text_pairs_and_answers_of_ones_own_are_all_answers(episodes: Any) -> None:
    _three(episodes)

    def solve(episode: ga.Episode) -> Any:
        if episode.text.endswith("1"):
            return "one"
        if episode.text.endswith("2"):
            return "two", {"n": 2}
        episode.answer("three")
        return None

    assert ga.run(solve, url=episodes.url) == 3
    assert episodes.answers == {"e1": {"text": "one"}, "e2": {"text": "two", "data": {"n": 2}}, "e3": {"text": "three"}}


def test_several_scenarios_are_worked_on_at_once_where_the_phase_allows_it(
    episodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _three(episodes)
    monkeypatch.setenv("GAUNTLET_PARALLEL_EPISODES", "3")
    together = threading.Barrier(3, timeout=60)

    def solve(episode: ga.Episode) -> str:
        together.wait()  # passes only while all three are at work
        return episode.text

    assert ga.run(solve, url=episodes.url, parallel=5) == 3
    assert {answer["text"] for answer in episodes.answers.values()} == {"question 1", "question 2", "question 3"}


def test_no_more_are_worked_on_at_once_than_the_phase_allows(episodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _three(episodes)
    monkeypatch.delenv("GAUNTLET_PARALLEL_EPISODES", raising=False)
    busy = threading.Lock()

    def solve(episode: ga.Episode) -> str:
        assert busy.acquire(blocking=False)
        busy.release()
        return threading.current_thread().name

    assert ga.run(solve, url=episodes.url, parallel=5) == 3
    assert {answer["text"] for answer in episodes.answers.values()} == {"MainThread"}


def test_what_ends_one_of_several_threads_ends_the_program(episodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _three(episodes)
    monkeypatch.setenv("GAUNTLET_PARALLEL_EPISODES", "2")

    def solve(episode: ga.Episode) -> str:
        raise ValueError("odd data")

    with pytest.raises(ValueError, match="odd data"):
        ga.run(solve, url=episodes.url, parallel=2, keep_going=False)
    with pytest.raises(ValueError, match="odd data"):
        ga.run(solve, url=episodes.url, parallel=2)


def test_each_opening_has_a_key_of_its_own(episodes: Any) -> None:
    _three(episodes)
    ga.run(lambda episode: "x", url=episodes.url)
    assert len(episodes.keys) == 4  # the last is told that there is none left
    assert len(set(episodes.keys)) == 4
    assert None not in episodes.keys


def test_an_opening_that_is_put_off_is_asked_again_with_the_same_key(episodes: Any) -> None:
    body = {"code": "environment_starting", "message": "Wait.", "retry_after": 0.01}
    episodes.refusals += [("/episodes", 503, body), ("/episodes", 429, body)]
    assert ga.run(lambda episode: "x", url=episodes.url) == 1
    openings = [entry for entry in episodes.seen if entry[1] == "/episodes" and entry[0] == "POST"]
    assert len(openings) == 4


def test_a_scenario_that_raises_does_not_lose_the_others(episodes: Any, capfd: pytest.CaptureFixture[str]) -> None:
    _three(episodes)

    def solve(episode: ga.Episode) -> str:
        if episode.text.endswith("2"):
            raise ValueError("odd data")
        return "fine"

    assert ga.run(solve, url=episodes.url) == 2
    assert episodes.answers == {"e1": {"text": "fine"}, "e2": {"text": ""}, "e3": {"text": "fine"}}
    assert episodes.bodies("/notes") == [{"text": "solve raised ValueError: odd data"}]
    printed = capfd.readouterr()
    assert "in solve" in printed.err  # the traceback
    assert "ValueError: odd data" in printed.err
    assert printed.out == ""


def test_without_keep_going_the_exception_goes_up_and_nothing_is_answered(episodes: Any) -> None:
    _three(episodes)

    def solve(episode: ga.Episode) -> str:
        raise ValueError("odd data")

    with pytest.raises(ValueError, match="odd data"):
        ga.run(solve, url=episodes.url, keep_going=False)
    assert episodes.answers == {}
    assert len(episodes.given) == 1


def test_an_agent_that_raises_in_every_scenario_does_not_end_as_if_all_were_well(episodes: Any) -> None:
    _three(episodes)

    def solve(episode: ga.Episode) -> str:
        raise ValueError(episode.text)

    with pytest.raises(ValueError, match="question 3"):
        ga.run(solve, url=episodes.url)
    assert len(episodes.answers) == 3


def test_running_out_of_time_in_one_scenario_goes_on_with_the_next(episodes: Any) -> None:
    _three(episodes)

    def solve(episode: ga.Episode) -> str:
        if episode.id == "e1":
            episodes.open.remove("e1")  # the platform ends it
        return "fine"

    assert ga.run(solve, url=episodes.url) == 2
    assert sorted(episodes.answers) == ["e2", "e3"]
    assert episodes.bodies("/notes") == []


@pytest.mark.parametrize("result", [None, 4, {"count": 4}, ("a", "b", "c")])
def test_a_result_that_is_no_answer_is_explained(episodes: Any, result: Any) -> None:
    with pytest.raises(TypeError, match="solve must return the answer as text"):
        ga.run(lambda episode: result, url=episodes.url, keep_going=False)
    assert episodes.answers == {}


def _program(folder: Path, code: str) -> Path:
    program = folder / "agent.py"
    program.write_text(textwrap.dedent(code))
    return program


def test_outside_a_sandbox_the_program_is_told_what_to_run(tmp_path: Path) -> None:
    program = _program(tmp_path, "from gauntlet_agent import run\nrun(lambda episode: 'x')\n")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 1
    assert "gauntlet test" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("url", ["127.0.0.1:80", "https://example.org", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ga.NoGateway, match="not an address"):
        ga.run(lambda episode: "x", url=url)


def test_a_program_that_crashes_ends_although_its_tools_are_open(episodes: Any, tmp_path: Path) -> None:
    program = _program(
        tmp_path,
        """
        from gauntlet_agent import run
        def solve(episode):
            print(episode.call("names"))
            raise SystemExit(7)
        run(solve)
        """,
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, env={"GAUNTLET_URL": episodes.url}, timeout=60
    )
    assert done.returncode == 7
    assert done.stdout == "['a', 'b']\n"
    assert done.stderr == ""
    assert episodes.answers == {}


def test_proxy_and_certificate_variables_do_not_come_between(episodes: Any, tmp_path: Path) -> None:
    program = _program(
        tmp_path, "from gauntlet_agent import run\nrun(lambda episode: str(episode.call('count', equipment='pump')))\n"
    )
    hostile = {"GAUNTLET_URL": episodes.url, "HTTP_PROXY": "http://127.0.0.1:9", "SSL_CERT_FILE": "/absent"}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=hostile, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert episodes.answers == {"e1": {"text": "{'count': 4}"}}


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = {"mcp", "httpx", "httpx2", "pydantic", "asyncio", "typer", "rich", "yaml"}
    code = f"import sys, gauntlet_agent; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_tools_client_is_imported_while_the_program_waits_for_its_first_episode() -> None:
    code = """
import sys, threading
from gauntlet_agent.tools import load_client_early
load_client_early()
for thread in threading.enumerate():
    if thread.name == "mcp-import":
        thread.join(60)
print("mcp" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
