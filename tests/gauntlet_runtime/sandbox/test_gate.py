"""The gate: what a waiting shell hears, and that it becomes the program with nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet_runtime.sandbox import gate
from gauntlet_runtime.sandbox.interface import SandboxError

ECHO = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), sys.stdin.read(), os.getcwd()]))"
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


def _through(word: bytes, rest: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["dash", "-c", gate.WAIT_FOR_A_LINE],
        input=gate.QUESTION + word + rest,
        env={},
        capture_output=True,
        timeout=60,
        check=False,
    )


def _python(*arguments: str) -> list[str]:
    return [sys.executable, "-X", "utf8", "-c", ECHO, *arguments]


@settings(max_examples=20, deadline=None)
@given(arguments=st.lists(TEXT, max_size=4), value=TEXT, rest=TEXT.filter(lambda text: "\r" not in text))
def test_the_program_gets_exactly_what_the_word_says_and_the_rest_of_its_input(arguments, value, rest):
    word = gate.line({"VALUE": value}, program=_python(*arguments), folder="/usr")
    done = _through(word, rest.encode())
    assert done.stdout.startswith(gate.ANSWER), done.stderr
    got, environment, read, folder = json.loads(done.stdout[len(gate.ANSWER) :])
    assert (got, environment["VALUE"], read, folder) == (arguments, value, rest, "/usr")
    assert set(environment) <= {"VALUE", "PWD", "LC_CTYPE"}


@pytest.mark.parametrize("cut", [0, 1, 30, -1])
def test_a_word_that_does_not_come_to_its_end_starts_nothing(cut):
    word = gate.line({"A": "1"}, program=["touch", "/no/such/folder/mark"], folder="/")
    done = _through(word[:cut] if cut >= 0 else b"true\n")
    assert (done.returncode in (2, 125), b"touch" in done.stderr) == (True, False)


def test_it_says_that_it_is_there_only_when_asked():
    with subprocess.Popen(
        ["dash", "-c", gate.WAIT_FOR_A_LINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as waiting:
        assert waiting.stdin is not None
        assert waiting.stdout is not None
        waiting.stdin.write(gate.QUESTION)
        waiting.stdin.flush()
        assert waiting.stdout.read(len(gate.ANSWER)) == gate.ANSWER
        waiting.stdin.close()
        assert (waiting.stdout.read(), waiting.wait()) == (b"", 125)


def test_a_folder_that_is_not_there_is_the_programs_fault():
    done = _through(gate.line({}, program=["true"], folder="/no/such/folder"))
    assert done.returncode == 126
    assert b"/no/such/folder" in done.stderr


def test_a_name_that_no_shell_can_set_is_refused():
    with pytest.raises(SandboxError, match=r"A\$\(id\)"):
        gate.line({"A$(id)": "1"}, program=["true"], folder="/")
