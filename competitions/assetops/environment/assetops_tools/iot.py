"""The IoT server: sites, assets, their sensors, and what the historian recorded of them."""

from __future__ import annotations

from typing import Final

from assetops_tools.arguments import Arguments, moments, names_list, optional_text, required_text
from assetops_tools.errors import BadArgument
from assetops_tools.scratch import Table
from assetops_tools.site import Asset, Site, matching
from assetops_tools.storage import Condition, in_period
from assetops_tools.tables import TELEMETRY
from assetops_tools.tool import ASSET, NAMES, SITE, Answer, Episode, Tool


def sites(episode: Episode, arguments: Arguments) -> Answer:
    """The sites."""
    del arguments
    return {"sites": list(episode.site.sites)}


def assets(episode: Episode, arguments: Arguments) -> Answer:
    """The assets of a site of which readings are recorded."""
    name = episode.site.site(required_text(arguments, "site_name"))
    found = [one.name for one in episode.site.assets if one.site == name and episode.site.is_monitored(one)]
    return {
        "site_name": name,
        "total_assets": len(found),
        "assets": found,
        "message": f"Readings of {len(found)} assets are recorded at {name}.",
    }


def sensors(episode: Episode, arguments: Arguments) -> Answer:
    """The sensors of an asset whose readings are recorded."""
    name, asset = _asset_at(episode.site, arguments)
    found = episode.site.sensors(asset, flag="measured")
    return {"site_name": name, "assetnum": asset.name, "total_sensors": len(found), "sensors": found}


def asset_sensors(episode: Episode, arguments: Arguments) -> Answer:
    """The sensors that are installed on an asset."""
    asset = episode.site.asset(required_text(arguments, "assetnum"))
    found = episode.site.sensors(asset, flag="installed")
    return {"assetnum": asset.name, "total_sensors": len(found), "sensors": found}


def get_asset(episode: Episode, arguments: Arguments) -> Answer:
    """What the registry knows of an asset."""
    asset = episode.site.asset(required_text(arguments, "assetnum"))
    (row,) = episode.site.records.find("equipment", [Condition("equipment_id", "=", asset.id)], limit=1)
    return {**row, "readings_recorded": episode.site.is_monitored(asset)}


def registry_assets(episode: Episode, arguments: Arguments) -> Answer:
    """All assets of the registry, or those of one site."""
    name = optional_text(arguments, "site_name")
    site = episode.site.site(name) if name else None
    found = [
        {"assetnum": one.id, "name": one.name, "site_name": one.site, "asset_class": one.kind}
        for one in episode.site.assets
        if site is None or one.site == site
    ]
    return {"total_assets": len(found), "assets": found}


def history(episode: Episode, arguments: Arguments) -> Answer:
    """Write the readings of an asset in a period into a file."""
    name, asset = _asset_at(episode.site, arguments)
    table = f"{TELEMETRY}{asset.id}"
    if not episode.site.is_monitored(asset):
        raise BadArgument(f"No readings of {asset.name} are recorded; assets shows of which there are any.")
    columns = _columns(episode.site, asset, names_list(arguments, "sensors"))
    period = moments(arguments)
    where = in_period("timestamp", period.start, period.after)
    rows = episode.site.records.find(table, where, columns=columns, order=("timestamp",))
    answer = {"site_name": name, "assetnum": asset.name, "total_observations": len(rows)}
    if not rows:
        return {**answer, **_nothing(episode.site, asset), "sensors": columns[1:]}
    file = episode.scratch.write_table("history", Table(columns, [list(row.values()) for row in rows]))
    first, last = rows[0]["timestamp"], rows[-1]["timestamp"]
    return {
        **answer,
        "start": first,
        "final": last,
        "file_path": file,
        "sensors": columns[1:],
        "message": f"{len(rows)} observations from {first} to {last} are in the file {file}.",
    }


def _nothing(site: Site, asset: Asset) -> Answer:
    """What is said of a period without a row."""
    stamps = site.records.find(f"{TELEMETRY}{asset.id}", columns=("timestamp",), order=("timestamp",))
    recorded = (
        f"its record goes from {stamps[0]['timestamp']} to {stamps[-1]['timestamp']}" if stamps else "it is empty"
    )
    text = f"No observation of {asset.name} is recorded in this period; {recorded}."
    return {"start": None, "final": None, "file_path": None, "message": text}


def _columns(site: Site, asset: Asset, wanted: list[str]) -> list[str]:
    recorded = [name for name in site.records.columns(f"{TELEMETRY}{asset.id}") if name != "timestamp"]
    if not wanted:
        return ["timestamp", *recorded]
    found = [matching(name, recorded, prefix=asset.name) for name in wanted]
    for name, column in zip(wanted, found, strict=True):
        if column is None:
            raise BadArgument(f"No sensor {name!r:.80} of {asset.name} is recorded; recorded: {', '.join(recorded)}.")
    return ["timestamp", *dict.fromkeys(column for column in found if column)]


def _asset_at(site: Site, arguments: Arguments) -> tuple[str, Asset]:
    """The asset that is meant, which must stand at the site that is named."""
    name = site.site(required_text(arguments, "site_name"))
    asset = site.asset(required_text(arguments, "assetnum"))
    if asset.site != name:
        raise BadArgument(f"{asset.name} is not at {name}, it is at {asset.site}.")
    return name, asset


_MOMENT: Final = "day (YYYY-MM-DD) or moment (YYYY-MM-DDTHH:MM:SS)"
_AT_SITE: Final = {"site_name": SITE, "assetnum": ASSET}
TOOLS: Final = (
    Tool("sites", "iot", "The sites that there are.", {}, (), sites),
    Tool(
        "assets",
        "iot",
        "The assets of a site of which sensor readings are recorded. All equipment is in registry_assets.",
        {"site_name": SITE},
        ("site_name",),
        assets,
    ),
    Tool(
        "sensors",
        "iot",
        "The sensors of an asset whose readings are recorded, with unit, kind and tags. Those installed may differ.",
        _AT_SITE,
        ("site_name", "assetnum"),
        sensors,
    ),
    Tool(
        "history",
        "iot",
        "Readings of an asset from `start` to `final`, both included, of all recorded sensors or of `sensors`. They "
        "are written to a file as recorded (gaps, empty cells); the answer names the file and says how many there are.",
        {
            **_AT_SITE,
            "start": {"type": "string", "description": f"first {_MOMENT}"},
            "final": {"type": "string", "description": f"last {_MOMENT}; up to the end of the record if left out"},
            "sensors": {**NAMES, "description": "only these sensors, named as `sensors` does"},
        },
        ("site_name", "assetnum", "start"),
        history,
        read_only=False,
    ),
    Tool(
        "get_asset",
        "iot",
        "What the registry knows of an asset: identifier, name, site, kind, day of installation.",
        {"assetnum": ASSET},
        ("assetnum",),
        get_asset,
    ),
    Tool(
        "asset_sensors",
        "iot",
        "The sensors that are installed on an asset according to the registry, recorded or not.",
        {"assetnum": ASSET},
        ("assetnum",),
        asset_sensors,
    ),
    Tool(
        "registry_assets",
        "iot",
        "All assets of the registry with identifier, name, site and kind, or those of one site.",
        {"site_name": SITE},
        (),
        registry_assets,
    ),
)
