"""ROUGE as its authors' library counts it, over tokens of any script.

Lin, ROUGE: a package for automatic evaluation of summaries, ACL workshop Text Summarization Branches Out, 2004.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from gauntlet_scoring.absent import without
from gauntlet_scoring.text import tokenize

VARIANTS: Final = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_UNUSED_BY_SCORING: Final = ("nltk", "nltk.stem", "nltk.stem.porter")  # stemming and sentences; half of a cold start


class AnyScriptTokenizer:
    """rouge-score's tokenizer interface (it asks for nothing but ``tokenize``)."""

    def tokenize(self, text: str) -> list[str]:
        """Tokens of a text, see :func:`gauntlet_scoring.text.tokenize`."""
        return tokenize(text)


@cache
def _scorer(variants: tuple[str, ...]) -> Any:
    with without(_UNUSED_BY_SCORING):
        from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]

    return RougeScorer(list(variants), tokenizer=AnyScriptTokenizer())


def rouge_f1(reference: str, candidate: str, *, variants: tuple[str, ...] = VARIANTS) -> dict[str, float]:
    """F1 of each variant, in [0, 1]; 0 where either text is empty. Lines are what rougeLsum takes as sentences."""
    if not tokenize(reference) or not tokenize(candidate):
        return dict.fromkeys(variants, 0.0)
    scores = _scorer(variants).score(reference, candidate)
    return {variant: float(scores[variant].fmeasure) for variant in variants}
