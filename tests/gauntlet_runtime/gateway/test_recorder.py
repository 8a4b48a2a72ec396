"""The record on its own: what is written, in what form, and how it is packed."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
import zipfile

import pytest

from gauntlet_runtime.gateway.recorder import Recorder, pack
from gauntlet_scoring.trajectory import Outcome, read_events


def opened(folder, *, limit=1 << 20, on_full=lambda: None):
    recorder = Recorder(folder, episode="e", limit=limit, on_full=on_full)
    recorder.scenario(scenario="s", trial=1, seed=1, text="t", show={}, tools=["a"])
    return recorder


def events(folder):
    return list(read_events((folder / "trajectory.jsonl").read_bytes().splitlines()))


def test_nothing_is_written_after_the_end(tmp_path):
    recorder = opened(tmp_path / "r")
    recorder.end(Outcome.ANSWERED, failure=None, message="", seconds=1.0, state=None)
    recorder.note("late")
    recorder.tool_result("c0", tool="a", result={"content": []}, seconds=0.1)
    assert [event.kind for event in events(tmp_path / "r")] == ["scenario", "end"]


def test_an_event_is_one_line_for_every_reader_of_lines(tmp_path):
    recorder = opened(tmp_path / "r")
    said = "a\nb\r\x0b\x0c\x1c\x85c\N{LINE SEPARATOR}d\N{PARAGRAPH SEPARATOR}e"
    recorder.note(said)
    lines = (tmp_path / "r/trajectory.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert json.loads(lines[1])["text"] == said


def test_what_is_no_text_is_named_in_the_text(tmp_path):
    recorder = opened(tmp_path / "r")
    call = recorder.tool_call("a", {}, overlaps=False)
    content = [{"type": "text", "text": "one"}, {"type": "image", "data": "…"}, {"type": "text", "text": "two"}]
    recorder.tool_result(call, tool="a", result={"content": content}, seconds=0.1)
    assert events(tmp_path / "r")[-1].text == "one\n[image content]\ntwo"


def test_equal_large_results_are_kept_once(tmp_path):
    recorder = opened(tmp_path / "r")
    for _ in range(2):
        call = recorder.tool_call("a", {}, overlaps=False)
        recorder.tool_result(call, tool="a", result={"content": [{"type": "text", "text": "x" * 70_000}]}, seconds=0.1)
    recorder.end(Outcome.ANSWERED, failure=None, message="", seconds=1.0, state=None)
    with zipfile.ZipFile(pack(tmp_path / "r", tmp_path / "r.zip")) as archive:
        names = archive.namelist()
        blob = archive.read(names[1])
    assert len(names) == 2
    assert len(blob) > 70_000
    assert blob == next((tmp_path / "r/blobs").iterdir()).read_bytes()


def test_what_is_kept_beside_the_record_is_json_for_every_reader(tmp_path):
    """An environment in Python may well give NaN: beside the record it is what it is in it, and what the agent gets."""
    recorder = opened(tmp_path / "r")
    call = recorder.tool_call("a", {}, overlaps=False)
    levels = [float("nan"), float("inf"), 1.5]
    for filling in ("", "x" * 70_000):
        result = {"content": [], "structuredContent": {"levels": levels, "filling": filling}}
        recorder.tool_result(call, tool="a", result=result, seconds=0.1)
    inline = events(tmp_path / "r")[-2].structured
    blob = (tmp_path / "r/blobs" / events(tmp_path / "r")[-1].blob).read_text()
    beside = json.loads(blob, parse_constant=lambda name: f"{name} is no JSON")["structured"]
    assert inline["levels"] == beside["levels"] == [None, None, 1.5]


def test_a_record_beyond_its_limit_says_so_once_whatever_it_grew_by(tmp_path):
    told = []
    by_blob = opened(tmp_path / "blob", limit=100_000, on_full=lambda: told.append("blob"))
    for _ in range(2):
        call = by_blob.tool_call("a", {}, overlaps=False)
        result = {"content": [{"type": "text", "text": "x" * 70_000}]}
        by_blob.tool_result(call, tool="a", result=result, seconds=0.1)
        by_blob.note("y" * 20_000)
    by_line = opened(tmp_path / "line", limit=100_000, on_full=lambda: told.append("line"))
    for _ in range(4):
        by_line.note("x" * 24_000)
    assert told == ["blob"]
    for _ in range(4):
        by_line.note("x" * 24_000)
    assert told == ["blob", "line"]
    assert [event.kind for event in events(tmp_path / "line")] == ["scenario", *["note"] * 8]


def test_a_large_record_is_packed_without_being_held_in_memory(tmp_path):
    (tmp_path / "r").mkdir()
    with (tmp_path / "r/trajectory.jsonl").open("wb") as file:
        file.truncate(64 << 20)
    tracemalloc.start()
    packed = pack(tmp_path / "r", tmp_path / "r.zip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20
    with zipfile.ZipFile(packed) as archive:
        assert archive.getinfo("trajectory.jsonl").file_size == 64 << 20


@pytest.mark.parametrize(
    ("no_room", "said"),
    [
        pytest.param("resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))", "x" * 600, id="a line"),
        pytest.param("resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))", "x" * 70_000, id="what stands beside it"),
        pytest.param("(folder / 'blobs').touch()", "x" * 70_000, id="the folder of what stands beside it"),
    ],
)
def test_a_gateway_that_cannot_write_its_record_ends_before_the_agent_sees_what_is_missing(tmp_path, no_room, said):
    gateway = f"""
import resource
from pathlib import Path
from gauntlet_runtime.gateway.recorder import Recorder

folder = Path({str(tmp_path / "r")!r})
recorder = Recorder(folder, episode="e", limit=1 << 20, on_full=lambda: None)
call = recorder.tool_call("a", {{}}, overlaps=False)
{no_room}
recorder.tool_result(call, tool="a", result={{"content": [{{"type": "text", "text": {said!r}}}]}}, seconds=0.1)
print("the agent is told the result")
"""
    done = subprocess.run([sys.executable, "-c", gateway], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 70)
    assert "the record cannot be written" in done.stderr
