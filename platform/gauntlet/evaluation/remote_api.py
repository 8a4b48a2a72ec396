"""The worker's side of the API: jobs of own queues, over HTTPS. What is said is in `gauntlet_runtime.remote.messages`.

A thin door to what the platform's own workers use. Each answer may hold a secret, so none is kept by a cache.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import DataError, IntegrityError
from django.http import UnreadablePostError
from django.http.response import HttpResponseBase
from django.urls import path
from pydantic import BaseModel, TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from gauntlet.api_requests import AnyAccept
from gauntlet.away import AGAIN_SECONDS, PlatformAway, may_pass
from gauntlet.evaluation import claims, remote_jobs
from gauntlet.evaluation.errors import (
    AnswerNotFound,
    LeaseIsLost,
    MessageRefused,
    ResultRefused,
    WorkerOutdated,
)
from gauntlet.evaluation.models import Job, WorkerState
from gauntlet.evaluation.remote_bodies import MESSAGE_BYTES, read_message, received_file
from gauntlet.evaluation.remote_models import (
    access_to_models,
    checked_amounts,
    checked_key,
    keep_answer,
    models_of_held,
)
from gauntlet.evaluation.remote_records import keep_record, most_bytes
from gauntlet.evaluation.workers import report_worker_of
from gauntlet.queues.authentication import IsWorker, WorkerAuthentication
from gauntlet.queues.models import QueueToken
from gauntlet.storage.streaming import download, send
from gauntlet_runtime.jobs import RESULT_BYTES, Failure, LeaseLost, SourceUnavailable
from gauntlet_runtime.metering import Reservation, Settlement
from gauntlet_runtime.remote import messages

FINISH_BYTES: Final = RESULT_BYTES + MESSAGE_BYTES  # a result, and what it is wrapped in
ANSWER_BYTES: Final = 32 << 20  # of a model, as JSON; half of it is what a provider may say
_HEARTBEAT: Final = TypeAdapter(messages.Heartbeat)
_CLAIM: Final = TypeAdapter(messages.ClaimRequest)
_REPORT: Final = TypeAdapter(messages.Report)
_FAILURE: Final = TypeAdapter(Failure)
_FINISHED: Final[TypeAdapter[messages.FinishedRun | messages.FinishedScore]] = TypeAdapter(messages.Finished)
_RESERVATION: Final = TypeAdapter(Reservation)
_SETTLEMENT: Final = TypeAdapter(Settlement)


class _WorkerView(APIView):
    """What all of it has in common: who may come, which protocol is spoken, and how refusals read."""

    authentication_classes = (WorkerAuthentication,)
    permission_classes = (IsWorker,)
    parser_classes = ()  # bodies are read as they are, in bounds
    content_negotiation_class = AnyAccept
    schema = None  # for one program only, which has its own description of it

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a worker of another version."""
        super().initial(request, *args, **kwargs)
        if request.headers.get(messages.PROTOCOL_HEADER) != messages.PROTOCOL:
            raise WorkerOutdated(
                f"This site speaks version {messages.PROTOCOL} of the workers' protocol (header "
                f"{messages.PROTOCOL_HEADER}). Install the worker of the site's own version."
            )

    def handle_exception(self, error: Exception) -> Response:
        """The services' own errors in the API's shape; nothing that a worker sends may end as a fault of ours."""
        return super().handle_exception(_told(error))

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """No answer may be kept by a cache."""
        made = super().finalize_response(request, response, *args, **kwargs)
        made["Cache-Control"] = "no-store"
        made[messages.PROTOCOL_HEADER] = messages.PROTOCOL
        return made


def _told(error: Exception) -> Exception:
    if isinstance(error, LeaseLost):
        return LeaseIsLost.now()
    if isinstance(error, SourceUnavailable) or (may_pass(error) and not isinstance(error, UnreadablePostError)):
        return PlatformAway("The platform's database or storage is away. Ask again.", retry_after=AGAIN_SECONDS)
    if isinstance(error, DataError | IntegrityError):
        return ResultRefused("What was sent holds something that cannot be stored.")
    return error


def _token(request: Request) -> QueueToken:
    token = request.auth
    if not isinstance(token, QueueToken):  # the permission has seen to it
        raise TypeError("no token of a queue")
    return token


def _held(request: Request, job_id: UUID) -> Job:
    """The job that the request is about.

    Raises:
        LeaseIsLost
        MessageRefused: the header with the lease is missing, or is none.
    """
    try:
        lease = UUID(request.headers.get(messages.LEASE_HEADER, ""))
    except ValueError:
        raise MessageRefused(f"Send the claim's token in the header {messages.LEASE_HEADER}.") from None
    return remote_jobs.held_job(_token(request), job=job_id, lease=lease)


def _answer(message: BaseModel | None) -> Response:
    return Response(status=204) if message is None else Response(message.model_dump(mode="json"))


class TokenThrottle(ScopedRateThrottle):
    """What one token may ask for in a minute: all who claim take turns, and what was handed back is written down."""

    def get_cache_key(self, request: Request, view: APIView) -> str:
        """One bucket a token."""
        return self.cache_format % {"scope": self.scope, "ident": _token(request).pk}

    def forget(self, request: Request, view: WorkerClaims) -> None:
        """Let the last request that was allowed count for nothing."""
        self.scope = view.throttle_scope
        _, seconds = self.parse_rate(self.get_rate())
        key = self.get_cache_key(request, view)
        self.cache.set(key, self.cache.get(key, [])[1:], seconds)


class WorkerHeartbeat(_WorkerView):
    """That a worker lives."""

    def post(self, request: Request) -> Response:
        """Note it, and say for whom it works."""
        token = _token(request)
        said = read_message(request._request, _HEARTBEAT)
        report_worker_of(
            token,
            worker=said.worker,
            state=WorkerState(said.state),
            reason=said.reason,
            sandbox=said.sandbox,
            version=said.version,
        )
        return _answer(messages.HeartbeatAnswer(queue=token.queue.name, seconds=settings.BELL_SECONDS))


class WorkerClaims(_WorkerView):
    """The next job."""

    throttle_classes = (TokenThrottle,)
    throttle_scope = "claims"

    def post(self, request: Request) -> Response:
        """A claim, or 204 where none waits. Only the latter counts: many processes do many short jobs in a minute."""
        said = read_message(request._request, _CLAIM)
        claimed = remote_jobs.claim_for(_token(request), worker=said.worker)
        if claimed is not None:
            TokenThrottle().forget(request, self)
        return _answer(claimed)


class WorkerRenewal(_WorkerView):
    """Holding on to a job."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """Another lease."""
        held = _held(request, job_id)
        claims.renew(job=held.pk, token=claims.lease_of(held))
        return Response(status=204)


class WorkerReport(_WorkerView):
    """How the work goes."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """Note it."""
        held = _held(request, job_id)
        said = read_message(request._request, _REPORT)
        remote_jobs.report(held, said.event, said.detail)
        return Response(status=204)


class WorkerGivingBack(_WorkerView):
    """A job that the worker could not do."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """Let another try."""
        held = _held(request, job_id)
        remote_jobs.give_back(held, read_message(request._request, _FAILURE))
        return Response(status=204)


class WorkerHandingBack(_WorkerView):
    """A job of a worker that is to end."""

    throttle_classes = (TokenThrottle,)
    throttle_scope = "hand_backs"

    def post(self, request: Request, job_id: UUID) -> Response:
        """Let another do it at once."""
        held = _held(request, job_id)
        claims.hand_back(job=held.pk, token=claims.lease_of(held))
        return Response(status=204)


class WorkerArtifact(_WorkerView):
    """A file that a job needs."""

    def get(self, request: Request, job_id: UUID, digest: str) -> HttpResponseBase:
        """Its bytes."""
        artifact = remote_jobs.artifact_of(_held(request, job_id), digest)
        return download(artifact, name=artifact.digest[-64:], content_type="application/octet-stream")


class WorkerFile(_WorkerView):
    """The record of an episode."""

    def put(self, request: Request, job_id: UUID, digest: str) -> Response:
        """Keep it for the result that will name it."""
        held = _held(request, job_id)
        with received_file(request._request, most=most_bytes(held), digest=digest) as archive:
            keep_record(held, archive)
        return Response(status=204)


class WorkerResult(_WorkerView):
    """The end of a job."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """Store what came out."""
        held = _held(request, job_id)
        remote_jobs.finish(held, read_message(request._request, _FINISHED, most=FINISH_BYTES))
        return Response(status=204)


class WorkerModelAccess(_WorkerView):
    """Where a job's language models are."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """The organizer's own provider with its key; 204 where there is none, or it is the operator's."""
        access = access_to_models(_held(request, job_id))
        if access is None:
            return Response(status=204)
        shown = access.model_dump(exclude={"key"}) | {"key": access.key.get_secret_value()}
        return _answer(messages.Access(**shown))


class WorkerReservation(_WorkerView):
    """Before a call of a model."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """Hold the most that it can use, or say why not."""
        models = models_of_held(_held(request, job_id))
        wanted = read_message(request._request, _RESERVATION)
        checked_amounts(wanted)
        return _answer(models.reserve(wanted))


class WorkerSettlement(_WorkerView):
    """After a call of a model."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """Give back what it did not use."""
        models = models_of_held(_held(request, job_id))
        used = read_message(request._request, _SETTLEMENT)
        checked_amounts(used)
        models.settle(used)
        return Response(status=204)


class WorkerModelAnswer(_WorkerView):
    """A model's answer that is kept."""

    def get(self, request: Request, job_id: UUID, key: str) -> HttpResponseBase:
        """Its bytes, or 404."""
        models = models_of_held(_held(request, job_id))
        with tempfile.TemporaryDirectory(dir=settings.FILE_UPLOAD_TEMP_DIR) as folder:
            place = Path(folder) / "answer"
            if not models.find_answer(checked_key(key), place):
                raise AnswerNotFound("No answer is kept under this key.")
            opened = place.open("rb")
            return send(opened, size=place.stat().st_size, name="answer", content_type="application/octet-stream")

    def put(self, request: Request, job_id: UUID, key: str) -> Response:
        """Keep it; the first one stays."""
        held = _held(request, job_id)
        with received_file(request._request, most=ANSWER_BYTES) as answer:
            keep_answer(held, key, answer)
        return Response(status=204)


_JOB: Final = "worker/jobs/<uuid:job_id>"

urlpatterns = [
    path("worker/heartbeat", WorkerHeartbeat.as_view(), name="worker-heartbeat"),
    path("worker/claims", WorkerClaims.as_view(), name="worker-claims"),
    path(f"{_JOB}/renew", WorkerRenewal.as_view(), name="worker-renew"),
    path(f"{_JOB}/report", WorkerReport.as_view(), name="worker-report"),
    path(f"{_JOB}/give-back", WorkerGivingBack.as_view(), name="worker-give-back"),
    path(f"{_JOB}/hand-back", WorkerHandingBack.as_view(), name="worker-hand-back"),
    path(f"{_JOB}/artifacts/<str:digest>", WorkerArtifact.as_view(), name="worker-artifact"),
    path(f"{_JOB}/files/<str:digest>", WorkerFile.as_view(), name="worker-file"),
    path(f"{_JOB}/finish", WorkerResult.as_view(), name="worker-finish"),
    path(f"{_JOB}/models/access", WorkerModelAccess.as_view(), name="worker-model-access"),
    path(f"{_JOB}/models/reserve", WorkerReservation.as_view(), name="worker-model-reserve"),
    path(f"{_JOB}/models/settle", WorkerSettlement.as_view(), name="worker-model-settle"),
    path(f"{_JOB}/models/answers/<str:key>", WorkerModelAnswer.as_view(), name="worker-model-answer"),
]
