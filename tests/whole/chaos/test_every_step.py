"""A worker is killed at each step of each state, at the exact place: another finishes everything, and once.

And a submission is cancelled at each: that is final, unless its scores are there.
"""

from __future__ import annotations

from typing import Any

import pytest
from doomed_plans import Aftermath, attempts, submit, work_off
from leftovers import Remains, finished_once

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

#: Where a job was begun and not ended: it is lost, and done again.
LOST = (
    *("claimed", "gateway started", "environment up", "agent started", "episode open", "between episodes"),
    *("agent proven", "results stored", "results before the commit"),
)
LOST_SCORING = ("scoring claimed", "scorer started", "scores stored", "scores before the commit")
#: Where a job was ended: nothing is done again.
ENDED = ("run finished", "scores committed")
#: Where a submission is cancelled: waiting, being prepared, running, being stored, being scored.
CANCELLED = (
    *("queued", "claimed", "environment up", "agent started", "episode open", "between episodes", "results stored"),
    *("results before the commit", "run finished", *LOST_SCORING[:3]),
)
#: Where it is too late to cancel.
SCORED = ("scores before the commit", "scores committed")
SCENARIOS = 3
QUICK = 'value = episode.call("look_up")["value"]\nreturn f"It is {value}.", {"value": value}'


@pytest.fixture(scope="module")
def aftermath(
    installation: Any, emptied: None, module_workshop: Any, small_task: Any, tmp_path_factory: Any
) -> Aftermath:
    """Everything at once: a submission for each step, poison among them, one that comes late, and a bad agent."""
    from django.test import override_settings

    from gauntlet.accounts.models import User
    from gauntlet.competitions.services import join

    texts = {f"scenario-{number}": f"What is the value of {number}?" for number in range(SCENARIOS)}
    organizer = User.objects.create_user("organizer", "organizer@example.org", "a long pass phrase")
    competition = module_workshop.competition(organizer, [small_task(texts)], [(0, "full")])
    phase = competition.phases.get()
    good, bad = module_workshop.agent(QUICK), module_workshop.agent("import os\nos._exit(3)")
    ends = {name: (name, "die") for name in (*LOST, *LOST_SCORING, *ENDED)}
    ends |= {"poison": ("episode open", "poison"), "late": ("episode open", "stop"), "bad": ("run finished", "die")}
    ends |= {f"cancelled: {step}": (step, "cancel") for step in (*CANCELLED, *SCORED)}
    submissions = {}
    for number, name in enumerate(ends):  # each of a participant of its own: a board keeps one of each
        person = User.objects.create_user(f"user{number}", f"user{number}@example.org", "a long pass phrase")
        join(competition, user=person, terms_accepted=True)
        with override_settings(RUN_SLICE=2):
            submissions[name] = submit(phase, person, bad if name == "bad" else good)
    entries = [
        {"submission": str(submissions[name].pk), "step": step, "how": how} for name, (step, how) in ends.items()
    ]
    told, living = work_off(installation, tmp_path_factory.mktemp("doomed"), entries)
    return Aftermath(submissions, told, living)


@pytest.mark.parametrize("step", [*LOST, *LOST_SCORING])
def test_a_job_whose_worker_died_at_this_step_is_done_again_and_counts_once(aftermath, step):
    submission, told = aftermath.of(step)
    assert told["deaths"] == 1
    finished_once(str(submission.pk), scenarios=SCENARIOS)
    assert attempts(submission)[-1] == 2
    assert attempts(submission)[:-1] == [1] * (len(attempts(submission)) - 1)


@pytest.mark.parametrize("step", ENDED)
def test_a_job_that_was_ended_is_not_done_again_though_its_worker_died(aftermath, step):
    submission, told = aftermath.of(step)
    assert told["deaths"] == 1
    finished_once(str(submission.pk), scenarios=SCENARIOS)
    # Other slices are queued once the agent has opened an episode, and dropped with their evaluation before their turn.
    assert {1} <= set(attempts(submission)) <= {0, 1}


def test_the_late_result_of_an_expired_attempt_is_refused(aftermath):
    """Its worker was stopped until another had finished the work, and then went on."""
    submission, told = aftermath.of("late")
    assert told == {"deaths": 0, "late": 0}
    finished_once(str(submission.pk), scenarios=SCENARIOS)
    assert attempts(submission)[-1] == 2


def test_a_poison_job_is_parked_after_its_attempts_and_given_back(aftermath):
    submission, told = aftermath.of("poison")
    evaluation = submission.evaluations.get()
    submission.refresh_from_db()
    assert told["deaths"] == 3
    assert (evaluation.state, evaluation.failure_code) == ("failed", "infrastructure")
    assert submission.counts_as == "nothing"
    assert attempts(submission) == [3]


def test_a_participants_fault_is_not_retried_and_not_given_back(aftermath):
    submission, _ = aftermath.of("bad")
    evaluation = submission.evaluations.get()
    submission.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "agent_error")
    assert submission.counts_as == "failed_start"
    # Other slices are queued once the agent has opened an episode, and dropped with their evaluation before their turn.
    assert {1} <= set(attempts(submission)) <= {0, 1}


@pytest.mark.parametrize("step", CANCELLED)
def test_a_submission_that_is_cancelled_at_this_step_stays_so_and_has_no_score(aftermath, step):
    from gauntlet.accounts.models import Event
    from gauntlet.leaderboards.models import Entry

    submission, told = aftermath.of(f"cancelled: {step}")
    evaluation = submission.evaluations.get()
    assert told == {"deaths": 0, "late": None}
    assert (evaluation.state, evaluation.scores.count()) == ("cancelled", 0)
    assert not Entry.objects.filter(submission=submission).exists()
    assert not evaluation.jobs.filter(state__in=["ready", "leased", "lost"]).exists()
    assert max(attempts(submission)) <= 1
    names = Event.objects.filter(subject_id=str(evaluation.pk)).order_by("pk").values_list("name", flat=True)
    assert list(names)[-1] == "evaluation.cancelled"


@pytest.mark.parametrize("step", SCORED)
def test_a_cancel_that_comes_when_the_scores_are_there_changes_nothing(aftermath, step):
    submission, _ = aftermath.of(f"cancelled: {step}")
    finished_once(str(submission.pk), scenarios=SCENARIOS)


def test_nothing_is_left_of_all_that_died(aftermath, installation):
    assert aftermath.living == []
    assert Remains(installation.var).found() == []
