"""The site behind the tools: its equipment under any spelling of a name, its kinds, its sensors, its present."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from assetops_tools.errors import BadArgument
from assetops_tools.storage import Condition, Row, Storage
from assetops_tools.tables import TELEMETRY


@dataclass(frozen=True)
class Asset:
    """A piece of equipment under its identifier; ``name`` is what people call it."""

    id: str
    name: str
    site: str
    kind: str


def name_key(name: str) -> str:
    """The form under which `Chiller 6`, `CHILLER6` and `chiller-6` are one name."""
    return re.sub(r"[\s_\-]+", "", name).casefold()


class Site:
    """What tools of several servers ask of the records."""

    def __init__(self, folder: Path, records: Storage) -> None:
        self.folder = folder
        self.records = records

    @cached_property
    def assets(self) -> tuple[Asset, ...]:
        """All equipment, in the order of the registry."""
        names = ("equipment_id", "equipment_name", "site_name", "asset_class")
        rows = self.records.find("equipment", columns=names)
        return tuple(Asset(*(str(row[name] or "") for name in names)) for row in rows)

    @cached_property
    def _by_key(self) -> dict[str, Asset]:
        found = {name_key(one.name): one for one in self.assets}
        found.update({name_key(one.id): one for one in self.assets})
        return found

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """The names of the sites."""
        return tuple(sorted({one.site for one in self.assets}))

    def asset(self, name: str) -> Asset:
        """The equipment of that identifier or name, however it is written.

        Raises:
            BadArgument: there is none.
        """
        found = self._by_key.get(name_key(name))
        if found is None:
            raise BadArgument(
                f"There is no equipment {name!r:.80} here; list_equipment or registry_assets shows it all."
            )
        return found

    def site(self, name: str) -> str:
        """The site of that name, however it is written.

        Raises:
            BadArgument: there is none.
        """
        found = next((one for one in self.sites if name_key(one) == name_key(name)), None)
        if found is None:
            raise BadArgument(f"There is no site {name!r:.80}; there is {' and '.join(self.sites)}.")
        return found

    def kind(self, name: str) -> str:
        """The kind of equipment that a name means: a kind, or an equipment of it, however it is written.

        Raises:
            BadArgument: there is neither.
        """
        asset = self._by_key.get(name_key(name))
        if asset is not None:
            return asset.kind
        kinds = self.kinds
        key = name_key(name)
        found = next((one for one in kinds if name_key(one) in (key, key.removesuffix("s"))), None)
        found = found or next((one for one in kinds if _initials(one) == key), None)
        if found is None:
            raise BadArgument(
                f"Nothing is known of the kind {name!r:.80}; failure modes are known of {', '.join(kinds)}."
            )
        return found

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of equipment of which failure modes are known."""
        rows = self.records.find("failure_modes", columns=("asset_class",))
        return tuple(dict.fromkeys(str(row["asset_class"]) for row in rows))

    def sensors(self, asset: Asset, *, flag: str) -> list[Row]:
        """The equipment's sensors that are ``installed``, or ``measured``, as the registry has them."""
        where = [Condition("equipment_id", "=", asset.id), Condition(flag, "=", True)]
        return self.records.find("sensors", where, columns=("sensor", "unit", "kind", "tags"))

    def is_monitored(self, asset: Asset) -> bool:
        """Whether any reading of the equipment is recorded."""
        return f"{TELEMETRY}{asset.id}" in self.records.tables()

    @cached_property
    def now(self) -> str:
        """The site's present, ISO to the second."""
        found: dict[str, Any] = json.loads((self.folder / "present.json").read_text(encoding="utf-8"))
        return str(found["now"])


def matching(name: str, names: Sequence[str], *, prefix: str = "") -> str | None:
    """The one of ``names`` that is written so, whatever its spelling, the equipment's name before it or not."""
    keys = {name_key(name)}
    if prefix:
        keys.add(name_key(name).removeprefix(name_key(prefix)))
    return next((one for one in names if name_key(one) in keys), None)


def _initials(name: str) -> str:
    return "".join(word[0] for word in name.split()).casefold() if " " in name else ""
