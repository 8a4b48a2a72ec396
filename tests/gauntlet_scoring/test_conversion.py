"""One scenario in two readings, and back to what it was."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_scoring.conversion import ConversionError, is_multi_mcp, to_multi_agent, to_multi_mcp
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation import ASSETOPS, Strength, check_text
from gauntlet_scoring.validation.vocabulary import SPECIAL_ACTIONS

AGENTS = sorted(ASSETOPS.agents)


def truth(*steps: tuple[str, str], type_: str, **fields) -> GroundTruth:
    names = [f"use_{position}_{action}" for position, (_, action) in enumerate(steps)]
    return GroundTruth.model_validate(
        {
            "id": 601,
            "text": "Which failure modes has Chiller 6?",
            "type": type_,
            "category": "Complex Query",
            "deterministic": False,
            "characteristic_form": "Each of the 7 failure modes.",
            "planning_steps": [{"agent": agent, "instruction": f"use {action}"} for agent, action in steps],
            "execution_steps": [
                {"name": name, "action": action, "agent": agent}
                for name, (agent, action) in zip(names, steps, strict=True)
            ],
            "execution_links": [{"source": one, "target": other} for one, other in pairwise(names)],
            **fields,
        }
    )


TWO = truth(("IoTAgent", "sites"), ("IoTAgent", "jsonreader"), ("FMSRAgent", "Finish"), type_="multiagent")


def test_agents_become_servers_and_tools_stay():
    found = to_multi_mcp(TWO, ASSETOPS)
    assert found.type == "multi-mcp"
    assert [step.agent for step in found.planning_steps] == ["iot", "iot", "fmsr"]
    assert [(step.agent, step.action) for step in found.execution_steps] == [
        ("iot", "sites"),
        ("iot", "utilities/jsonreader"),
        ("fmsr", "Finish"),
    ]
    assert (is_multi_mcp(found, ASSETOPS), is_multi_mcp(TWO, ASSETOPS)) == (True, False)


def test_every_tool_may_be_written_with_its_server():
    found = to_multi_mcp(TWO, ASSETOPS, qualified=True)
    assert [step.action for step in found.execution_steps] == ["iot/sites", "utilities/jsonreader", "Finish"]
    assert to_multi_agent(found, ASSETOPS) == TWO


def test_a_strict_scenario_stays_strict_in_the_other_reading():
    steps = [{**step.model_dump(), "arguments": {}} for step in TWO.execution_steps]
    steps[1]["arguments"] = {"file_name": "x"}
    row = GroundTruth.model_validate({**TWO.model_dump(exclude_unset=True), "execution_steps": steps})
    for each in (row, to_multi_mcp(row, ASSETOPS), to_multi_mcp(row, ASSETOPS, qualified=True)):
        report = check_text(each.model_dump_json(), strength=Strength.STRICT)
        assert report.findings == (), report.findings


STEPS = st.lists(
    st.sampled_from(AGENTS).flatmap(
        lambda agent: st.tuples(
            st.just(agent), st.sampled_from([*ASSETOPS.tools_of(agent), *SPECIAL_ACTIONS[:3], "unheard_of"])
        )
    ),
    min_size=1,
    max_size=5,
)


@given(
    steps=STEPS,
    type_=st.sampled_from([*ASSETOPS.types, "multiagent"]),
    paradigm=st.sampled_from([None, "multi-agent"]),
    qualified=st.booleans(),
)
def test_there_and_back_is_what_it_was(steps, type_, paradigm, qualified):
    before = truth(*steps, type_=type_, paradigm=paradigm)
    there = to_multi_mcp(before, ASSETOPS, qualified=qualified)
    assert to_multi_agent(there, ASSETOPS) == before
    assert to_multi_mcp(to_multi_agent(there, ASSETOPS), ASSETOPS, qualified=qualified) == there


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (truth(("PumpAgent", "x"), type_="multiagent"), "no agent of the vocabulary"),
        (truth(("IoTAgent", "iot/sites"), type_="IoT"), "names a server already"),
        (truth(("IoTAgent", "sites"), type_="Workorder"), "no counterpart"),
        (truth(("IoTAgent", "sites"), type_="IoT", paradigm="hybrid"), "paradigm"),
    ],
)
def test_what_has_no_other_reading_is_told(row, words):
    with pytest.raises(ConversionError, match=words):
        to_multi_mcp(row, ASSETOPS)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (truth(("filesystem", "read"), type_="multi-mcp"), "no server of an agent"),
        (truth(("iot", "fmsr/get_failure_modes"), type_="iot"), "not of the step's server"),
    ],
)
def test_a_server_without_an_agent_is_told(row, words):
    with pytest.raises(ConversionError, match=words):
        to_multi_agent(row, ASSETOPS)
