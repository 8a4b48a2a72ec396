"""Scores the zoo's records: the share of episodes whose recorded answer is the reference's."""

import json
from pathlib import Path

INPUT, OUTPUT = Path("/app/input"), Path("/app/output")
truth = json.loads((INPUT / "ref/ground_truth.jsonl").read_text())["answer"]
rows = [json.loads(line) for line in (INPUT / "res/episodes.jsonl").read_text().splitlines()]


def is_right(row):
    if row["outcome"] != "answered":
        return False
    events = [json.loads(line) for line in (INPUT / "res" / row["trajectory"]).read_text().splitlines()]
    return any(event["kind"] == "answer" and event["text"] == truth for event in events)


(OUTPUT / "scores.json").write_text(json.dumps({"right": sum(map(is_right, rows)) / len(rows)}))
