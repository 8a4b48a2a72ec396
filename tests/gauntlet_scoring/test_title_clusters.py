"""Clusters of titles: k by silhouette, the name from the middle, and few titles left as they are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from gauntlet_scoring.title_clusters import cluster_titles, cluster_vectors


def vectors_around(centres: list[list[float]], *, each: int, spread: float) -> np.ndarray:
    generator = np.random.default_rng(7)
    rows = [centre + spread * generator.standard_normal(3) for centre in np.array(centres) for _ in range(each)]
    return np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_the_number_of_clusters_is_found(clusters: int) -> None:
    centres = [[np.cos(at), np.sin(at), at % 2] for at in np.linspace(0, 5, clusters)]
    vectors = vectors_around(centres, each=8, spread=0.03)
    titles = [f"title {at}" for at in range(len(vectors))]
    found = cluster_vectors(titles, vectors)
    assert sorted(cluster.members for cluster in found.clusters) == [
        tuple(range(8 * at, 8 * at + 8)) for at in range(clusters)
    ]
    for cluster in found.clusters:
        centre = vectors[list(cluster.members)].mean(axis=0)
        nearest = min(cluster.members, key=lambda at: float(np.linalg.norm(vectors[at] - centre)))
        assert (cluster.nearest, cluster.name) == (nearest, f"title {nearest}")


def test_the_best_silhouette_of_two_to_seven_counts() -> None:
    vectors = vectors_around([[1, 0, 0], [0, 1, 0], [0, 0, 1]], each=6, spread=0.6)
    found = cluster_vectors([str(at) for at in range(18)], vectors)
    qualities = {
        k: silhouette_score(vectors, KMeans(n_clusters=k, random_state=42, n_init=10).fit_predict(vectors))
        for k in range(2, 8)
    }
    assert found.silhouette == pytest.approx(max(qualities.values()), abs=1e-12)
    assert len(found.clusters) == max(qualities, key=lambda k: qualities[k])
    assert found == cluster_vectors([str(at) for at in range(18)], vectors)  # the same every time


def test_the_largest_cluster_comes_first_and_none_is_lost() -> None:
    vectors = np.concatenate(
        [vectors_around([[1, 0, 0]], each=2, spread=0.01), vectors_around([[0, 1, 0]], each=9, spread=0.01)]
    )
    found = cluster_vectors([str(at) for at in range(11)], vectors)
    assert [len(cluster.members) for cluster in found.clusters] == [9, 2]


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        ([], []),
        (["a"], [("a", (0,))]),
        (["a", "b", "a", "a"], [("a", (0, 2, 3)), ("b", (1,))]),
    ],
)
def test_too_few_different_titles_stand_by_themselves(titles: list[str], expected: list[object]) -> None:
    found = cluster_titles(titles, model="no model is needed")
    assert [(cluster.name, cluster.members) for cluster in found.clusters] == expected
    assert found.silhouette is None


def test_titles_that_the_model_cannot_tell_apart_are_one() -> None:
    found = cluster_vectors(["Late Answer", "late answer", "LATE ANSWER"], np.array([[1.0, 0.0]] * 3))
    assert [cluster.members for cluster in found.clusters] == [(0, 1, 2)]
