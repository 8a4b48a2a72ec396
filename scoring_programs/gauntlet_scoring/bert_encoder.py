"""A BERT encoder in NumPy: what BERTScore and the clusters of titles need of the pinned model, without loading torch.

Importing torch and transformers takes a scorer several seconds of processor time before its first text; this takes a
tenth of one, and multiplies matrices with the same kind of library. The numbers equal the libraries' own to 1e-5 (tests
marked ``oracle``). It knows one architecture, the one of the pinned model; :func:`can_encode` says whether a folder
holds it.

Devlin, Chang, Lee, Toutanova: BERT, NAACL 2019; GELU: Hendrycks and Gimpel 2016.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WEIGHTS_FILE: Final = "model.safetensors"
TOKENIZER_FILE: Final = "tokenizer.json"
_PACK: Final = 512
"""Tokens that go through a layer at once: several short texts, or one long, side by side and without padding."""

_BLOCK: Final = 16_384  # numbers, 64 KB: the steps of GELU stay in the processor's nearest caches
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_HEADER_BYTES: Final = 10_000_000
_EXPECTED: Final = {"model_type": "bert", "hidden_act": "gelu"}


def can_encode(folder: Path) -> bool:
    """Whether the folder holds a BERT of the one kind that this module knows, its weights and tokenizer as one file."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        header, _ = _header(folder / WEIGHTS_FILE)
    except (OSError, ValueError):
        return False
    return (
        (folder / TOKENIZER_FILE).is_file()
        and all(config.get(name) == value for name, value in _EXPECTED.items())
        and config.get("position_embedding_type", "absolute") == "absolute"
        and all(each["dtype"] == "F32" for name, each in header.items() if name.endswith((".weight", ".bias")))
    )


@dataclass(frozen=True)
class Encoded:
    """A text's tokens."""

    states: Floats  # a row a token, of length 1
    weights: Floats  # a token's share in a mean over all of them: none of the special ones'; sums up to 1, or is all 0
    truncated: bool  # there were more tokens than the model reads


class BertEncoder:
    """The loaded model."""

    def __init__(self, folder: Path, *, layers: int | None = None, threads: int = 1) -> None:
        """Map the weights into memory; pages are read when they are used. Without ``layers`` all of them count.

        Raises:
            ValueError: the model has fewer layers.
        """
        for name in _THREADS:
            os.environ.setdefault(name, str(threads))  # read when NumPy is loaded
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        from tokenizers import Tokenizer  # type: ignore[import-not-found]  # only the scorer's environment has it

        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        layers = config["num_hidden_layers"] if layers is None else layers
        if layers > config["num_hidden_layers"]:
            raise ValueError(f"the model has {config['num_hidden_layers']} layers, not {layers}")
        self._heads: int = config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
        self._longest = _longest_text(folder, config)
        weights = read_weights(folder / WEIGHTS_FILE)
        self._embeddings = {name: weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position")}
        self._first_type = weights["embeddings.token_type_embeddings.weight"][0]
        self._norm = _Norm.of(weights, "embeddings.LayerNorm", epsilon=self._epsilon)
        self._layers = [_Layer.of(weights, at, heads=self._heads, epsilon=self._epsilon) for at in range(layers)]
        self._tokenizer: Any = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._special = [self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]")]

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode texts; results in their order."""
        import numpy as np

        tokens = self._tokens(texts)
        ids = [self._read(each) for each in tokens]
        states: dict[int, Floats] = {}
        for pack, rows, ends in self._packed(ids):
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            states |= zip(pack, np.split(rows, ends[:-1]), strict=True)
        return [
            Encoded(states=states[at], weights=self._weights(ids[at]), truncated=len(tokens[at]) > self._longest)
            for at in range(len(texts))
        ]

    def sentences(self, texts: Sequence[str]) -> Floats:
        """A vector of length 1 a text: the mean of the last layer's states over all of its tokens, special ones too."""
        import numpy as np

        found: dict[int, Floats] = {}
        for pack, rows, ends in self._packed([self._read(each) for each in self._tokens(texts)]):
            found |= zip(pack, (part.mean(axis=0) for part in np.split(rows, ends[:-1])), strict=True)
        means: Floats = np.stack([found[at] for at in range(len(texts))])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return means

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._tokenizer.encode(text.strip()).ids for text in texts]

    def _read(self, tokens: list[int]) -> list[int]:
        """What the model reads of a text: as many tokens as it knows places, the last one among them."""
        return tokens if len(tokens) <= self._longest else [*tokens[: self._longest - 1], tokens[-1]]

    def _packed(self, ids: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Floats, NDArray[np.int64]]]:
        """Texts that go through the layers together: which, the states of all their tokens, and where each ends."""
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        for pack in _packs(order, [len(each) for each in ids]):
            yield (pack, *self._states([ids[at] for at in pack]))

    def _states(self, texts: Sequence[Sequence[int]]) -> tuple[Floats, NDArray[np.int64]]:
        """The last layer's states of texts that are computed side by side, and where each text ends."""
        import numpy as np

        lengths = [len(text) for text in texts]
        ends = np.cumsum(lengths)
        rows = np.concatenate([np.asarray(text) for text in texts])
        positions = np.concatenate([np.arange(length) for length in lengths])
        states = self._embeddings["word"][rows] + self._embeddings["position"][positions] + self._first_type
        states = self._norm.applied(states)
        for layer in self._layers:
            states = layer.applied(states, ends=ends)
        return states, ends

    def _weights(self, ids: Sequence[int]) -> Floats:
        import numpy as np

        counted: Floats = (~np.isin(ids, self._special)).astype(np.float32)
        return counted / np.float32(max(1.0, counted.sum()))


@dataclass(frozen=True)
class _Norm:
    """Layer normalisation."""

    weight: Floats
    bias: Floats
    epsilon: float

    @classmethod
    def of(cls, weights: Mapping[str, Floats], name: str, *, epsilon: float) -> _Norm:
        return cls(weight=weights[f"{name}.weight"], bias=weights[f"{name}.bias"], epsilon=epsilon)

    def applied(self, states: Floats) -> Floats:
        import numpy as np

        states = states - states.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", states, states)[:, None] / states.shape[1]
        states /= np.sqrt(variance + np.float32(self.epsilon))
        states *= self.weight
        states += self.bias
        return states


@dataclass(frozen=True)
class _Linear:
    weight: Floats  # inputs x outputs
    bias: Floats

    @classmethod
    def of(cls, weights: Mapping[str, Floats], *names: str) -> _Linear:
        """One or several maps of the same input, side by side."""
        import numpy as np

        return cls(
            weight=np.concatenate([weights[f"{name}.weight"] for name in names]).T,
            bias=np.concatenate([weights[f"{name}.bias"] for name in names]),
        )

    def applied(self, states: Floats) -> Floats:
        found: Floats = states @ self.weight
        found += self.bias
        return found


@dataclass(frozen=True)
class _Layer:
    """Self-attention and the feed-forward part, each with its sum and normalisation."""

    heads: int
    attention: _Linear  # queries, keys, values
    attention_out: _Linear
    attention_norm: _Norm
    inner: _Linear
    outer: _Linear
    norm: _Norm

    @classmethod
    def of(cls, weights: Mapping[str, Floats], at: int, *, heads: int, epsilon: float) -> _Layer:
        name = f"encoder.layer.{at}"
        of_self = (f"{name}.attention.self.{each}" for each in ("query", "key", "value"))
        return cls(
            heads=heads,
            attention=_Linear.of(weights, *of_self),
            attention_out=_Linear.of(weights, f"{name}.attention.output.dense"),
            attention_norm=_Norm.of(weights, f"{name}.attention.output.LayerNorm", epsilon=epsilon),
            inner=_Linear.of(weights, f"{name}.intermediate.dense"),
            outer=_Linear.of(weights, f"{name}.output.dense"),
            norm=_Norm.of(weights, f"{name}.output.LayerNorm", epsilon=epsilon),
        )

    def applied(self, states: Floats, *, ends: NDArray[np.int64]) -> Floats:
        import numpy as np

        parts: list[Floats] = np.split(self.attention.applied(states), ends[:-1])
        seen = np.concatenate([self._attend(part) for part in parts])
        states = self.attention_norm.applied(self.attention_out.applied(seen) + states)
        inner = self.inner.applied(states)
        gelu(inner)
        return self.norm.applied(self.outer.applied(inner) + states)

    def _attend(self, part: Floats) -> Floats:
        """Scaled dot-product attention within one text: tokens x (queries, keys, values) to tokens x states."""
        import numpy as np

        count, width = part.shape[0], part.shape[1] // 3
        three: Floats = part.reshape(count, 3, self.heads, width // self.heads).transpose(1, 2, 0, 3)
        scores: Floats = three[0] @ three[1].transpose(0, 2, 1)
        scores *= np.float32((width // self.heads) ** -0.5)
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        seen: Floats = (scores @ three[2]).transpose(1, 0, 2)
        return seen.reshape(count, width)


def gelu(values: Floats) -> None:
    """x times the normal distribution function of x, in place, to 2e-7.

    max(x, 0) - |x| / 2 erfc(|x| / sqrt 2), erfc by Abramowitz and Stegun 1964, formula 7.1.26 (error below 1.5e-7).
    """
    import numpy as np

    flat = values.reshape(-1)
    power, t, size = (np.empty(min(_BLOCK, flat.size), dtype=np.float32) for _ in range(3))
    for start in range(0, flat.size, _BLOCK):
        x = flat[start : start + _BLOCK]
        e, b, a = power[: x.size], t[: x.size], size[: x.size]
        np.abs(x, out=a)
        np.multiply(a, np.float32(0.3275911 * 0.5**0.5), out=b)
        b += np.float32(1)
        np.reciprocal(b, out=b)
        np.multiply(x, x, out=e)
        e *= np.float32(-0.5)
        np.exp(e, out=e)
        e *= a
        np.multiply(b, np.float32(0.5 * 1.061405429), out=a)
        for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            a += np.float32(0.5 * factor)
            a *= b
        a *= e
        np.maximum(x, np.float32(0), out=x)
        x -= a


def read_weights(path: Path) -> dict[str, Floats]:
    """The tensors of a file of safetensors by name, without the model's prefix; mapped, not read.

    Format: eight bytes of length, a header in JSON, then the numbers, little-endian.
    """
    import numpy as np

    header, begin = _header(path)
    everything = np.memmap(path, dtype=np.uint8, mode="r", offset=begin)
    found = {}
    for name, each in header.items():
        if name.endswith((".weight", ".bias")):
            first, last = each["data_offsets"]
            found[name.removeprefix("bert.")] = everything[first:last].view("<f4").reshape(each["shape"])
    return found


def _header(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length <= _HEADER_BYTES:
            raise ValueError(f"{path.name} is no file of safetensors")
        return json.loads(stream.read(length)), 8 + length


def _longest_text(folder: Path, config: Mapping[str, Any]) -> int:
    """How many tokens of a text are read: what the tokenizer says, as far as the model has positions."""
    positions: int = config["max_position_embeddings"]
    try:
        said = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get("model_max_length")
    except (OSError, ValueError):
        said = None
    return min(said, positions) if isinstance(said, int) else positions


def _packs(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    pack: list[int] = []
    total = 0
    for at in order:
        if pack and total + lengths[at] > _PACK:
            yield pack
            pack, total = [], 0
        pack.append(at)
        total += lengths[at]
    if pack:
        yield pack
