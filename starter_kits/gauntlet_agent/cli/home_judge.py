"""`gauntlet test` where a language model judges the competition: what is not known at home, or a judge of one's own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from gauntlet_agent.cli.failure import CommandFailed
from gauntlet_agent.cli.output import add_row, clean, console, shortened, table

if TYPE_CHECKING:
    from gauntlet_scoring.ground_truth import GroundTruth
    from gauntlet_scoring.reading import RecordedEpisode
    from gauntlet_scoring.rubric import Judgement

URL: Final = "GAUNTLET_MODEL_URL"  # as for the models that an agent calls
KEY: Final = "GAUNTLET_MODEL_KEY"


def judge_of(folder: Path) -> dict[str, Any] | None:
    """The key ``judge`` of the competition's first task that runs agents; None where no language model judges."""
    content = yaml.safe_load((folder / "competition.yaml").read_text("utf-8-sig"))
    tasks = content.get("tasks") if isinstance(content, dict) else None
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict) and task.get("environment"):
            judge = task.get("judge")
            return judge if isinstance(judge, dict) and judge.get("model") else None
    return None


def tell_judge(folder: Path, answered: Sequence[tuple[RecordedEpisode, GroundTruth]]) -> None:
    """Say that a language model judges this competition, and judge by one's own where there is one.

    Args:
        folder: the competition's or the kit's
        answered: the episodes that were answered, each with its ground truth where the kit has it

    Raises:
        CommandFailed: the model cannot be asked.
    """
    judge = judge_of(folder)
    if judge is None:
        return
    out, model = console(), clean(judge["model"])
    out.print(f"\nOn the platform this competition is judged by the language model {model}.")
    if not os.environ.get(URL):
        out.print(
            f"It is not available at home, so nothing above is its judgement. Set {URL} (and {KEY}) to a provider of "
            "your own that has this model to be judged here, at your own cost."
        )
    elif not answered:
        out.print("There is no answer with a ground truth at home to judge it by.")
    else:
        _show(_judged(judge, answered), answered, model)


def _judged(judge: Mapping[str, Any], answered: Sequence[tuple[RecordedEpisode, GroundTruth]]) -> Sequence[Judgement]:
    from gauntlet_scoring.errors import ScoringInputError
    from gauntlet_scoring.judge_door import JudgeSettings
    from gauntlet_scoring.llm_judge import LlmJudge
    from gauntlet_scoring.program import Case
    from gauntlet_scoring.reading import ReferenceRow

    try:
        asked = LlmJudge(
            JudgeSettings(
                url=os.environ[URL].rstrip("/"),
                model=str(judge["model"]),
                runs=int(judge.get("runs") or JudgeSettings.runs),
                temperature=float(judge.get("temperature", JudgeSettings.temperature)),
                key=os.environ.get(KEY, ""),
            )
        )
        cases = [Case(episode, ReferenceRow(truth=truth, path=Path(), line=0)) for episode, truth in answered]
        return asked.finish([asked.read(case) for case in cases])
    except (ScoringInputError, ValueError, TypeError) as error:
        raise CommandFailed(f"The answers could not be judged: {clean(error)}") from error


def _show(judgements: Sequence[Judgement], answered: Sequence[tuple[RecordedEpisode, GroundTruth]], model: str) -> None:
    from gauntlet_scoring.checks import CRITERIA

    titles = [criterion.replace("_", " ") for criterion in CRITERIA]
    made = table("Scenario", *titles, "Agreement", "Why not", title=f"Judged by {model}", right=(*titles, "Agreement"))
    for judgement, (_, truth) in zip(judgements, answered, strict=True):
        values = [judgement.criteria[name] for name in CRITERIA] if judgement.criteria else [None] * len(CRITERIA)
        cells = [None if value is None else f"{value:.2f}" for value in values]
        agreement = judgement.scores.get("agreement")
        told = None if agreement is None else f"{agreement:.2f}"
        add_row(made, shortened(truth.text, 50), *cells, told, judgement.unverified or None)
    console().print(made)
