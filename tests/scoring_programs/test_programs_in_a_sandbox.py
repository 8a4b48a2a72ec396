"""The programs under the conditions of a sandbox: no account, no environment, no network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)  # the first test may have to install torch

PROGRAMS = Path(__file__).resolve().parents[2] / "scoring_programs"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("rubric", "task_completion"),
        ("rouge", "plan_rougeL"),
        ("bertscore", "s_combined"),
        ("execution", "plan_coverage"),
        ("hybrid", "planning_score"),
    ],
)
def test_a_program_needs_neither_account_nor_environment_nor_network(evaluation, scorer_python, name, key):
    evaluation.truth()
    evaluation.answered(plan=[("WOAgent", "get the work orders")], data={"count": 33})
    root = evaluation.write()
    (root / "output").mkdir()
    python = scorer_python if name in ("bertscore", "hybrid") else sys.executable
    inside = "/tmp/app"  # where the evaluation is bound; the folders of the test lie under the hidden /tmp
    command = ["bwrap", "--unshare-user", "--uid", "54321", "--gid", "54321", "--unshare-net", "--unshare-pid"]
    command += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    command += ["--ro-bind", str(PROGRAMS.parent), str(PROGRAMS.parent)]  # again: it may lie under /tmp
    command += ["--ro-bind", str(root), inside, "--bind", str(root / "output"), f"{inside}/output"]
    command += ["--clearenv", "--chdir", str(PROGRAMS / name)]
    done = subprocess.run([*command, python, "score.py", inside], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((root / "output/scores.json").read_text())[key] == 1.0
