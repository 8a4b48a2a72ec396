"""The scenario with its ground truth: one JSON object a scenario, in a JSON Lines file of the reference data.

Field names follow the AssetOpsBench ground-truth guide (G1 to G7). ``checks`` is ours: what the deterministic judge
looks at, by criterion, in the small vocabulary below.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class PlanningStep(BaseModel):
    """A step of the reference plan; order matters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str
    instruction: str


class StepDeterminism(BaseModel):
    """Which parts of a step have only one right value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: bool = True
    action: bool = True
    arguments: bool = True
    outputs: bool = True


class ExecutionStep(BaseModel):
    """A step of the reference execution: ``action`` is a tool's name, or Finish, Self-Ask, Agent-Ask, if_then_else."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    action: str
    agent: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    outputs: list[str] = Field(default_factory=list)
    deterministic: StepDeterminism = Field(default_factory=StepDeterminism)


class ExecutionLink(BaseModel):
    """An edge of the graph of execution steps, by step name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    target: str


class _Check(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EqualsCheck(_Check):
    """The answer's data at ``path`` (dots between keys) equals ``value``; text compares casefolded and trimmed."""

    kind: Literal["equals"] = "equals"
    path: str
    value: Any


class NumberCheck(_Check):
    """The answer's data at ``path`` is a number within ``tolerance`` (absolute) of ``value``."""

    kind: Literal["number"] = "number"
    path: str
    value: float
    tolerance: float = Field(default=0.0, ge=0)


class SetCheck(_Check):
    """The answer's data at ``path`` is a list with the members of ``value``, in any order, nothing more."""

    kind: Literal["set"] = "set"
    path: str
    value: list[Any]


class ContainsFieldsCheck(_Check):
    """The answer's data has every one of these paths, and none is null."""

    kind: Literal["contains_fields"] = "contains_fields"
    paths: list[str]


class CalledCheck(_Check):
    """The record holds a call of ``tool`` that succeeded and whose arguments include ``arguments``.

    Text compares casefolded and trimmed; a date and the same date at midnight are equal; other arguments are free.
    With ``refused`` a call that the tool answered with an error counts too: "there is no such thing" is evidence.
    """

    kind: Literal["called"] = "called"
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    refused: bool = False


class NotCalledCheck(_Check):
    """The record holds no call of ``tool``."""

    kind: Literal["not_called"] = "not_called"
    tool: str


class OrderCheck(_Check):
    """The first successful calls of ``tools`` came in this order."""

    kind: Literal["order"] = "order"
    tools: list[str] = Field(min_length=2)


class AbstainsCheck(_Check):
    """The answer declines (``data.abstain`` is true) exactly when ``value`` is true."""

    kind: Literal["abstains"] = "abstains"
    value: bool = True


class AnyOfCheck(_Check):
    """At least one of these holds: for tools that lead to the same data."""

    kind: Literal["any_of"] = "any_of"
    checks: list[Check] = Field(min_length=1)


Check = Annotated[
    EqualsCheck
    | NumberCheck
    | SetCheck
    | ContainsFieldsCheck
    | CalledCheck
    | NotCalledCheck
    | OrderCheck
    | AbstainsCheck
    | AnyOfCheck,
    Field(discriminator="kind"),
]


class Checks(BaseModel):
    """What the deterministic judge looks at. A criterion's value is the share of its checks that hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_completion: list[Check] = Field(min_length=1)
    data_retrieval_accuracy: list[Check] = Field(min_length=1)
    result_verification: list[Check] = Field(min_length=1)


class GroundTruth(BaseModel):
    """A scenario with what is expected of an agent. Never leaves the scorer's sandbox while its phase hides it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: int | str
    text: str
    type: str
    category: str
    deterministic: bool
    characteristic_form: str
    planning_steps: list[PlanningStep] = Field(min_length=1)
    execution_steps: list[ExecutionStep] = Field(min_length=1)
    execution_links: list[ExecutionLink]
    checks: Checks | None = None
    uuid: str | None = None
    final_out: dict[str, Any] | None = None
    final_out_description: list[str] | None = None
    expected_result: Any | None = None
    data: dict[str, Any] | None = None
    possible_alternatives: dict[str, Any] | None = None
    group: Literal["retrospective", "predictive", "prescriptive"] | None = None
    entity: str | None = None
    note: str | dict[str, Any] | None = None
    paradigm: str | None = None

    @property
    def key(self) -> str:
        """The id as the string by which every other file refers to the scenario."""
        return str(self.id)


AnyOfCheck.model_rebuild()
Checks.model_rebuild()
GroundTruth.model_rebuild()
