"""The scenario with its ground truth: one JSON object a scenario, in a JSON Lines file of the reference data.

Field names follow the AssetOpsBench ground-truth guide (G1 to G7). ``checks`` is ours: what the deterministic judge
looks at, by criterion, in the small vocabulary below. ``stage`` and ``capabilities`` are tags of the paper.

Nothing is converted while reading: "true" is no boolean and "3" no number, so that the JSON Schema that is generated
from these models (:mod:`gauntlet_scoring.schema`) accepts and refuses what they do.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MOST_STEPS: Final = 500
"""The longest scenario of the public set needs about twenty; a bound keeps graphs of steps cheap to look at."""

UUID_PATTERN: Final = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
"""Any version: the guide names version 4, and a generator that gives the same set again derives its ids (version 5)."""


def _whole(value: Any) -> Any:
    """400.0 is the integer 400 to JSON Schema, which knows one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


ScenarioId = Annotated[int | str, BeforeValidator(_whole)]

_IF_THEN_ELSE_SCHEMA: Final[dict[str, Any]] = {
    "if": {"properties": {"action": {"const": "if_then_else"}}, "required": ["action"]},
    "then": {
        "properties": {
            "arguments": {
                "type": "object",
                "required": ["condition", "then_action", "else_action"],
                "properties": {
                    "condition": {"type": "string"},
                    "then_action": {"type": "string"},
                    "else_action": {"type": "string"},
                },
            }
        },
        "required": ["arguments"],
    },
}


class PlanningStep(BaseModel):
    """A step of the reference plan; order matters."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    agent: str
    instruction: str


class StepDeterminism(BaseModel):
    """Which parts of a step have only one right value."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: bool = True
    action: bool = True
    arguments: bool = True
    outputs: bool = True


class ExecutionStep(BaseModel):
    """A step of the reference execution: ``action`` is a tool's name, or Finish, Self-Ask, Agent-Ask, if_then_else.

    ``Finish`` carries the answer in any of three ways: as a text, as an object, or not at all (G7). ``if_then_else``
    has the texts ``condition``, ``then_action`` and ``else_action``. In the multi-MCP reading ``agent`` is the server,
    and ``action`` its tool or ``server/tool`` (G10).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, json_schema_extra=_IF_THEN_ELSE_SCHEMA)

    name: str = Field(min_length=1)
    action: str = Field(min_length=1)
    agent: str = Field(min_length=1)
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    outputs: list[str] = Field(default_factory=list)
    deterministic: StepDeterminism = Field(default_factory=StepDeterminism)

    @model_validator(mode="after")
    def _condition_is_complete(self) -> ExecutionStep:
        if self.action == "if_then_else":
            given = self.arguments if isinstance(self.arguments, dict) else {}
            wanted = ("condition", "then_action", "else_action")
            if not all(isinstance(given.get(key), str) for key in wanted):
                raise ValueError("if_then_else needs the texts condition, then_action and else_action as arguments")
        return self


class ExecutionLink(BaseModel):
    """An edge of the graph of execution steps, by step name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    source: str
    target: str


def _kind_is_required(schema: dict[str, Any]) -> None:
    """A check is told by its kind, so that one without has none, though a check made in Python need not say it."""
    schema["required"] = ["kind", *schema.get("required", [])]


class _Check(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, json_schema_extra=_kind_is_required)


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

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    task_completion: list[Check] = Field(min_length=1)
    data_retrieval_accuracy: list[Check] = Field(min_length=1)
    result_verification: list[Check] = Field(min_length=1)


Stage = Annotated[int, Field(ge=1, le=4), BeforeValidator(_whole)]
"""A13: 1 configuration of assets, 2 selection of models and analysis, 3 monitoring and execution, 4 maintenance."""

Capability = Literal["temporal", "disambiguation", "operation_on_output", "repeated_tool"]
"""A18: a time to be understood, names to be told apart, work on what a tool returned, one tool used several times."""


class GroundTruth(BaseModel):
    """A scenario with what is expected of an agent. Never leaves the scorer's sandbox while its phase hides it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: ScenarioId
    text: str = Field(min_length=1)
    type: str
    category: str
    deterministic: bool
    characteristic_form: str
    planning_steps: list[PlanningStep] = Field(min_length=1, max_length=MOST_STEPS)
    execution_steps: list[ExecutionStep] = Field(min_length=1, max_length=MOST_STEPS)
    execution_links: list[ExecutionLink] = Field(max_length=10 * MOST_STEPS)
    checks: Checks | None = None
    uuid: str | None = Field(default=None, pattern=UUID_PATTERN)
    final_out: dict[str, Any] | None = None
    final_out_description: list[str] | None = None
    expected_result: Any | None = None
    data: dict[str, Any] | None = None
    possible_alternatives: dict[str, Any] | None = None
    group: Literal["retrospective", "predictive", "prescriptive"] | None = None
    entity: str | None = None
    note: str | dict[str, Any] | None = None
    paradigm: str | None = None
    stage: Stage | None = Field(default=None, description="of the asset's life cycle (A13)")
    capabilities: list[Capability] | None = Field(default=None, description="what it asks of an agent (A18)")

    @property
    def key(self) -> str:
        """The id as the string by which every other file refers to the scenario."""
        return str(self.id)


AnyOfCheck.model_rebuild()
Checks.model_rebuild()
GroundTruth.model_rebuild()
