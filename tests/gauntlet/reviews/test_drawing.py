"""What can be drawn, and what of it is kept."""

from __future__ import annotations

import pytest

from gauntlet.accounts.models import Event
from gauntlet.evaluation.models import ScenarioScore
from gauntlet.reviews import services
from gauntlet.reviews.criteria import majority
from gauntlet.reviews.drawing import judged as sources
from gauntlet.reviews.errors import CannotDraw

RIGHT, WRONG = (1.0, 1.0, 1.0), (0.0, 1.0, 0.6)


@pytest.mark.parametrize(("score", "yes"), [(0.0, False), (0.5, False), (0.6, True), (2 / 3, True), (1.0, True)])
def test_a_verdict_is_what_more_than_half_of_the_judges_runs_say(score, yes):
    assert majority(score) is yes


def test_only_answered_episodes_of_results_in_force_can_be_drawn(phase, judged, organizer):
    judged(phase, [RIGHT, WRONG, None])
    judged(phase, [RIGHT] * 3, baseline=True)
    old = judged(phase, [RIGHT] * 3)
    old.in_force = False
    old.save()
    judged(phase, [RIGHT], program="other")
    assert [(one.program, one.episodes) for one in sources(phase.competition)] == [("other", 1), ("rubric", 2)]
    study = services.draw_judge_study(phase, program="rubric", size=40, seed=1, actor=organizer)
    assert (study.items.count(), study.drawn_from) == (2, 2)
    assert {one.episode.outcome for one in study.items.all()} == {"answered"}


def test_an_episode_without_all_three_verdicts_cannot_be_drawn(phase, judged, organizer):
    evaluation = judged(phase, [RIGHT, RIGHT])
    ScenarioScore.objects.filter(episode=evaluation.episodes.first(), key="rubric.result_verification").delete()
    assert services.draw_judge_study(phase, program="rubric", size=9, seed=1, actor=organizer).items.count() == 1


def test_the_sample_has_every_category_and_verdict(phase, judged, organizer):
    for _ in range(4):
        judged(phase, [RIGHT, RIGHT, RIGHT, WRONG, RIGHT, RIGHT])
    study = services.draw_judge_study(phase, program="rubric", size=8, seed=5, actor=organizer)
    strata = {(one.scenario.category, all(one.verdicts.values())) for one in study.items.all()}
    assert strata == {
        ("category 0", True), ("category 0", False), ("category 1", True), ("category 2", True),
    }  # fmt: skip
    again = services.draw_judge_study(phase, program="rubric", size=8, seed=5, actor=organizer)
    assert list(again.items.values_list("episode")) == list(study.items.values_list("episode"))
    assert [one.number for one in study.items.all()] == list(range(1, 9))


def test_verdicts_and_forms_stay_as_they_were_at_the_draw(study):
    item = study.items.get(scenario__key="key-0")
    assert item.characteristic_form == "What is right about key-0."
    assert item.verdicts == dict.fromkeys(
        ("task_completion", "data_retrieval_accuracy", "generalized_result_verification"), True
    )
    ScenarioScore.objects.update(value=0.0)
    item.refresh_from_db()
    assert set(item.verdicts.values()) == {True}
    drawn = Event.objects.get(name="study.drawn")
    assert drawn.data == {"kind": "judge", "phase": study.phase.index, "seed": 1, "items": 6}


def test_a_competition_without_ground_truth_of_that_kind_can_be_drawn_all_the_same(phase, judged, organizer):
    task = phase.tasks.get()
    task.reference_data = None
    task.save()
    judged(phase, [RIGHT])
    study = services.draw_judge_study(phase, program="rubric", size=1, seed=1, actor=organizer)
    assert study.items.get().characteristic_form == ""


def test_nothing_is_made_where_there_is_nothing_to_draw_from(phase, organizer):
    from gauntlet.reviews.models import Study

    with pytest.raises(CannotDraw, match="No finished episode"):
        services.draw_judge_study(phase, program="rubric", size=5, seed=1, actor=organizer)
    phase.tasks.clear()
    with pytest.raises(CannotDraw, match="no scenario"):
        services.draw_realism_study(phase, size=5, seed=1, actor=organizer)
    assert not Study.objects.exists()


def test_scenarios_are_drawn_by_category(survey, phase, organizer):
    assert survey.items.count() == 6
    small = services.draw_realism_study(phase, size=3, seed=2, actor=organizer)
    assert len({one.scenario.category for one in small.items.all()}) == 3
    assert small.drawn_from == 6
