"""Hostile text as data in a prompt: quoted, bounded, and unable to look like anything but quoted text.

What an agent wrote, and what its tools answered, reaches a judge only through :func:`quoted` and :func:`blocks`.
A quoted text is one JSON string on one line, in which no delimiter, fence, role token, line break or invisible
character can stand; the lines around it carry a nonce that depends on everything between them.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

NONCE_CHARACTERS: Final = 16
LONGEST_WORD: Final = 120
_WORD_HEAD: Final = 40
_WORD_TAIL: Final = 20

# What could end a block, open a fence or a tag, and DEL, which JSON leaves; a text loses nothing but their looks.
_SIGNS: Final = frozenset("<>`\x7f")
_WIDE_SIGNS: Final = _SIGNS | {"["}  # of another width, which nobody needs
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Marks of chat templates, in any width: what follows a bracket is looked at as it would be read.
_BRACKET: Final = re.compile(r"\[(?=(.{0,32}))")
_ROLE: Final = re.compile(
    r"/?\s*(?:INST|SYSTEM|SYS|ASSISTANT|USER|HUMAN|TOOL|(?:AVAILABLE_)?TOOLS)(?![^\W\d_])", re.IGNORECASE
)
# Nobody reads such a run, but a model may decode it: without a space, or in lines of the length that encoders wrap at.
_RUN: Final = re.compile(
    rf"(?:[A-Za-z0-9+/=_\-]{{60,}}[ \t]*\r?\n[ \t]*){{2,}}[A-Za-z0-9+/=_\-]+|[A-Za-z0-9+/=_\-]{{{LONGEST_WORD + 1},}}"
)
# What has no looks though it counts as a letter or a mark (Unicode's Default_Ignorable_Code_Point, and an empty cell).
_UNSEEN: Final = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, 0xFFA0))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000))))


def cut(text: str, *, head: int, tail: int) -> str:
    """The first ``head`` and the last ``tail`` characters of a text that is longer than both; the middle is counted."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]} (… {left_out} characters left out …) {text[len(text) - tail :]}"


def quoted(value: Any) -> str:
    """A JSON value as one line of JSON in which its texts cannot be taken for anything but quoted text."""
    return _escaped(json.dumps(_shortened(value), ensure_ascii=False, separators=(", ", ": ")))


def blocks(parts: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Named blocks of lines that :func:`quoted` gave, and the nonce that stands in the lines around them.

    The nonce is drawn from the whole content: whoever writes a part of it cannot know it, and the same content has the
    same one, so that a judge's answer can be kept.
    """
    content = json.dumps({name: list(lines) for name, lines in parts.items()})
    nonce = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:NONCE_CHARACTERS]
    text = "\n\n".join(
        "\n".join([f"<<<BEGIN {name} {nonce}>>>", *lines, f"<<<END {name} {nonce}>>>"]) for name, lines in parts.items()
    )
    return text, nonce


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return _RUN.sub(_without_middle, value)
    if isinstance(value, dict):
        return {_shortened(str(key)): _shortened(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(each) for each in value]
    return value


def _without_middle(match: re.Match[str]) -> str:
    return cut(match[0], head=_WORD_HEAD, tail=_WORD_TAIL)


def _escaped(line: str) -> str:
    """Escapes as JSON has them: the line stays JSON, for they stand within its strings only."""
    line = _BRACKET.sub(_without_role, line)
    if line.isascii() and not _SIGNS.intersection(line):
        return line
    return "".join(_escape(each) if _is_unfit(each) else each for each in line)


def _without_role(match: re.Match[str]) -> str:
    return "\\u005b" if _ROLE.match(unicodedata.normalize("NFKC", match[1])) else match[0]


def _is_unfit(character: str) -> bool:
    """Signs that prompts are built of, in any width, and what a reader does not see."""
    if character in _SIGNS:
        return True
    if character.isascii():
        return False
    if unicodedata.category(character) in _HIDDEN or character in _UNSEEN:
        return True
    return not _WIDE_SIGNS.isdisjoint(unicodedata.normalize("NFKC", character))


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if not character.isascii() else f"\\u{ord(character):04x}"
