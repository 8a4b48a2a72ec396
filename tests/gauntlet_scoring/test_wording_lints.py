"""The lints of wording: another noun (issue 311), another year, a vague expectation. Each warns, none refuses."""

from __future__ import annotations

import pytest

from gauntlet_scoring.validation.collecting import Collector
from gauntlet_scoring.validation.structure import Draft
from gauntlet_scoring.validation.wording import check_wording


def rules(question: str, form: str) -> list[str]:
    collector = Collector(document=None, scenario=None)
    check_wording(Draft({"text": question, "characteristic_form": form}, None, [], [], []), collector)
    return [found.rule for found in collector.findings]


@pytest.mark.parametrize(
    ("question", "form"),
    [
        (
            "List all sensors of Boiler 2 that tell of leaks.",
            "the answer should contain one or more failure modes: 'Leak'",
        ),
        ("Which failure modes can the 3 sensors of Fan 1 detect?", "The answer should list the sensors 'S9' and 'S8'."),
        ("How many work orders did P1 have in 2021?", "The response must contain 14 alerts of the pump."),
        ("Get the alerts of P1 in May 2021.", "The expected response should include all anomalies, 12 of them."),
        ("What are the models for energy?", "The answer should be a list of sites, MAIN and NORTH-7 among them."),
    ],
)
def test_a_question_for_one_thing_with_an_expectation_of_another_is_found(question, form):
    assert rules(question, form) == ["noun"]


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("List all failure modes of Boiler 2 that sensors detect.", "The answer should contain failure modes: 'Leak'."),
        ("If fouling occurs, which sensor should be watched?", "the answer should contain one of more sensors: 'T7'"),
        ("When power drops, what failure is likely?", "the answer should contain one or more failure modes: 'Trip'"),
        ("List the assets of MAIN.", "The answer should list the chillers and air handlers: 6 assets."),
        ("Which work orders follow alerts?", "The answer should contain the alerts and the 4 work orders after them."),
        ("How long did the pump run?", "The answer should contain sensors and 40 hours."),
    ],
)
def test_what_fits_is_left_alone(question, form):
    assert "noun" not in rules(question, form)


@pytest.mark.parametrize(
    ("question", "form", "found"),
    [
        ("What was it on 2020-06-14?", "The 96 readings of June 14, 2016.", True),
        ("What was it on 6/14/20?", "The 96 readings of June 14, 2016.", True),
        ("What was it on mar 13 '20?", "The 96 readings of March 13, 2020.", False),
        ("What was it in 2020?", "The 96 readings of 2020, after those of 2019.", False),
        ("What will it be in 2031?", "It cannot be answered: records end in 2022.", False),
        ("How many of the 2020 readings?", "There are 96 readings.", False),
        ("What was it in 2020?", "The number 201500, or 2015.5 with decimals.", False),
    ],
)
def test_a_year_that_the_question_does_not_speak_of_is_found(question, form, found):
    assert ("year" in rules(question, form)) is found


@pytest.mark.parametrize(
    "form", ["The right answer.", "The answer should contain a list of the meaningful sensors of P1."]
)
def test_an_expectation_that_only_repeats_the_question_is_vague(form):
    assert rules("List the sensors of P1.", form) == ["G19"]


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("How many alerts were logged for CHILLER10 in April 2018?", "10 alerts."),
        ("How many alerts had Chiller 6 in 2018?", "6 alerts."),
        ("How many repairs had GENERATOR1 in 2016?", "1 repairs."),
    ],
)
def test_a_count_that_happens_to_be_a_machines_number_is_specific(question, form):
    assert rules(question, form) == []


@pytest.mark.parametrize(
    "form", ["The alerts of Chiller 6.", "The alerts of 2018.", "The alerts of Chiller 6 in 2018."]
)
def test_a_machines_number_and_a_year_say_nothing_new(form):
    assert rules("Which alerts had Chiller 6 in 2018?", form) == ["G19"]


def test_nothing_is_said_where_a_text_is_missing():
    assert rules("", "x") == []
    assert rules("List the sensors.", " ") == []
