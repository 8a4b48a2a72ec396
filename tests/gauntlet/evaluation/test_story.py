"""What is told of a submission: its word, its place in the queue, its steps, and only what the reader may see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.services import create_token
from gauntlet.competitions.models import Phase
from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.models import Evaluation
from gauntlet.evaluation.selectors import submission_list, submission_story
from gauntlet.evaluation.services import start_evaluations
from gauntlet.evaluation.story import SubmissionStory
from gauntlet.evaluation.waiting import places_of
from gauntlet.submissions.models import Submission
from gauntlet_runtime.jobs import Failure, RunResult, ScoreResult


def tell(evaluation: Evaluation, audience: Audience = Audience.OWNER) -> SubmissionStory:
    submission = Submission.objects.select_related("phase__competition", "participant", "bundle").get(
        pk=evaluation.submission_id
    )
    return submission_story(submission, audience=audience, now=timezone.now())


def step_states(story: SubmissionStory) -> list[tuple[str, str]]:
    return [(step.name, step.state) for step in story.steps]


def test_a_queued_submission_shows_its_place_and_that_there_is_no_history_yet(start: Callable[..., Evaluation]) -> None:
    start()
    (second,) = [start()]
    story = tell(second)
    assert (story.status, story.final, story.can_cancel) == ("queued", False, True)
    assert (story.evaluations[0].position, story.evaluations[0].estimate_seconds) == (2, None)
    assert step_states(story) == [
        ("received", "done"),
        ("checked", "done"),
        ("queued", "current"),
        ("running", "waiting"),
        ("scoring", "waiting"),
        ("finished", "waiting"),
    ]


def test_the_queue_is_told_in_the_order_in_which_it_is_claimed(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], make_user: Callable[..., Any], worker: Any
) -> None:
    phase, busy, other = make_phase(), make_user(), make_user()
    places = places_of([start(phase, participant=participant).pk for participant in (busy, busy, busy, other)])
    claimed = []
    while claim := worker.claim():
        claimed.append(claim.evaluation)
    assert [places[UUID(evaluation)] for evaluation in claimed] == [1, 2, 3, 4]


def test_a_history_gives_an_estimate(start: Callable[..., Evaluation], worker: Any) -> None:
    start()
    worker.finish_all()
    assert tell(start()).evaluations[0].estimate_seconds is not None


def test_an_estimate_does_not_depend_on_what_workers_clocks_say(
    start: Callable[..., Evaluation], worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    late = timezone.now() - timedelta(hours=1)
    with monkeypatch.context() as patched:
        patched.setattr(timezone, "now", lambda: late)
        worker.finish_all()
    told = tell(start()).evaluations[0].estimate_seconds
    assert told is not None
    assert 0 <= told < 60


@pytest.mark.parametrize("off", [timedelta(days=3), timedelta(days=-3)])
def test_the_steps_are_told_in_their_order_whatever_the_workers_clock_says(
    off: timedelta, start: Callable[..., Evaluation], worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = timezone.now()
    evaluation = start()
    with monkeypatch.context() as patched:
        patched.setattr(timezone, "now", lambda: before + off)
        worker.finish_all()
    evaluation.refresh_from_db()
    times = [evaluation.queued_at, evaluation.started_at, evaluation.scoring_at, evaluation.ended_at]
    assert before < times[0]
    assert times == sorted(times)
    ends = evaluation.episodes.values_list("ended_at", flat=True)
    assert all(evaluation.started_at < end < evaluation.scoring_at for end in ends)


def test_of_several_tasks_the_steps_go_as_far_as_the_one_furthest_behind(
    make_phase: Callable[..., Phase], make_submission: Callable[..., Submission], worker: Any
) -> None:
    phase = make_phase(scenarios=1)
    phase.tasks.add(make_phase(competition=phase.competition, scenarios=1).tasks.get())
    first, _ = start_evaluations(make_submission(phase))
    worker.must_claim()
    story = tell(first)
    assert sorted(one.state for one in story.evaluations) == ["queued", "running"]
    assert story.status == "queued"
    assert step_states(story)[2:] == [
        ("queued", "current"),
        ("running", "waiting"),
        ("scoring", "waiting"),
        ("finished", "waiting"),
    ]
    assert [step.at for step in story.steps[3:]] == [None] * 3


def test_a_failed_submission_says_whose_fault_it_is_and_where_it_stopped(
    start: Callable[..., Evaluation], worker: Any, agent_failure: Failure
) -> None:
    evaluation = start()
    claim = worker.must_claim()
    worker.source.finish(claim, RunResult(episodes=[], failure=agent_failure, log="Traceback"))
    story = tell(evaluation)
    assert story.failure is not None
    assert (story.status, story.failure.code, story.failure.owner) == ("failed", "agent_error", "participant")
    assert step_states(story)[3:] == [("running", "failed"), ("scoring", "skipped"), ("finished", "skipped")]
    assert story.scores == []


def test_a_finished_submission_shows_scores_episodes_and_what_made_them(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    evaluation = start(make_phase(visibility="full", public=True))
    worker.finish_all(0.75)
    story = tell(evaluation)
    assert story.status == "finished"
    assert [(score.column, score.value) for score in story.scores] == [("score", 0.75), ("steps", 3.0)]
    episodes = story.evaluations[0].episodes
    assert {episode.text for episode in episodes} == set(evaluation.task.scenarios.values_list("text", flat=True))
    assert episodes[0].scores == {"rubric.score": 0.75}
    assert episodes[0].details == {"rubric": {"why": "because"}}
    assert story.log == "said by the agent"
    assert story.evaluations[0].record["scoring"]["rubric"] == {"judge": "checks"}


@pytest.mark.visibility
def test_a_phase_that_shows_scores_hides_texts_details_logs_and_trajectories(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    evaluation = start(make_phase(visibility="scores"))
    worker.finish_all(0.75)
    story = tell(evaluation)
    assert story.scores[0].value == 0.75
    assert (story.log, story.log_visible) == (None, False)
    for episode in story.evaluations[0].episodes:
        assert episode.scenario.startswith("opaque-")
        assert (episode.text, episode.category, episode.episode, episode.details) == (None, None, None, {})
    organizer = tell(evaluation, Audience.ORGANIZER)
    assert organizer.log
    assert organizer.evaluations[0].episodes[0].text


@pytest.mark.visibility
def test_a_phase_that_shows_nothing_tells_the_state_until_the_reveal(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    evaluation = start(make_phase(visibility="none"))
    worker.finish_all()
    story = tell(evaluation)
    assert (story.status, story.scores, story.evaluations[0].episodes) == ("finished", [], [])
    Phase.objects.update(reveal_at=timezone.now())
    assert tell(evaluation).scores


@pytest.mark.visibility
@pytest.mark.parametrize("route", ["", "/log", "/events"])
def test_another_participant_finds_nothing_at_a_submissions_addresses(
    start: Callable[..., Evaluation], make_user: Callable[..., Any], client: Client, route: str
) -> None:
    evaluation = start()
    _, token = create_token(make_user(), name="test")
    for headers in ({"authorization": f"Bearer {token}"}, {}):
        response = client.get(f"/api/v1/submissions/{evaluation.submission_id}{route}", headers=headers)
        assert response.status_code in (401, 404)
        assert evaluation.submission.name not in response.content.decode()


def test_the_owner_reads_the_api_with_a_token(start: Callable[..., Evaluation], worker: Any, client: Client) -> None:
    evaluation = start()
    worker.finish_all(0.75)
    _, token = create_token(evaluation.submission.participant, name="test")
    headers = {"authorization": f"Bearer {token}"}
    address = f"/api/v1/submissions/{evaluation.submission_id}"
    detail = client.get(address, headers=headers).json()
    assert (detail["status"], detail["scores"][0]["value"]) == ("finished", 0.75)
    listed = client.get("/api/v1/submissions", headers=headers).json()
    assert [row["status"] for row in listed["results"]] == ["finished"]
    hidden = client.get(f"{address}/log", headers=headers)
    assert (hidden.status_code, hidden.json()["code"]) == (403, "not_visible")
    assert client.post(f"{address}/cancel", headers=headers).json()["cancelled"] == 0


def test_the_number_of_queries_of_a_list_does_not_grow_with_it(
    start: Callable[..., Evaluation],
    make_phase: Callable[..., Phase],
    make_user: Callable[..., Any],
    django_assert_num_queries: Any,
) -> None:
    phase, participant = make_phase(), make_user()
    start(phase, participant=participant)
    with django_assert_num_queries(2):
        list(submission_list(participant))
    for _ in range(5):
        start(phase, participant=participant)
    with django_assert_num_queries(2):
        assert len(list(submission_list(participant))) == 6


@pytest.mark.visibility
@pytest.mark.parametrize(
    ("visibility", "public", "owner_status"),
    [("full", True, 200), ("full", False, 404), ("scores", True, 404), ("none", True, 404)],
)
def test_a_scoring_programs_own_page_is_locked_in_and_shown_to_whom_the_phase_allows(
    start: Callable[..., Evaluation],
    make_phase: Callable[..., Phase],
    make_artifact: Callable[..., Any],
    worker: Any,
    client: Client,
    visibility: str,
    public: bool,
    owner_status: int,
) -> None:
    evaluation = start(make_phase(visibility=visibility, public=public))
    worker.finish_all()
    evaluation.reports.update(html=make_artifact(b"<script>alert(1)</script><p>A report</p>"))
    address = f"/submissions/{evaluation.submission_id}/reports/{evaluation.pk}/rubric/"
    assert client.get(address).status_code == 401
    client.force_login(evaluation.submission.participant)
    assert client.get(address).status_code == owner_status
    client.force_login(evaluation.submission.phase.competition.organizer)
    response = client.get(address)
    assert b"A report" in response.content
    policy = response["Content-Security-Policy"]
    assert policy.startswith("sandbox;")
    assert "default-src 'none'" in policy
    assert "allow-scripts" not in policy
    assert client.get(address.replace("/rubric/", "/other/")).status_code == 404


@pytest.mark.visibility
def test_what_the_organizers_programs_printed_is_told_to_the_organizer_alone(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any, scoring_failure: Failure
) -> None:
    evaluation = start(make_phase(visibility="full", public=True))
    claim = worker.must_claim()
    run = worker.run(claim)
    worker.source.finish(claim, run.model_copy(update={"environment_log": "the data folder is empty"}))
    claim = worker.must_claim()
    worker.source.finish(claim, ScoreResult(programs=[], failure=scoring_failure, log="KeyError: 'id'"))
    assert tell(evaluation, Audience.ORGANIZER).organizer_log == "the data folder is empty\nKeyError: 'id'"
    assert tell(evaluation).organizer_log == ""
