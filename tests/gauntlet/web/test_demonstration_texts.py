"""What the demonstration prints: who stands where, the boards, and one agent with and without distractors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gauntlet import demonstration
from gauntlet.leaderboards.selectors import Cell


def column(key: str, title: str, **where: list[str]) -> Any:
    return SimpleNamespace(key=key, title=title, where=where, precision=2)


def found_board(**scores: dict[str, float]) -> Any:
    columns = [column("y1", "Task"), column("y2", "Retrieval"), column("of_iot", "IoT", type=["IoT"])]
    rows = [
        SimpleNamespace(
            rank=rank, participant=name, cells={key: Cell(value, None, None, 2) for key, value in cells.items()}
        )
        for rank, (name, cells) in enumerate(scores.items(), start=1)
    ]
    return SimpleNamespace(columns=columns, rows=rows)


def test_a_comparison_sets_both_phases_scores_side_by_side_and_leaves_out_who_is_in_one_alone() -> None:
    plain = found_board(ada={"y1": 0.9, "y2": 0.8}, bob={"y1": 0.5, "y2": 0.5})
    distracted = found_board(ada={"y1": 0.7})
    text = demonstration.comparison_text(plain, distracted, ("y1", "y2"))
    head, line = text.splitlines()
    assert head.split("  ")[0] == "participant"
    assert "Task without  Task with" in head
    assert line.split() == ["ada", "0.90", "0.70", "0.80", "–"]


def test_a_board_is_told_whole_and_by_parts() -> None:
    found = found_board(ada={"y1": 0.9, "y2": 0.8, "of_iot": 1.0})
    whole, parts = demonstration.whole_columns(found), demonstration.part_columns(found, "type")
    assert [one.key for one in whole] == ["y1", "y2"]
    assert [one.key for one in parts] == ["of_iot"]
    assert demonstration.board_text(found, whole).splitlines()[1].split() == ["1", "ada", "0.90", "0.80"]


def test_progress_counts_those_that_are_through_and_names_the_others() -> None:
    entries = demonstration.entries()
    stories: list[Any] = [
        SimpleNamespace(
            final=number < 2, status="running", evaluations=[SimpleNamespace(episodes_done=3, episodes_total=9)]
        )
        for number in range(len(entries))
    ]
    line = demonstration.progress_line(entries, stories)
    assert line.startswith(f"2 of {len(entries)} done   carl (execution) running 3/9")
    assert "bob (execution)" not in line


def test_every_agent_of_the_demonstration_is_there_and_both_tracks_and_kits_are_used() -> None:
    entries = demonstration.entries()
    assert all((entry.folder / "agent.yaml").is_file() for entry in entries)
    kits = {Path(entry.folder).name for entry in entries if entry.expected == "finished"}
    assert kits == {"agent_as_tool", "plan_execute", "gullible"}
    assert {entry.track for entry in entries} == set(demonstration.TRACKS)
    distracted = {(entry.participant, entry.track) for entry in entries if entry.phase == demonstration.DISTRACTED}
    plain = {(entry.participant, entry.track) for entry in entries if entry.phase == demonstration.TEST}
    assert distracted
    assert distracted <= plain
