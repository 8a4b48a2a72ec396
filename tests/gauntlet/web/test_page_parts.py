"""The parts of which pages are made: words, bars, chips, labels, headings, events."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.competitions.models import ParticipationState
from gauntlet.competitions.selectors import PhaseState
from gauntlet.evaluation.states import EvaluationState
from gauntlet.submissions.states import SubmissionState
from gauntlet.web import trajectory_page, wording
from gauntlet.web.board_page import css_string
from gauntlet.web.templatetags import gauntlet_ui as ui
from gauntlet_scoring.failures import FailureCode, Owner
from gauntlet_scoring.trajectory import read_events

BEGAN = datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_every_failure_has_a_next_step_and_every_owner_a_sentence():
    assert set(wording.NEXT_STEP) == set(FailureCode)
    assert set(wording.FAULT) == set(wording.FAULT_SENTENCE) == set(Owner)


def test_every_state_has_a_chip_with_a_drawing_and_a_word():
    states = [*SubmissionState, *EvaluationState, *ParticipationState, *PhaseState]
    chips = {str(state): ui.chip(str(state)) for state in states}
    for state, chip in chips.items():
        assert "#" in chip, state
        assert re.sub("<[^>]+>", "", chip).strip(), state
    assert "#dot" not in "".join(html for state, html in chips.items() if state != "accepted")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0, "0 s"),
        (2.64, "2.6 s"),
        (59.4, "59 s"),
        (61, "1 min 1 s"),
        (3 * 3600 + 125, "3 h 2 min"),
        (12 * 86400 + 4 * 3600, "12 d 4 h"),
    ],
)
def test_durations(seconds, words):
    assert ui.duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "1 byte"), (999, "999 bytes"), (12_480_000, "12.4 MB"), (1 << 30, "1.07 GB"), (512_000_000, "512 MB")],
)
def test_sizes_never_promise_more_than_there_is(count, words):
    assert ui.size(count) == words


@given(st.text())
def test_a_label_cannot_end_its_string_or_its_sheet(title):
    escaped = css_string(title)
    assert re.fullmatch(r"[A-Za-z0-9\\ ]*", escaped)
    back = re.sub(r"\\([0-9a-f]+) ", lambda found: chr(int(found[1], 16)), escaped)
    assert back == title


def test_bars_stand_on_one_scale_and_stay_inside_it():
    def path(value, low=None, high=None):
        return ui.bar(SimpleNamespace(value=value, low=low, high=high), 0.0, 1.0)

    assert path(0.5, 0.25, 0.75) == '<svg><path d="M30 6H90M60 1v10"/></svg>'
    assert path(2.0) == '<svg><path d="M120 1v10"/></svg>'
    assert path(-1.0, -2.0, 0.0) == '<svg><path d="M0 6H0M0 1v10"/></svg>'
    assert ui.bar(None, 0.0, 1.0) == ui.bar(SimpleNamespace(value=1), 1.0, 1.0) == "<svg></svg>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<h1>A</h1><h2>B</h2><h2>C</h2>", "<h3>A</h3><h4>B</h4><h4>C</h4>"),
        ("<h2>A</h2><p>x</p><h4>B</h4><h2>C</h2>", "<h3>A</h3><p>x</p><h4>B</h4><h3>C</h3>"),
        ("<h3>A</h3><h1>B</h1>", "<h3>A</h3><h3>B</h3>"),
        ("<p>no heading</p><hr>", "<p>no heading</p><hr>"),
    ],
)
def test_organizers_headings_go_on_where_the_page_stopped(before, after):
    assert ui.demote(before) == after


def test_a_countdown_is_right_without_a_script():
    html = ui.until(datetime.now(tz=UTC) + timedelta(days=2, hours=3, minutes=1), "in", True)
    assert ">in 2 d 3 h<" in html
    assert " data-reload" in html
    assert ">now<" in ui.until(datetime.now(tz=UTC) - timedelta(seconds=1))


def events(*rows):
    common = {"at": BEGAN.isoformat(), "episode": "e", "turn": 0}
    return read_events(json.dumps({**common, "seq": number, **row}) for number, row in enumerate(rows))


def test_a_long_result_is_folded_and_cut_and_a_short_one_stands_open():
    long = {"kind": "tool_result", "call": "c", "tool": "get", "is_error": False, "seconds": 0.01, "text": "x" * 9000}
    short = {**long, "text": "12", "is_error": True}
    kept = {**long, "text": None, "blob": "sha256:ab"}
    (folded, plain, beside), cut = trajectory_page.lines(events(long, short, kept))
    assert not cut
    assert folded.summary == "get: 9,000 characters"
    assert folded.folded.endswith("3,000 more characters")
    assert (plain.title, plain.text, plain.folded) == ("Tool error", "12", "")
    assert beside.text == "kept beside the record as sha256:ab"


def test_an_end_by_failure_says_whose_fault_it_was():
    end = {"kind": "end", "outcome": "failed", "failure": "environment_error", "message": "It died.", "seconds": 2}
    (line,), _ = trajectory_page.lines(events(end))
    assert line.text.startswith("It died. The cause lies in the competition, not in your agent.")
    assert line.look == "endfail"


def test_a_plan_counts_its_steps_from_one():
    steps = [{"instruction": "a"}, {"agent": "w", "instruction": "b", "depends_on": [0]}]
    (line,), _ = trajectory_page.lines(events({"kind": "plan", "steps": steps}))
    assert [(step.agent, step.after) for step in line.steps] == [("", ""), ("w", "1")]


def test_calls_made_at_the_same_time_are_marked():
    call = {"kind": "tool_call", "call": "c", "tool": "get", "arguments": {"x": "é"}, "overlaps": True}
    (line,), _ = trajectory_page.lines(events(call))
    assert line.text == 'get(x="é")'
    assert line.aside == "while another call was open"


def test_a_record_of_whatever_size_makes_a_page_of_bounded_size_and_is_not_read_to_its_end():
    huge = {"tool": "t" * 50_000, "arguments": {"x": "y" * 50_000}}
    steps = [{"agent": "w" * 50_000, "instruction": "b" * 50_000}] * 200

    def endless():
        yield from events({"kind": "plan", "steps": steps})
        while True:
            yield from events({"kind": "tool_call", "call": "c", **huge})

    shown, cut = trajectory_page.lines(endless(), most=3)
    assert (len(shown), cut) == (3, True)
    plan, call, _ = shown
    assert (len(plan.steps), plan.aside) == (100, "the first 100 of 200 steps")
    assert max(len(step.agent) + len(step.instruction) for step in plan.steps) < 5_000
    assert len(call.summary) + len(call.folded) < 7_000
