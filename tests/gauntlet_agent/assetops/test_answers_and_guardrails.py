"""What is found becomes an answer in the shape that is asked for, and what must not go out is cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gauntlet_agent.assetops import Report, Request, Review, Settings, Trajectory, compose
from gauntlet_agent.assetops.answering import by_rules, final_answer
from gauntlet_agent.assetops.desk import NotMyTool, Workplace
from gauntlet_agent.assetops.guardrails import Candidate, choose, clean, compress
from gauntlet_agent.assetops.report import KNOWN, LONGEST
from gauntlet_agent.assetops.settings import BadSetting
from gauntlet_agent.rehearsal import Rehearsal

SHOW = {"answer_format": {"work_orders": "integer, how many", "codes": "list of text"}}


@pytest.mark.parametrize(
    ("kind", "found", "value"),
    [
        ("integer, how many", [1, 2, 3], 3),
        ("integer, how many", "12", 12),
        ("number, kW", "12.5", 12.5),
        ("list of text, names", "only", ["only"]),
        ("true or false", 3, True),
        ("true or false", "yes", None),
        ("date, YYYY-MM-DD", "2020-06-01T08:00:00", "2020-06-01"),
        ("month, YYYY-MM", "2020-06-01", "2020-06"),
        ("text, the code", ["ME01"], "ME01"),
        ("text, the code", {"a": 1}, None),
    ],
)
def test_a_value_takes_the_kind_that_is_described(kind: str, found: Any, value: Any) -> None:
    assert compose({"answer_format": {"field": kind}}, [{"field": found}]).get("field") == value


def test_later_steps_come_first_and_other_names_are_understood() -> None:
    show = {"answer_format": {"highest": "number", "asset": "text", "file": "text"}}
    found = [{"max": 1.5, "equipment_name": "Chiller 1"}, {"max": 2.5, "result_file": "r.json", "unasked": 1}]
    assert compose(show, found) == {"highest": 2.5, "asset": "Chiller 1", "file": "r.json"}


def test_a_failed_step_makes_a_refusal_only_where_something_is_missing() -> None:
    good = Report.of("two", {"work_orders": 2})
    bad = Report.failed("There is no Chiller 9.")
    assert by_rules(SHOW, [good, bad]).data == {"abstain": True}
    assert by_rules({"answer_format": {"work_orders": "integer"}}, [good, bad]).data == {"work_orders": 2}
    assert by_rules(SHOW, []).data == {"abstain": True}


def test_the_candidate_with_most_of_what_is_asked_for_is_chosen() -> None:
    whole = Candidate("rules", "a", {"work_orders": 1, "codes": []})
    part = Candidate("model", "b", {"work_orders": 1, "weather": "fine"})
    none = Candidate("model", "c", {"abstain": True})
    assert choose([none, part, whole], SHOW) == whole
    assert choose([none, Candidate("rules", "", {})], SHOW) == none
    assert choose([part, Candidate("rules", "d", {"work_orders": 2})], SHOW) == part
    (text, data), source = final_answer(SHOW, [part])
    assert (text, data, source) == ("b", {"work_orders": 1}, "model")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("<think>Let me see</think>Two.", "Two."),
        ("Thought: count\nAction: x\nFinal Answer: Two repairs.", "Two repairs."),
        ("Answer: Two.\nAnswer: Two.", "Two."),
        ("```\nTwo.\n```<|eot_id|>", "Two."),
        ("#Task1: Count.\nTwo.", "Two."),
        ("Observation: it is so", "Observation: it is so"),
    ],
)
def test_what_does_not_belong_into_an_answer_is_cut(said: str, kept: str) -> None:
    assert clean(said) == kept


def test_observations_keep_their_beginning_and_end() -> None:
    text = compress("begin " + "x" * 5000 + " end", limit=400)
    assert text.startswith("begin")
    assert text.endswith(" end")
    assert len(text) < 500


def test_a_request_carries_what_is_known_and_stays_short() -> None:
    request = Request("Count them.", {"file_path": "a.json", "rows": list(range(9000))})
    text = str(request)
    assert len(text) < LONGEST + 200
    again = Request.read(text)
    assert again.words == "Count them."
    assert again.known["file_path"] == "a.json"
    assert again.known["rows"] == "left out: 9000 entries"
    assert Request.read(f"Count.\n{KNOWN}\nnothing of use").words.startswith("Count.")


def nothing() -> dict[str, Any]:
    """Answers with nothing."""
    return {}


def test_an_agent_has_its_own_servers_tools_and_no_distractors() -> None:
    tools = dict.fromkeys(("history", "aitasks", "jsonreader", "list_workorders", "echo_agent"), nothing)
    episode = Rehearsal("?", tools=tools)
    place = Workplace(episode, episode.tools())
    assert set(place.desk("IoTAgent").tools) == {"history", "jsonreader"}
    assert set(place.desk("WOAgent").tools) == {"list_workorders", "jsonreader"}
    with pytest.raises(NotMyTool):
        place.desk("IoTAgent").call("list_workorders")
    assert episode.calls == []


def test_what_was_read_is_not_read_again_and_what_writes_is() -> None:
    episode = Rehearsal("?", tools={"sites": lambda: ["A"], "history": lambda: {"file_path": "x"}})
    desk = Workplace(episode, episode.tools()).desk("IoTAgent")
    for _ in range(2):
        assert desk.call("sites") == ["A"]
        desk.call("history")
    assert [name for name, _ in episode.calls] == ["sites", "history", "history"]


def test_the_record_says_what_happened_and_fits_into_a_note() -> None:
    episode = Rehearsal("?", tools={"sites": lambda: ["A"]})
    place = Workplace(episode, episode.tools())
    place.desk("IoTAgent").call("sites")
    record = Trajectory("How many?", "test")
    record.review = Review("accomplished").as_json()
    for _ in range(60):
        record.add("delegate", "done", agent="IoTAgent", observation="x" * 800)
    told = json.loads(Trajectory("q", "t").note(place))
    assert told["tool_calls"][0]["tool"] == "sites"
    assert told["tool_calls"][0]["state"] == "done"
    assert len(record.note(place)) <= 8000 * 3
    assert record.as_json(place)["number_of_steps"] == 60


def test_settings_come_from_the_file_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings.yaml").write_text("model: any\nexamples: off\nmax_steps: 5\n")
    monkeypatch.setenv("KIT_MAX_STEPS", "7")
    settings = Settings.read(tmp_path)
    assert (settings.model, settings.examples, settings.max_steps) == ("any", False, 7)
    assert settings.uses_model
    assert not Settings.read(tmp_path / "elsewhere").uses_model


@pytest.mark.parametrize("text", ["speed: 3", "max_steps: none", "max_steps: 0", "examples: perhaps", "- a"])
def test_a_setting_without_meaning_stops_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    with pytest.raises(BadSetting):
        Settings.read(tmp_path)
