"""Routes of the reviews app: draw, invite, answer, results."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.api_requests import AnyAccept
from gauntlet.competitions.access import access_competition_as_organizer, access_phase
from gauntlet.reviews import services
from gauntlet.reviews.access import access_item, access_study_as_organizer, access_study_as_reviewer
from gauntlet.reviews.criteria import CRITERIA, KEYS, SCALE
from gauntlet.reviews.export import answers_csv
from gauntlet.reviews.models import Familiarity, Item, Reviewer, Study, StudyKind, StudyState
from gauntlet.reviews.record import answer, blind_events
from gauntlet.reviews.results import Comparison, JudgeResults, RealismResults, judge_results, realism_results
from gauntlet.reviews.selectors import ReviewerLine, StudyLine, invitations_of, marks, study_line, study_lines
from gauntlet_scoring.agreement import Coefficient

_MOST_EVENTS: Final = 1000


class DrawRequest(serializers.Serializer[Any]):
    """What is drawn."""

    kind = serializers.ChoiceField(choices=StudyKind.choices)
    phase = serializers.IntegerField(min_value=0, max_value=32767)
    size = serializers.IntegerField(min_value=1, max_value=services.MOST_ITEMS)
    program = serializers.CharField(max_length=36, required=False, default="", help_text="judge validation: whose")
    seed = serializers.IntegerField(min_value=0, max_value=(1 << 31) - 1, required=False, allow_null=True, default=None)
    title = serializers.CharField(max_length=200, required=False, default="")


class InviteRequest(serializers.Serializer[Any]):
    """Who is invited."""

    users = serializers.ListField(child=serializers.CharField(max_length=150), max_length=services.MOST_REVIEWERS)


class StateRequest(serializers.Serializer[Any]):
    """Open or closed."""

    state = serializers.ChoiceField(choices=StudyState.choices)


class BackgroundRequest(serializers.Serializer[Any]):
    """What a reviewer says of themselves."""

    role = serializers.CharField(max_length=100)
    years = serializers.IntegerField(min_value=0, max_value=80)
    familiarity = serializers.ChoiceField(choices=Familiarity.choices)


class JudgementRequest(serializers.Serializer[Any]):
    """The six answers; what is left out or null is not answered."""

    answers = serializers.DictField(child=serializers.BooleanField(allow_null=True), required=False, default=dict)
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")

    def validate_answers(self, answers: dict[str, bool | None]) -> dict[str, bool | None]:
        """Only questions that are asked."""
        if unknown := sorted(set(answers) - set(KEYS)):
            raise serializers.ValidationError(f"There is no question '{unknown[0][:80]}'. Ask for: {', '.join(KEYS)}.")
        return answers


class RatingRequest(serializers.Serializer[Any]):
    """How real a scenario is."""

    value = serializers.ChoiceField(choices=list(SCALE.items()), required=False, allow_null=True, default=None)
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")


def study_json(line: StudyLine) -> dict[str, Any]:
    """A study as its organizers see it."""
    study = line.study
    return {
        "id": str(study.pk),
        "kind": study.kind,
        "title": study.title,
        "phase": study.phase.index,
        "program": study.program,
        "seed": study.seed,
        "drawn_from": study.drawn_from,
        "state": study.state,
        "progress": line.progress.value,
        "items": line.items,
        "reviewers": line.reviewers,
        "done": line.done,
        "created_at": study.created_at,
    }


def invitation_json(line: ReviewerLine) -> dict[str, Any]:
    """A study as somebody who was invited sees it."""
    study = line.reviewer.study
    return {
        "id": str(study.pk),
        "kind": study.kind,
        "title": study.title,
        "competition": study.phase.competition.title,
        "state": study.state,
        "items": line.items,
        "done": line.done,
    }


class StudiesOfCompetition(APIView):
    """The studies of a competition, for its organizers."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str) -> Response:
        """List them, newest first."""
        competition = access_competition_as_organizer(request.user, slug)
        return Response([study_json(line) for line in study_lines(competition)])

    @extend_schema(request=DrawRequest, responses={201: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str) -> Response:
        """Draw a sample; the same rows and seed give the same one."""
        actor = signed_in(request)
        competition = access_competition_as_organizer(actor, slug)
        wanted = DrawRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        given = wanted.validated_data
        phase = access_phase(competition, given["phase"])
        common = {"size": given["size"], "seed": given["seed"], "title": given["title"], "actor": actor}
        if given["kind"] == StudyKind.JUDGE:
            study = services.draw_judge_study(phase, program=given["program"], **common)
        else:
            study = services.draw_realism_study(phase, **common)
        return Response(study_json(study_line(study)), status=201)


class Invitations(APIView):
    """What the reader was invited to."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> Response:
        """List it, open studies first."""
        return Response([invitation_json(line) for line in invitations_of(signed_in(request))])


class StudyView(APIView):
    """A study, for somebody who was invited."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, study_id: UUID) -> Response:
        """Its questions, and where the reader stands with each item."""
        reviewer = access_study_as_reviewer(request.user, study_id)
        study = reviewer.study
        asked: Any = (
            [{"key": one.key, "question": one.question, "hint": one.hint} for one in CRITERIA]
            if study.kind == StudyKind.JUDGE
            else SCALE
        )
        return Response(
            {
                "id": str(study.pk),
                "kind": study.kind,
                "title": study.title,
                "state": study.state,
                "asked": asked,
                "items": [{"number": one.number, "mark": one.mark.value} for one in marks(reviewer)],
            }
        )


class ReviewersView(APIView):
    """Who was invited."""

    @extend_schema(request=InviteRequest, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, study_id: UUID) -> Response:
        """Invite people by user name: all of them or nobody."""
        study = access_study_as_organizer(request.user, study_id)
        wanted = InviteRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        made = services.invite(study, names=wanted.validated_data["users"], actor=signed_in(request))
        return Response({"invited": [one.user.username for one in made]})


class StateView(APIView):
    """Whether answers are taken."""

    @extend_schema(request=StateRequest, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, study_id: UUID) -> Response:
        """Close the study, or open it again."""
        study = access_study_as_organizer(request.user, study_id)
        wanted = StateRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        move = services.close if wanted.validated_data["state"] == StudyState.CLOSED else services.reopen
        move(study, actor=signed_in(request))
        return Response({"state": study.state})


class BackgroundView(APIView):
    """What the reader says of themselves."""

    @extend_schema(request=BackgroundRequest, responses=OpenApiTypes.OBJECT)
    def put(self, request: Request, study_id: UUID) -> Response:
        """Keep it; later words replace earlier ones."""
        reviewer = access_study_as_reviewer(request.user, study_id)
        wanted = BackgroundRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        services.save_background(reviewer, **wanted.validated_data)
        return Response(wanted.data)


class ItemView(APIView):
    """A trajectory or scenario, and the reader's answer to it."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, study_id: UUID, number: int) -> Response:
        """What is asked about, blind, with what the reader has answered so far."""
        reviewer = access_study_as_reviewer(request.user, study_id)
        item = access_item(reviewer.study, number)
        return Response(_item_json(reviewer, item))

    @extend_schema(request=JudgementRequest, responses=OpenApiTypes.OBJECT)
    def put(self, request: Request, study_id: UUID, number: int) -> Response:
        """Answer, wholly or in part; later answers replace earlier ones until the study closes."""
        reviewer = access_study_as_reviewer(request.user, study_id)
        item = access_item(reviewer.study, number)
        judged = reviewer.study.kind == StudyKind.JUDGE
        wanted = JudgementRequest(data=request.data) if judged else RatingRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        if judged:
            services.save_judgement(reviewer, item, **wanted.validated_data)
        else:
            services.save_rating(reviewer, item, **wanted.validated_data)
        return Response(_given(reviewer, item))


def _item_json(reviewer: Reviewer, item: Item) -> dict[str, Any]:
    about: dict[str, Any] = {"number": item.number, "question": item.scenario.text}
    if item.episode is not None:
        said = answer(item)
        about |= {
            "characteristic_form": item.characteristic_form,
            "answer": {"text": said.text, "data": said.data} if said else None,
            "events": [
                event.model_dump(mode="json", exclude={"episode"}) for event in islice(blind_events(item), _MOST_EVENTS)
            ],
        }
    return about | {"given": _given(reviewer, item)}


def _given(reviewer: Reviewer, item: Item) -> dict[str, Any]:
    if reviewer.study.kind == StudyKind.JUDGE:
        judgement = reviewer.judgements.filter(item=item).first()
        answers = judgement.answers if judgement else dict.fromkeys(KEYS)
        return {"answers": answers, "comment": judgement.comment if judgement else ""}
    rating = reviewer.ratings.filter(item=item).first()
    return {"value": rating.value if rating else None, "comment": rating.comment if rating else ""}


class ResultsView(APIView):
    """What came out of a study, for its organizers."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, study_id: UUID) -> Response:
        """The coefficients, each with what it was computed from."""
        study = access_study_as_organizer(request.user, study_id)
        told = (
            _judge_json(judge_results(study))
            if study.kind == StudyKind.JUDGE
            else _realism_json(realism_results(study))
        )
        return Response(study_json(study_line(study)) | told)


def _coefficient(one: Coefficient) -> dict[str, Any]:
    return {"value": one.value, "items": one.items, "raters": one.raters, "note": one.note}


def _comparison(one: Comparison) -> dict[str, Any]:
    return {"accuracy": _coefficient(one.accuracy), "kappa": _coefficient(one.kappa)}


def _judge_json(found: JudgeResults) -> dict[str, Any]:
    names = [one.user.username for one in found.experts]
    return {
        "experts": names,
        "criteria": [
            {
                "key": one.criterion.key,
                "judge_and_majority": _comparison(one.majority) if one.majority else None,
                "judge_and_expert": {
                    name: _comparison(each) for name, each in zip(names, one.experts, strict=bool(one.experts))
                },
                "among_experts": {"fleiss_kappa": _coefficient(one.among_experts)},
            }
            for one in found.criteria
        ],
        "disagreements": [
            {
                "number": one.item.number,
                "criterion": each.criterion.key,
                "judge": each.judge,
                "experts": dict(zip(names, each.answers, strict=True)),
            }
            for one in found.disputed
            for each in one.disagreements
        ],
    }


def _realism_json(found: RealismResults) -> dict[str, Any]:
    return {
        "people": len(found.people),
        "complete": found.complete,
        "mean": found.mean,
        "cronbach_alpha": _coefficient(found.alpha),
        "icc1": _coefficient(found.icc1),
        "icc2": _coefficient(found.icc2),
        "fleiss_kappa": _coefficient(found.fleiss),
        "scenarios": [
            {"number": one.item.number, "scenario": one.item.scenario.key, "counts": one.counts, "mean": one.mean}
            for one in found.scenarios
        ],
    }


class AnswersCsv(APIView):
    """Every answer of a study, for its organizers."""

    content_negotiation_class = AnyAccept

    @extend_schema(responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR)})
    def get(self, request: Request, study_id: UUID) -> HttpResponse:
        """As CSV, a line an answer."""
        return csv_response(access_study_as_organizer(request.user, study_id))


def csv_response(study: Study) -> HttpResponse:
    """The answers as a file to save."""
    response = HttpResponse(answers_csv(study), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.kind}-{str(study.pk)[:8]}.csv"'
    return response


urlpatterns = [
    path("competitions/<slug:slug>/studies", StudiesOfCompetition.as_view(), name="api-competition-studies"),
    path("studies", Invitations.as_view(), name="api-studies"),
    path("studies/<uuid:study_id>", StudyView.as_view(), name="api-study"),
    path("studies/<uuid:study_id>/reviewers", ReviewersView.as_view(), name="api-study-reviewers"),
    path("studies/<uuid:study_id>/state", StateView.as_view(), name="api-study-state"),
    path("studies/<uuid:study_id>/background", BackgroundView.as_view(), name="api-study-background"),
    path("studies/<uuid:study_id>/items/<int:number>", ItemView.as_view(), name="api-study-item"),
    path("studies/<uuid:study_id>/results", ResultsView.as_view(), name="api-study-results"),
    path("studies/<uuid:study_id>/answers.csv", AnswersCsv.as_view(), name="api-study-answers"),
]
