"""The gate: a prepared program is a shell that waits for its word, and becomes the program when it hears it.

The word is shell text, and brings what the program must not have had before: its environment, from which whatever runs
before the program would load what LD_PRELOAD names.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from gauntlet_runtime.sandbox.interface import SandboxError

_OPEN: Final = "_gate=open"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Under Docker the word comes as a line of what is the program's standard input afterwards: the shell reads lines byte
# by byte, and leaves the rest. The first line asks whether it is there. It must not speak unasked: what
# comes together with the engine's answer to the request that started it is lost in the SDK.
WAIT_FOR_A_LINE: Final = (
    "_break='\n'; read -r _word; echo; IFS= read -r _word && eval \"$_word\" && "
    '[ "$_gate" = open ] || exit 125; unset _gate _word _break; exec "$@"'
)
QUESTION: Final = b"\n"
ANSWER: Final = b"\n"


def keep_open_files(soft: int, hard: int) -> str:
    """What the shell does first under Docker, where the number of open files may be another than was asked for.

    The runtime sets limits from outside while its own program in the container raises the number for itself, and now
    and then the raised one is what stays (runc's pull request 4265).
    """
    return f"ulimit -S -n {soft} && ulimit -H -n {hard} || exit 125; "


def exports(environment: Mapping[str, str]) -> list[str]:
    """The commands that set these variables.

    Raises:
        SandboxError: a name is none that a shell could set.
    """
    for name in environment:
        if not _NAME.fullmatch(name):
            raise SandboxError(f"{name!r} is not the name of an environment variable")
    return [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]


def text(environment: Mapping[str, str]) -> bytes:
    """The word where it is a file of its own, and the program is known to the gate."""
    return os.fsencode("".join(f"{command}\n" for command in (*exports(environment), _OPEN)))


def line(environment: Mapping[str, str], *, program: Sequence[str], folder: str) -> bytes:
    """The word for `WAIT_FOR_A_LINE`, which hears only now what the program is and where it works."""
    enter = f"cd -- {shlex.quote(folder)} || exit 126; unset OLDPWD"
    commands = [enter, *exports(environment), shlex.join(["set", "--", *program]), _OPEN]
    # A quoted word that holds a line break is in single quotes: it is left for a moment, for a variable that has one.
    return os.fsencode("; ".join(commands).replace("\n", "'\"$_break\"'") + "\n")
