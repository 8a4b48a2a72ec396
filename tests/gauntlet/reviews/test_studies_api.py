"""The same over the API: draw, invite, answer, results; and what everybody else is told."""

from __future__ import annotations

import csv
import io

import pytest
from rest_framework.test import APIClient

from gauntlet.accounts.services import create_token
from gauntlet.reviews import services
from gauntlet.reviews.criteria import KEYS
from gauntlet.reviews.models import Judgement, Reviewer, Study


def client(user=None, *, scopes=("read", "submit")):
    made = APIClient()
    if user is not None:
        _, token = create_token(user, name="test", scopes=scopes)
        made.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return made


def test_a_judge_validation_from_draw_to_results(phase, judged, organizer, make_user):
    judged(phase, [(1.0, 1.0, 1.0)] * 3)
    expert = make_user("expert")
    boss, mine = client(organizer), client(expert)
    place = f"/api/v1/competitions/{phase.competition.slug}/studies"
    asked = {"kind": "judge", "phase": phase.index, "program": "rubric", "size": 2, "seed": 7}
    drawn = boss.post(place, asked, format="json")
    assert drawn.status_code == 201
    told = drawn.json()
    assert (told["items"], told["drawn_from"], told["seed"], told["progress"]) == (2, 3, 7, "drawn")
    study = f"/api/v1/studies/{told['id']}"
    assert boss.post(f"{study}/reviewers", {"users": ["expert"]}, format="json").json() == {"invited": ["expert"]}
    assert [one["id"] for one in mine.get("/api/v1/studies").json()] == [told["id"]]
    page = mine.get(study).json()
    assert [one["key"] for one in page["asked"]] == list(KEYS)
    assert page["items"] == [{"number": 1, "mark": "empty"}, {"number": 2, "mark": "empty"}]
    item = mine.get(f"{study}/items/1").json()
    assert item["answer"]["data"] == {"value": 6}
    assert item["characteristic_form"].startswith("What is right about")
    assert [one["kind"] for one in item["events"]] == ["tool_call", "tool_result", "model_call", "model_result"]
    given = mine.put(f"{study}/items/1", {"answers": dict.fromkeys(KEYS, True), "comment": "fine"}, format="json")
    assert given.json()["answers"]["hallucinations"] is True
    assert mine.put(f"{study}/items/2", {"answers": {KEYS[0]: False}}, format="json").status_code == 200
    assert [one["mark"] for one in mine.get(study).json()["items"]] == ["done", "begun"]
    results = boss.get(f"{study}/results").json()
    completion = results["criteria"][0]
    assert completion["judge_and_majority"]["accuracy"]["value"] == 0.5
    assert completion["judge_and_expert"]["expert"]["kappa"]["value"] == 0.0
    assert results["criteria"][5]["judge_and_majority"] is None
    assert results["disagreements"] == [
        {"number": 2, "criterion": "task_completion", "judge": True, "experts": {"expert": False}}
    ]
    lines = list(csv.DictReader(io.StringIO(boss.get(f"{study}/answers.csv", HTTP_ACCEPT="text/csv").content.decode())))
    assert [line["person"] for line in lines] == ["expert", "expert"]
    assert boss.post(f"{study}/state", {"state": "closed"}, format="json").json() == {"state": "closed"}
    late = mine.put(f"{study}/items/2", {"answers": {KEYS[0]: True}}, format="json")
    assert (late.status_code, late.json()["code"]) == (409, "study_closed")
    assert [one["progress"] for one in boss.get(place).json()] == ["closed"]


def test_a_survey_over_the_api(survey, ask, organizer):
    reviewer = ask(survey)
    mine, study = client(reviewer.user), f"/api/v1/studies/{survey.pk}"
    assert mine.get(study).json()["asked"] == {"1": "Not realistic", "2": "Realistic", "3": "Highly realistic"}
    item = mine.get(f"{study}/items/1").json()
    assert set(item) == {"number", "question", "given"}  # a scenario's text is all that is shown
    assert mine.put(f"{study}/items/1", {"value": 3, "comment": "so"}, format="json").json()["value"] == 3
    assert mine.put(f"{study}/items/1", {"value": 4}, format="json").status_code == 400
    background = {"role": "engineer", "years": 4, "familiarity": "daily"}
    assert mine.put(f"{study}/background", background, format="json").status_code == 200
    reviewer.refresh_from_db()
    assert (reviewer.role, reviewer.years) == ("engineer", 4)
    results = client(organizer).get(f"{study}/results").json()
    assert results["mean"] == 3.0
    assert results["cronbach_alpha"]["value"] is None
    assert results["cronbach_alpha"]["note"]


def test_nothing_over_the_api_tells_whose_run_it_was_or_what_the_judge_said(study, ask):
    from gauntlet.submissions.models import Submission

    mine = client(ask(study).user)
    submission = Submission.objects.get()
    pages = [mine.get(f"/api/v1/studies/{study.pk}")] + [
        mine.get(f"/api/v1/studies/{study.pk}/items/{number}") for number in range(1, 7)
    ]
    for page in pages:
        assert page.status_code == 200
        text = page.content.decode()
        for secret in (submission.participant.username, "secret-name", str(submission.pk), "verdict", "telltale"):
            assert secret not in text, secret
        for item in study.items.all():
            assert str(item.episode_id) not in text


REFUSED = [
    ("get", "/api/v1/competitions/{slug}/studies", None),
    ("post", "/api/v1/competitions/{slug}/studies", {"kind": "realism", "phase": 1, "size": 3}),
    ("get", "/api/v1/studies/{study}", None),
    ("post", "/api/v1/studies/{study}/reviewers", {"users": ["expert"]}),
    ("post", "/api/v1/studies/{study}/state", {"state": "closed"}),
    ("put", "/api/v1/studies/{study}/background", {"role": "x", "years": 1, "familiarity": "new"}),
    ("get", "/api/v1/studies/{study}/items/1", None),
    ("put", "/api/v1/studies/{study}/items/1", {"answers": {"task_completion": True}}),
    ("get", "/api/v1/studies/{study}/results", None),
    ("get", "/api/v1/studies/{study}/answers.csv", None),
]


@pytest.mark.visibility
@pytest.mark.parametrize(("method", "route", "body"), REFUSED)
def test_who_has_no_business_there_is_refused_and_nothing_happens(
    study, make_user, make_submission, method, route, body
):
    expert = make_user("expert")
    address = route.format(slug=study.phase.competition.slug, study=study.pk)
    participant = make_submission(study.phase).participant
    for who, expected in ((None, {401}), (participant, {403, 404}), (expert, {403, 404})):
        answer = getattr(client(who), method)(address, body, format="json")
        assert answer.status_code in expected, (who, answer.status_code)
        assert set(answer.json()) <= {"code", "message"}
    assert Study.objects.count() == 1
    assert not Reviewer.objects.exists()
    assert not Judgement.objects.exists()
    study.refresh_from_db()
    assert study.state == "open"


def test_an_expert_sees_neither_results_nor_others_and_invites_nobody(study, ask, make_user):
    mine = client(ask(study).user)
    make_user("friend")
    for method, part, body in (
        ("get", "results", None), ("get", "answers.csv", None),
        ("post", "reviewers", {"users": ["friend"]}), ("post", "state", {"state": "closed"}),
    ):  # fmt: skip
        assert getattr(mine, method)(f"/api/v1/studies/{study.pk}/{part}", body, format="json").status_code == 404
    assert study.reviewers.count() == 1


def test_who_has_joined_since_is_told_why_and_gets_nothing(study, ask, make_submission):
    reviewer = ask(study)
    make_submission(study.phase, reviewer.user)
    answer = client(reviewer.user).get(f"/api/v1/studies/{study.pk}/items/1")
    assert (answer.status_code, answer.json()["code"]) == (403, "participant")
    assert client(reviewer.user).get("/api/v1/studies").json() == []


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "judge", "phase": 99, "size": 3, "program": "rubric"},
        {"kind": "other", "phase": 1, "size": 3},
        {"kind": "realism", "phase": 1, "size": 0},
        {"kind": "realism", "phase": 1, "size": 201},
        {"kind": "realism", "phase": 1, "size": 3, "seed": -1},
        {"kind": "judge", "phase": None, "size": 3},
        {"kind": "judge", "phase": "PHASE", "size": 3, "program": "no-such"},
        {},
        [],
    ],
)
def test_a_wrong_draw_is_refused_with_a_sentence(phase, organizer, body):
    if isinstance(body, dict) and body.get("phase") == "PHASE":
        body = {**body, "phase": phase.index}
    place = f"/api/v1/competitions/{phase.competition.slug}/studies"
    answer = client(organizer).post(place, body, format="json")
    assert answer.status_code in (400, 404, 409)
    assert answer.json()["message"]
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"answers": {"made_up": True}}, {"answers": {"task_completion": "perhaps"}}, {"answers": []},
        {"comment": "x" * 4001}, {"answers": {"task_completion": 7}}, [1],
    ],
)  # fmt: skip
def test_a_wrong_answer_changes_nothing(study, ask, body):
    reviewer = ask(study)
    answers = {KEYS[0]: True}
    services.save_judgement(reviewer, study.items.get(number=1), answers=answers, comment="before")
    answer = client(reviewer.user).put(f"/api/v1/studies/{study.pk}/items/1", body, format="json")
    assert answer.status_code == 400
    assert Judgement.objects.get().comment == "before"


def test_a_token_that_only_reads_answers_nothing(study, ask):
    reviewer = ask(study)
    reads = client(reviewer.user, scopes=("read",))
    assert reads.get(f"/api/v1/studies/{study.pk}/items/1").status_code == 200
    answer = reads.put(f"/api/v1/studies/{study.pk}/items/1", {"answers": {KEYS[0]: True}}, format="json")
    assert (answer.status_code, Judgement.objects.count()) == (403, 0)
