"""What the IoT agent can do by rules: sites, assets, sensors, and readings of a period, which come as a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gauntlet_agent.assetops.periods import Period
from gauntlet_agent.assetops.reading import Reading, plain, sensors_meant
from gauntlet_agent.assetops.readings import read_file, statistic
from gauntlet_agent.assetops.report import Report
from gauntlet_agent.assetops.roster import IOT
from gauntlet_agent.assetops.skills import RuleAgent, Skill, Unanswerable, Work, names_of, rows_of, said, same_machine

_SITE_KEYS: Final = ("site_name", "site", "name")
_ASSET_KEYS: Final = ("equipment_name", "asset_name", "name", "asset", "assetnum", "equipment_id")
_ID_KEYS: Final = ("assetnum", "equipment_id", "asset_id", "id")
_SENSOR_KEYS: Final = ("sensor", "sensor_name", "name")


def list_sites(work: Work) -> Report:
    """Which sites there are."""
    sites = names_of(work.call("sites"), *_SITE_KEYS)
    return Report.of(f"{len(sites)} sites: {said(sites)}.", {"sites": sites, "count": len(sites)})


def list_assets(work: Work) -> Report:
    """Which assets a site has and of how many kinds, or those of one kind."""
    site = the_site(work)
    found = rows_of(work.call("registry_assets", site_name=site)) if work.desk.has("registry_assets") else []
    if not found:
        found = [{"name": name} for name in _assets_at(work, site)[1]]
    kinds = list(dict.fromkeys(str(row.get("asset_class") or "") for row in found))
    wanted = next((kind for kind in kinds if kind and plain(kind) in plain(work.reading.text)), None)
    wanted = wanted or (work.reading.asset_class if work.reading.has(r"\bchillers\b|\bahus\b|\bkind\b") else None)
    if wanted is not None and not work.reading.has(r"\bkinds among\b"):
        found = [row for row in found if plain(wanted) in plain(str(row.get("asset_class") or _name(row)))]
    names = [_name(row) for row in found]
    facts = {"site": site, "assets": names, "asset_ids": [identifier_of(row, _name(row)) for row in found]}
    text = f"{len(names)} assets at {site}: {said(names)}."
    return Report.of(text, {**facts, "count": len(names), "kinds": len(kinds), "classes": kinds})


def _name(row: Mapping[str, Any]) -> str:
    return str(next((row[key] for key in _ASSET_KEYS if row.get(key)), ""))


def show_asset(work: Work) -> Report:
    """What is kept about an asset: its metadata."""
    _, asset = find_asset(work)
    found = work.call("get_asset", assetnum=asset)
    details = dict(found) if isinstance(found, Mapping) else {"details": found}
    return Report.of(f"{asset}: {_line(details)}.", {"assetnum": asset, **details, "kind": details.get("asset_class")})


def list_sensors(work: Work) -> Report:
    """Which sensors of an asset are measured, or which are installed; both and the difference where both are named."""
    site, asset = find_asset(work)
    installed_wanted = work.reading.has(r"\binstalled\b|\bfitted\b|\bmounted\b|\bphysically\b")
    measured_wanted = work.reading.has(r"\bmeasured\b|\brecord\w*\b|\bdata\b|\bavailable\b|\bmonitored\b|\breadings?\b")
    facts: dict[str, Any] = {"site": site, "assetnum": asset}
    if installed_wanted:
        facts["installed"] = names_of(work.call("asset_sensors", assetnum=asset), *_SENSOR_KEYS)
    if measured_wanted or not installed_wanted:
        facts["measured"] = names_of(work.call("sensors", site_name=site, assetnum=asset), *_SENSOR_KEYS)
    if installed_wanted and "measured" in facts:
        facts["not_measured"] = [name for name in facts["installed"] if name not in facts["measured"]]
        facts["not_installed"] = [name for name in facts["measured"] if name not in facts["installed"]]
        facts["sensors"] = facts["not_measured"]
    else:
        facts["sensors"] = facts.get("measured", facts.get("installed"))
    facts["count"] = len(facts["sensors"])
    facts["installed_sensors"] = len(facts["installed"]) if "installed" in facts else None
    return Report.of(f"{facts['count']} sensors of {asset}: {said(facts['sensors'])}.", facts)


def get_history(work: Work) -> Report:
    """Readings of one or several assets and sensors in a period, as a file of each asset."""
    period = work.period
    reports = [_history(work, written, period) for written in work.reading.assets or [work.asset]]
    first = dict(reports[0])
    if len(reports) > 1:
        first["file_paths"] = [one["file_path"] for one in reports]
        first["total_observations"] = sum(one["total_observations"] for one in reports)
    text = "; ".join(
        f"{one['total_observations']} observations of {said(one['sensors']) if one['sensors'] else 'all sensors'} of "
        f"{one['assetnum']} {period.words} in {one['file_path']}" for one in reports
    )  # fmt: skip
    return Report.of(f"{text}.", first, summary="`file_path` names the file that holds the readings.")


def compute(work: Work) -> Report:
    """A statistic of a sensor's readings: mean, largest, smallest, latest, count, share of zeros, the longest gap.

    Of readings that several earlier steps downloaded each mean is computed, and the highest is told.
    """
    steps = [step for step in work.known.get("steps", []) if isinstance(step, dict) and step.get("file_path")]
    if len(steps) > 1:
        return _compared(work, steps)
    if work.known.get("file_path") and not work.reading.period:
        found: dict[str, Any] = {key: value for key, value in work.known.items() if key not in ("steps", "question")}
    else:
        found = _history(work, work.asset, work.period)
    sensor, values = _values(work, found)
    if values["readings"] == 0:
        raise Unanswerable(f"There is not one reading of {sensor} in that time.")
    return Report.of(f"{sensor}: {_line(values)}.", {**found, "sensor": sensor, **values})


def _values(work: Work, found: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    readings = read_file(work, str(found["file_path"]))
    if not readings.whole:
        raise Unanswerable(f"{found['file_path']} has more rows than an episode can read.", "Ask about a shorter time.")
    names = [str(name) for name in found.get("sensors") or []] or readings.sensors
    meant = sensors_meant(_without(work.words, work.reading.assets), names, work.reading.assets)
    if not meant and len(names) > 1 and not work.reading.has(r"\bgap\b|\bconsecutive\b"):
        raise Unanswerable(f"What is asked for is not measured; measured are {said(names)}.")
    sensor = next(iter(meant), names[0] if names else "")
    return sensor, statistic(replace(work.reading, text=work.words), readings, sensor)


def _compared(work: Work, steps: list[dict[str, Any]]) -> Report:
    means: list[tuple[dict[str, Any], float]] = []
    for step in steps:
        sensor, values = _values(work, step)
        if values.get("mean") is None:
            raise Unanswerable(f"There is not one reading of {sensor} of {step.get('assetnum')} in one of the times.")
        means.append((step, values["mean"]))
    best, mean = max(means, key=lambda one: one[1])
    facts = {"asset": best.get("assetnum"), "mean": mean, "means": [one for _, one in means]}
    told = said(f"{one.get('assetnum')} {value}" for one, value in means)
    return Report.of(f"Means: {told}.", facts)


def the_site(work: Work) -> str:
    """The site that is named or known, else the only one that there is."""
    sites = names_of(work.call("sites"), *_SITE_KEYS) if work.desk.has("sites") else []
    named = work.reading.site or str(work.known.get("site") or work.known.get("site_name") or "")
    for site in sites:
        if plain(site) == plain(named):
            return site
    if named and sites:
        raise Unanswerable(f"There is no site {named}; there are {said(sites)}.")
    if len(sites) == 1 or (sites and not named):
        return sites[0]
    if not named:
        raise Unanswerable("The request names no site.", "Name the site.")
    return named


def find_asset(work: Work, written: str | None = None) -> tuple[str, str]:
    """The site and the name of the asset that is meant, as the registry has it.

    Raises:
        Unanswerable: no site has it.
    """
    wanted = written or work.asset
    listed: list[dict[str, Any]] = []
    if work.desk.has("registry_assets"):
        listed = rows_of(work.call("registry_assets"))
    elif work.desk.has("sites", "assets"):
        for site in names_of(work.call("sites"), *_SITE_KEYS):
            listed += [{**row, "site_name": site} for row in _assets_at(work, site)[0].values()]
            listed += [{"name": name, "site_name": site} for name in _assets_at(work, site)[1]]
    for row in listed:
        if same_machine(wanted, *(row.get(key) for key in (*_ASSET_KEYS, *_ID_KEYS))):
            return str(row.get("site_name") or ""), _name(row)
    raise Unanswerable(f"There is no asset {wanted} in the registry.")


def identifier_of(row: Mapping[str, Any] | None, name: str) -> str:
    """What the tools call an asset."""
    return str(next((row[key] for key in _ID_KEYS if row and row.get(key)), name))


def _assets_at(work: Work, site: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
    answer = work.call("assets", site_name=site)
    rows = {str(next((row[key] for key in _ASSET_KEYS if row.get(key)), "")): row for row in rows_of(answer)}
    return rows, names_of(answer, *_ASSET_KEYS)


def _history(work: Work, written: str, period: Period) -> dict[str, Any]:
    site, asset = find_asset(work, written)
    listed = names_of(work.call("sensors", site_name=site, assetnum=asset), *_SENSOR_KEYS)
    names = sensors_meant(_without(work.reading.text, work.reading.assets), listed, [written, asset])
    if not names and not work.reading.has(r"\ball (?:\w+ )?(?:readings|sensors|data)\b"):
        names = sensors_meant(_without(work.words, work.reading.assets), listed, [written, asset])[:1]
    if not names and _names_a_quantity(work):
        raise Unanswerable(f"What is asked for is not measured on {written}; measured are {said(listed)}.")
    found = work.call(
        "history", site_name=site, assetnum=asset, start=period.start.isoformat(), final=period.end.isoformat(),
        sensors=names or None,
    )  # fmt: skip
    if not isinstance(found, Mapping) or not int(found.get("total_observations") or 0):
        raise Unanswerable(f"Nothing was recorded of {written} {period.words}.")
    return {**found, "site_name": site, "assetnum": asset, "sensors": names, "file_path": str(found.get("file_path"))}


def _without(text: str, assets: list[str]) -> str:
    for asset in assets:
        text = re.sub(re.escape(asset), " ", text, flags=re.IGNORECASE)
    return text


def _names_a_quantity(work: Work) -> bool:
    """Whether a quantity is named at all: "all sensor data" names none."""
    return Reading(work.words).has(
        r"temperature|humidity|pressure|vibration|\bflow\b|\bpower\b|\bspeed\b|\bcurrent\b|\bvoltage\b|tonnage|"
        r"efficiency|% loaded|\bco2\b|\blevel\b"
    )


def _line(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items() if value is not None)[:600]


SKILLS: Final = (
    Skill("sites", r"\bsites\b", list_sites, unless=r"\b(?:assets|sensors|chiller|ahu)\b"),
    Skill("compute", r"^(?:compute|count the readings|report the (?:share|latest|highest|reading)|find the longest)|"
          r"\b(?:mean|average|maximum|minimum|highest|lowest|largest|smallest|peak|latest|median|how (?:many|much))\b|"
          r"\b(?:share|gap|how often|what was|running|hours)\b", compute,
          unless=r"\bassets\b|\bsensors\b|\bdownload\b|^retrieve\b"),
    Skill("history", r"^(?:retrieve|download|fetch)\b|\b(?:data|readings?|history|observations|values|measurements)\b",
          get_history, unless=r"\bmetadata\b|\bdetails\b|\bassets\b|^list\b|^report\b"),
    Skill("sensors", r"\b(?:sensors|metrics|points|quantities|instruments)\b", list_sensors),
    Skill("metadata", r"\b(?:metadata|details?|describe|information|profile|record)\b", show_asset),
    Skill("assets", r"\b(?:assets|equipment|machines|chillers|ahus|units)\b", list_assets),
)  # fmt: skip


def iot_agent() -> RuleAgent:
    """The IoT agent by rules."""
    return RuleAgent(IOT, SKILLS)
