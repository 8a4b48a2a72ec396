"""`manage.py check_sandbox`: the table, and an exit status that an operator's script can trust."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

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
