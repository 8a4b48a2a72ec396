"""A YAML file whose values know where they were written.

PyYAML composes nodes with marks; a :class:`Section` is a mapping whose keys are taken one by one, each with its type.
What nobody took is unknown and becomes a warning. Nothing is constructed as a whole, so an alias bomb has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import yaml

from gauntlet.competitions.bundle.dates import BadDate, parse_moment
from gauntlet.competitions.bundle.findings import Findings, Place, suggestion

_LARGEST: Final = 1 << 20  # bytes of a file that people write by hand
_MOST_PLAIN: Final = 10_000  # nodes of a value that is taken as it is
_TAG: Final = "tag:yaml.org,2002:"


def storable(text: str) -> bool:
    """Whether the database can hold a text: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


class Value:
    """A value and where it was written."""

    def __init__(self, node: yaml.Node, *, file: str, field: str, findings: Findings) -> None:
        self.node = node
        self.findings = findings
        self.place = Place(file, node.start_mark.line + 1, field)

    @property
    def is_null(self) -> bool:
        """Whether nothing is written there."""
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag == f"{_TAG}null"

    @property
    def scalar(self) -> str | None:
        """The text of a scalar, as written and whatever its type."""
        return str(self.node.value) if isinstance(self.node, yaml.ScalarNode) and not self.is_null else None

    def text(self, *, longest: int | None = None) -> str | None:
        """A text, or None with a finding."""
        text = self.scalar
        if text is None:
            self.findings.error(self.place, "must be a text.")
        elif not storable(text):
            self.findings.error(self.place, "holds characters that cannot be stored.")
        elif longest is not None and len(text) > longest:
            self.findings.error(self.place, f"has {len(text)} characters.", allowed=[f"at most {longest}"])
        else:
            return text.strip()
        return None

    def integer(self, *, least: int = 0, most: int = 2**31 - 1) -> int | None:
        """A whole number within the range, or None with a finding."""
        text = self.scalar or ""
        allowed = [f"a whole number from {least}" + ("" if most == 2**31 - 1 else f" to {most}")]
        try:
            number = int(text)
        except ValueError:
            self.findings.error(self.place, f"must be a whole number, not {text[:40]!r}.", allowed=allowed)
            return None
        if not least <= number <= most:
            self.findings.error(self.place, f"is {text[:40]}.", allowed=allowed)
            return None
        return number

    def number(self) -> float | None:
        """A finite number, or None with a finding."""
        text = self.scalar or ""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.findings.error(self.place, f"must be a finite number, not {text[:40]!r}.")
            return None
        return number

    def sequence(self) -> list[Value]:
        """The members of a list; anything else is a finding."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.findings.error(self.place, "must be a list.")
            return []
        return [
            Value(node, file=self.place.file, field=f"{self.place.field}[{index}]", findings=self.findings)
            for index, node in enumerate(self.node.value)
        ]

    def plain(self) -> Any:
        """The value as JSON would have it: texts, lists and mappings; too large a one is a finding."""
        try:
            return _plain(self.node, [_MOST_PLAIN])
        except (OverflowError, RecursionError):
            self.findings.error(self.place, "is too large, or contains itself.")
            return None


class Section:
    """A mapping; every known key is taken once, and :meth:`close` warns of the others."""

    def __init__(self, value: Value) -> None:
        self.place = value.place
        self.findings = value.findings
        self._values: dict[str, Value] = {}
        self._taken: set[str] = set()
        if isinstance(value.node, yaml.MappingNode):
            self._read(value.node)
        else:
            self.findings.error(self.place, "must be a mapping of keys to values.")

    def _read(self, node: yaml.MappingNode) -> None:
        for key, child, merged in _entries(node, seen=frozenset()):
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            field = f"{self.place.field}.{name}".lstrip(".")
            value = Value(child, file=self.place.file, field=field, findings=self.findings)
            if name not in self._values:
                self._values[name] = value
            elif not merged:
                line = key.start_mark.line + 1
                first = self._values[name].place.line
                self.findings.error(Place(self.place.file, line, field), f"is written twice (first on line {first}).")

    def get(self, key: str) -> Value | None:
        """The value of a key, or None where it is absent or null."""
        self._taken.add(key)
        value = self._values.get(key)
        return None if value is None or value.is_null else value

    def is_null(self, key: str) -> bool:
        """Whether the key is written with nothing after it."""
        return key in self._values and self._values[key].is_null

    def names(self) -> list[str]:
        """The keys as they are written, in their order."""
        return list(self._values)

    def where(self, key: str) -> Place:
        """Where the key's value is written, or the section where it is not."""
        value = self._values.get(key)
        return (
            value.place if value else Place(self.place.file, self.place.line, f"{self.place.field}.{key}".lstrip("."))
        )

    def needed(self, key: str) -> Value | None:
        """The value of a key that must be there."""
        value = self.get(key)
        if value is None:
            self.findings.error(self.where(key), "is missing.")
        return value

    def text(self, key: str, *, required: bool = False, default: str = "", longest: int | None = None) -> str:
        """A text."""
        value = self.needed(key) if required else self.get(key)
        text = value.text(longest=longest) if value else None
        if value and required and text == "":
            self.findings.error(value.place, "must not be empty.")
        return default if text is None else text

    def integer(self, key: str, *, default: int, least: int = 0, most: int = 2**31 - 1) -> int:
        """A whole number."""
        value = self.get(key)
        number = value.integer(least=least, most=most) if value else None
        return default if number is None else number

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false, as YAML writes it."""
        value = self.get(key)
        word = (value.scalar or "").casefold() if value else ""
        if value is None:
            return default
        if word in ("true", "yes", "on"):
            return True
        if word not in ("false", "no", "off"):
            self.findings.error(value.place, f"must be true or false, not {word[:40]!r}.", allowed=["true", "false"])
        return False

    def choice(self, key: str, allowed: Sequence[str], *, default: str) -> str:
        """One of the allowed words."""
        value = self.get(key)
        if value is None:
            return default
        word = value.scalar or ""
        if word in allowed:
            return word
        self.findings.error(value.place, f"is {word[:40]!r}.{suggestion(word, allowed)}", allowed=allowed)
        return default

    def moment(self, key: str, zone: ZoneInfo, *, required: bool = False) -> datetime | None:
        """A date or a moment; without an offset it is in ``zone``."""
        value = self.needed(key) if required else self.get(key)
        if value is None:
            return None
        try:
            return parse_moment(value.scalar or "", zone)
        except BadDate as error:
            self.findings.error(value.place, str(error), allowed=["2026-11-29", "2026-11-29 18:00:00", "… +02:00"])
            return None

    def values(self, key: str) -> list[Value]:
        """A list; nothing where it is absent."""
        value = self.get(key)
        return value.sequence() if value else []

    def sections(self, key: str) -> list[Section]:
        """A list of mappings."""
        return [Section(value) for value in self.values(key)]

    def section(self, key: str) -> Section | None:
        """A mapping."""
        value = self.get(key)
        return Section(value) if value else None

    def kept(self, keys: Mapping[str, str]) -> dict[str, Any]:
        """Values of keys that Gauntlet keeps and does not use, each with a warning that says why."""
        kept = {}
        for key, reason in keys.items():
            value = self.get(key)
            if value is not None:
                kept[key] = value.plain()
                self.findings.warning(value.place, reason)
        return kept

    def close(self) -> None:
        """Warn of every key that nobody took."""
        for key in self._values.keys() - self._taken:
            hint = suggestion(key, self._taken)
            self.findings.warning(
                self.where(key), f"is unknown and ignored.{hint}", allowed=[] if hint else sorted(self._taken)
            )


def read_document(raw: bytes, *, file: str, findings: Findings) -> Section | None:
    """Read a YAML file whose root is a mapping, or say why it cannot be read."""
    place = Place(file, 1)
    if len(raw) > _LARGEST:
        findings.error(place, f"is larger than {_LARGEST:,} bytes.")
        return None
    try:
        root = yaml.compose(raw.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        findings.error(place, "is not text in UTF-8; save it in this encoding.")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        findings.error(Place(file, mark.line + 1 if mark else 1), f"is not YAML: {error.problem or error.context}.")
    except yaml.YAMLError as error:
        findings.error(place, f"is not YAML: {str(error).splitlines()[0]}.")
    except RecursionError:
        findings.error(place, "is nested too deeply.")
    else:
        if isinstance(root, yaml.MappingNode):
            return Section(Value(root, file=file, field="", findings=findings))
        findings.error(place, "must hold keys and values, such as `title: …`.")
    return None


def _entries(node: yaml.MappingNode, *, seen: frozenset[int]) -> list[tuple[yaml.Node, yaml.Node, bool]]:
    """Keys and values, those of merged mappings (``<<``) last; the first of a name counts."""
    own: list[tuple[yaml.Node, yaml.Node, bool]] = []
    merged: dict[str, tuple[yaml.Node, yaml.Node, bool]] = {}
    for key, value in node.value:
        if key.tag != f"{_TAG}merge":
            own.append((key, value, False))
            continue
        sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
        for source in sources:
            if isinstance(source, yaml.MappingNode) and id(source) not in seen and len(seen) < 8:
                for entry in _entries(source, seen=seen | {id(node)}):
                    merged.setdefault(str(entry[0].value), (entry[0], entry[1], True))
    return own + list(merged.values())


def _plain(node: yaml.Node, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise OverflowError
    if isinstance(node, yaml.MappingNode):
        return {_without_unstorable(str(key.value)): _plain(value, budget) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, budget) for item in node.value]
    return _plain_scalar(str(node.value), node.tag)


def _without_unstorable(text: str) -> str:
    return text if storable(text) else "".join(character for character in text if storable(character))


def _plain_scalar(text: str, tag: str) -> Any:
    """A scalar as JSON: null, bool, int and float become such, everything else (dates too) a text."""
    text = _without_unstorable(text)
    kind = tag.removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool":
        return text.casefold() in ("true", "yes", "on")
    if kind in ("int", "float"):
        try:
            number = int(text) if kind == "int" else float(text)
        except ValueError:
            return text
        return number if math.isfinite(number) else text
    return text
