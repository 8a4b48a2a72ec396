"""A site's equipment: 22 machines of ten kinds at two places, four chillers and two air handlers of them monitored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from assetops_data.chance import Chance
from assetops_data.classes import AIR_HANDLER, BY_NAME, CHILLER, AssetClass

MAIN: Final = "MAIN"
_SECOND: Final = ("ANNEX", "NORTH", "HARBOR", "CAMPUS", "WORKS")
#: Kind of equipment: how many at the main place, how many at the second, the highest number in a name.
_COUNTS: Final = {
    CHILLER: (4, 0, 16),
    AIR_HANDLER: (2, 0, 12),
    "Cooling Tower": (2, 1, 8),
    "Chilled Water Pump": (3, 1, 12),
    "Boiler": (1, 1, 6),
    "Air Compressor": (1, 1, 6),
    "Transformer": (1, 0, 4),
    "Diesel Generator": (1, 0, 4),
    "Exhaust Fan": (1, 1, 14),
    "Heat Exchanger": (1, 0, 6),
}
_SHORT: Final = {AIR_HANDLER: "AHU"}


@dataclass(frozen=True)
class Machine:
    """A piece of equipment under its identifier and the name that people use."""

    id: str
    name: str
    site: str
    kind: AssetClass
    installed_on: date

    @property
    def monitored(self) -> bool:
        """Whether the historian records its sensors."""
        return self.kind.name in (CHILLER, AIR_HANDLER)


def machines_of(chance: Chance, *, begin: date) -> list[Machine]:
    """The equipment, in the order of kinds and numbers; installed up to fifteen years before ``begin``."""
    rng = chance.stream("machines")
    second = rng.choice(_SECOND)
    series = rng.randint(10, 89)
    found = []
    for name, (main, other, highest) in _COUNTS.items():
        kind = BY_NAME[name]
        for place, number in enumerate(sorted(rng.sample(range(1, highest + 1), main + other))):
            found.append(
                Machine(
                    id=f"{kind.prefix}{series}{number:03d}",
                    name=f"{_SHORT.get(name, name)} {number}",
                    site=MAIN if place < main else second,
                    kind=kind,
                    installed_on=begin - timedelta(days=rng.randint(30, 15 * 365)),
                )
            )
    return found
