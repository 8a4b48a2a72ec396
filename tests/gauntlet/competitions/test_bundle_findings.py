"""Broken bundles: every finding names the file, the line, the field and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Check = Callable[[Any], list[Any]]

# What is replaced in the manifest, by what, the text on whose line the finding must be, its field, a part of its words.
BROKEN: dict[str, tuple[str, str, str, str, str]] = {
    "no version": ("version: 2\n", "", "title: A small", "version", "only version 2"),
    "old version": ("version: 2\n", "version: 1\n", "version: 1", "version", "must be 2"),
    "no title": ("title: A small competition\n", "", "version: 2", "title", "missing"),
    "empty title": ("title: A small competition", "title: ''", "title: ''", "title", "empty"),
    "long title": ("title: A small competition", f"title: {'x' * 257}", "title: xxx", "title", "257 characters"),
    "NUL in a text": ("description: For tests", 'description: "a\\0b"', "description:", "description", "stored"),
    "no terms": ("terms: terms.md\n", "", "version: 2", "terms", "missing"),
    "terms that are not there": ("terms.md", "term.md", "term.md", "terms", "Did you mean 'terms.md'?"),
    "terms that are a folder": ("terms.md", "pages", "terms: pages", "terms", "folder"),
    "bad flag": ("approve: true", "approve: perhaps", "perhaps", "registration_auto_approve", "true or false"),
    "bad zone": ("time_zone: UTC", "time_zone: Europe/Belgrad", "Belgrad", "time_zone", "'Europe/Belgrade'"),
    "bad address": ("organizer@example.org", "organizer", "contact_email", "contact_email", "e-mail"),
    "page without a file": ("    file: pages/overview.md\n", "", "title: Overview", "pages[0].file", "missing"),
    "key twice": ("terms: terms.md", "terms: terms.md\nterms: x.md", "terms: x.md", "terms", "twice"),
    "no tasks": (
        "tasks:\n  - index: 0\n    name: The task",
        "other:\n  - index: 0\n    name: x",
        "version",
        "tasks",
        "one task",
    ),
    "task without an index": (
        "  - index: 0\n    name: The task",
        "  - name: The task",
        "The task",
        "tasks[0].index",
        "missing",
    ),
    "task of another competition": (
        "    name: The task",
        "    key: abc\n    name: The task",
        "key: abc",
        "tasks[0].key",
        "cannot",
    ),
    "no environment": ("    environment: environment\n", "", "index: 0", "tasks[0].environment", "environment"),
    "environment out of the bundle": (
        "environment: environment",
        "environment: ../..",
        "../..",
        "tasks[0].environment",
        "not in",
    ),
    "absolute path": ("input_data: data", "input_data: /etc", "/etc", "tasks[0].input_data", "not in the bundle"),
    "data set of another platform": (
        "input_data: data",
        "input_data: 0f8fad5b-d9cb-469f-a165-70867728950e",
        "0f8fad5b",
        "tasks[0].input_data",
        "another platform",
    ),
    "no scenarios": ("    scenarios: scenarios.jsonl\n", "", "index: 0", "tasks[0].scenarios", "missing"),
    "no reference": ("    reference_data: reference\n", "", "index: 0", "tasks[0].reference_data", "missing"),
    "unknown program": ("name: rubric", "name: rubrik", "rubrik", "tasks[0].scoring_programs[0].name", "'rubric'"),
    "another version of a program": (
        'version: "1"',
        'version: "9"',
        "rubric",
        "tasks[0].scoring_programs[0].name",
        "9",
    ),
    "program twice": (
        "      - scoring\n",
        "      - scoring\n      - rubric 1\n",
        "- rubric 1",
        "tasks[0].scoring_programs[2]",
        "taken",
    ),
    "limit above the operator's": (
        "episode_seconds: 60",
        "episode_seconds: 36000",
        "36000",
        "tasks[0].limits.episode_seconds",
        "36,000",
    ),
    "size above the operator's": ("memory: 512M", "memory: 64G", "64G", "tasks[0].limits.memory", "allows"),
    "size without its unit": ("memory: 512M", "memory: 512", "512", "tasks[0].limits.memory", "512 is too little"),
    "hardly a processor": ("memory: 512M", "cpus: 0.001", "cpus", "tasks[0].limits.cpus", "0.001 is too little"),
    "limit that is no number": ("memory: 512M", "memory: lots", "lots", "tasks[0].limits.memory", "lots"),
    "limit of nothing": (
        "episode_seconds: 60",
        "episode_seconds: 0",
        "seconds: 0",
        "tasks[0].limits.episode_seconds",
        "is '0'",
    ),
    "no phases": (
        "phases:\n  - index: 0\n    name: Dev",
        "other:\n  - index: 0\n    name: Dev",
        "version",
        "phases",
        "one phase",
    ),
    "phase without a start": ("    start: 2026-01-01 08:30:00\n", "", "index: 0", "phases[0].start", "missing"),
    "date that is none": ("2026-01-01 08:30:00", "2026-02-30", "02-30", "phases[0].start", "calendar"),
    "date that can be read in two ways": ("end: 2026-06-01", "end: 01-06-2026", "01-06", "phases[0].end", "not a date"),
    "end before the start": ("end: 2026-06-01", "end: 2025-06-01", "2025", "phases[0].end", "after the start"),
    "phases in the wrong order": ("2026-06-01T02", "2024-06-01T02", "2024-06", "phases[1].start", "before"),
    "unknown task": ("    tasks: [0]\n    max", "    tasks: [0, 7]\n    max", "[0, 7]", "phases[0].tasks[1]", "7"),
    "task twice": ("    tasks: [0]\n    max", "    tasks: [0, 0]\n    max", "[0, 0]", "phases[0].tasks[1]", "twice"),
    "no task": ("    tasks: [0]\n    max", "    tasks: []\n    max", "tasks: []", "phases[0].tasks", "at least one"),
    "negative quota": ("per_day: 3", "per_day: -3", "-3", "phases[0].max_submissions_per_day", "-3"),
    "quota in words": ("per_day: 3", "per_day: three", "three", "phases[0].max_submissions_per_day", "whole number"),
    "unknown visibility": (
        "visibility: scores",
        "visibility: score",
        "visibility: score",
        "phases[0].visibility",
        "'scores'",
    ),
    "trials of nothing": (
        "visibility: scores",
        "visibility: scores\n    trials: 0",
        "trials: 0",
        "phases[0].trials",
        "0",
    ),
    "no leaderboards": ("leaderboards:", "boards:", "version", "leaderboards", "one leaderboard"),
    "unknown rule": ("Force_Best", "Force_Bset", "Bset", "leaderboards[0].submission_rule", "'Force_Best'"),
    "primary column that is not there": (
        "    submission_rule",
        "    primary_index: 9\n    submission_rule",
        "9",
        "leaderboards[0].primary_index",
        "9",
    ),
    "hidden primary column": (
        "        interval: bootstrap\n",
        "        interval: bootstrap\n        hidden: true\n",
        "title: Results",
        "leaderboards[0].primary_index",
        "is hidden",
    ),
    "unknown score": (
        "rubric.score",
        "rubric.scor",
        "rubric.scor",
        "leaderboards[0].columns[0].from",
        "'rubric.score'",
    ),
    "score of no program": (
        "rubric.score",
        "rouge.plan_rougeL",
        "rouge",
        "leaderboards[0].columns[0].from",
        "no scoring program",
    ),
    "column key twice": ("key: own", "key: score", "key: score", "leaderboards[0].columns[1].key", "taken"),
    "column index twice": ("index: 2", "index: 1", "index: 1", "leaderboards[0].columns[2].index", "taken"),
    "long column title": ("title: Own", f"title: {'y' * 37}", "yyy", "leaderboards[0].columns[1].title", "37"),
    "unknown sorting": ("sorting: asc", "sorting: up", "sorting: up", "leaderboards[0].columns[2].sorting", "up"),
    "unknown over": ("over: sum", "over: median", "median", "leaderboards[0].columns[1].over", "median"),
    "more passes than trials": (
        "over: sum",
        "over: pass^2",
        "pass^2",
        "leaderboards[0].columns[1].over",
        "no phase runs a scenario more than 1 time",
    ),
    "passes of what is no score of a trial": (
        "        sorting: asc",
        "        over: pass^1\n        pass_at: 1",
        "pass^1",
        "leaderboards[0].columns[2].over",
        "no score of a trial",
    ),
    "a pass mark without passes": (
        "over: sum",
        "over: sum\n        pass_at: 1",
        "pass_at",
        "leaderboards[0].columns[1].pass_at",
        "belongs to a column with `over: pass^k`",
    ),
    "unknown isolation": (
        "    visibility: scores",
        "    visibility: scores\n    isolation: none",
        "isolation: none",
        "phases[0].isolation",
        "scenario",
    ),
    "scale upside down": (
        "over: sum",
        "over: sum\n        scale: [1, 0]",
        "[1, 0]",
        "leaderboards[0].columns[1].scale",
        "lower first",
    ),
    "infinite scale": (
        "over: sum",
        "over: sum\n        scale: [0, .inf]",
        ".inf",
        "leaderboards[0].columns[1].scale[1]",
        "finite",
    ),
    "where of an unknown tag's value": (
        "over: sum",
        "over: sum\n        where: {category: Data Querry}",
        "Data Querry",
        "leaderboards[0].columns[1].where.category",
        "no scenario has the category 'Data Querry'. Did you mean 'Data Query'?",
    ),
    "where of nothing": (
        "over: sum",
        "over: sum\n        where: {}",
        "where",
        "leaderboards[0].columns[1].where",
        "at least one tag",
    ),
    "where of a total": (
        "from: episodes.steps",
        "from: episodes.total_tokens\n        where: {type: IoT}",
        "where",
        "leaderboards[0].columns[2].where",
        "given for each scenario",
    ),
    "baseline of an unknown column": (
        "    columns:",
        "    baselines:\n      - {name: A, source: paper, scores: {scor: 0.5}}\n    columns:",
        "scor: 0.5",
        "leaderboards[0].baselines[0].scores.scor",
        "Did you mean 'score'?",
    ),
    "baseline off the column's scale": (
        "    columns:",
        "    baselines:\n      - {name: A, source: paper, scores: {score: 65}}\n    columns:",
        "score: 65",
        "leaderboards[0].baselines[0].scores.score",
        "from 0 to 1",
    ),
    "baseline without source": (
        "    columns:",
        "    baselines:\n      - {name: A, scores: {score: 0.5}}\n    columns:",
        "name: A",
        "leaderboards[0].baselines[0].source",
        "missing",
    ),
    "baseline twice": (
        "    columns:",
        "    baselines:\n      - &a {name: A, source: paper, scores: {score: 0.5}}\n      - *a\n    columns:",
        "name: A",
        "leaderboards[0].baselines[1].name",
        "is taken by another baseline",
    ),
    "composite of unlike scales": (
        "        from: episodes.steps\n",
        "        computation: avg\n        computation_indexes: [0, 1]\n",
        "computation_indexes",
        "leaderboards[0].columns[2].computation_indexes",
        "score [0, 1], own has none",  # a sum grows with the scenarios
    ),
    "composite of means on unlike scales": (
        "        over: sum\n      - index: 2\n        key: steps\n        title: Steps\n        from: episodes.steps\n",
        "      - index: 2\n        key: steps\n        title: Steps\n        computation: avg\n"
        "        computation_indexes: [0, 1]\n",
        "computation_indexes",
        "leaderboards[0].columns[2].computation_indexes",
        "score [0, 1], own [0, 10]",
    ),
    "composite of unlike directions": (
        "        from: scoring.own\n        over: sum\n      - index: 2\n        key: steps\n        title: Steps\n"
        "        from: episodes.steps\n        sorting: asc\n",
        "        from: rubric.task_completion\n        sorting: asc\n"
        "      - index: 2\n        key: steps\n        title: Steps\n"
        "        computation: avg\n        computation_indexes: [0, 1]\n",
        "computation_indexes",
        "leaderboards[0].columns[2].computation_indexes",
        "of own less is better, of steps more",
    ),
    "a score on another scale than its program's": (
        "        interval: bootstrap\n",
        "        interval: bootstrap\n        scale: [0, 100]\n",
        "scale: [0, 100]",
        "leaderboards[0].columns[0].scale",
        "is not the scale of 'rubric.score', which its program gives in [0, 1]",
    ),
    "composite of nothing": (
        "        from: episodes.steps\n",
        "        computation: avg\n",
        "index: 2",
        "leaderboards[0].columns[2].computation_indexes",
        "must list",
    ),
    "composite of itself": (
        "        from: episodes.steps\n",
        "        computation: avg\n        computation_indexes: [2]\n",
        "computation_indexes",
        "leaderboards[0].columns[2].computation_indexes",
        "2 is no column",
    ),
}


def test_a_right_bundle_has_no_findings(bundle: Any, findings_of: Check) -> None:
    assert findings_of(bundle) == []


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_manifest_is_told_with_line_and_field(case: str, bundle: Any, findings_of: Check) -> None:
    old, new, needle, field, words = BROKEN[case]
    bundle.replace(old, new)
    findings = [f for f in findings_of(bundle) if f.level == "error"]
    matching = [f for f in findings if f.field == field and words in f"{f.message} {', '.join(f.allowed)}"]
    assert matching, [str(f) for f in findings]
    (found,) = matching
    assert found.file == "competition.yaml"
    lines = (bundle.root / "competition.yaml").read_text().splitlines()
    assert needle in lines[found.line - 1], (found.line, lines[found.line - 1])
    assert str(found).startswith(f"competition.yaml:{found.line}: error: {field}: ")


def test_every_fault_is_told_at_once(bundle: Any, findings_of: Check) -> None:
    bundle.replace("title: A small competition", "title: ''")
    bundle.replace("visibility: scores", "visibility: some")
    bundle.replace("rubric.score", "rubric.nothing")
    fields = {f.field for f in findings_of(bundle)}
    assert {"title", "phases[0].visibility", "leaderboards[0].columns[0].from"} <= fields


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("description: For tests", "desciption: For tests", "Did you mean 'description'?"),
        ("    visibility: scores", "    visibilty: scores", "Did you mean 'visibility'?"),
        ("        interval: bootstrap", "        intervall: bootstrap", "Did you mean 'interval'?"),
        ("      memory: 512M", "      memroy: 512M", "Did you mean 'memory'?"),
    ],
)
def test_an_unknown_key_is_a_warning_with_a_suggestion(
    old: str, new: str, hint: str, bundle: Any, findings_of: Check
) -> None:
    bundle.replace(old, new)
    (found,) = findings_of(bundle)
    assert (found.level, found.line) == ("warning", bundle.line_of(new.strip()))
    assert hint in found.message


def test_keys_of_codabench_without_an_effect_are_told_and_kept(bundle: Any, findings_of: Check) -> None:
    bundle.replace("description: For tests", "description: For tests\ndocker_image: codalab/py39\nfact_sheet: {a: 1}")
    assert {(f.level, f.field) for f in findings_of(bundle)} == {("warning", "docker_image"), ("warning", "fact_sheet")}


def test_open_scores_of_hidden_scenarios_are_warned_of(bundle: Any, findings_of: Check) -> None:
    bundle.replace("visibility: scores", "visibility: full")
    (found,) = findings_of(bundle)
    assert (found.level, found.field) == ("warning", "phases[0].visibility")


def test_phases_that_overlap_are_a_warning(bundle: Any, findings_of: Check) -> None:
    bundle.replace("end: 2026-06-01", "end: 2026-07-01")
    (found,) = findings_of(bundle)
    assert (found.level, found.field) == ("warning", "phases[1].start")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: [1\n", "not YAML"),
        (b"- a\n", "keys and values"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"a: \x07\n", "not YAML"),
        (b"[" * 5000, "nested too deeply"),
        (b"title: !!python/object/apply:os.system [id]\nversion: 2\n", "must be a text"),
        (b"version: 2\ntitle: &a [*a]\n", "must be a text"),
        (b"x: " + b"y" * (2 << 20), "larger than"),
        (b"", "keys and values"),
    ],
    ids=["flow", "list", "encoding", "control", "deep", "object", "recursive", "huge", "empty"],
)
@pytest.mark.security
def test_a_manifest_that_cannot_be_read(content: bytes, words: str, bundle: Any, findings_of: Check) -> None:
    bundle.write("competition.yaml", content)
    findings = findings_of(bundle)
    assert any(words in f.message for f in findings), [str(f) for f in findings]
    assert all(f.line is not None for f in findings)


@pytest.mark.security
def test_a_bomb_of_aliases_is_not_expanded(bundle: Any, findings_of: Check) -> None:
    lines = ["docker_image: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    bundle.write("competition.yaml", "\n".join([*lines, "fact_sheet: *a11", "version: 2"]))
    (found,) = [f for f in findings_of(bundle) if f.field == "fact_sheet" and f.level == "error"]
    assert "too large" in found.message


def test_merged_mappings_are_read(bundle: Any, findings_of: Check) -> None:
    bundle.replace("phases:\n  - index: 0\n", "base: &base\n  visibility: none\nphases:\n  - <<: *base\n    index: 0\n")
    assert {(f.level, f.field) for f in findings_of(bundle)} == {("warning", "base")}


def test_a_manifest_under_another_name_is_suggested(bundle: Any, findings_of: Check) -> None:
    (bundle.root / "competition.yaml").rename(bundle.root / "competition.yml")
    (found,) = findings_of(bundle)
    assert "competition.yml" in found.message
