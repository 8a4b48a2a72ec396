"""Every address of the site, asked by everybody: none of the answers holds what its reader must not see."""

from __future__ import annotations

import itertools
import re
import uuid
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

pytestmark = [pytest.mark.visibility, pytest.mark.timeout(600)]

# Every route of our own. A new one fails the test below until somebody has thought about who may see it and put it
# here; from then on it is walked with every object there is.
OURS = {
    "",
    "terms/",
    "theme",
    "accounts/signup/",
    "accounts/profile/",
    "accounts/tokens/",
    "accounts/tokens/<uuid:token_id>/revoke",
    "submissions/",
    "submissions/<uuid:submission_id>/",
    "submissions/<uuid:submission_id>/story",
    "submissions/<uuid:submission_id>/cancel",
    "submissions/<uuid:submission_id>/compare/",
    "submissions/<uuid:submission_id>/exclusion",
    "submissions/<uuid:submission_id>/reports/<uuid:evaluation_id>/<slug:program>/",
    "submissions/<uuid:submission_id>/logs/<slug:kind>",
    "episodes/<uuid:episode_id>/",
    "reviews/",
    "reviews/<uuid:study_id>/",
    "reviews/<uuid:study_id>/<int:number>/",
    "validate/",
    "operators/workers/",
    "queues/",
    "queues/<slug:name>/",
    "queues/<slug:name>/tokens",
    "queues/<slug:name>/tokens/<uuid:token_id>/revoke",
    "queues/<slug:name>/share",
    "queues/<slug:name>/unshare",
    "queues/<slug:name>/phases/<int:phase_id>/send-back",
    "queues/<slug:name>/delete",
    "import/",
    "competitions/<slug:slug>/",
    "competitions/<slug:slug>/pages/<int:index>/",
    "competitions/<slug:slug>/terms/",
    "competitions/<slug:slug>/join",
    "competitions/<slug:slug>/leaderboard/",
    "competitions/<slug:slug>/leaderboard/<int:index>/",
    "competitions/<slug:slug>/submit/",
    "competitions/<slug:slug>/submissions/",
    "competitions/<slug:slug>/team/",
    "competitions/<slug:slug>/team/create",
    "competitions/<slug:slug>/team/join",
    "competitions/<slug:slug>/team/leave",
    "competitions/<slug:slug>/organizer/",
    "competitions/<slug:slug>/organizer/participants/",
    "competitions/<slug:slug>/organizer/teams/",
    "competitions/<slug:slug>/organizer/teams/<int:team_id>/",
    "competitions/<slug:slug>/organizer/workers/",
    "competitions/<slug:slug>/organizer/models/",
    "competitions/<slug:slug>/organizer/models/<slug:name>/remove",
    "competitions/<slug:slug>/organizer/reviews/",
    "competitions/<slug:slug>/organizer/reviews/<uuid:study_id>/",
    "competitions/<slug:slug>/organizer/reviews/<uuid:study_id>/answers.csv",
    "competitions/<slug:slug>/organizer/reviews/<uuid:study_id>/invite",
    "competitions/<slug:slug>/organizer/reviews/<uuid:study_id>/reviewers/<int:reviewer_id>/withdraw",
    "competitions/<slug:slug>/organizer/reviews/<uuid:study_id>/state",
    "competitions/<slug:slug>/organizer/publish",
    "api/v1/me",
    "api/v1/tokens",
    "api/v1/tokens/current",
    "api/v1/tokens/<uuid:token_id>",
    "api/v1/competitions",
    "api/v1/competitions/<slug:slug>",
    "api/v1/competitions/<slug:slug>/join",
    "api/v1/competitions/<slug:slug>/team",
    "api/v1/competitions/<slug:slug>/team/join",
    "api/v1/competitions/<slug:slug>/team/leave",
    "api/v1/competitions/<slug:slug>/teams",
    "api/v1/competitions/<slug:slug>/teams/move",
    "api/v1/competitions/<slug:slug>/teams/<int:team_id>",
    "api/v1/competitions/<slug:slug>/teams/<int:team_id>/merge",
    "api/v1/competitions/<slug:slug>/phases/<int:index>/queue",
    "api/v1/competitions/<slug:slug>/phases/<int:index>/kit",
    "api/v1/competitions/<slug:slug>/phases/<int:index>/public_data",
    "api/v1/competitions/<slug:slug>/phases/<int:index>/submissions",
    "api/v1/competitions/<slug:slug>/phases/<int:index>/leaderboard",
    "api/v1/competitions/<slug:slug>/phases/<int:index>/leaderboard.csv",
    "api/v1/queues",
    "api/v1/queues/<slug:name>",
    "api/v1/queues/<slug:name>/organizers",
    "api/v1/queues/<slug:name>/organizers/<str:username>",
    "api/v1/queues/<slug:name>/tokens",
    "api/v1/queues/<slug:name>/tokens/<uuid:token_id>",
    "api/v1/queues/<slug:name>/phases/<int:phase_id>",
    "api/v1/uploads",
    "api/v1/uploads/<uuid:upload_id>",
    "api/v1/submissions",
    "api/v1/submissions/<uuid:submission_id>",
    "api/v1/submissions/<uuid:submission_id>/log",
    "api/v1/submissions/<uuid:submission_id>/comparison/<uuid:other_id>",
    "api/v1/submissions/<uuid:submission_id>/cancel",
    "api/v1/submissions/<uuid:submission_id>/exclusion",
    "api/v1/evaluations/<uuid:evaluation_id>/scoring-input",
    "api/v1/submissions/<uuid:submission_id>/events",
    "api/v1/competitions/<slug:slug>/studies",
    "api/v1/studies",
    "api/v1/studies/<uuid:study_id>",
    "api/v1/studies/<uuid:study_id>/reviewers",
    "api/v1/studies/<uuid:study_id>/state",
    "api/v1/studies/<uuid:study_id>/background",
    "api/v1/studies/<uuid:study_id>/items/<int:number>",
    "api/v1/studies/<uuid:study_id>/results",
    "api/v1/studies/<uuid:study_id>/answers.csv",
    "api/v1/worker/heartbeat",
    "api/v1/worker/claims",
    "api/v1/worker/jobs/<uuid:job_id>/renew",
    "api/v1/worker/jobs/<uuid:job_id>/report",
    "api/v1/worker/jobs/<uuid:job_id>/give-back",
    "api/v1/worker/jobs/<uuid:job_id>/hand-back",
    "api/v1/worker/jobs/<uuid:job_id>/artifacts/<str:digest>",
    "api/v1/worker/jobs/<uuid:job_id>/files/<str:digest>",
    "api/v1/worker/jobs/<uuid:job_id>/finish",
    "api/v1/worker/jobs/<uuid:job_id>/models/access",
    "api/v1/worker/jobs/<uuid:job_id>/models/reserve",
    "api/v1/worker/jobs/<uuid:job_id>/models/settle",
    "api/v1/worker/jobs/<uuid:job_id>/models/answers/<str:key>",
    "api/v1/schema",
}
# Routes of Django and allauth, walked as well: accounts hold no competition's data, the admin site is for staff.
OF_OTHERS = ("accounts/", "admin/")
QUERIES = (
    "",
    "?download=1",
    "?q=canary&sort=-score&search=canary",
    "?format=api&limit=1000&competition=x&state=finished",
)


def routes(resolver: URLResolver | None = None, prefix: str = "") -> list[str]:
    """Every route of the site, as written in the URL configurations."""
    found = []
    for one in (resolver or get_resolver()).url_patterns:
        route = prefix + str(one.pattern)
        if isinstance(one, URLPattern):
            found.append(route)
        else:
            found += routes(one, route)
    return found


def test_every_route_is_classified():
    ours = {route for route in routes() if not route.startswith(OF_OTHERS)} | {
        route for route in OURS if route.startswith("accounts/")
    }
    assert ours == OURS
    assert set(routes()) >= OURS


@pytest.fixture(scope="module")
def addresses(world: Any) -> list[str]:
    """Every route with every object that its parameters can name, and places where a stored file might be served."""
    from gauntlet.accounts.models import ApiToken
    from gauntlet.competitions.models import Task
    from gauntlet.evaluation.models import Episode, Evaluation, Job
    from gauntlet.queues.models import QueueToken

    ids = {
        "slug": [world.competition.slug],
        "index": [0, 1, 2],
        "upload_id": [uuid.uuid4()],
        "submission_id": [*world.submissions.values(), uuid.uuid4()],
        "other_id": [*world.submissions.values(), uuid.uuid4()],
        "evaluation_id": list(Evaluation.objects.values_list("pk", flat=True)),
        "program": ["rubric", "own"],
        "episode_id": list(Episode.objects.values_list("pk", flat=True)),
        "study_id": [study.pk for study in world.studies],
        "number": [1, 2, 3, 4, 5, 6],
        "reviewer_id": [1],
        "team_id": [1],
        "job_id": list(Job.objects.values_list("pk", flat=True)[:2]),
        "digest": [world.competition.tasks.first().reference_data_id],
        "token_id": [token.pk for kind in (ApiToken, QueueToken) for token in kind.objects.all()],
        "app_label": ["evaluation", "submissions", "competitions", "accounts"],
        "content_type_id": [1],
        "object_id": [1, *world.submissions.values(), *Evaluation.objects.values_list("pk", flat=True)[:2]],
        "url": ["competitions/scenario/"],
        "key": ["x"],
        "kind": ["agent", "check", "organizer"],
        "name": ["mine", "lab"],
        "username": [world.owner.user.username],
        "phase_id": [1, *world.competition.phases.values_list("pk", flat=True)],
        "uidb36": ["1"],
        "id": [1, world.owner.user.pk],
        "pk": [1],
    }
    tasks = Task.objects.select_related("reference_data", "input_data", "environment")
    stored = [one for task in tasks for one in (task.reference_data, task.input_data, task.environment)]
    stored += [episode.trajectory for episode in Episode.objects.select_related("trajectory")[:3]]
    guessed = [
        f"{prefix}{artifact.path}"
        for prefix in ("artifacts/", "media/", "static/", "static/../artifacts/", "static/%2e%2e/artifacts/", "")
        for artifact in stored
    ]
    # Every object with the plain address; the queries with the first object of each route, which is enough to show that
    # no query opens what the plain address keeps shut.
    asked = [
        f"{filled}{query}"
        for route in routes()
        for number, filled in enumerate(fill(route, ids))
        for query in (QUERIES if route in OURS and number == 0 else ("",))
    ]
    return asked + guessed


def fill(route: str, ids: dict[str, list[Any]]) -> list[str]:
    """A route's concrete addresses. A parameter that nobody thought of is a KeyError, and so a failure."""
    plain = re.sub(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)", r"<\1>", route)  # admin and allauth have regular expressions
    plain = re.sub(r"[\^$]|\\Z", "", plain).replace("\\.", ".")
    names = re.findall(r"<(?:\w+:)?(\w+)>", plain)
    filled = []
    for values in itertools.product(*(ids[name] for name in names)):
        address = plain
        for value in values:
            address = re.sub(r"<[^>]*>", str(value), address, count=1)
        filled.append(address)
    return filled


@pytest.mark.parametrize(
    "who",
    [
        *(f"{name}, {how}" for name in ("owner", "rival", "outsider") for how in ("signed in", "with a token")),
        "anonymous",
    ],
)
def test_no_answer_holds_what_its_reader_must_not_see(world, addresses, leaks, who):
    client, forbidden = world.visitors[who], world.forbidden(who)
    found, answered = {}, set()
    for address in addresses:
        response = client.get(f"/{address}")
        answered.add(response.status_code)
        if held := leaks(response.content + str(response.headers).encode(), allowed(forbidden, address)):
            found[address] = (response.status_code, held)
        assert response.status_code < 500, address
    assert found == {}
    assert answered >= {200, 404}


def allowed(forbidden: list[str], address: str) -> list[str]:
    """A page may repeat the id that it was asked for, as in a link to log in first; nothing else."""
    return [one for one in forbidden if one not in address]


def test_others_cannot_change_or_stop_a_submission(world, leaks):
    for who, client in world.visitors.items():
        for (name, phase), submission in world.submissions.items():
            if who.startswith(name):
                continue
            for address in (f"/api/v1/submissions/{submission}/cancel", f"/submissions/{submission}/cancel"):
                response = client.post(address)
                assert response.status_code in (401, 403, 404), (who, address)
                assert leaks(response.content, allowed(world.forbidden(who), address)) == []
            assert world.evaluation(name, phase).state == "finished"


def test_the_same_walk_finds_canaries_where_they_may_be_seen(world, addresses, leaks):
    """The control of the walk above: asked by the organizer, these addresses do hold them."""
    client = world.session(world.organizer)
    found: dict[str, set[str]] = {}
    for address in addresses:
        if "submissions/" in address or "episodes/" in address:
            held = leaks(client.get(f"/{address}").content, world.canaries.of("hiddentext", "ownermark", "rivalmark"))
            found.setdefault(re.sub(r"[0-9a-f-]{36}", "*", address), set()).update(held)
    everything = set(world.canaries.of("hiddentext", "ownermark", "rivalmark"))
    for address in ("submissions/*/", "submissions/*/story", "episodes/*/", "api/v1/submissions/*/log"):
        assert found[address] == everything, address


def test_an_invited_expert_sees_what_was_drawn_and_never_whose_it_is(world, addresses, leaks):
    """Text and expectation of the hidden scenarios, and no name, no submission, nothing else of the ground truth."""
    canaries = world.canaries
    ids = [str(submission) for submission in world.submissions.values()]
    names = canaries.of("ownername", "rivalname", "hiddenkey", "plan", "out", "data", "program", "environment")
    theirs = [address for address in addresses if re.search("reviews/|studies|submissions/|episodes/", address)]
    seen = set()
    for client in (world.session(world.expert), world.expert.api):
        for address in theirs:
            content = client.get(f"/{address}").content
            assert leaks(content, allowed([*ids, *names], address)) == [], address
            seen.update(leaks(content, canaries.of("hiddentext", "form")))
    assert seen == set(canaries.of("hiddentext", "form"))


def test_the_organizer_sees_it_all_so_the_canaries_are_really_there(world):
    from gauntlet.evaluation.models import Episode, Report
    from gauntlet.storage.services import open_artifact

    client = world.session(world.organizer)
    seen = ""
    for submission in world.submissions.values():
        seen += client.get(f"/submissions/{submission}/").raise_for_status().text
        seen += client.get(f"/api/v1/submissions/{submission}/log").raise_for_status().text
    for episode in Episode.objects.filter(evaluation__submission__in=world.submissions.values()):
        seen += client.get(f"/episodes/{episode.pk}/").raise_for_status().text
    seen += client.get(f"/competitions/{world.competition.slug}/organizer/").raise_for_status().text
    seen += client.get("/queues/lab/").raise_for_status().text
    kinds = ("hiddentext", "opentext", "ownername", "rivalname", "ownermark", "rivalmark", "queuetoken", "queueworker")
    for kind in kinds:
        assert [one for one in world.canaries.of(kind) if one not in seen] == [], kind
    # What no page shows is nevertheless stored where a mistake could find it.
    stored = "".join(Report.objects.values_list("log", flat=True))
    for report in Report.objects.exclude(html=None):
        with open_artifact(report.html) as opened:
            stored += opened.read().decode()
    for kind in ("hiddenkey", "plan", "out", "form", "program"):
        assert [one for one in world.canaries.of(kind) if one not in stored] == [], kind


def test_a_phase_that_shows_everything_shows_its_owner_the_texts(world):
    submission = world.submissions["owner", 0]
    browser = world.session(world.owner)
    page = browser.get(f"/submissions/{submission}/").raise_for_status().text
    log = world.owner.api.get(f"/api/v1/submissions/{submission}/log").raise_for_status().text
    told = world.owner.api.get(f"/api/v1/submissions/{submission}").json()
    (evaluation,) = told["evaluations"]
    for text in world.canaries.of("opentext"):
        assert text in page
        assert text in log
    records = [browser.get(f"/episodes/{one['episode']}/").raise_for_status().text for one in evaluation["episodes"]]
    assert all(any(text in record for record in records) for text in world.canaries.of("opentext"))


def test_scores_are_told_where_they_may_be_and_no_more(world):
    scored = world.owner.api.get(f"/api/v1/submissions/{world.submissions['owner', 1]}").json()
    assert [score["value"] for score in scored["scores"]] == [1.0]
    assert len(scored["evaluations"][0]["episodes"]) == 3
    nothing = world.owner.api.get(f"/api/v1/submissions/{world.submissions['owner', 2]}").json()
    assert (nothing["status"], nothing["scores"]) == ("finished", [])
    assert nothing["evaluations"][0]["episodes"] == []
    board = world.owner.api.get(f"/api/v1/competitions/{world.competition.slug}/phases/2/leaderboard")
    assert "owner" not in board.text
    assert "rival" not in board.text
