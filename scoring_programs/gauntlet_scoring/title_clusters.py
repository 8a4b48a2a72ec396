"""Short titles in clusters of like meaning, each named by the title in its middle (A45).

Sentences are embedded by the model that BERTScore is pinned to (all-MiniLM-L6-v2, mean over its tokens, length 1),
clustered by k-means with k from 2 to 7, and the k with the highest mean silhouette counts (Rousseeuw 1987). Nothing is
imported before there are titles to compare, and torch only for a model that :mod:`gauntlet_scoring.bert_encoder` does
not know.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gauntlet_scoring.bert_encoder import BertEncoder, can_encode
from gauntlet_scoring.bertscore import model_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float64]

FEWEST: Final = 2  # clusters
MOST: Final = 7
SEED: Final = 42
_STARTS: Final = 10
_BATCH: Final = 32
_DECIMALS: Final = 5


@dataclass(frozen=True)
class Cluster:
    """Positions of the titles in it; ``nearest`` is the one nearest to their centre, and gives the name."""

    name: str
    nearest: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class Clusters:
    """The largest cluster first. ``silhouette`` is the mean over titles, in [-1, 1]; None where none was computed."""

    clusters: tuple[Cluster, ...]
    silhouette: float | None = None

    @property
    def told(self) -> str:
        """How they came about, as a sentence for a reader."""
        if self.silhouette is None:
            return "Too few different titles to cluster: each stands by itself."
        return (
            f"{len(self.clusters)} clusters of titles (k-means, seed {SEED}; k from {FEWEST} to {MOST} by the mean "
            f"silhouette, here {self.silhouette:.3f}), each named by the title nearest its centre."
        )


def cluster_titles(titles: Sequence[str], *, model: str) -> Clusters:
    """Cluster titles; up to two different ones are not clustered, for which no silhouette is defined.

    Args:
        model: a folder, or an installed package with a folder `model`

    Raises:
        ScoringInputError: there is no such model.
    """
    if len(set(titles)) <= FEWEST:
        return _of_equal_ones(titles, titles)
    return cluster_vectors(titles, embed(titles, model=model))


def cluster_vectors(titles: Sequence[str], vectors: Vectors) -> Clusters:
    """Cluster titles by their embeddings."""
    import numpy as np
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    different = [tuple(row) for row in np.round(vectors, _DECIMALS).tolist()]  # titles may differ in case alone
    if len(set(different)) <= FEWEST:
        return _of_equal_ones(titles, different)
    best: tuple[float, Any] | None = None
    for k in range(FEWEST, min(MOST, len(set(different)) - 1) + 1):
        found = KMeans(n_clusters=k, random_state=SEED, n_init=_STARTS).fit(vectors)
        quality = float(silhouette_score(vectors, found.labels_))
        if best is None or quality > best[0]:  # of equal ones the fewest clusters
            best = (quality, found)
    assert best is not None  # noqa: S101 - the range above is never empty
    quality, found = best
    clusters = []
    for label, centre in enumerate(found.cluster_centers_):
        members = np.flatnonzero(found.labels_ == label)
        nearest = int(members[np.linalg.norm(vectors[members] - centre, axis=1).argmin()])
        clusters.append(Cluster(titles[nearest], nearest, tuple(int(each) for each in members)))
    return Clusters(_largest_first(clusters), silhouette=quality)


def _of_equal_ones(titles: Sequence[str], keys: Sequence[Hashable]) -> Clusters:
    """A cluster for each key."""
    groups = [[at for at, key in enumerate(keys) if key == each] for each in dict.fromkeys(keys)]
    return Clusters(_largest_first([Cluster(titles[group[0]], group[0], tuple(group)) for group in groups]))


def _largest_first(clusters: Sequence[Cluster]) -> tuple[Cluster, ...]:
    return tuple(sorted(clusters, key=lambda cluster: (-len(cluster.members), cluster.members)))


def embed(texts: Sequence[str], *, model: str) -> Vectors:
    """Embeddings of length 1, a row a text: the mean of the last layer's states over all tokens of the text.

    Raises:
        ScoringInputError: there is no such model.
    """
    import numpy as np

    folder = model_folder(model)
    if can_encode(folder):
        return BertEncoder(folder).sentences(texts).astype(np.float64)
    return embed_by_library(texts, folder)


def embed_by_library(texts: Sequence[str], folder: Path) -> Vectors:
    """The same by the model's own library, which takes seconds to load: for models of another kind."""
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    import numpy as np
    import torch  # type: ignore[import-not-found]  # only the scorer's environment has these two
    import transformers  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    encoder = transformers.AutoModel.from_pretrained(folder).eval()
    rows: list[Any] = []
    with torch.inference_mode():
        for start in range(0, len(texts), _BATCH):
            batch = tokenizer(list(texts[start : start + _BATCH]), padding=True, truncation=True, return_tensors="pt")
            states = encoder(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
            means = (states * mask).sum(1) / mask.sum(1)
            rows.append(torch.nn.functional.normalize(means, dim=1).numpy())
    return np.concatenate(rows).astype(np.float64)
