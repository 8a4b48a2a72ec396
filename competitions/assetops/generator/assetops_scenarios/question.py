"""A question with everything that is known about it, and how it becomes a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from assetops_scenarios.records import Days, Machine, plain
from assetops_scenarios.tools import AGENTS, DISTRACTORS

ABSTAIN: Final = 'Answer with {"abstain": true} where the records cannot answer the question.'
IOT: Final = "IoTAgent"
FMSR: Final = "FMSRAgent"
TSFM: Final = "TSFMAgent"
WO: Final = "WOAgent"
CODE: Final = ("run_wo_code",)  # Python over the business objects leads to the same data as the work tools


@dataclass(frozen=True)
class Call:
    """A tool call of the reference solution.

    ``output`` names what it gives; an argument ``@name`` is an earlier call's output. ``after`` names the outputs
    that it follows: none given is the call before it, an empty one is a start of its own. ``instead`` names other
    tools that lead to the same data. A call that is not ``needed`` is a step of the solution that nobody checks.
    """

    tool: str
    arguments: Mapping[str, Any]
    output: str
    agent: str = WO
    machine: Machine | None = None
    after: tuple[str, ...] | None = None
    instead: tuple[str, ...] = ()
    needed: bool = True
    loose: tuple[str, ...] = ()  # arguments that another right solution may give otherwise
    refused: bool = False  # a call that the tool answers with an error tells the same


@dataclass(frozen=True)
class Dataset:
    """A file of readings that the question's text names: all of a machine's sensors over some days."""

    machine: Machine
    days: Days

    @property
    def name(self) -> str:
        """The file's name."""
        words = "".join(letter if letter.isalnum() else "_" for letter in self.machine.name.lower())
        return f"{words}_from_{self.days.start:%Y_%m_%d}.csv"


@dataclass(frozen=True)
class Field:
    """A field of the answer: how it is described to the agent, its right value, how near a number must come.

    A field without a value is only asked for: a file's path, say, that each run chooses anew.
    """

    value: Any
    kind: str
    tolerance: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, its reference solution and its answer. A declined one has no answer in the records."""

    template: str
    text: str
    category: str
    stage: int  # of the asset's life cycle, 1 to 4 (A13)
    plan: Sequence[tuple[str, str]]
    calls: Sequence[Call]
    fields: Mapping[str, Field]
    expected: str
    declined: bool = False
    deterministic: bool = True
    entity: str = "Equipment"
    machines: tuple[Machine, ...] = ()
    capabilities: tuple[str, ...] = field(default=())
    datasets: tuple[Dataset, ...] = ()

    @property
    def identity(self) -> str:
        """What makes two questions the same one."""
        return self.text.casefold()

    @property
    def agents(self) -> list[str]:
        """The agents of the reference solution, each once, in the order of their first call."""
        return list(dict.fromkeys(call.agent for call in self.calls))

    def answer(self) -> dict[str, Any]:
        """The right answer's data, as far as it is known."""
        if self.declined:
            return {"abstain": True}
        return {name: one.value for name, one in self.fields.items() if one.value is not None}


def show_answer(question: Question) -> dict[str, Any]:
    """What an agent of the execution track sees beside the text: the same whether it must decline or not."""
    return {"answer_format": {name: one.kind for name, one in question.fields.items()}, "abstain": ABSTAIN}


def show_agents(*, distractors: bool) -> dict[str, Any]:
    """What a planner sees beside the text: whom it may give a step to."""
    return {"agents": {**AGENTS, **(DISTRACTORS if distractors else {})}}


def scenario_of(question: Question, key: str, *, public: bool, show: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario as the platform reads it: nothing in it says what the right answer is."""
    return {"id": key, "text": question.text, "category": question.category, "public": public, "show": dict(show)}


def spellings(machine: Machine) -> list[str]:
    """How a call may name the machine; case is not compared."""
    names = {machine.id, machine.name, machine.name.replace(" ", ""), machine.name.replace(" ", "_")}
    return sorted({name for name in names if plain(name)})
