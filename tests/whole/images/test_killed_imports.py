"""Workers are killed while they check a participant's image, and while they make it ready to run: it is run, once."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import pytest
from image_archives import Layer, agent_image

pytestmark = pytest.mark.chaos

AGENT = """
while (e := next_episode()):
    status, reply = tool(e, "look_up")
    value = reply["result"]["structuredContent"]["value"]
    answer(e, f"It is {value}.", data={"value": value})
"""
FILES = 20_000  # enough to be killed among


def test_an_image_whose_workers_were_killed_is_checked_and_made_ready_anew_and_nothing_of_it_stays(
    platform: Any, small_competition: Any, own_images: Path, wait_until: Any
) -> None:
    from gauntlet.submissions.models import Submission

    platform.configure(GAUNTLET_IMAGES=str(own_images), LEASE_SECONDS="6")
    platform.start()
    many = Layer()
    for number in range(FILES):
        many.file(f"data/{number}", f"{number}")
    submission = platform.person("ada").submit(small_competition(), 0, agent_image(AGENT, more=many))

    uploads = platform.installation.var / "uploads"
    wait_until(lambda: list(uploads.glob("check-*/*")))
    platform.kill("worker0")
    assert Submission.objects.get(pk=submission).state == "checking"
    assert list(uploads.glob("check-*"))

    platform.processes.start_worker("worker1", concurrency=1)
    draft = f"{own_images}/submitted/.draft-*/**/data"  # pathlib's glob minds that folders are renamed meanwhile
    wait_until(lambda: glob.glob(draft, recursive=True, include_hidden=True))
    assert Submission.objects.get(pk=submission).check_attempts == 2
    platform.kill("worker1")
    assert list(own_images.glob("submitted/.draft-*"))

    platform.processes.start_worker("worker2", concurrency=1)
    evaluation = platform.wait_for_end(submission)
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    assert evaluation.scores.get(key="own.score").value == 1.0
    assert [job.attempt for job in evaluation.jobs.order_by("created_at")] == [2, 1]
    assert list(uploads.glob("check-*")) == []
    kept = [path.name for path in (own_images / "submitted").iterdir()]
    assert len(kept) == 2, kept
    assert ".kept" in kept
