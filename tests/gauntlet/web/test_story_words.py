"""A submission's page says at once what happened, whose fault it is, what to do next, and how long one waits."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest

from gauntlet.evaluation.models import Episode, Evaluation, Job, ScenarioScore
from gauntlet.web.story_words import about


def page_of(client, submission, query=""):
    answer = client.get(f"/submissions/{submission.pk}/{query}")
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def words(html):
    return " ".join(re.sub("<[^>]+>", " ", html).split())


def announced(html):
    return re.search(r'data-state="([^"]*)"', html)[1]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "a few seconds"),
        (9.4, "a few seconds"),
        (41, "50 s"),
        (90, "90 s"),
        (91, "2 min"),
        (97 * 60, "2 h"),
        (47.5 * 3600, "48 h"),
        (49 * 3600, "3 d"),
    ],
)
def test_an_estimate_is_no_more_exact_than_it_can_be(seconds, told):
    assert about(seconds) == told


def test_of_several_tasks_the_one_that_waits_is_named_and_all_episodes_are_counted(world, participant):
    sent = world.by_state["two_tasks"]
    first, second = sent.evaluations.order_by("task__index")
    told = words(page_of(participant, sent))
    assert f"Its task {second.task.name} is " in told
    assert f"{first.task.name}: 5 of 24 episodes done" in told
    Evaluation.objects.filter(pk=second.pk).update(state="running", started_at=second.queued_at, episodes_done=2)
    assert "7 of 36 episodes are done" in words(page_of(participant, sent))


def test_no_episode_and_no_estimate_is_read_out_but_a_state_and_a_place_are(world, participant):
    running, queued = world.by_state["running"], world.by_state["queued"]
    before = announced(page_of(participant, running))
    Evaluation.objects.filter(submission=running).update(episodes_done=15)
    html = page_of(participant, running)
    assert "15 of 20 episodes are done" in html
    assert announced(html) == before == "The agent is running."
    place = announced(page_of(participant, queued))
    assert re.fullmatch(r"It is (next|number \d+) in the queue\.", place)
    done = {"state": "done", "started_at": queued.created_at, "ended_at": queued.created_at + timedelta(minutes=9)}
    Job.objects.filter(evaluation__submission=world.by_state["finished"]).update(**done)
    html = page_of(participant, queued)
    assert "starts in about" in html
    assert announced(html) == place
    failed = world.by_state["failed_time"]
    assert announced(page_of(participant, failed)) == "It failed: The agent did not answer within 60 seconds."


def test_who_may_cancel_reads_before_that_it_costs_an_attempt_and_after_that_it_did(world, participant):
    assert "its attempt stays used" in page_of(participant, world.by_state["running"])
    for state in ("cancelled", "cancelled_early", "cancelled_late"):
        html = page_of(participant, world.by_state[state])
        assert "It uses one attempt." in html
        assert 'class="failed"' not in html
        assert "cancelled here" in html


def test_a_clock_of_another_day_comes_with_its_day(world, participant):
    sent = world.by_state["running"]
    night = sent.created_at.replace(hour=23, minute=59, second=0)
    type(sent).objects.filter(pk=sent.pk).update(created_at=night, checked_at=night + timedelta(seconds=3))
    evaluation = {"queued_at": night + timedelta(seconds=4), "started_at": night + timedelta(hours=2)}
    Evaluation.objects.filter(submission=sent).update(**evaluation)
    steps = re.findall(r"<li class=\"(?:done|current)\">.*?</li>", page_of(participant, sent), re.DOTALL)
    next_day = night + timedelta(hours=2)
    told = [words(one) for one in steps]
    assert told[2].endswith("23:59:04 UTC")
    assert told[3].endswith(f"{next_day.day} {next_day:%b %Y} , 01:59:00 UTC")
    assert ", " not in "".join(told[:3])


def test_whose_file_is_not_taken_for_a_while_is_not_told_to_send_it_at_once(world, participant):
    from django.utils import timezone

    from gauntlet.submissions.models import FileFaults

    sent = world.by_state["failed_platform"]
    type(sent).objects.filter(pk=sent.pk).update(given_back_for="platform")
    assert "submit the same bundle again" in page_of(participant, sent)
    parked = {"parked_until": timezone.now() + timedelta(hours=1), "last_at": timezone.now(), "in_a_row": 3}
    FileFaults.objects.create(digest=sent.sent_digest, **parked)
    html = page_of(participant, sent)
    assert "submit the same bundle again" not in html
    assert "its operators were told" in html


def test_who_sent_results_is_told_of_results(world, participant):
    html = page_of(participant, world.by_state["results_unscored"])
    assert "Compare them with what the competition's pages ask for" in html
    assert "your agent" not in html
    assert "agent's log" not in html


def test_points_are_named_only_where_there_are_some(world, participant):
    sent = world.by_state["rejected"]
    assert "Correct the points below" in page_of(participant, sent)
    type(sent).objects.filter(pk=sent.pk).update(findings=[])
    assert "points below" not in page_of(participant, sent)


def test_a_log_of_any_length_leaves_the_page_small_and_can_be_had_whole(world, participant, organizer, stranger):
    sent = world.by_state["failed"]
    lines = "".join(f"line {number} <&'\n" for number in range(9_000)) + "x" * 5_000 + "\n"
    sent.evaluations.get().jobs.update(log=lines)
    type(sent).objects.filter(pk=sent.pk).update(check_log=lines)
    score = {"kind": "score", "participant": sent.participant, "available_at": sent.created_at, "state": "failed"}
    Job.objects.create(evaluation=sent.evaluations.get(), log=lines, **score)
    for client, kinds in ((participant, ["check"]), (organizer, ["check", "organizer"])):
        answer = client.get(f"/submissions/{sent.pk}/")
        assert len(answer.content) < 60_000
        html = answer.content.decode()
        assert "The end of it:" in html
        for kind in kinds:
            address = f"/submissions/{sent.pk}/logs/{kind}"
            assert f'href="{address}"' in html
            whole = client.get(address)
            assert whole.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert whole.content.decode().startswith("line 0 <&'\n")
    for client, kind in ((participant, "organizer"), (stranger, "check"), (organizer, "nothing")):
        assert client.get(f"/submissions/{sent.pk}/logs/{kind}").status_code == 404


def test_hundreds_of_trials_stand_on_pages_of_which_each_is_small(world, participant):
    sent = world.by_state["trials"]
    first = sent.evaluations.order_by("task__index")[0]
    scenario = first.task.scenarios.all()[0]
    more = [
        Episode(evaluation=first, scenario=scenario, trial=trial, position=0, seed=0, outcome="answered", model_calls=1)
        for trial in range(10, 210)
    ]
    Episode.objects.bulk_create(more)
    ScenarioScore.objects.bulk_create(ScenarioScore(episode=one, key="rubric.mean", value=0.5) for one in more)
    seen = 0
    pages = [page_of(participant, sent, f"?page={number}") for number in range(1, 8)]
    for number, html in enumerate(pages, start=1):
        assert len(html.encode()) < 60_000
        assert f"Page {number} of 6" in html or number == 7
    for html in pages[:6]:
        seen += html.count('data-l="Trial"')
    assert seen == 236
    assert words(pages[6]).count("Page 6 of 6") == 1  # past the end it is the last
    assert "?page=2#scenarios" in pages[0]
    assert f'data-live="/submissions/{sent.pk}/story?page=2"' in pages[1]
    fragment = participant.get(f"/submissions/{sent.pk}/story?page=2").content.decode()
    assert fragment.count('data-l="Trial"') == pages[1].count('data-l="Trial"')


def test_a_mere_warning_does_not_stand_before_the_state_and_a_refusal_does(world, participant):
    html = page_of(participant, world.by_state["image"])
    assert html.index('id="standing"') < html.index("What the check found")
    html = page_of(participant, world.by_state["image_refused"])
    assert html.index("What the check found") < html.index('id="standing"')


def test_it_is_said_in_which_task_it_failed_and_whose_fault_an_unchecked_bundle_is(world, participant):
    sent = world.by_state["fault_memory_limit"]
    failed = sent.evaluations.get(state="failed")
    assert f"in the task {failed.task.name}" in page_of(participant, sent)
    assert "in the task" not in page_of(participant, world.by_state["failed"])
    assert "Rejected: platform’s fault" in page_of(participant, world.by_state["unchecked"])
    assert "Rejected:" not in page_of(participant, world.by_state["rejected"])


def test_costs_stand_below_each_other_and_a_fault_that_is_not_the_agents_is_named(world, participant):
    html = page_of(participant, world.by_state["trials"])
    costs = re.findall(r'data-l="Cost" class="r">([^<]+)<', html)
    first = costs[:24]  # of the first task
    assert len({len(cost.partition(".")[2]) for cost in first}) == 1
    assert all(float(cost) > 0 for cost in costs)
    ended = [words(one) for one in re.findall(r'<td data-l="Ended">.*?</td>', html)]
    assert "environment_error competition’s fault" in ended
    assert "budget_exceeded" in ended


def test_who_waits_for_nobodys_worker_sees_it_at_once(world, participant):
    from gauntlet.evaluation.models import Worker

    assert "Queued, served by nobody" in page_of(participant, world.by_state["unserved"])
    for begun in ("stranded", "stranded_moved"):
        assert "Begun, held up" in page_of(participant, world.by_state[begun])
    assert "served by nobody" not in page_of(participant, world.by_state["queued"])
    sent = world.by_state["received"]
    assert "It waits for the check of its bundle.<" in page_of(participant, sent)
    Worker.objects.filter(queue_token=None).update(state="draining")
    html = page_of(participant, sent)
    assert "no worker of the platform takes work now" in html
    assert "no worker of the platform" in announced(html)


def test_nobody_is_told_to_submit_again_to_a_phase_that_is_closed(world, participant):
    from django.utils import timezone

    sent = world.by_state["failed_platform"]
    assert "Submit again" in page_of(participant, sent)
    type(sent.phase).objects.filter(pk=sent.phase_id).update(end=timezone.now())
    html = page_of(participant, sent)
    assert "ubmit" not in words(html.partition('id="failure"')[2].partition("</section>")[0]).replace("submission", "")
    assert "This phase is closed. Write to the organizer" in html
    html = page_of(participant, world.by_state["failed_time"])
    assert "This phase is closed: nothing can be submitted to it any more." in html
