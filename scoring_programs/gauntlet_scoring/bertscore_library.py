"""BERTScore by its authors' library: of a model that :mod:`gauntlet_scoring.bert_encoder` does not know, or on request.

Importing this module costs nothing: torch, transformers and bert-score are loaded when a scorer is made.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gauntlet_scoring.absent import without
from gauntlet_scoring.step_texts import TextPair

PACKAGES: Final = ("bert-score", "torch", "transformers", "tokenizers", "numpy")
"""Distributions whose versions belong to a score."""

_UNUSED_BY_SCORING: Final = ("matplotlib", "matplotlib.pyplot", "mpl_toolkits", "mpl_toolkits.axes_grid1", "pandas")


@dataclass(frozen=True)
class Libraries:
    """What is imported from transformers and bert-score."""

    tokenizer: Any  # transformers.AutoTokenizer
    scorer: Any  # bert_score.BERTScorer


def import_libraries(*, threads: int) -> Libraries:
    """Import torch, transformers and bert-score, quiet and offline, torch on ``threads`` threads: 3 to 6 s."""
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    import torch  # type: ignore[import-not-found]  # only the scorer's environment has these three
    import transformers  # type: ignore[import-not-found]

    torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer
    with without(_UNUSED_BY_SCORING):  # plots and rescaling: 0.8 s, and a font cache
        from bert_score import BERTScorer  # type: ignore[import-not-found]
    return Libraries(tokenizer=tokenizer, scorer=BERTScorer)


class LibraryScorer:
    """The loaded model."""

    def __init__(self, folder: Path, *, layers: int, batch: int, threads: int) -> None:
        """Import the libraries and load the model."""
        libraries = import_libraries(threads=threads)
        self._tokenizer: Any = libraries.tokenizer.from_pretrained(str(folder))
        self._batch = batch
        self._scorer: Any = libraries.scorer(
            model_type=str(folder), num_layers=layers, batch_size=batch, idf=False, device="cpu"
        )

    def score(self, pairs: Sequence[TextPair]) -> list[tuple[float, float, float, bool]]:
        """Precision, recall, F1 and whether a text was too long, of pairs without an empty text, in one call."""
        precision, recall, f1 = self._scorer.score(
            [pair.candidate for pair in pairs], [pair.reference for pair in pairs], batch_size=self._batch
        )
        rows = zip(pairs, precision.tolist(), recall.tolist(), f1.tolist(), strict=True)
        return [(p, r, f, self._is_truncated(pair)) for pair, p, r, f in rows]

    def _is_truncated(self, pair: TextPair) -> bool:
        limit = self._tokenizer.model_max_length
        return any(len(ids) > limit for ids in self._tokenizer([pair.reference, pair.candidate])["input_ids"])
