"""Built-in scoring programs that a bundle sets otherwise, and settings that do not fit."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings as installation

from gauntlet.accounts.models import User
from gauntlet.competitions.services import import_bundle
from gauntlet.storage.services import open_artifact

OWN = "      - scoring\n"


def program(name: str, **given: Any) -> str:
    lines = "".join(f"          {key}: {value}\n" for key, value in given.items())
    return f"{OWN}      - name: {name}\n        settings:\n{lines}"


@pytest.mark.django_db
def test_a_declared_setting_is_in_the_stored_program_and_nowhere_else(
    bundle: Any, make_user: Callable[..., User]
) -> None:
    bundle.replace(OWN, program("hybrid", planning="rougeL"))
    competition = import_bundle(bundle.root, organizer=make_user("organizer"), publish=False)
    stored = competition.tasks.get().scoring_programs.get(key="hybrid")
    with open_artifact(stored.program) as packed, zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        found = yaml.safe_load(archive.read("metadata.yaml"))
    shipped = yaml.safe_load((Path(installation.SCORING_PROGRAMS) / "hybrid" / "metadata.yaml").read_text())
    assert found == {**shipped, "settings": {**shipped["settings"], "planning": "rougeL"}}
    assert shipped["settings"]["planning"] == "s"
    assert "score.py" in names


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        (program("hybrid", planing="rougeL"), "settings.planing", "has no setting 'planing'. Did you mean 'planning'?"),
        (program("hybrid", planning="bleu"), "settings", "`planning` must be one of s, rougeL"),
        (program("hybrid", planning="[s]"), "settings.planning", "must be one text or number"),
        (program("hybrid", parts="node_f1 order_violations"), "settings", "`order_violations` is no score in [0, 1]"),
        (
            program("execution", parts="node_f1 order_violations"),
            "settings",
            "the part `order_violations` is in [0, 1]",
        ),
        (program("execution", parts="nodes"), "settings", "declares no score `nodes`"),
        (program("bertscore", layers="six"), "settings", "`layers` must be a positive whole number"),
        (program("rouge", planning="s"), "settings.planning", "has no setting 'planning'"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(
    bundle: Any, findings_of: Callable[[Any], list[Any]], text: str, field: str, words: str
) -> None:
    bundle.replace(OWN, text)
    found = [f"{one.field}: {one.message}" for one in findings_of(bundle) if one.level == "error"]
    assert any(one.startswith(f"tasks[0].scoring_programs[2].{field}: ") and words in one for one in found), found
