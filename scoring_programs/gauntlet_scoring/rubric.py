"""The rubric's three criteria behind one interface, whoever judges: declared checks, or a language model.

AssetOpsBench, requirement A29: y1 task completion, y2 data retrieval accuracy, y3 result verification, each in [0, 1],
and their mean. Its ground-truth guide (G24): of a deterministic scenario y3 is the exact match with ``final_out``.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from gauntlet_scoring.checks import CRITERIA
from gauntlet_scoring.checks import judge as judge_by_checks
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.program import Case
from gauntlet_scoring.reading import RecordedEpisode
from gauntlet_scoring.statistics import mean
from gauntlet_scoring.values import comparable

JUDGES: Final = ("checks", "llm")
JUDGE_VARIABLE: Final = "GAUNTLET_JUDGE"
"""Environment variable that chooses the judge before the program's setting ``judge`` does."""

SCORE: Final = "score"
KEYS: Final = (SCORE, *CRITERIA)
"""What every judge gives of an episode that it verified: the mean, and y1, y2, y3."""


@dataclass(frozen=True)
class Judgement:
    """What a judge says of one answered episode.

    ``scores`` holds :data:`KEYS` and the judge's own keys, each in [0, 1]; it is empty where ``unverified`` gives a
    reason: then nobody could say how good the episode is, and that is no zero.
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    unverified: str = ""

    @property
    def criteria(self) -> dict[str, float] | None:
        """y1, y2 and y3 by name, or None where the episode is unverified."""
        return None if self.unverified else {name: self.scores[name] for name in CRITERIA}

    @property
    def mean(self) -> float | None:
        """(y1 + y2 + y3) / 3 (G24), or None where the episode is unverified."""
        return None if self.unverified else self.scores[SCORE]


class Judge(ABC):
    """Judges answered episodes in two steps, so that one record at a time is in memory."""

    name: str
    keys: frozenset[str] = frozenset(KEYS)  # all that it can give
    of_answered: frozenset[str] = frozenset()  # of them, those that mean nothing for an episode without an answer

    @abstractmethod
    def read(self, case: Case) -> Any:
        """What is needed of one answered episode; small, whatever the agent wrote.

        Raises:
            ScoringInputError: the scenario's ground truth lacks what this judge goes by.
        """

    @abstractmethod
    def finish(self, parts: Sequence[Any]) -> list[Judgement]:
        """Judge what :meth:`read` gave, all of it, in that order.

        Raises:
            ScoringInputError: the judge cannot be had at all; nothing is to be scored then.
        """

    def facts(self) -> dict[str, str]:
        """What belongs into the provenance of its scores."""
        return {"judge": self.name}


class ChecksJudge(Judge):
    """The deterministic judge: :mod:`gauntlet_scoring.checks`. The checks of y3 say what has to match, and how."""

    name = "checks"

    def read(self, case: Case) -> Judgement:
        """Apply the checks; a criterion's value is the share of them that hold."""
        reference = case.reference
        if reference.truth.checks is None:
            message = f"scenario {reference.truth.key} has no `checks`, which the rubric is judged by"
            raise ScoringInputError(message, path=reference.path, line=reference.line)
        criteria = judge_by_checks(reference.truth.checks, case.episode)
        values = {name: criterion.value for name, criterion in criteria.items()}
        detail = {name: [asdict(verdict) for verdict in criterion.verdicts] for name, criterion in criteria.items()}
        return Judgement(scores={SCORE: mean(list(values.values())), **values}, detail=detail)

    def finish(self, parts: Sequence[Any]) -> list[Judgement]:
        """They are judged already."""
        return list(parts)


def open_judge(settings: Mapping[str, str], environment: Mapping[str, str]) -> Judge:
    """The judge of a program: the environment's word, else the program's setting ``judge``.

    The platform sets :data:`JUDGE_VARIABLE` to ``llm``, and opens the judge's door, where the task has a ``judge``.
    Without any word it is ``checks``.

    Raises:
        ScoringInputError: there is no such judge, or ``llm`` is wanted and there is no door to a model.
    """
    name = environment.get(JUDGE_VARIABLE) or settings.get("judge", "checks")
    if name == "checks":
        return ChecksJudge()
    if name == "llm":
        from gauntlet_scoring.llm_judge import LlmJudge  # its client is of no use to anybody else

        return LlmJudge.opened(settings, environment)
    raise ScoringInputError(f"the setting `judge` must be one of {', '.join(JUDGES)}, not {name[:40]!r}")


def exact_match(truth: GroundTruth, episode: RecordedEpisode) -> bool | None:
    """G24: whether the answer's data equals ``final_out``; None where the scenario is not one to match exactly.

    An answer without data is read as JSON where its text is that. Text compares without case and outer space, numbers
    by value; order counts in lists and not in objects.
    """
    if not truth.deterministic or truth.final_out is None:
        return None
    answer = episode.answer
    if answer is None:
        return False
    given = answer.data if answer.data is not None else _json_of(answer.text)
    return comparable(given) == comparable(truth.final_out)


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
