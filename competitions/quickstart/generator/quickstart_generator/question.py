"""A question with everything that is known about it, and how it becomes a scenario and its ground truth."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

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
    StepDeterminism,
)
from quickstart_generator.plant import Machine

ABSTAIN: Final = 'Answer with {"abstain": true} where the plant\'s records cannot answer the question.'
_NAMESPACE: Final = uuid.UUID("6f1d2f6e-8a1c-4c5a-9d53-0a4c5b1e7f10")


@dataclass(frozen=True)
class Call:
    """A tool call of the reference solution; ``instead`` names other tools that lead to the same data."""

    tool: str
    arguments: Mapping[str, Any]
    output: str
    agent: str = "WOAgent"
    machine: Machine | None = None
    instead: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()  # arguments that another right solution may give otherwise: not checked
    refusals: tuple[CalledCheck, ...] = ()  # calls whose refusal tells the same


@dataclass(frozen=True)
class Field:
    """A field of the answer: its right value, how it is described to the agent, how near a number must come."""

    value: Any
    kind: str
    tolerance: float = 0.0


@dataclass(frozen=True)
class Question:
    """One question, its reference solution and its answer. ``answer`` is empty where it must be declined."""

    template: str
    text: str
    category: str
    plan: Sequence[tuple[str, str]]
    calls: Sequence[Call]
    fields: Mapping[str, Field]
    expected: str
    declined: bool = False
    entity: str = "Equipment"
    machines: tuple[Machine, ...] = field(default=())

    @property
    def identity(self) -> str:
        """What makes two questions the same one."""
        return self.text.casefold()

    def show(self) -> dict[str, Any]:
        """What the agent sees beside the text: the form of the answer, the same whether it must be declined or not."""
        return {"answer_format": {name: one.kind for name, one in self.fields.items()}, "abstain": ABSTAIN}

    def answer(self) -> dict[str, Any]:
        """The right answer's data."""
        return {"abstain": True} if self.declined else {name: one.value for name, one in self.fields.items()}


def scenario_of(question: Question, key: str, *, public: bool) -> dict[str, Any]:
    """The scenario as the platform reads it: nothing in it says what the right answer is."""
    return {
        "id": key,
        "text": question.text,
        "category": question.category,
        "public": public,
        "show": question.show(),
    }


def ground_truth_of(question: Question, key: str, *, twin: str | None = None) -> GroundTruth:
    """The scenario with plan, execution graph, answer and checks."""
    steps, links = _execution(question)
    agents = {step.agent for step in steps}
    return GroundTruth(
        id=key,
        uuid=str(uuid.uuid5(_NAMESPACE, f"{key} {question.text}")),
        text=question.text,
        type="multiagent" if len(agents) > 1 else {"WOAgent": "Workorder", "IoTAgent": "IoT"}.get(agents.pop(), ""),
        category=question.category,
        deterministic=True,
        characteristic_form=question.expected,
        planning_steps=[PlanningStep(agent=agent, instruction=text) for agent, text in question.plan],
        execution_steps=steps,
        execution_links=links,
        checks=_checks(question),
        final_out=question.answer(),
        final_out_description=[question.expected],
        data={"template": question.template, **({"twin": twin} if twin else {})},
        group="predictive" if question.category == "Prediction" else "retrospective",
        entity=question.entity,
        note="The answer was computed from the tables by an oracle that does not use the tools.",
    )


def _execution(question: Question) -> tuple[list[ExecutionStep], list[ExecutionLink]]:
    """The calls as a graph: the first leads to the others, those to Finish."""
    steps = [
        ExecutionStep(
            name=f"{call.tool}_{position}",
            action=call.tool,
            agent=call.agent,
            arguments=dict(call.arguments),
            outputs=[call.output],
        )
        for position, call in enumerate(question.calls, start=1)
    ]
    finish = ExecutionStep(
        name="finish",
        action="Finish",
        agent=question.calls[-1].agent,
        arguments={"answer": question.answer()},
        outputs=[],
        deterministic=StepDeterminism(),
    )
    first, rest = steps[0], steps[1:]
    links = [ExecutionLink(source=first.name, target=step.name) for step in rest]
    links += [ExecutionLink(source=step.name, target=finish.name) for step in (rest or [first])]
    return [*steps, finish], links


def _checks(question: Question) -> Checks:
    """What the judge looks at: did what had to be done; asked for the right data; has the right result."""
    needed = [call for call in question.calls if call.machine or len(question.calls) == 1]
    actions: list[Check] = [_used(call) for call in {(call.tool, call.instead): call for call in needed}.values()]
    evidence = [check for call in needed for check in _called(call)]
    if question.declined:
        declines = AbstainsCheck(value=True)
        return Checks(
            task_completion=[declines, *actions], data_retrieval_accuracy=evidence, result_verification=[declines]
        )
    answers: list[Check] = [AbstainsCheck(value=False), ContainsFieldsCheck(paths=list(question.fields))]
    return Checks(
        task_completion=[*answers, *actions],
        data_retrieval_accuracy=evidence,
        result_verification=[_value_check(name, one) for name, one in question.fields.items()],
    )


def refused(tools: Sequence[str], machine: Machine) -> tuple[CalledCheck, ...]:
    """That one of the tools was asked about a machine, even if it answered with an error."""
    return tuple(
        CalledCheck(tool=tool, arguments={"equipment": name}, refused=True)
        for tool in tools
        for name in _spellings(machine)
    )


def _used(call: Call) -> Check:
    return AnyOfCheck(checks=[*(CalledCheck(tool=tool) for tool in (call.tool, *call.instead)), *call.refusals])


def _value_check(name: str, one: Field) -> Check:
    if isinstance(one.value, int | float) and not isinstance(one.value, bool):
        return NumberCheck(path=name, value=float(one.value), tolerance=one.tolerance)
    return EqualsCheck(path=name, value=one.value)


def _called(call: Call) -> list[Check]:
    """That the right machine was asked about, and that it was asked about the right period."""
    tools = (call.tool, *call.instead)
    others = {
        key: value
        for key, value in call.arguments.items()
        if key != "equipment" and key not in call.loose and key not in ("groups", "kind", "limit", "name", "offset")
    }
    if call.machine is None:
        return [AnyOfCheck(checks=[*(CalledCheck(tool=tool, arguments=others) for tool in tools), *call.refusals])]
    spellings = _spellings(call.machine)
    right_machine = [CalledCheck(tool=tool, arguments={"equipment": name}) for tool in tools for name in spellings]
    if not others:
        return [AnyOfCheck(checks=[*right_machine, *call.refusals])]
    right_period = [
        CalledCheck(tool=tool, arguments={"equipment": name, **others}) for tool in tools for name in spellings
    ]
    return [AnyOfCheck(checks=list(right_machine)), AnyOfCheck(checks=list(right_period))]


def _spellings(machine: Machine) -> list[str]:
    """How a call may name the machine; case is not compared."""
    return sorted({machine.id, machine.name, machine.name.replace(" ", "")})
