"""How a submission failed, on its page, and only for whoever may see what scoring programs say."""

from __future__ import annotations

import re

import pytest

from gauntlet.competitions.models import Phase, Scenario
from gauntlet.evaluation.models import Episode, ScenarioDetail
from gauntlet_scoring.execution.pattern_names import FailurePattern
from gauntlet_scoring.execution.patterns import as_checks

HEAD = "How it failed"


@pytest.fixture
def submission(world):
    """Of its episodes the first calls a wrong tool, the second lacks a step too; the others show nothing."""
    found = world.by_state["finished"]
    episodes = list(Episode.objects.filter(evaluation__submission=found).order_by("position"))
    none = {pattern: [] for pattern in FailurePattern}
    shown = {0: {FailurePattern.TOOL_SELECTION: ["echo_agent was called"]}}
    shown[1] = shown[0] | {FailurePattern.MISSING_STEPS: ["step s1 is missing"]}
    ScenarioDetail.objects.bulk_create(
        ScenarioDetail(episode=episode, program=program, detail=as_checks(none | shown.get(at, {})))
        for at, episode in enumerate(episodes)
        for program in ("execution", "hybrid")
    )
    found.count = len(episodes)
    return found


def lines(page):
    """Pattern to number of episodes, as the table shows them."""
    section = page.split(HEAD)[1].split("</section>")[0]
    return {
        name: int(count)
        for name, count in re.findall(r'<th scope="row">([^<]+)</th>.*?data-l="Episodes"[^>]*>(\d+)<', section)
    }


def test_patterns_are_counted_by_episode_and_not_by_program(participant, submission):
    page = participant.get(f"/submissions/{submission.pk}/").content.decode()
    assert lines(page) == {
        "Tool selection": 2,
        "Parameter": 0,
        "Missing steps": 1,
        "Incorrect sequencing": 0,
        "Premature termination": 0,
    }
    assert f"Of {submission.count} episodes {submission.count - 2} show none." in page


def test_an_episodes_page_says_what_was_seen(participant, submission):
    episode = Episode.objects.filter(evaluation__submission=submission, trajectory__isnull=False).first()
    page = participant.get(f"/episodes/{episode.pk}/").content.decode()
    assert "tool selection" in page.casefold()


def test_who_may_not_see_what_programs_say_sees_no_pattern(participant, submission):
    Scenario.objects.filter(task__in=submission.phase.tasks.all()).update(public=False)
    Phase.objects.filter(pk=submission.phase_id).update(visibility="scores")
    page = participant.get(f"/submissions/{submission.pk}/").content.decode()
    assert "Scores" in page
    assert HEAD not in page
    assert "missing" not in page


def test_without_such_a_program_there_is_no_table(participant, world):
    page = participant.get(f"/submissions/{world.by_state['finished'].pk}/").content.decode()
    assert "Scores" in page
    assert HEAD not in page
