"""An agent bundle's ``agent.yaml``, checked, and what of it a worker needs."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Final

from gauntlet.competitions.bundle.document import Section, Value, read_document
from gauntlet.competitions.bundle.findings import Findings, Place, suggestion
from gauntlet_runtime.jobs import MOST_COMMAND_BYTES, MOST_WORDS
from gauntlet_scoring.model_names import same_model

AGENT_FILE: Final = "agent.yaml"
_SHELL: Final = frozenset({"|", "&&", "||", ";", ">", ">>", "<", "&", "2>&1"})
_MOST_NAMES: Final = 200  # that are compared with a wrong one: 20,000 long ones would take minutes
_LONGEST: Final = {"name": 200, "image": 128, "description": 4000, "model": 200, "paradigm": 100}


def read_agent(
    bundle: Path, *, images: Collection[str], findings: Findings, judges: Collection[str] = ()
) -> dict[str, Any]:
    """The agent's description: ``name``, ``command`` as a list of words, and the optional keys that were given.

    Args:
        bundle: the unpacked bundle.
        images: those in which the phase's tasks run agents.
        judges: the language models that judge the phase's tasks: an agent that says it uses one is refused.
        findings: gets everything that is wrong or odd; with an error among them, what is returned is incomplete.
    """
    path = bundle / AGENT_FILE
    if not path.is_file():
        hint = _hint(AGENT_FILE, (entry.name for entry in bundle.iterdir()))
        message = f"is missing at the top of the bundle.{hint} It holds at least `name: …` and `command: …`."
        findings.error(Place(AGENT_FILE), message)
        return {}
    root = read_document(path.read_bytes(), file=AGENT_FILE, findings=findings)
    if root is None:
        return {}
    agent: dict[str, Any] = {"name": root.text("name", required=True, longest=_LONGEST["name"])}
    command = root.needed("command")
    agent["command"] = _command(command, bundle) if command else []
    for key in ("image", "description", "model", "paradigm"):
        if text := root.text(key, longest=_LONGEST[key]):
            agent[key] = text
    _check_image(root, agent.get("image", ""), images)
    _check_model(root, agent.get("model", ""), judges)
    root.close()
    return agent


def _check_image(root: Section, image: str, images: Collection[str]) -> None:
    if image and image not in images:
        message = "is not used in this phase: its tasks decide in which image agents run."
        root.findings.warning(root.where("image"), message, allowed=sorted(images))


def _check_model(root: Section, model: str, judges: Collection[str]) -> None:
    judge = next((judge for judge in judges if same_model(model, judge)), None)
    if judge is not None:
        message = (
            f"is {model!r}, and {judge!r} judges this phase: a model may not judge its own work. Use another model."
        )
        root.findings.error(root.where("model"), message)


def _command(value: Value, bundle: Path) -> list[str]:
    words = _words(value)
    if any(word in _SHELL for word in words):
        message = "is started without a shell; put the line into a script and start that."
        value.findings.error(value.place, message)
    elif len(words) > MOST_WORDS:
        value.findings.error(value.place, f"has {len(words)} words.", allowed=[f"at most {MOST_WORDS}"])
    elif (size := sum(len(word.encode()) for word in words)) > MOST_COMMAND_BYTES:
        value.findings.error(value.place, f"has {size} bytes.", allowed=[f"at most {MOST_COMMAND_BYTES}"])
    else:
        _check_script(value, words, bundle)
    return words


def _words(value: Value) -> list[str]:
    """The words of a command that is one line or a list."""
    if value.scalar is None:
        words = [word for item in value.sequence() if (word := item.text())]
    else:
        try:
            words = shlex.split(value.text() or "")
        except ValueError:
            value.findings.error(value.place, "has a quotation mark that is not closed.")
            return []
    if not words:
        value.findings.error(value.place, "must not be empty.", allowed=["python agent.py", "[python, agent.py]"])
    return words


def _check_script(value: Value, words: list[str], bundle: Path) -> None:
    """A script of the bundle that the command starts must be in it."""
    if len(words) < 2 or not words[1].endswith((".py", ".sh")) or words[1].startswith("/"):
        return
    script = posixpath.normpath(words[1])
    if script.startswith("..") or not os.path.isfile(bundle / script):  # which takes a name of any length
        hint = _hint(script, (p.relative_to(bundle).as_posix() for p in bundle.rglob(f"*{Path(script).suffix}")))
        value.findings.error(value.place, f"starts '{words[1][:100]}', which is not in the bundle.{hint}")


def _hint(name: str, there: Iterable[str]) -> str:
    """A sentence that names what was probably meant; empty where nothing is like it."""
    return suggestion(name, sorted(islice(there, _MOST_NAMES)))
