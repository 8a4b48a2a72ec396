"""`manage.py check_sandbox`: the table, and an exit status that an operator's script can trust."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from gauntlet_runtime.sandbox.bubblewrap import Bubblewrap
from gauntlet_runtime.sandbox.interface import Enforcement
from gauntlet_runtime.zoo.keeper import Keeper

pytestmark = pytest.mark.zoo
ZOO = settings.BASE_DIR / "tests" / "security" / "zoo"
CHOSEN = ("agent/ptrace", "scorer/no_number")


@pytest.fixture
def var(settings, tmp_path) -> Path:
    tmp_path.chmod(0o755)
    settings.VAR = tmp_path / "var"
    return settings.VAR


def check(**options) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("check_sandbox", backend="bubblewrap", stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def test_it_prints_the_table_and_leaves_nothing(var):
    out, err = check(only=list(CHOSEN))
    assert "2 programs: 2 of 2 verdicts as declared" in out
    assert "bubblewrap, gauntlet/agent sha256:" in err
    assert list(var.glob("check-sandbox-*")) == []


def test_a_program_with_another_verdict_than_declared_fails_the_command(var, tmp_path):
    zoo = tmp_path / "zoo"
    shutil.copytree(ZOO, zoo)
    program = zoo / "agent" / "ptrace.py"
    program.write_text(program.read_text().replace("said: [EPERM,", "said: [allowed,"))
    with pytest.raises(CommandError, match="by: agent/ptrace"):
        check(only=list(CHOSEN), zoo=zoo)


def test_without_the_zoo_it_says_where_it_belongs(var, tmp_path):
    with pytest.raises(CommandError, match="part of the repository"):
        check(zoo=tmp_path)


def test_a_name_that_no_program_has_is_told(var):
    with pytest.raises(CommandError, match="harmless"):
        check(only=["harmless"])


def test_it_prints_the_same_as_json(var):
    found = json.loads(check(only=list(CHOSEN), json=True)[0])
    assert (found["backend"], found["best_effort"]) == ("bubblewrap", [])
    assert found["image"].startswith("sha256:")
    assert [(one["program"], one["got"], one["ok"]) for one in found["programs"]] == [
        ("agent/ptrace", "finished, answered", True),
        ("scorer/no_number", "failed, scoring_error", True),
    ]


def test_what_a_host_cannot_enforce_is_not_run_and_it_says_what_to_do(var, monkeypatch):
    limits = dict.fromkeys(["memory", "cpus", "processes", "output", "scratch", "uid", "seccomp"], Enforcement.ENFORCED)
    weaker = {**limits, "memory": Enforcement.BEST_EFFORT}
    monkeypatch.setattr(Bubblewrap, "enforcement", lambda self: weaker)
    out, err = check(only=["memory_by_heap", "ptrace"])
    assert "not run             needs memory" in out
    assert "2 programs: 1 of 1 verdicts as declared, 1 not run" in out
    assert "holds memory only at best effort here. Give the container in which the workers run a /sys/fs/cgroup" in out
    assert "best effort for: memory" in err


def test_a_check_that_fails_itself_is_a_wrong_row_and_the_others_are_run(var, monkeypatch):
    judged = Keeper._tried

    def broken(self, case, expected):
        return judged(self, case, expected) if case.program.name == "agent/ptrace" else 1 // 0

    monkeypatch.setattr(Keeper, "_tried", broken)
    with pytest.raises(CommandError, match=r"by: scorer/no_number$"):
        check(only=list(CHOSEN))


def test_another_users_folder_is_told_without_a_traceback(tmp_path):
    folder = tmp_path / "var"
    folder.mkdir(mode=0o700)
    os.chown(folder, 54321, 54321)
    without_rights = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]  # root is everybody else then
    done = subprocess.run(
        [*without_rights, sys.executable, "manage.py", "check_sandbox"],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], "GAUNTLET_VAR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "which is another user's" in done.stderr
