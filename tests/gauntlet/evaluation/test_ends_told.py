"""An end that comes while a story is read is told with all that it changed, or not yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.evaluation.selectors import submission_story
from gauntlet.submissions.access import access_submission_as_owner
from gauntlet_runtime.jobs import Failure

pytestmark = pytest.mark.django_db


@pytest.fixture
def fail(start: Callable[..., Evaluation], worker: Any, platform_failure: Failure) -> Callable[[], None]:
    """Let an evaluation fail for good, by the platform's fault."""
    start()
    claim = worker.must_claim()
    Job.objects.filter(pk=UUID(claim.job)).update(attempt=3)
    return lambda: worker.source.give_back(claim, platform_failure)


def test_what_it_counts_as_is_read_with_its_end(fail: Callable[[], None]) -> None:
    submission = Evaluation.objects.get().submission
    read = access_submission_as_owner(submission.participant, submission.pk)
    fail()
    story = submission_story(read, audience=Audience.OWNER, now=timezone.now())
    assert (story.status, story.final, story.counts_as) == ("failed", True, "nothing")
    assert (read.counts_as, read.given_back_for) == ("nothing", "platform")


def test_no_page_says_that_it_failed_and_uses_an_attempt(fail: Callable[[], None]) -> None:
    submission = Evaluation.objects.get().submission
    client = Client()
    client.force_login(submission.participant)
    due = [fail]

    def meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if due and 'FROM "evaluation_evaluation"' in sql:
            due.pop()()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(meanwhile):
        page = client.get(f"/submissions/{submission.pk}/").content.decode()
    assert not due
    assert "uses no attempt" in page
    assert "uses one attempt" not in page
