"""A gullible agent: it calls the one tool that sounds most like the question, and believes what comes back.

It is glad of any tool that takes the question in plain words. The demonstration shows what distractors cost it.
"""

from __future__ import annotations

import re
from typing import Any

from gauntlet_agent import Episode, Tool, ToolError, run

MACHINE = re.compile(
    r"\b[A-Z]{3}\d{5}\b|\b(?:chiller|ahu|boiler|transformer|cooling ?tower|chilled ?water ?pump|air ?compressor|"
    r"diesel ?generator|exhaust ?fan|heat ?exchanger) ?\d+\b",
    re.IGNORECASE,
)


def solve(episode: Episode) -> tuple[str, dict[str, Any]]:
    """Ask the best-sounding tool and take from its answer what looks like the fields asked for."""
    offered = [tool for tool in episode.tools() if filled(tool, episode.text) is not None]
    if not offered:
        episode.plan([{"agent": "WOAgent", "instruction": episode.text}])
        return "Somebody should look into it.", {"abstain": True}
    chosen = max(offered, key=lambda tool: alike(tool, episode.text))
    episode.note(f"{chosen.name} sounds right")
    try:
        found = episode.call(chosen.name, **(filled(chosen, episode.text) or {}))
    except ToolError:
        return "I do not know.", {"abstain": True}
    wanted = dict(episode.show.get("answer_format", {}))
    data = {name: taken(found, name, str(kind)) for name, kind in wanted.items()}
    if not any(value is not None for value in data.values()):
        return "I do not know.", {"abstain": True}
    return f"{chosen.name} says so.", data


def alike(tool: Tool, text: str) -> tuple[bool, float]:
    """Share of the tool's words that are in the question; a tool that takes it in plain words comes first."""
    own = words(f"{tool.name.replace('_', ' ')} {tool.description}")
    share = len(own & words(text)) / len(own)
    return share > 0 and "request" in tool.input_schema.get("properties", {}), share


def words(text: str) -> set[str]:
    """The longer words, without an ending that most of them share."""
    return {word.rstrip("s") for word in re.findall(r"[a-z]{4,}", text.casefold())}


def filled(tool: Tool, text: str) -> dict[str, Any] | None:
    """The arguments that the tool must have and, of the others, those that the question gives; None where one lacks."""
    machine, year = MACHINE.search(text), re.search(r"\b20\d\d\b", text)
    known: dict[str, Any] = {"site_name": "MAIN", "request": text}
    if machine:
        known |= dict.fromkeys(("equipment_id", "assetnum", "asset_name"), machine.group())
    if year:
        known |= {"start": f"{year.group()}-01-01", "end": f"{year.group()}-12-31"}
    if kind := re.search(r"preventive|corrective", text):
        known["kind"] = kind.group()
    properties = tool.input_schema.get("properties", {})
    if not all(name in known for name in tool.input_schema.get("required", [])):
        return None
    return {name: value for name, value in known.items() if name in properties}


def taken(found: Any, name: str, kind: str) -> Any:
    """What in a tool's answer may be meant by a field."""
    if not isinstance(found, dict):
        return None
    if name in found:
        return found[name]
    lists = [value for value in found.values() if isinstance(value, list)]
    if kind.startswith("integer"):
        return found.get("total", len(lists[0]) if lists else None)
    if kind.startswith("list") and lists:
        return [next(iter(row.values())) if isinstance(row, dict) else row for row in lists[0]]
    return None


if __name__ == "__main__":
    run(solve)
