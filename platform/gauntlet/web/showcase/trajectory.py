"""A recorded episode, for the trajectory's page."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import datetime, timedelta
from typing import Any

from gauntlet.storage.models import Artifact, Form
from gauntlet.storage.services import store


def store_trajectory(*, episode: str, scenario: str, text: str, began: datetime) -> Artifact:
    """Store a zip with the trajectory of an episode that calls tools, fails once, and answers."""
    orders = {"rows": [{"id": f"WO-{n}", "type": "preventive", "opened": f"2021-0{7 + n % 3}-1{n}"} for n in range(6)]}
    plan = [
        {"agent": "records", "instruction": "List the equipment and find the one that is meant."},
        {"agent": "records", "instruction": "Get its work orders of the period.", "depends_on": [0]},
        {"agent": "writer", "instruction": "Count the preventive ones and say what was counted.", "depends_on": [1]},
    ]
    tools = ["list_equipment", "get_work_orders", "get_events"]
    call, result, window = "get_work_orders", "tool_result", {"since": "2021-07-01", "until": "2021-12-31"}
    ok: dict[str, Any] = {"is_error": False, "text": None}
    small, used = {"model": "small"}, {"prompt_tokens": 812, "completion_tokens": 64, "cost": "0.00016"}
    asked = {**small, "messages": [{"role": "user", "content": "Which of these orders are preventive?"}]}
    said = {"choices": [{"message": {"role": "assistant", "content": "All six of them."}, "finish_reason": "stop"}]}
    rows: list[dict[str, Any]] = [
        {"kind": "scenario", "scenario": scenario, "trial": 1, "seed": 11, "text": text, "tools": tools},
        {"kind": "plan", "steps": plan},
        {"kind": "note", "text": "Half of the equipment has two names. Ask the list first."},
        {"kind": "tool_call", "call": "c1", "tool": "list_equipment", "arguments": {}},
        {
            "kind": result,
            "call": "c1",
            "tool": "list_equipment",
            "seconds": 0.004,
            **ok,
            "structured": ["CH-6", "AHU-2"],
        },
        {"kind": "tool_call", "call": "c2", "tool": call, "arguments": {"equipment": "chiller 6", **window}},
        {"kind": result, "call": "c2", "tool": call, "seconds": 0.003, "is_error": True, "text": "no such equipment"},
        {"kind": "tool_call", "call": "c3", "tool": call, "arguments": {"equipment": "CH-6", **window}},
        {"kind": result, "call": "c3", "tool": call, "seconds": 0.007, **ok, "structured": orders},
        {"kind": "message", "role": "agent", "text": "Do you count inspections as preventive?"},
        {"kind": "message", "role": "user", "text": "Yes, if the record says so."},
        {"kind": "model_call", "call": "m0", **small, "endpoint": "chat/completions", "request": asked},
        {"kind": "model_result", "call": "m0", **small, "status": 200, **used, "seconds": 0.9, "response": said},
        {
            "kind": "answer",
            "text": "Six work orders of chiller 6 were preventive between July and December 2021.",
            "data": 6,
        },
        {"kind": "end", "outcome": "answered", "seconds": 3.4},
    ]
    lines = []
    turn = 0
    for seq, row in enumerate(rows):
        at = began + timedelta(seconds=seq * 0.25)
        lines.append(json.dumps({"seq": seq, "at": at.isoformat(), "episode": episode, "turn": turn, **row}))
        turn += row["kind"] in {"tool_call", "message"}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trajectory.jsonl", "\n".join(lines))
    packed.seek(0)
    return store(packed, form=Form.ZIP)
