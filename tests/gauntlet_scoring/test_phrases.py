"""What schemas refuse is said in our own words: every kind of error that a file or a request can bring about."""

from __future__ import annotations

import ast
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from uuid import UUID

import pytest
from pydantic import AwareDatetime, BaseModel, Field, HttpUrl, TypeAdapter, ValidationError
from pydantic_core import core_schema

from gauntlet_scoring.episode_files import EpisodeRow, ScenarioRow
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.phrases import OTHERWISE, PHRASES, first_phrase, phrase
from gauntlet_scoring.program_metadata import CodeTool, ProgramMetadata, ProgramMetadataError, read_program_metadata
from gauntlet_scoring.reading import read_model
from gauntlet_scoring.trajectory import Event
from gauntlet_scoring.validation.structure import draft_of
from gauntlet_scoring.validation.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("platform", "scoring_programs", "starter_kits")
OF_PROGRAMMERS = (
    "Input should",
    "should be",
    "should have",
    "should match",
    "Field required",
    "not permitted",
    "valid string",
    "dictionary",
    "Value error",
    "unable to parse",
    "instance of",
    "after validation",
)
NONSENSE: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, float("nan"), "", "x", "x" * 5000, "1", "\ud800", b"\xff"),
    *([], [None], ["x"], [[]], [1, 2], {}, {"a": 1}, {"kind": "x"}, {"kind": "order", "tools": ["a"]}, {"kind": 3}),
    *([{"kind": "equals"}], [{}], {"x": {"y": []}}, [{"agent": 1, "instruction": None}], ["x"] * 600),
)
MODELS: tuple[Any, ...] = (*(GroundTruth, EpisodeRow, ScenarioRow, ProgramMetadata, CodeTool, Vocabulary, Event),)


def refused(wanted: Any, value: Any) -> list[Any]:
    try:
        TypeAdapter(wanted).validate_python(value)
    except ValidationError as error:
        return list(error.errors(include_url=False))
    return []


def is_ours(sentence: str) -> bool:
    return sentence != OTHERWISE and not any(words in sentence for words in OF_PROGRAMMERS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: getattr(model, "__name__", "Event"))
def test_every_error_that_our_schemas_can_bring_about_has_a_phrase(model: Any) -> None:
    fields = list(getattr(model, "model_fields", ())) or [
        "seq",
        "at",
        "episode",
        "turn",
        "arguments",
        "outcome",
        "steps",
    ]
    kinds = [{"kind": kind} for kind in ("scenario", "plan", "tool_call", "end")] if model is Event else [{}]
    whole = [{**kind, name: value} for kind in kinds for name in fields for value in NONSENSE] + list(NONSENSE)
    errors = [error for value in whole for error in refused(model, value)]
    assert len({error["type"] for error in errors}) > 3
    for error in errors:
        for quote in (True, False):
            assert is_ours(phrase(error, quote=quote)), error


def test_no_kind_of_error_is_told_in_pydantics_words() -> None:
    """Those that only a programmer can bring about are told in general words."""
    kinds = set(get_args(core_schema.ErrorType))
    assert len(kinds) > 90
    assert set(PHRASES) <= kinds
    general = phrase({"type": "is_subclass_of", "loc": (), "msg": "Input should be a subclass", "input": 1})
    assert general == OTHERWISE


class Everything(BaseModel):
    """Types that no schema of ours has today: a new one finds its phrases here."""

    moment: AwareDatetime | None = None
    naive: datetime | None = None
    day: date | None = None
    clock: time | None = None
    lasting: timedelta | None = None
    amount: Annotated[Decimal, Field(max_digits=3, decimal_places=1)] | None = None
    address: HttpUrl | None = None
    key: UUID | None = None
    few: Annotated[list[int], Field(min_length=2, max_length=3)] | None = None
    short: Annotated[str, Field(min_length=3, max_length=4, pattern="^x")] | None = None
    part: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    least: Annotated[int, Field(ge=2, le=4, multiple_of=2)] | None = None
    members: frozenset[int] | None = None
    table: dict[str, int] | None = None
    word: Literal["one", "other"] | None = None
    raw: Annotated[bytes, Field(max_length=2)] | None = None


def test_types_that_a_new_schema_may_have_are_told_too() -> None:
    values = [*NONSENSE, "2026-06-01", "2026-06-01T12:00:00", "25:99", "ftp://x", "123456.789", 12.345, 3, [1], {1: 2}]
    errors = [
        error for name in Everything.model_fields for value in values for error in refused(Everything, {name: value})
    ]
    assert len({error["type"] for error in errors}) > 30
    for error in errors:
        assert is_ours(phrase(error, quote=True)), error


@pytest.mark.parametrize(
    ("fields", "path", "sentence"),
    [
        ({"text": None}, ("text",), "must be a text, not null"),
        ({"text": ""}, ("text",), "must not be empty"),
        ({"text": 7}, ("text",), "must be a text, not 7"),
        ({"planning_steps": []}, ("planning_steps",), "is empty; give at least 1"),
        ({"deterministic": "yes"}, ("deterministic",), "must be true or false, not 'yes'"),
        ({"group": "other"}, ("group",), "must be 'retrospective', 'predictive' or 'prescriptive', not 'other'"),
        ({"stage": 5}, ("stage",), "must be at most 4, not 5"),
        ({"execution_links": {}}, ("execution_links",), "must be a list, not an object"),
        (
            {"uuid": "1"},
            ("uuid",),
            f"must have the form {GroundTruth.model_fields['uuid'].metadata[0].pattern}, not '1'",
        ),
        (
            {"checks": {"task_completion": [{"kind": "guess"}]}},
            ("checks", "task_completion", 0),
            "has the 'kind' 'guess', which is not known; write one of 'equals', 'number', 'set', 'contains_fields', "
            "'called', 'not_called', 'order', 'abstains', 'any_of'",
        ),
    ],
)
def test_a_finding_names_the_field_what_was_found_and_what_to_write(
    fields: dict[str, Any], path: tuple[Any, ...], sentence: str
) -> None:
    told: dict[tuple[Any, ...], str] = {}

    class Collecting:
        def structural(self, location: tuple[Any, ...], message: str, *, rule: str = "") -> None:
            del rule
            told[location] = message

    draft_of(fields, Collecting())  # type: ignore[arg-type]
    assert told[path] == sentence


def test_what_was_found_is_quoted_only_where_it_may_be() -> None:
    with pytest.raises(ValidationError) as refusal:
        EpisodeRow.model_validate({"episode": 12345, "scenario": "s", "trial": 1, "outcome": "answered"})
    assert first_phrase(refusal.value) == "episode: must be a text, not 12345"
    with pytest.raises(ValidationError) as refusal:
        EpisodeRow.model_validate({"episode": "e", "scenario": "s", "trial": "a secret", "outcome": "answered"})
    assert first_phrase(refusal.value) == "trial: must be a whole number, not a text"
    assert first_phrase(refusal.value, quote=True) == "trial: must be a whole number, not 'a secret'"
    with pytest.raises(ValidationError) as refusal:
        GroundTruth.model_validate_json(b'{"id": 1,\n')
    assert first_phrase(refusal.value) == "is not valid JSON from line 2, character 0 on"
    assert first_phrase(refusal.value, whole="the file").startswith("the file: is not valid JSON")


def test_every_door_speaks_so(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    with pytest.raises(ScoringInputError, match=r"episodes\.jsonl.*3.*trial: must be at least 1, not 0"):
        read_model(
            EpisodeRow,
            json.dumps({"trial": 0, "episode": "e", "scenario": "s", "outcome": "failed"}).encode(),
            path=path,
            line=3,
        )
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("command: 3\n")
    with pytest.raises(ProgramMetadataError, match=r"metadata\.yaml: command: must be a text, not 3"):
        read_program_metadata(folder)


def test_no_source_shows_pydantics_own_message() -> None:
    """They are `error.errors()[…]["msg"]`; whoever tells an error asks for its phrase."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for source in SOURCES
        for path in (ROOT / source).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "msg"
    ]
    assert found == []
