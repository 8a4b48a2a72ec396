"""The FMSR server: how kinds of equipment fail, and which sensors tell of it."""

from __future__ import annotations

from typing import Any, Final

from assetops_tools.arguments import Arguments, names_list, required_text
from assetops_tools.errors import BadArgument
from assetops_tools.site import Site, matching
from assetops_tools.storage import Condition
from assetops_tools.tool import FILE, NAMES, Answer, Episode, Tool

_KIND: Final = {"type": "string", "description": "a kind of equipment or one of it, for example Chiller or Chiller 6"}


def get_failure_modes(episode: Episode, arguments: Arguments) -> Answer:
    """The failure modes of a kind of equipment, and its rows of the failure analysis."""
    kind = episode.site.kind(required_text(arguments, "asset_name"))
    rows = episode.site.records.find("fmea", [Condition("asset_class", "=", kind)])
    analysis = [{name: value for name, value in row.items() if name != "asset_class"} for row in rows]
    return {"asset_class": kind, "failure_modes": _modes(episode.site, kind), "failure_analysis": analysis}


def get_failure_mode_sensor_mapping(episode: Episode, arguments: Arguments) -> Answer:
    """Which sensors tell of which failure modes."""
    name = required_text(arguments, "asset_name")
    kind = episode.site.kind(name)
    rows = episode.site.records.find("failure_mode_sensors", [Condition("asset_class", "=", kind)])
    every_mode = _modes(episode.site, kind)
    every_sensor = list(dict.fromkeys(str(row["sensor"]) for row in rows))
    modes = _chosen(names_list(arguments, "failure_modes"), every_mode, kind=kind, what="failure mode")
    sensors = _chosen(
        names_list(arguments, "sensors"), every_sensor, kind=kind, what="sensor", prefix=_prefix(episode.site, name)
    )
    found = [row for row in rows if row["failure_mode"] in modes and row["sensor"] in sensors]
    by_mode = {
        mode: [row["sensor"] for row in found if row["failure_mode"] == mode and row["relevant"]] for mode in modes
    }
    by_sensor = {
        one: [row["failure_mode"] for row in found if row["sensor"] == one and row["relevant"]] for one in sensors
    }
    return {
        "asset_class": kind,
        "sensors_of_failure_mode": by_mode,
        "failure_modes_of_sensor": by_sensor,
        "relevance": [{key: row[key] for key in ("failure_mode", "sensor", "relevant")} for row in found],
    }


def read_sensors_from_file(episode: Episode, arguments: Arguments) -> Answer:
    """The sensors whose readings stand in a file."""
    name = required_text(arguments, "file_name")
    table = episode.scratch.read_table(name)
    found = [column for column in table.columns if column.casefold() not in ("timestamp", "time", "asset_id")]
    return {"file_name": name, "total_sensors": len(found), "sensors": found}


def _modes(site: Site, kind: str) -> list[str]:
    rows = site.records.find("failure_modes", [Condition("asset_class", "=", kind)], columns=("failure_mode",))
    return [str(row["failure_mode"]) for row in rows]


def _prefix(site: Site, name: str) -> str:
    """The name of the equipment where one is meant, since its sensors may be called by it."""
    try:
        return site.asset(name).name
    except BadArgument:
        return ""


def _chosen(wanted: list[str], every: list[str], *, kind: str, what: str, prefix: str = "") -> list[str]:
    """What is asked for, in its right spelling; all where nothing is."""
    if not wanted:
        return every
    chosen: dict[str, Any] = {}
    for name in wanted:
        found = matching(name, every, prefix=prefix)
        if found is None:
            raise BadArgument(f"There is no {what} {name!r:.80} of the kind {kind}; there is {', '.join(every)}.")
        chosen[found] = True
    return list(chosen)


TOOLS: Final = (
    Tool(
        "get_failure_modes",
        "fmsr",
        "How equipment of a kind fails: its failure modes, and the rows of its failure mode and effects analysis with "
        "component, mechanism, influences, failure, detection, repair time, criticality and preventive task.",
        {"asset_name": _KIND},
        ("asset_name",),
        get_failure_modes,
    ),
    Tool(
        "get_failure_mode_sensor_mapping",
        "fmsr",
        "Which sensors tell of which failure modes of a kind of equipment: all, or those of `failure_modes` and "
        "`sensors`. It says what a sensor could show, not whether an asset has it or its readings are recorded.",
        {
            "asset_name": _KIND,
            "failure_modes": {**NAMES, "description": "only these failure modes"},
            "sensors": {**NAMES, "description": "only these sensors"},
        },
        ("asset_name",),
        get_failure_mode_sensor_mapping,
    ),
    Tool(
        "read_sensors_from_file",
        "fmsr",
        "The names of the sensors whose readings stand in a file.",
        {"file_name": FILE},
        ("file_name",),
        read_sensors_from_file,
    ),
)
