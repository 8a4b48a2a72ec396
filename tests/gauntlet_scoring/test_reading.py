"""Reading of episodes, records, blobs and ground truth."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.failures import FailureCode, Owner
from gauntlet_scoring.reading import read_episodes, read_ground_truth

END = {"kind": "end", "outcome": "answered", "seconds": 1}
ANSWER = {"kind": "answer", "text": "33", "data": {"count": 33}}


@pytest.fixture
def results(tmp_path, json_file):
    """Write one answered episode with these events, or with these raw lines."""

    def write(*events, row=None, name="trajectories/e.jsonl"):
        lines = [
            {"seq": seq, "at": "2026-01-01T00:00:00Z", "episode": "e", "turn": 0, **event}
            for seq, event in enumerate(events)
        ]
        json_file(*lines, name=name)
        default = {"episode": "e", "scenario": "1", "trial": 1, "outcome": "answered", "trajectory": name}
        json_file({**default, **(row or {})}, name="episodes.jsonl")
        return tmp_path

    return write


def call(key, tool="t", **arguments):
    return {"kind": "tool_call", "call": key, "tool": tool, "arguments": arguments}


def result(key, tool="t", **fields):
    return {"kind": "tool_result", "call": key, "tool": tool, "is_error": False, "seconds": 0.1, **fields}


def test_calls_are_paired_with_results_even_when_they_overlap(results):
    folder = results(
        call("a", x=1),
        call("b", "u"),
        result("b", "u", is_error=True, text="no"),
        call("c"),
        result("a", structured={"rows": []}, text="[]"),
        ANSWER,
        END,
    )
    [episode] = read_episodes(folder)
    assert [(each.call.call, each.succeeded, each.content) for each in episode.calls] == [
        ("a", True, {"rows": []}),
        ("b", False, "no"),
        ("c", False, None),
    ]
    assert episode.successful_calls == [("t", {"x": 1})]
    assert (episode.scored, episode.answered, episode.answer.data) == (True, True, {"count": 33})


def test_the_last_plan_counts(results):
    plan = [{"kind": "plan", "steps": [{"agent": "A", "instruction": name}]} for name in ("first", "second")]
    [episode] = read_episodes(results(*plan, ANSWER, END))
    assert [step.instruction for step in episode.plan] == ["second"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"structured": {"rows": [1]}, "text": "x"}', {"rows": [1]}),
        (b'{"structured": null, "text": "long"}', "long"),
        (b'{"rows": [1]}', '{"rows": [1]}'),
        (b"plain \xff", "plain \ufffd"),
    ],
)
def test_a_large_result_is_read_from_beside_the_record(results, content, expected):
    name = hashlib.sha256(content).hexdigest()
    folder = results(call("a"), result("a", blob=name), ANSWER, END)
    blob = folder / "trajectories/blobs" / name
    blob.parent.mkdir()
    blob.write_bytes(content)
    assert read_episodes(folder)[0].calls[0].content == expected


def test_a_changed_blob_is_noticed(results):
    name = hashlib.sha256(b"x").hexdigest()
    folder = results(call("a"), result("a", blob=name), ANSWER, END)
    (folder / "trajectories/blobs").mkdir()
    (folder / "trajectories/blobs" / name).write_bytes(b"y")
    with pytest.raises(ScoringInputError, match="digest"):
        _ = read_episodes(folder)[0].calls[0].content


@pytest.mark.parametrize("blob", ["0" * 64, "../../../etc/passwd", "A" * 64])
def test_a_blob_that_is_not_there_or_no_digest_is_refused(results, blob):
    with pytest.raises(ScoringInputError, match=r"should lie here|no SHA-256"):
        read_episodes(results(call("a"), result("a", blob=blob), ANSWER, END))


def test_a_record_without_an_end_is_infrastructure(results):
    [episode] = read_episodes(results(call("a"), ANSWER))
    assert episode.failure is FailureCode.INFRASTRUCTURE
    assert not episode.scored


@pytest.mark.parametrize("failure", list(FailureCode))
def test_only_the_participants_failures_are_scored(results, failure):
    row = {"outcome": "failed", "failure": failure.value, "trajectory": None}
    [episode] = read_episodes(results(ANSWER, row=row))
    assert episode.scored is (failure.owner is Owner.PARTICIPANT)
    assert not episode.answered


@pytest.mark.parametrize(
    ("events", "row", "words"),
    [
        ([END], {}, "here is no answer"),
        ([ANSWER, END], {"outcome": "failed"}, "episodes.jsonl, line 1: a failed episode"),
        ([ANSWER, END], {"failure": "time_limit"}, "episodes.jsonl, line 1: a failed episode"),
        ([ANSWER, END], {"trajectory": None}, "needs a trajectory"),
        ([ANSWER, END], {"trajectory": "../e.jsonl"}, "leads out"),
        ([ANSWER, END], {"trajectory": "/etc/passwd"}, "leads out"),
        ([ANSWER, END], {"trajectory": "trajectories/none.jsonl"}, "none.jsonl: cannot be read"),
        ([ANSWER, END], {"trial": 0}, "episodes.jsonl, line 1: trial"),
        ([ANSWER, END], {"surprise": 1}, "episodes.jsonl, line 1: surprise"),
        ([{**ANSWER, "seq": 1}, END], {}, "e.jsonl, line 1: expected event 0"),
        ([ANSWER, {**END, "episode": "f"}], {}, "line 2: the event belongs to another episode"),
        ([ANSWER, END, ANSWER], {}, "line 3: nothing may follow"),
        ([result("a"), ANSWER, END], {}, "line 1: the result answers no open call"),
        ([call("a"), result("a"), result("a"), ANSWER, END], {}, "line 3: the result answers no open call"),
        ([call("a"), call("a"), ANSWER, END], {}, "line 2: call a was already made"),
        ([{"kind": "bribe"}, ANSWER, END], {}, "e.jsonl, line 1:"),
    ],
)
def test_malformed_input_is_named_with_file_and_line(results, events, row, words):
    with pytest.raises(ScoringInputError) as caught:
        read_episodes(results(*events, row=row))
    assert words in str(caught.value)


def test_a_scenario_and_trial_may_occur_once(tmp_path, json_file):
    row = {"episode": "e", "scenario": "1", "trial": 1, "outcome": "failed", "failure": "time_limit"}
    json_file(row, {**row, "trial": 2}, row, name="episodes.jsonl")
    with pytest.raises(ScoringInputError, match="line 3: scenario 1, trial 1 is already on line 1"):
        read_episodes(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_a_sentence(tmp_path, content):
    (tmp_path / "episodes.jsonl").write_bytes(content)
    with pytest.raises(ScoringInputError, match=r"episodes\.jsonl"):
        read_episodes(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.dictionaries(st.text(), st.text() | st.integers(-(2**60), 2**60) | st.booleans() | st.none()))
def test_arguments_come_through_unchanged(results, arguments):
    folder = results({**call("a"), "arguments": arguments}, result("a"), ANSWER, END)
    assert read_episodes(folder)[0].successful_calls == [("t", arguments)]


def test_separators_of_unicode_do_not_end_a_line(tmp_path, truth):
    (tmp_path / "any_name.jsonl").write_text(json.dumps(truth(text="a\u2028b\x85c"), ensure_ascii=False))
    assert read_ground_truth(tmp_path)["400"].truth.text == "a\u2028b\x85c"


def test_ground_truth_is_found_by_its_name_among_others(tmp_path, truth, json_file):
    json_file({"other": 1}, name="scenarios.jsonl")
    json_file(truth())
    assert list(read_ground_truth(tmp_path)) == ["400"]


@pytest.mark.parametrize("names", [[], ["a.jsonl", "b.jsonl"]])
def test_ground_truth_that_cannot_be_told_is_refused(tmp_path, json_file, names):
    for name in names:
        json_file({}, name=name)
    with pytest.raises(ScoringInputError, match=r"expected ground_truth\.jsonl"):
        read_ground_truth(tmp_path)


def test_a_key_may_occur_once(tmp_path, truth, json_file):
    json_file(truth(id=1), truth(id="1"))
    with pytest.raises(ScoringInputError, match="line 2: scenario 1 is already on line 1"):
        read_ground_truth(tmp_path)
