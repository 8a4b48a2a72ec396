"""From a question to its ground truth: plan, execution graph, answer, and what the judge looks at."""

from __future__ import annotations

import uuid
from typing import Any, Final

from assetops_scenarios.question import Call, Field, Question, spellings
from assetops_scenarios.tools import TOOLS
from gauntlet_scoring.ground_truth import (
    AbstainsCheck,
    AnyOfCheck,
    CalledCheck,
    Check,
    Checks,
    ContainsFieldsCheck,
    EqualsCheck,
    ExecutionLink,
    ExecutionStep,
    GroundTruth,
    NumberCheck,
    PlanningStep,
    SetCheck,
    StepDeterminism,
)

TYPES: Final = {"IoTAgent": "IoT", "FMSRAgent": "FMSR", "TSFMAgent": "TSFM", "WOAgent": "WO"}
SEVERAL: Final = "multiagent"
_GROUPS: Final = {"Prediction": "predictive", "Tuning Query": "predictive", "Decision Support": "prescriptive"}
_NAMESPACE: Final = uuid.UUID("0b1e6a53-6f0c-4c0e-8a57-3d9a4f2c7c21")


def type_of(question: Question) -> str:
    """The domain of a question, or that it needs several."""
    agents = question.agents
    return TYPES[agents[0]] if len(agents) == 1 else SEVERAL


def ground_truth_of(question: Question, key: str, *, twin: str | None = None) -> GroundTruth:
    """The scenario with plan, execution graph, answer and checks."""
    steps, links = _execution(question)
    return GroundTruth.model_validate(
        {
            "id": key,
            "uuid": str(uuid.uuid5(_NAMESPACE, f"{key} {question.text}")),
            "text": question.text,
            "type": type_of(question),
            "category": question.category,
            "deterministic": question.deterministic,
            "characteristic_form": question.expected,
            "planning_steps": [PlanningStep(agent=agent, instruction=text) for agent, text in question.plan],
            "execution_steps": steps,
            "execution_links": links,
            "checks": _checks(question),
            "final_out": question.answer() or None,
            "final_out_description": [question.expected],
            "possible_alternatives": _as_good(question),
            "data": {"template": question.template, **({"twin": twin} if twin else {})},
            "group": _GROUPS.get(question.category, "retrospective"),
            "entity": question.entity,
            "note": _note(question),
            "stage": question.stage,
            "capabilities": list(question.capabilities),
        }
    )


def _as_good(question: Question) -> dict[str, Any] | None:
    """Which arguments are as good as the reference's: a machine's other names, the last moments of a last day."""
    found: dict[str, list[str]] = {}
    for call in question.calls:
        if call.machine is not None:
            names = spellings(call.machine)
            found |= {name: [one for one in names if one != name] for name in (call.machine.id, call.machine.name)}
        if "final" in call.arguments:
            final = str(call.arguments["final"])
            found[final] = [f"{final}T23:45:00", f"{final}T23:59:00", f"{final}T23:59:59"]
    others = {expected: as_good for expected, as_good in found.items() if as_good}
    return {"arguments": others} if others else None


def _note(question: Question) -> str:
    if not question.deterministic:
        return "A model's numbers may differ between right solutions: what is checked is how they were come by."
    return "The answer was computed from the records by an oracle that does not use the tools."


def _execution(question: Question) -> tuple[list[ExecutionStep], list[ExecutionLink]]:
    """The calls as a graph that ends in Finish."""
    made_by = {call.output: f"{call.tool}_{position}" for position, call in enumerate(question.calls, start=1)}
    steps = [_step(call, made_by[call.output]) for call in question.calls]
    links: list[ExecutionLink] = []
    for position, call in enumerate(question.calls):
        before = question.calls[position - 1].output if position else None
        after = call.after if call.after is not None else (before,) if before else ()
        links += [ExecutionLink(source=made_by[one], target=made_by[call.output]) for one in after]
    finish = ExecutionStep(
        name="finish",
        action="Finish",
        agent=question.calls[-1].agent,
        arguments={"answer": question.answer()},
        outputs=[],
        deterministic=StepDeterminism(name=False, arguments=question.deterministic, outputs=question.deterministic),
    )
    led_on = {link.source for link in links}
    links += [ExecutionLink(source=step.name, target=finish.name) for step in steps if step.name not in led_on]
    return [*steps, finish], links


def _step(call: Call, name: str) -> ExecutionStep:
    exact = TOOLS[call.tool].exact
    return ExecutionStep(
        name=name,
        action=call.tool,
        agent=call.agent,
        arguments=dict(call.arguments),
        outputs=[call.output],
        deterministic=StepDeterminism(name=False, arguments=not call.loose, outputs=exact),
    )


def _checks(question: Question) -> Checks:
    """What the judge looks at: did what had to be done; asked for the right data; has the right result.

    The board is ranked by the first, so that a wrong answer counts there too: a question is not done with one.
    """
    needed = [call for call in question.calls if call.needed]
    actions: list[Check] = list({call.tool: _used(call) for call in needed}.values())
    evidence: list[Check] = [check for call in needed for check in _called(call)]
    if question.declined:
        declines = AbstainsCheck(value=True)
        return Checks(
            task_completion=[declines, *actions], data_retrieval_accuracy=evidence, result_verification=[declines]
        )
    values = [_value_check(name, one) for name, one in question.fields.items() if one.value is not None]
    asked_for: list[Check] = [
        ContainsFieldsCheck(paths=[name]) for name, one in question.fields.items() if one.value is None
    ]
    return Checks(
        task_completion=[AbstainsCheck(value=False), *values, *asked_for, *actions],
        data_retrieval_accuracy=evidence,
        result_verification=values,
    )


def _value_check(name: str, one: Field) -> Check:
    if isinstance(one.value, int | float) and not isinstance(one.value, bool):
        return NumberCheck(path=name, value=float(one.value), tolerance=one.tolerance)
    if isinstance(one.value, list):
        return SetCheck(path=name, value=one.value)
    return EqualsCheck(path=name, value=one.value)


def _used(call: Call) -> Check:
    return AnyOfCheck(checks=[CalledCheck(tool=tool, refused=call.refused) for tool in (call.tool, *call.instead)])


def _called(call: Call) -> list[Check]:
    """That the right machine was asked about, and that it was asked about the right time."""
    tools = (call.tool, *call.instead)
    named: list[Check] = [one for tool in tools for one in _machine_checks(call, tool, {})]
    others = {tool: _others(call, tool) for tool in tools}
    if not others[call.tool]:
        return [AnyOfCheck(checks=named)]
    exact: list[Check] = [one for tool in tools for one in _machine_checks(call, tool, others[tool])]
    return [AnyOfCheck(checks=named), AnyOfCheck(checks=exact)] if call.machine else [AnyOfCheck(checks=exact)]


def _others(call: Call, tool: str) -> dict[str, Any]:
    """The arguments that say which data are meant; an earlier call's output is never compared."""
    given = {name: call.arguments[name] for name in TOOLS[tool].looked_at if name in call.arguments}
    return {name: value for name, value in given.items() if name not in call.loose and not str(value).startswith("@")}


def _machine_checks(call: Call, tool: str, others: dict[str, Any]) -> list[CalledCheck]:
    argument = TOOLS[tool].machine
    if call.machine is None or argument is None:
        return [CalledCheck(tool=tool, arguments=others, refused=call.refused)]
    return [
        CalledCheck(tool=tool, arguments={argument: name, **others}, refused=call.refused)
        for name in spellings(call.machine)
    ]
