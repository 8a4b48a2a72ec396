"""The check of a received bundle: accepted with what a worker needs, or rejected with a sentence and findings."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.accounts.selectors import events_of
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact
from gauntlet.submissions import agent_file, checks
from gauntlet.submissions.models import Submission
from gauntlet.submissions.services import check_next

pytestmark = pytest.mark.django_db


class _NoSandbox:
    """Stands where a sandbox is not needed; a check that asks it for anything fails."""


@pytest.fixture
def check() -> Callable[..., list[Submission]]:
    """Check the next submission; what was accepted."""

    def run(on_accept: Callable[[Submission], object] | None = None) -> list[Submission]:
        accepted: list[Submission] = []
        assert check_next(sandbox=_NoSandbox(), on_accept=on_accept or accepted.append)  # type: ignore[arg-type]
        return accepted

    return run


@pytest.fixture
def received(make_phase: Any, make_participant: Callable[[Any], User], send: Any) -> Callable[..., Submission]:
    """A submission that was just received."""

    def make(content: bytes | None = None, **more: Any) -> Submission:
        phase = make_phase()
        submission: Submission = send(phase, make_participant(phase), content, **more)
        return submission

    return make


def test_there_is_nothing_to_check(received: Any) -> None:
    assert not check_next(sandbox=_NoSandbox(), on_accept=lambda one: None)  # type: ignore[arg-type]


def test_a_good_bundle_is_accepted(received: Any, check: Any, agent_zip: Any) -> None:
    submission = received(agent_zip(agent__yaml="name: My agent\ncommand: python 'agent.py' --fast\nmodel: m-1\n"))
    (accepted,) = check()
    assert accepted == submission
    submission.refresh_from_db()
    assert submission.state == "accepted"
    assert submission.name == "My agent"
    assert submission.agent == {"name": "My agent", "command": ["python", "agent.py", "--fast"], "model": "m-1"}
    assert (submission.findings, submission.packages, submission.failure_code) == ([], None, "")
    assert submission.checked_at is not None
    assert [event.name for event in events_of(submission)] == [
        "submission.received",
        "submission.checking",
        "submission.accepted",
    ]


def test_a_name_that_was_given_stays(received: Any, check: Any) -> None:
    submission = received(name="Number seven")
    check()
    submission.refresh_from_db()
    assert submission.name == "Number seven"


def test_the_bundle_for_workers_lacks_the_nested_folder_and_what_systems_leave(
    received: Any, check: Any, zip_of: Any
) -> None:
    files = {
        "agent/agent.yaml": b"\xef\xbb\xbfname: x\r\ncommand: [python, src/a.py]\r\n",
        "agent/src/a.py": b"print()",
        "__MACOSX/agent/._agent.yaml": b"\0",
        "agent/.DS_Store": b"\0",
    }
    submission = received(zip_of(files))
    check()
    submission.refresh_from_db()
    assert submission.state == "accepted", submission.findings
    assert submission.agent_bundle is not None
    assert submission.agent_bundle.form == "zip"
    with open_artifact(submission.agent_bundle) as archive:
        assert zipfile.ZipFile(archive).namelist() == ["agent.yaml", "src/a.py"]


REJECTED: dict[str, tuple[dict[str, str | bytes | None], str, str]] = {
    "no agent.yaml": ({"agent__yaml": None}, "agent.yaml: is missing", "agent.yaml"),
    "another spelling": ({"agent__yaml": None, "agent__yml": "name: x"}, "Did you mean 'agent.yml'?", "agent.yaml"),
    "no name": ({"agent__yaml": "command: python agent.py\n"}, "agent.yaml, line 1: name is missing.", "agent.yaml"),
    "no command": ({"agent__yaml": "name: x\n"}, "line 1: command is missing", "agent.yaml"),
    "empty command": ({"agent__yaml": "name: x\ncommand: []\n"}, "line 2: command must not be empty", "agent.yaml"),
    "a shell line": ({"agent__yaml": "name: x\ncommand: a | b\n"}, "without a shell", "agent.yaml"),
    "a quotation": ({"agent__yaml": 'name: x\ncommand: python "a\n'}, "quotation mark", "agent.yaml"),
    "script missing": ({"agent__py": None, "agents__py": ""}, "'agents.py'", "agent.yaml"),
    "a long command": ({"agent__yaml": f"name: x\ncommand: [x, {'y' * 70_000}]\n"}, "70001 bytes", "agent.yaml"),
    "a long script": ({"agent__yaml": f"name: x\ncommand: sh {'y' * 300}.sh\n"}, "not in the bundle", "agent.yaml"),
    "script outside": ({"agent__yaml": "name: x\ncommand: python ../a.py\n"}, "not in the bundle", "agent.yaml"),
    "not YAML": ({"agent__yaml": "name: [x\n"}, "not YAML", "agent.yaml"),
    "not text": ({"agent__yaml": b"\xff\xfe"}, "UTF-8", "agent.yaml"),
    "a long name": ({"agent__yaml": f"name: {'x' * 201}\ncommand: python agent.py\n"}, "201", "agent.yaml"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_a_wrong_description_is_rejected_with_the_line(case: str, received: Any, check: Any, agent_zip: Any) -> None:
    changes, words, file = REJECTED[case]
    submission = received(agent_zip(**changes))
    assert check() == []
    submission.refresh_from_db()
    assert (submission.state, submission.failure_code) == ("rejected", "invalid_bundle")
    assert words in submission.failure_message
    assert submission.findings[0]["file"] == file
    assert submission.counts_as == "failed_start"
    assert (submission.agent, submission.agent_bundle) == ({}, None)
    assert [event.name for event in events_of(submission)][-2:] == ["submission.rejected", "submission.failed_start"]


@pytest.mark.django_db
@pytest.mark.parametrize(("model", "accepted"), [("wise", False), ("Ours/Wise-2026-01-31", False), ("wise-mini", True)])
def test_an_agent_that_names_the_phases_judge_is_refused_with_the_reason(
    received: Any, check: Any, agent_zip: Any, model: str, accepted: bool
) -> None:
    submission = received(agent_zip(agent__yaml=f"name: x\ncommand: python agent.py\nmodel: {model}\n"))
    submission.phase.tasks.update(judge={"model": "wise", "provider": "ours", "cost_budget": "1"})
    check()
    submission.refresh_from_db()
    assert (submission.state == "accepted") is accepted
    assert (
        "'wise' judges this phase: a model may not judge its own work" in submission.failure_message
    ) is not accepted


def test_an_unknown_key_and_another_image_are_told_and_not_refused(received: Any, check: Any, agent_zip: Any) -> None:
    text = "name: x\ncommand: python agent.py\nparadygm: react\nimage: mine\n"
    submission = received(agent_zip(agent__yaml=text))
    assert check() == [submission]
    submission.refresh_from_db()
    told = [(f["level"], f["line"], f["field"]) for f in submission.findings]
    assert told == [("warning", 3, "paradygm"), ("warning", 4, "image")]
    assert "'paradigm'" in submission.findings[0]["message"]


@pytest.mark.security
@pytest.mark.parametrize(
    "content",
    [b"not a zip", b"PK\x05\x06" + b"\0" * 18, b"\x1f\x8b" + b"x" * 100],
    ids=["text", "empty zip", "gzip"],
)
def test_what_is_no_bundle_is_rejected(content: bytes, received: Any, check: Any) -> None:
    submission = received(content)
    check()
    submission.refresh_from_db()
    assert (submission.state, submission.failure_code) == ("rejected", "invalid_bundle")


@pytest.mark.security
def test_a_hostile_archive_is_rejected_naming_the_entry_and_leaves_nothing(
    received: Any, check: Any, settings: Any, zip_of: Any
) -> None:
    submission = received(zip_of({"agent.yaml": "name: x", "../../evil.py": "x", "/abs": "y"}))
    before = Artifact.objects.count()
    check()
    submission.refresh_from_db()
    assert submission.state == "rejected"
    assert {finding["file"] for finding in submission.findings} == {"../../evil.py", "/abs"}
    assert Artifact.objects.count() == before
    assert list(Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir()) == []


def test_the_oldest_is_checked_first(make_phase: Any, make_participant: Any, send: Any, check: Any) -> None:
    phase = make_phase()
    first, second = (send(phase, make_participant(phase)) for _ in range(2))
    assert check() == [first]
    assert check() == [second]


def test_participants_take_turns_with_their_checks(
    make_phase: Any, make_participant: Any, send: Any, check: Any
) -> None:
    phase = make_phase(max_submissions_per_day=None)
    busy, single = make_participant(phase), make_participant(phase)
    many = [send(phase, busy) for _ in range(5)]
    assert check() == [many[0]]
    late = send(phase, single)
    assert check() == [late]
    assert check() == [many[1]]


def test_a_failure_of_the_platform_puts_it_back_and_the_third_gives_it_back(received: Any, check: Any) -> None:
    def fail(submission: Submission) -> None:
        raise RuntimeError("the queue is down")

    submission = received()
    for attempt in (1, 2):
        check(fail)
        submission.refresh_from_db()
        assert (submission.state, submission.check_attempts, submission.agent) == ("received", attempt, {})
        assert not check_next(sandbox=_NoSandbox(), on_accept=fail)  # type: ignore[arg-type]  # it rests for a while
        Submission.objects.update(check_started_at=timezone.now() - timedelta(minutes=1))
    check(fail)
    submission.refresh_from_db()
    assert (submission.state, submission.failure_code) == ("rejected", "infrastructure")
    assert (submission.counts_as, submission.agent) == ("nothing", {})
    assert "queue" not in submission.failure_message
    assert events_of(submission).last().name == "submission.refunded"  # type: ignore[union-attr]


def test_what_the_acceptance_does_is_undone_with_it(received: Any, check: Any, make_artifact: Any) -> None:
    """The evaluations are queued in the transaction that accepts: both or neither."""
    submission = received()
    count = Artifact.objects.count()

    def queue_then_fail(accepted: Submission) -> None:
        make_artifact(b"made by the acceptance")
        raise RuntimeError

    check(queue_then_fail)
    assert not Artifact.objects.filter(size=len(b"made by the acceptance")).exists()
    assert Artifact.objects.count() == count + 1  # the agent's own bundle, which the next attempt finds again
    submission.refresh_from_db()
    assert submission.state == "received"


def test_a_checker_that_comes_late_changes_nothing(received: Any, check: Any, monkeypatch: Any) -> None:
    submission = received()
    examine = checks._examine

    def put_back_meanwhile(*args: Any) -> Any:
        outcome = examine(*args)
        Submission.objects.update(check_attempts=2)  # another checker has begun
        return outcome

    monkeypatch.setattr(checks, "_examine", put_back_meanwhile)
    assert check() == []
    submission.refresh_from_db()
    assert (submission.state, submission.agent) == ("checking", {})


def test_a_wrong_name_is_compared_with_a_few_of_those_that_there_are(
    received: Any, check: Any, agent_zip: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty thousand long ones would keep the checker busy for minutes."""
    compared: list[int] = []
    monkeypatch.setattr(agent_file, "suggestion", lambda _, names: compared.append(len(names)) or "")
    scripts = {f"{number:03}__py": "" for number in range(300)}
    for missing in ({"agent__py": None}, {"agent__yaml": None}):
        received(agent_zip(**scripts, **missing))
        assert check() == []
    assert compared == [200, 200]
