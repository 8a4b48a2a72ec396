"""Which files stay out of a bundle: ``.gauntletignore``, with the patterns that people know from ``.gitignore``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

ALWAYS: Final = (
    ".git/",
    ".hg/",
    ".svn/",
    ".venv/",
    "venv/",
    "__pycache__/",
    "*.py[co]",
    ".mypy_cache/",
    ".ruff_cache/",
    ".pytest_cache/",
    ".ipynb_checkpoints/",
    ".idea/",
    ".vscode/",
    ".DS_Store",
    "__MACOSX/",
    ".env",  # holds keys, as a rule
    "/.gauntletignore",
)


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    folders_only: bool
    excludes: bool


class IgnoreRules:
    """The rules that always hold, then those of the file; the last that matches decides."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._rules = [rule for line in (*ALWAYS, *lines) if (rule := _rule(line)) is not None]

    def excludes(self, name: str, *, is_folder: bool) -> bool:
        """Whether this path (with ``/``, relative to the bundle) stays out. What is in a folder goes with it."""
        excluded = False
        for rule in self._rules:
            if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(name):
                excluded = rule.excludes
        return excluded


def _rule(line: str) -> _Rule | None:
    text = line.strip()
    if not text or text.startswith("#"):
        return None
    excludes = not text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text  # a slash before the end ties a pattern to the top, as in .gitignore
    expression = _expression(text.lstrip("/"))
    return _Rule(re.compile(expression if anchored else f"(?:.*/)?{expression}"), folders_only, excludes)


def _expression(pattern: str) -> str:
    """Translate ``*``, ``?``, ``[...]`` (within one folder) and ``**`` (across folders)."""
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        rest = pattern[position:]
        if rest.startswith("**/"):
            parts.append("(?:.*/)?")
            position += 3
        elif rest.startswith("**"):
            parts.append(".*")
            position += 2
        elif rest[0] == "*":
            parts.append("[^/]*")
            position += 1
        elif rest[0] == "?":
            parts.append("[^/]")
            position += 1
        elif found := re.match(r"\[!?\]?[^\]]*\]", rest):
            parts.append(_character_class(found[0]))
            position += len(found[0])
        else:
            parts.append(re.escape(rest[0]))
            position += 1
    return "".join(parts)


def _character_class(text: str) -> str:
    """Translate ``[...]``; one that means nothing, such as ``[z-a]``, stands for itself."""
    inner = re.sub(r"([\\\[\]&~|^])", r"\\\1", text[1:-1])
    made = f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    try:
        re.compile(made)
    except re.error:
        return re.escape(text)
    return made
