"""The board of each track: its primary score, sub-scores by category, stage and agent, and what an answer cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from assetops_scenarios import baselines
from assetops_scenarios.question import Question
from assetops_scenarios.truth import type_of

_UNIT: Final = [0, 1]
_TYPES: Final = {"IoT": "IoT", "FMSR": "FMSR", "TSFM": "TSFM", "WO": "Work orders", "multiagent": "Several agents"}
_STAGES: Final = {1: "Stage I", 2: "Stage II", 3: "Stage III", 4: "Stage IV"}
_CATEGORIES: Final = {
    "Knowledge Query": "Knowledge",
    "Data Query": "Data",
    "Inference Query": "Inference",
    "Tuning Query": "Tuning",
    "Anomaly Detection Query": "Anomalies",
    "Decision Support": "Decisions",
    "Prediction": "Prediction",
    "Complex Query": "Complex",
}
_MEASURED: Final = (
    ("steps", "Steps", "episodes.steps", {"precision": 1, "sorting": "asc"}),
    ("seconds", "Seconds", "episodes.seconds", {"precision": 2, "sorting": "asc"}),
)
_MODELS: Final = (
    ("tokens", "Tokens", "episodes.tokens", {"precision": 0, "sorting": "asc"}),
    ("cost", "Cost", "episodes.cost", {"precision": 4, "sorting": "asc"}),
)
_Column = tuple[str, str, str, Mapping[str, Any]]


def execution_board(asked: Iterable[Question], *, trials: int, judged: bool) -> dict[str, Any]:
    """Ranked by task completion (y1)."""
    repeated: list[_Column] = [
        (f"pass_{k}", f"Pass^{k}", "rubric.score", {"precision": 3, "over": f"pass^{k}"}) for k in sorted({1, trials})
    ]
    if trials > 1:
        repeated.append(
            ("spread", "Spread", "rubric.task_completion", {"precision": 3, "over": "std", "sorting": "asc"})
        )
    if judged:
        uncertain = {"precision": 3, "scale": _UNIT, "sorting": "asc"}
        repeated.append(("uncertainty", "Uncertainty", "rubric.uncertainty", uncertain))
    rows: list[_Column] = [
        ("y1", "Task", "rubric.task_completion", {"precision": 3, "scale": _UNIT, "interval": "bootstrap"}),
        ("y2", "Retrieval", "rubric.data_retrieval_accuracy", {"precision": 3, "scale": _UNIT}),
        ("y3", "Verification", "rubric.result_verification", {"precision": 3, "scale": _UNIT}),
        ("rubric", "Rubric", "rubric.score", {"precision": 3, "scale": _UNIT}),
        ("execution", "Execution", "execution.score", {"precision": 3, "scale": _UNIT}),
        ("hybrid", "Hybrid", "hybrid.final_score", {"precision": 3, "scale": _UNIT}),
        *repeated,
        *_parts(asked, "rubric.task_completion"),
        *_MEASURED,
        *_MODELS,
    ]
    return _board(rows, title="Execution", key="execution", published=baselines.EXECUTION)


def planning_board(asked: Iterable[Question], *, trials: int, judged: bool) -> dict[str, Any]:
    """Ranked by S, the mean of BERTScore and ROUGE-L of the declared plan."""
    del trials, judged  # a plan has no judge, and pass^k no threshold that the paper would name
    unit = {"precision": 3, "scale": _UNIT}
    rows: list[_Column] = [
        ("s", "S", "bertscore.s_combined", {**unit, "interval": "bootstrap"}),
        ("bertscore", "BERTScore", "bertscore.plan_f1", unit),
        ("rouge_1", "ROUGE-1", "rouge.plan_rouge1", unit),
        ("rouge_2", "ROUGE-2", "rouge.plan_rouge2", unit),
        ("rouge_l", "ROUGE-L", "rouge.plan_rougeL", unit),
        ("rouge_lsum", "ROUGE-Lsum", "rouge.plan_rougeLsum", unit),
        ("coverage", "Coverage", "execution.plan_coverage", unit),
        ("agents", "Agents", "execution.plan_agents", unit),
        ("nodes", "Nodes", "execution.plan_node_f1", unit),
        ("edges", "Edges", "execution.plan_edge_f1", unit),
        *_parts(asked, "bertscore.s_combined"),
        *_MEASURED,
        *_MODELS,
    ]
    return _board(rows, title="Planning", key="planning", published=baselines.PLANNING)


def _parts(asked: Iterable[Question], source: str) -> list[_Column]:
    """A column for each agent, category and stage that the questions have: the score over those alone."""
    questions = list(asked)
    types = {type_of(one) for one in questions}
    categories, stages = {one.category for one in questions}, {one.stage for one in questions}
    return [
        *_column_of("of", "type", {key: said for key, said in _TYPES.items() if key in types}, source),
        *_column_of("for", "category", {key: said for key, said in _CATEGORIES.items() if key in categories}, source),
        *_column_of("stage", "stage", {key: said for key, said in _STAGES.items() if key in stages}, source),
    ]


def _column_of(prefix: str, tag: str, values: Mapping[Any, str], source: str) -> list[_Column]:
    return [
        (
            f"{prefix}_{str(value).split()[0].lower()}",
            said,
            source,
            {"precision": 3, "scale": _UNIT, "where": {tag: str(value)}},
        )
        for value, said in values.items()
    ]


def _board(rows: Sequence[_Column], *, title: str, key: str, published: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = [
        {"index": index, "key": name, "title": said, "sorting": "desc", "from": source, "over": "mean", **more}
        for index, (name, said, source, more) in enumerate(rows)
    ]
    keys = {column["key"] for column in columns}
    return {
        "index": 0,
        "title": title,
        "key": key,
        "submission_rule": "Force_Best",
        "primary_index": 0,
        "columns": columns,
        "baselines": [
            {**one, "scores": scores}
            for one in published
            if (scores := {name: value for name, value in one["scores"].items() if name in keys})
        ],
    }
