"""What the FMSR agent can do by rules: failure modes of an asset, and which sensors tell of which failure mode."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gauntlet_agent.assetops.reading import plain, sensors_meant
from gauntlet_agent.assetops.report import Report
from gauntlet_agent.assetops.roster import FMSR
from gauntlet_agent.assetops.skills import RuleAgent, Skill, Unanswerable, Work, names_of, rows_of, said

_MODE_KEYS: Final = ("failure_mode", "name", "mode")
_COMMON: Final = frozenset(
    {"failure", "mode", "modes", "sensor", "sensors", "chiller", "relevant", "report", "water", "that"}
)
_NO: Final = ("false", "no", "0", "irrelevant", "")


def list_modes(work: Work) -> Report:
    """The failure modes of an asset or of a class of assets."""
    name = _asset_or_class(work)
    modes = failure_modes(work, name)
    return Report.of(
        f"{len(modes)} failure modes of {name}: {said(modes)}.", {"failure_modes": modes, "count": len(modes)}
    )


def map_modes(work: Work) -> Report:
    """Which sensors tell of which failure modes; with the other steps' sensors, which of them are there."""
    name = _asset_or_class(work)
    by_mode = _by_mode(mapping(work, name))
    told = "; ".join(f"{mode}: {said(sensors)}" for mode, sensors in by_mode.items())
    return Report.of(f"{told}.", {"asset_name": name, "mapping": by_mode, "failure_modes": list(by_mode)})


def modes_told_by(work: Work) -> Report:
    """The failure modes that at least one (or none) of some sensors tells of: those named, else those there are."""
    name = _asset_or_class(work)
    pairs = mapping(work, name)
    every = list(dict.fromkeys(sensor for _, sensor in pairs))
    available = _known_sensors(work)
    by_step = bool(available) and work.reading.has(r"\b(?:recorded|installed|available|measured) sensors?\b")
    sensors = available if by_step else _sensors_of_request(work, every)
    if not sensors:
        raise Unanswerable(f"No such sensor tells of a failure of {name}; those that do are {said(every)}.")
    told = {mode for mode, sensor in pairs if _in(sensor, sensors)}
    none = work.reading.has(r"\bnone of\b|\bno \w+ sensor\b")
    modes = [mode for mode in failure_modes(work, name) if (mode in told) != none]
    facts = {"failure_modes": modes, "sensors": sensors, "count": len(modes)}
    return Report.of(f"Told by {'none' if none else 'one'} of {said(sensors, most=5)}: {said(modes)}.", facts)


def sensors_for(work: Work) -> Report:
    """The sensors that tell of one of some failure modes; only those that another step listed, where one did."""
    name = _asset_or_class(work)
    by_mode = _by_mode(mapping(work, name))
    modes = _modes_meant(work, failure_modes(work, name))
    if not modes:
        raise Unanswerable(f"{name} has no such failure mode; it has {said(by_mode)}.")
    found = list(dict.fromkeys(sensor for mode in modes for sensor in by_mode.get(mode, [])))
    if work.reading.has(r"\b(?:recorded|installed|available|measured)\b"):
        found = [sensor for sensor in found if _in(sensor, _known_sensors(work))]
    facts = {"failure_mode": modes[0], "sensors": found, "sensor": next(iter(found), None), "count": len(found)}
    return Report.of(f"{' and '.join(modes)}: {said(found)}.", facts)


def best_sensor(work: Work) -> Report:
    """The sensor that tells of most failure modes."""
    pairs = mapping(work, _asset_or_class(work))
    counts = Counter(sensor for _, sensor in pairs)
    best = max(sorted(counts), key=lambda sensor: counts[sensor])
    return Report.of(
        f"{best}, of {counts[best]}.", {"sensor": best, "failure_modes": counts[best], "count": counts[best]}
    )


def modes_with_one(work: Work) -> Report:
    """The failure modes of which a single sensor tells."""
    by_mode = _by_mode(mapping(work, _asset_or_class(work)))
    modes = [mode for mode, sensors in by_mode.items() if len(sensors) == 1]
    return Report.of(f"{said(modes)}.", {"failure_modes": modes, "count": len(modes)})


def failure_modes(work: Work, name: str) -> list[str]:
    """The failure modes that the library has."""
    modes = names_of(work.call("get_failure_modes", asset_name=name), *_MODE_KEYS)
    if not modes:
        raise Unanswerable(f"No failure modes of {name} are known.")
    return modes


def mapping(work: Work, name: str, modes: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Pairs of failure mode and sensor that tells of it."""
    answer = work.call("get_failure_mode_sensor_mapping", asset_name=name, failure_modes=list(modes) if modes else None)
    pairs = _pairs(answer)
    if not pairs and not rows_of(answer):
        raise Unanswerable(f"Nothing is known about which sensors tell of the failures of {name}.")
    return pairs


def _pairs(answer: Any) -> list[tuple[str, str]]:
    """Rows of mode, sensor and relevance, or an object from modes to lists of sensors."""
    rows = rows_of(answer)
    if rows and any("sensor" in row for row in rows):
        return [
            (str(row.get("failure_mode") or row.get("mode")), str(row["sensor"]))
            for row in rows
            if row.get("sensor") and str(row.get("relevant", True)).casefold() not in _NO
        ]
    if rows:
        return [(str(_mode_name(row)), str(sensor)) for row in rows for sensor in row.get("sensors") or []]
    found: list[tuple[str, str]] = []
    for value in answer.values() if isinstance(answer, Mapping) else ():
        if isinstance(value, Mapping):
            found += [(str(key), str(one)) for key, many in value.items() if isinstance(many, list) for one in many]
    return found


def _by_mode(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for mode, sensor in pairs:
        found.setdefault(mode, []).append(sensor)
    return found


def _mode_name(row: Mapping[str, Any]) -> Any:
    return next((row[key] for key in _MODE_KEYS if row.get(key)), "")


def _asset_or_class(work: Work) -> str:
    """The machine that is named or known; else the kind of machine."""
    if work.reading.assets:
        return work.reading.assets[0]
    named = re.search(r"\bfailure modes of (?:the |asset )*([A-Z][\w]*(?: [A-Z][\w]*)*)", work.reading.text)
    if named:
        return named[1]
    return str(work.known.get("asset_name") or work.known.get("equipment_id") or "") or _kind(work) or work.asset


def _kind(work: Work) -> str:
    named = re.search(r"\bfailure modes of (?:the |asset |an? )*([a-z]+(?: [a-z]+)?)(?:\.|$)", work.reading.text)
    return named[1] if named else work.reading.asset_class or ""


def _known_sensors(work: Work) -> list[str]:
    for key in ("measured", "sensors", "installed"):
        found = work.known.get(key)
        if isinstance(found, list) and found:
            return [str(one) for one in found]
    return []


def _sensors_of_request(work: Work, every: Sequence[str]) -> list[str]:
    """The sensors that are named, one by one or by kind ("temperature sensors")."""
    text = work.reading.text
    for asset in work.reading.assets:
        text = text.replace(asset, " ")
    kinds = re.findall(r"\b(\w+) sensors?\b", text.casefold())
    kinds = [kind for kind in kinds if kind not in ("the", "its", "these", "any", "all", "of")]
    if kinds:
        registered = [row for row in work.known.get("sensor_rows", []) if isinstance(row, Mapping)]
        by_kind = [str(row["sensor"]) for row in registered if str(row.get("kind", "")).casefold() in kinds]
        return by_kind or [name for name in every if any(kind in name.casefold() for kind in kinds)]
    return sensors_meant(text, every, work.reading.assets)


def _modes_meant(work: Work, modes: Sequence[str]) -> list[str]:
    """The failure modes that are named whole; else the one that shares most words, if it shares any."""
    flat = plain(work.reading.text)
    exact = [mode for mode in modes if plain(mode) in flat]
    if exact:
        return exact
    words = set(re.findall(r"[a-z]{4,}", work.reading.words)) - _COMMON
    shared = {mode: len(words & set(re.findall(r"[a-z]{4,}", mode.casefold()))) for mode in modes}
    best = max(shared, key=lambda mode: shared[mode], default="")
    return [best] if shared.get(best) else []


def _in(sensor: str, names: Sequence[str]) -> bool:
    flat = plain(sensor)
    return any(flat == plain(name) or plain(name).endswith(flat) or flat.endswith(plain(name)) for name in names)


SKILLS: Final = (
    Skill("one", r"\bexactly one sensor\b|\bsingle sensor\b", modes_with_one),
    Skill("best", r"\bsensor\b.*\bmost failure modes\b", best_sensor),
    Skill("map", r"^map\b", map_modes),
    Skill("told_by", r"\bfailure modes?\b.*\b(?:tells? of|detected|told|monitored|seen|predicted|identified|notice)\b|"
          r"\bwhich failures?\b.*\b(?:detect|tell|told|monitor)\w*|\bpotential failure\b", modes_told_by),
    Skill("sensors_for", r"\bsensors?\b", sensors_for),
    Skill("list_modes", r"\bfail(?:ure|ures|s)?\b|\bmodes?\b|\bgo wrong", list_modes),
)  # fmt: skip


def fmsr_agent() -> RuleAgent:
    """The FMSR agent by rules."""
    return RuleAgent(FMSR, SKILLS)
