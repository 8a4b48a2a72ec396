"""The published questions 400, 402 to 408 and 410 about real records, asked by the same templates as all others.

Texts and records are read from the public AssetOpsBench sample data where it lies; nothing of it is in this repository.
What a question is about (machine, time, kind) is written here; its answer comes from the oracle.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from assetops_data.public import import_public

from assetops_scenarios.event_questions import days_of, summary_of
from assetops_scenarios.picking import Period, Picker, month_of, year_of
from assetops_scenarios.question import Question
from assetops_scenarios.records import Days, Machine, Records
from assetops_scenarios.scenario_set import Asked
from assetops_scenarios.work_questions import count_of, kind_of

SCENARIOS_FILE: Final = "scenarios_152.jsonl"
_CHILLER_9: Final = "CWC04009"
_CHILLER_13: Final = "CWC04013"
_FIRST_WEEK: Final = Period(Days(date(2020, 6, 1), date(2020, 6, 7)), "the first week of June 2020")
_WATCHED: Final = ["ALERT", "ANOMALY"]
Ask = Callable[[Picker, Machine, Period], Question]

_PUBLISHED: Final[Mapping[int, tuple[str, Period, Ask]]] = {
    400: (_CHILLER_13, year_of(2017), count_of),
    402: (_CHILLER_13, year_of(2017), lambda picker, who, when: kind_of(picker, who, when, "preventive")),
    403: (_CHILLER_13, year_of(2017), lambda picker, who, when: kind_of(picker, who, when, "corrective")),
    404: (_CHILLER_9, year_of(2019), summary_of),
    405: (_CHILLER_9, month_of(2020, 6), summary_of),
    406: (_CHILLER_9, month_of(2020, 6), summary_of),
    407: (_CHILLER_9, year_of(2021), lambda picker, who, when: days_of(picker, who, when, _WATCHED)),
    408: (_CHILLER_9, month_of(2020, 5), lambda picker, who, when: days_of(picker, who, when, _WATCHED)),
    410: (_CHILLER_9, _FIRST_WEEK, summary_of),
}


def published_questions(source: Path, folder: Path) -> list[Asked]:
    """Import the sample data in ``source`` into ``folder``, and ask the nine questions about it, by number.

    Raises:
        FileNotFoundError: the sample data is not there
        KeyError: a published question is missing from it
    """
    import_public(source, folder)
    picker = Picker(Records(folder), random.Random(0))  # noqa: S311 - only wordings are drawn, and replaced
    texts = _texts(source / SCENARIOS_FILE)
    return [
        Asked(str(number), replace(ask(picker, picker.records.machine(who), when), text=texts[number]), None)
        for number, (who, when, ask) in sorted(_PUBLISHED.items())
    ]


def _texts(path: Path) -> dict[int, str]:
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    return {int(row["id"]): str(row["text"]) for row in rows}
