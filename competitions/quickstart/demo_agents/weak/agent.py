"""A weak agent: it looks for a machine and a year, counts what it finds in that year, and guesses for the rest."""

from __future__ import annotations

import re
from typing import Any

from gauntlet_agent import Episode, ToolError, run


def solve(episode: Episode) -> tuple[str, dict[str, Any]]:
    """Count in the year that the question names; abstain where there is no machine, no year or no count to give."""
    machine = re.search(r"\b[A-Z]{3}\d{5}\b|\b(?:chiller|ahu)[ _-]?\d+\b", episode.text, re.IGNORECASE)
    year = re.search(r"\b20\d{2}\b", episode.text)
    wanted = list(episode.show.get("answer_format", {}))
    episode.plan([{"agent": "WOAgent", "instruction": "Count what there is in the year"}])
    if machine is None or year is None:
        return "I do not know.", {"abstain": True}
    window = {"equipment": machine.group(), "start": f"{year.group()}-01-01", "end": f"{year.group()}-12-31"}
    try:
        if wanted == ["work_orders"]:
            total = episode.call("get_work_orders", **window, limit=1)["total"]
            return f"{total} work orders.", {"work_orders": total}
        counts = episode.call("get_events", **window, limit=1)["by_group"]
    except ToolError:
        return "I do not know.", {"abstain": True}
    guesses = {name: counts.get(name, sum(counts.values())) for name in wanted}
    return f"My guess: {guesses}.", guesses


if __name__ == "__main__":
    run(solve)
