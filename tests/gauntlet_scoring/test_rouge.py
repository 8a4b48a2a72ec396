"""ROUGE against its authors' library and against values computed by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from gauntlet_scoring.rouge import VARIANTS, rouge_f1

WORDS = st.lists(st.sampled_from(["get", "work", "orders", "of", "2017", "List-all", "\n", "WOAgent:"]), max_size=30)


@pytest.mark.oracle
@given(WORDS, WORDS)
def test_equals_rouge_score_on_ascii(left, right):
    reference, candidate = " ".join(left), " ".join(right)
    expected = RougeScorer(list(VARIANTS)).score(reference, candidate)
    found = rouge_f1(reference, candidate)
    for variant in VARIANTS:
        assert found[variant] == pytest.approx(expected[variant].fmeasure, abs=1e-9)


@pytest.mark.oracle
def test_by_hand():
    """Reference a b c d, candidate a c b: three words, no pair of neighbours, longest common sequence 2."""
    scores = rouge_f1("a b c d", "a c b")
    assert scores["rouge1"] == pytest.approx(2 * 3 / (4 + 3), abs=1e-12)
    assert scores["rouge2"] == 0.0
    assert scores["rougeL"] == pytest.approx(2 * 2 / (4 + 3), abs=1e-12)


def test_lines_count_for_lsum_only():
    scores = rouge_f1("a b\nc d", "c d\na b")
    assert scores["rougeL"] == 0.5
    assert scores["rougeLsum"] == 1.0


@given(st.text(), st.text())
def test_any_text_gives_values_between_zero_and_one(reference, candidate):
    assert all(0.0 <= value <= 1.0 for value in rouge_f1(reference, candidate).values())


@pytest.mark.parametrize(("reference", "candidate"), [("", "a"), ("a", ""), ("", ""), ("a", "…!")])
def test_an_empty_text_scores_zero(reference, candidate):
    assert set(rouge_f1(reference, candidate).values()) == {0.0}


def test_it_is_loaded_without_what_it_does_not_use():
    """NLTK alone takes longer to load than everything else that scoring a plan needs."""
    program = "import sys; from gauntlet_scoring.rouge import rouge_f1; print(rouge_f1('a b', 'a b')['rougeL'])"
    program += "; print(sorted(name for name in sys.modules if name.split('.')[0] in ('nltk', 'torch')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n", 1)[0] == "1.0"
    assert "nltk" not in done.stdout


def test_letters_beyond_ascii_count():
    assert rouge_f1("设备清单", "设备清单")["rouge2"] == 1.0
    assert RougeScorer(["rouge1"]).score("设备清单", "设备清单")["rouge1"].fmeasure == 0.0  # why it has our tokenizer
