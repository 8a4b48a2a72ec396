"""How a question of AssetOps is read: periods, machines, sensors, numbers."""

from __future__ import annotations

import json
import os
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_agent.assetops import plan
from gauntlet_agent.assetops.periods import assumed_today, one_period, periods
from gauntlet_agent.assetops.reading import Reading, sensors_meant
from gauntlet_agent.assetops.roster import AGENTS

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("GAUNTLET_SHARED", ROOT.parent / "shared"))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("in the week of 2020-04-27 at MAIN", "2020-04-27", "2020-05-03"),
        ("for the June of 2020 and provide", "2020-06-01", "2020-06-30"),
        ("the first week of June of 2020", "2020-06-01", "2020-06-07"),
        ("from the last week of 2020 at", "2020-12-25", "2020-12-31"),
        ("the last week of April '20", "2020-04-24", "2020-04-30"),
        ("on sept 3 2015?", "2015-09-03", "2015-09-03"),
        ("was using on 6/14/20?", "2020-06-14", "2020-06-14"),
        ("on mar 13 '20, site MAIN", "2020-03-13", "2020-03-13"),
        ("In May and June of 2020, numerous", "2020-05-01", "2020-06-30"),
        ("from 2020-04-20T12:30:00 to 2020-05-12T19:30:00, identify", "2020-04-20", "2020-05-12"),
        ("the time from 17 November 2022 to 7 January 2023", "2022-11-17", "2023-01-07"),
        ("between 2017 and 2019", "2017-01-01", "2019-12-31"),
        ("in the second quarter of 2018", "2018-04-01", "2018-06-30"),
        ("equipment CWC04013 for year 2017.", "2017-01-01", "2017-12-31"),
        ("June 1, 2020 through June 30, 2020", "2020-06-01", "2020-06-30"),
    ],
)
def test_periods(text: str, start: str, end: str) -> None:
    found = one_period(text)
    assert found is not None
    assert found.arguments == {"start": start, "end": end}


def test_two_periods_stay_two() -> None:
    assert len(periods("more alerts in March 2019 or in June 2019")) == 2
    assert len(periods("Compare the alerts in March 2019 and June 2019")) == 2


def test_the_day_to_assume_is_no_period() -> None:
    text = "Assume today is 3 July 2020. Review how Chiller 9 did last month."
    reading = Reading(text)
    assert assumed_today(text) == date(2020, 7, 3)
    assert reading.period is not None
    assert reading.period.arguments == {"start": "2020-06-01", "end": "2020-06-30"}


@given(first=st.dates(date(1990, 1, 1), date(2090, 1, 1)), days=st.integers(1, 900))
def test_two_days_as_people_write_them_are_read_back(first: date, days: int) -> None:
    last = first + timedelta(days=days)
    found = one_period(f"from {first.day} {first:%B} {first.year} to {last.day} {last:%B} {last.year}")
    assert found is not None
    assert (found.start, found.end) == (first, last)


@pytest.mark.parametrize(
    ("text", "assets"),
    [
        ("for Chiller 6 at the MAIN site", ["Chiller 6"]),
        ("both CHILLER6 and ahu 2", ["CHILLER6", "ahu 2"]),
        ("CQPA AHU 2B on", ["CQPA AHU 2B"]),
        ("chilled water pump 12 and Heat Exchanger 3", ["chilled water pump 12", "Heat Exchanger 3"]),
        ("equipment CWC04009 in June 2020", ["CWC04009"]),
        ("in the week of 27 April 2020", []),
    ],
)
def test_machines(text: str, assets: list[str]) -> None:
    assert Reading(text).assets == assets


SENSORS = [
    *("Supply Temperature", "Return Temperature", "Setpoint Temperature", "Power Input", "Tonnage", "Chiller % Loaded"),
    *("Chiller Efficiency", "Condenser Water Supply Temperature", "Condenser Water Return To Tower Temperature"),
    *("Condenser Water Flow", "Liquid Refrigerant Evaporator Temperature"),
]


@pytest.mark.parametrize(
    ("words", "sensors"),
    [
        ("the supply temperature", ["Supply Temperature"]),
        ("Tonnage and Power Input", ["Tonnage", "Power Input"]),
        ("the power draw", ["Power Input"]),
        ("energy consumption", ["Power Input"]),
        ("% Loaded", ["Chiller % Loaded"]),
        ("load in percent", ["Chiller % Loaded"]),
        ("incoming condenser water temperature", ["Condenser Water Supply Temperature"]),
        ("water going back to the tower: condenser temperature", ["Condenser Water Return To Tower Temperature"]),
        ("flow through the condenser", ["Condenser Water Flow"]),
        ("compressor vibration", []),
        ("oil pressure", []),
    ],
)
def test_sensors_as_operators_call_them(words: str, sensors: list[str]) -> None:
    assert sensors_meant(words, SENSORS) == sensors


def test_sensors_whose_names_begin_with_the_machine() -> None:
    named = [f"Chiller 6 {name}" for name in SENSORS]
    assert sensors_meant("Chiller 6's Tonnage", named, ["Chiller 6"]) == ["Chiller 6 Tonnage"]


def test_a_number_is_the_one_beside_the_word_and_never_a_machines() -> None:
    assert Reading("Count the events of AHU 10 by description: the three most frequent descriptions").number_near(
        "descriptions", 5
    ) == 3  # fmt: skip
    assert Reading("fired on at least 4 days of the month").number_near("days", 1) == 4
    assert Reading("the events of Chiller 6").number_near("events", 9) == 9


def test_every_public_question_gets_a_plan_of_known_agents() -> None:
    lines = (SHARED / "data" / "assetops" / "scenarios_152.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["text"] for line in lines]
    assert len(questions) == 152
    for question in questions:
        steps = plan(question)
        assert 1 <= len(steps) <= 8, question
        for position, step in enumerate(steps):
            assert step.agent in AGENTS
            assert "{" not in step.task, step.task
            assert all(other < position for other in step.depends_on)


@pytest.mark.parametrize(
    ("question", "agents"),
    [
        ("What IoT sites are available?", ["IoTAgent"]),
        ("List all failure modes of asset Chiller 6.", ["FMSRAgent", "FMSRAgent"]),
        ("How many models with context length exactly 96 are supported?", ["TSFMAgent", "TSFMAgent"]),
        ("Get the work order of equipment CWC04013 for year 2017.", ["WOAgent"] * 3),
        (
            "What is the forecast for Chiller 6's Tonnage for next week based on the week of 2020-04-27 at MAIN?",
            ["IoTAgent", "IoTAgent", "TSFMAgent", "TSFMAgent"],
        ),
        (
            "Is there any anomaly detected in Chiller 6's Tonnage in the week of 2020-04-27 at the MAIN site?",
            ["IoTAgent", "IoTAgent", "TSFMAgent"],
        ),
    ],
)
def test_public_questions_go_to_the_right_agents(question: str, agents: list[str]) -> None:
    assert [step.agent for step in plan(question)] == agents
