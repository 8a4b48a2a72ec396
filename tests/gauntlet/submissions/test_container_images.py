"""Container images as submissions: recognised by content, checked, stored once, given to a worker as they are run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from image_archives import ARCHITECTURE, Layer, compressed, oci, saved

from gauntlet.accounts.models import User
from gauntlet.accounts.selectors import events_of
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact
from gauntlet.storage.sweeping import sweep_artifacts
from gauntlet.submissions import checks
from gauntlet.submissions.errors import UploadTooLarge
from gauntlet.submissions.models import ContainerImage, Submission
from gauntlet.submissions.services import check_next, reclaim_stuck_checks

pytestmark = pytest.mark.django_db
LAYER = Layer().file("agent", "#!/bin/sh\n", 0o755).folder("app").tar
CONFIG = {"Env": ["A=1"], "WorkingDir": "/app", "User": "me"}


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    """An open phase."""
    return make_phase()


@pytest.fixture
def checked(phase: Any, make_participant: Callable[[Any], User], send: Any) -> Callable[..., Submission]:
    """Send a file and check it."""

    def check(content: bytes, file_name: str = "agent.tar.gz", **more: Any) -> Submission:
        submission: Submission = send(phase, make_participant(phase), content, file_name=file_name, **more)
        assert check_next(sandbox=None, on_accept=lambda one: None)  # type: ignore[arg-type]  # none is asked for
        submission.refresh_from_db()
        return submission

    return check


@pytest.mark.parametrize("file_name", ["agent.tar.gz", "agent.zip", "noname"])
def test_an_image_is_accepted_whatever_its_name(checked: Any, file_name: str) -> None:
    submission = checked(compressed(saved([LAYER], config=CONFIG), "gzip"), file_name)
    assert submission.state == "accepted", submission.findings
    container = submission.agent["container"]
    assert submission.agent["command"] == ["/agent"]
    assert (container["layers"], container["size"], container["architecture"]) == (1, 10, ARCHITECTURE)
    assert (container["user"], container["working_directory"], container["environment"]["A"]) == ("me", "/app", "1")
    assert container["id"] == ContainerImage.objects.get().pk
    assert [event.name for event in events_of(submission)][-1] == "submission.accepted"
    assert {finding["level"] for finding in submission.findings} == {"warning"}
    assert any("unprivileged" in finding["message"] for finding in submission.findings)


def test_its_name_is_the_files_where_none_was_given(checked: Any) -> None:
    assert checked(saved([LAYER]), "planner-3.tar.gz").name == "planner-3"
    assert checked(saved([LAYER]), "planner-3.tar.gz", name="Mine").name == "Mine"


def test_an_image_in_another_form_is_not_stored_twice(checked: Any) -> None:
    forms = [
        saved([LAYER], config=CONFIG),
        compressed(saved([LAYER], config=CONFIG), "zstd"),
        oci([LAYER], config=CONFIG),
    ]
    sent = [checked(archive) for archive in forms]
    assert len({submission.sent_digest for submission in sent}) == 3
    assert len({submission.agent_bundle_id for submission in sent}) == 1
    assert ContainerImage.objects.get().archive_id == sent[0].agent_bundle_id


def test_what_an_earlier_release_wrote_of_an_image_is_not_run_again(
    checked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gauntlet_runtime.container_images import packing

    with monkeypatch.context() as earlier:
        earlier.setattr(packing, "_LABEL", "org.gauntlet.earlier")
        before = checked(saved([LAYER]))
    after, again = checked(saved([LAYER])), checked(oci([LAYER]))
    assert before.agent_bundle_id != after.agent_bundle_id == again.agent_bundle_id
    assert before.agent["container"]["id"] == after.agent["container"]["id"]
    assert ContainerImage.objects.get().archive_id == after.agent_bundle_id
    # The earlier submission still has what it was run as.
    sweep_artifacts(older_than=timedelta(0))
    assert Artifact.objects.filter(pk=before.agent_bundle_id).exists()


def test_what_is_stored_is_what_is_run_and_not_what_was_sent(checked: Any, tmp_path: Path) -> None:
    from gauntlet_runtime.container_images import unpack_image

    submission = checked(saved([LAYER]))
    with open_artifact(submission.agent_bundle) as stored:
        content = stored.read()
    assert submission.agent_bundle_id == f"sha256:{hashlib.sha256(content).hexdigest()}" != submission.sent_digest
    (tmp_path / "image").write_bytes(content)
    assert unpack_image(tmp_path / "image", tmp_path / "root")["config"]["Cmd"] == ["/agent"]
    assert (tmp_path / "root/agent").read_text() == "#!/bin/sh\n"


def test_only_what_is_run_stays_stored_and_what_was_sent_is_known_by_its_digest(checked: Any) -> None:
    content = compressed(saved([LAYER]), "gzip")
    submission = checked(content)
    assert (submission.bundle, submission.sent_digest, submission.sent_size) == (
        None,
        f"sha256:{hashlib.sha256(content).hexdigest()}",
        len(content),
    )
    assert sweep_artifacts(older_than=timedelta(0)) == 1
    assert not Artifact.objects.filter(pk=submission.sent_digest).exists()
    with open_artifact(submission.agent_bundle) as stored:
        assert len(stored.read()) == submission.agent_bundle.size
    again = checked(content)
    assert (again.state, again.agent_bundle_id) == ("accepted", submission.agent_bundle_id)


def test_what_was_sent_is_kept_until_its_check_is_over(
    phase: Any, make_participant: Any, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checker that dies after it stored the image, and before it said so, leaves all that the next one needs."""
    submission = send(phase, make_participant(phase), saved([LAYER]), file_name="agent.tar")

    class Killed(BaseException):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(checks, "_conclude", die)
        with pytest.raises(Killed):
            check_next(sandbox=None, on_accept=die)  # type: ignore[arg-type]  # none is asked for
    assert reclaim_stuck_checks(older_than=timedelta(0)) == 1
    sweep_artifacts(older_than=timedelta(0))
    Submission.objects.update(check_started_at=timezone.now() - timedelta(minutes=1))
    assert check_next(sandbox=None, on_accept=lambda one: None)  # type: ignore[arg-type]
    submission.refresh_from_db()
    assert (submission.state, submission.bundle) == ("accepted", None)


@pytest.mark.parametrize("content", [saved([LAYER], architecture="s390x"), b"no zip"])
def test_what_is_refused_is_not_kept(checked: Any, content: bytes) -> None:
    submission = checked(content)
    assert (submission.state, submission.bundle, submission.sent_size) == ("rejected", None, len(content))
    assert sweep_artifacts(older_than=timedelta(0)) >= 1
    assert not Artifact.objects.filter(pk=submission.sent_digest).exists()


def test_what_the_platform_could_not_check_is_kept_for_its_operator(
    checked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(checks, "MOST_ATTEMPTS", 1)
    monkeypatch.setattr(checks, "_examine", fail)
    submission = checked(saved([LAYER]))
    assert (submission.state, submission.failure_code, submission.given_back_for) == (
        "rejected",
        "infrastructure",
        "platform",
    )
    assert submission.bundle.size == submission.sent_size


def test_somebody_elses_layers_are_not_had_for_their_digest(checked: Any) -> None:
    """An archive with a known config, and layers that are not the image's, gives nobody that image."""
    import io
    import tarfile

    from image_archives import files_tar

    checked(saved([LAYER]))
    with tarfile.open(fileobj=io.BytesIO(saved([LAYER]))) as known:
        files = {one.name: known.extractfile(one).read() for one in known}  # type: ignore[union-attr]
    forged = {name: b"\0" * 1024 if name.endswith("layer.tar") else content for name, content in files.items()}
    submission = checked(files_tar(forged))
    assert (submission.state, submission.agent_bundle) == ("rejected", None)
    assert "not the layer" in submission.failure_message


def test_a_refused_image_names_the_file_in_the_archive(checked: Any) -> None:
    submission = checked(saved([LAYER], architecture="s390x"))
    assert (submission.state, submission.failure_code, submission.counts_as) == (
        "rejected",
        "invalid_bundle",
        "failed_start",
    )
    assert "docker build --platform linux/" in submission.failure_message
    assert submission.findings[0]["file"].endswith(".json")
    assert not ContainerImage.objects.exists()


def test_a_tar_that_is_no_image_is_told_both_ways(checked: Any) -> None:
    submission = checked(Layer().file("agent.yaml", "name: x\n").tar, "agent.tar")
    assert submission.state == "rejected"
    assert "docker save" in submission.failure_message
    assert "zip of its folder" in submission.failure_message


def test_the_limits_are_the_installations(checked: Any, settings: Any) -> None:
    settings.MAX_IMAGE_UNPACKED_BYTES = 5
    assert "at most 5 are taken" in checked(saved([LAYER])).failure_message
    settings.MAX_IMAGE_UNPACKED_BYTES, settings.MAX_IMAGE_ENTRIES = 5000, 1
    assert "more than 1 entries" in checked(saved([LAYER])).failure_message


def test_an_image_may_be_larger_than_a_bundle(checked: Any, settings: Any, agent_zip: Any) -> None:
    settings.MAX_BUNDLE_BYTES, settings.MAX_IMAGE_BYTES = 300, 1 << 20
    assert checked(saved([LAYER])).state == "accepted"
    with pytest.raises(UploadTooLarge):
        checked(agent_zip(more__txt="x" * 4000 + str(range(4000))) * 2)
    settings.MAX_IMAGE_BYTES = 2000
    with pytest.raises(UploadTooLarge):
        checked(saved([LAYER]))


def test_a_worker_is_told_what_the_image_says(checked: Any) -> None:
    from gauntlet.evaluation.claims import claim_next
    from gauntlet.evaluation.services import start_evaluations
    from gauntlet.evaluation.specs import build_spec

    submission = checked(saved([LAYER], config=CONFIG))
    start_evaluations(submission)
    job = claim_next(worker="w", queues=["default"])
    assert job is not None
    agent = build_spec(job).agent  # type: ignore[union-attr]
    assert agent.bundle.digest == submission.agent_bundle_id
    assert (agent.bundle.form, agent.command) == ("file", ["/agent"])
    assert agent.container is not None
    assert (agent.container.id, agent.container.working_directory) == (submission.agent["container"]["id"], "/app")
    assert agent.container.environment["A"] == "1"
