"""Routes of uploads in parts: the tus protocol, version 1.0.0 (https://tus.io/protocols/resumable-upload).

Core, and the extensions creation, expiration, checksum and termination. Any tus client will do; a part may be as large
as an upload at once (MAX_BUNDLE_BYTES), and a small part loses less when the connection breaks.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.urls import path
from django.utils.http import http_date
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.submissions import resumable
from gauntlet.submissions.errors import UploadProtocol, UploadUnusable
from gauntlet.submissions.models import Upload

VERSION = "1.0.0"
_EXTENSIONS = "creation,expiration,checksum,termination"
_PART = "application/offset+octet-stream"


def _header(name: str, description: str, *, required: bool = True) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, required=required, description=description)


_RESUMABLE = _header("Tus-Resumable", "1.0.0")


class _TusView(APIView):
    """What all answers of the protocol have in common."""

    parser_classes = ()  # a part is read as it is

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a client of another version."""
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS" and request.headers.get("Tus-Resumable") != VERSION:
            raise UploadProtocol(f"Send the header 'Tus-Resumable: {VERSION}': uploads in parts speak tus {VERSION}.")

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Name the version; nothing of this may be kept by a cache."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Tus-Resumable"] = VERSION
        if response.status_code == UploadProtocol.status:
            response["Tus-Version"] = VERSION
        response["Cache-Control"] = "no-store"
        return response


class UploadsView(_TusView):
    """Beginning an upload."""

    @extend_schema(exclude=True)
    def options(self, request: HttpRequest | Request, *args: Any, **kwargs: Any) -> Response:
        """What this server can."""
        most = max(settings.MAX_IMAGE_BYTES, settings.MAX_BUNDLE_BYTES)
        headers = {"Tus-Version": VERSION, "Tus-Extension": _EXTENSIONS, "Tus-Max-Size": str(most)}
        headers["Tus-Checksum-Algorithm"] = ",".join(resumable.CHECKSUMS)
        return Response(status=204, headers=headers)

    @extend_schema(
        request=None,
        responses={201: None},
        parameters=[
            _RESUMABLE,
            _header("Upload-Length", "The file's size in bytes."),
            _header("Upload-Metadata", "`filename` and its value in base64.", required=False),
        ],
    )
    def post(self, request: Request) -> Response:
        """Begin an upload; its address is in `Location`."""
        length = _number(request, "Upload-Length")
        name = _metadata(request.headers.get("Upload-Metadata", "")).get("filename", "")
        upload = resumable.begin(owner=signed_in(request), length=length, file_name=name)
        headers = {"Location": f"{settings.SITE_URL}/api/v1/uploads/{upload.pk}", **_expiry(upload)}
        return Response(status=201, headers=headers)


class UploadView(_TusView):
    """One upload."""

    @extend_schema(request=None, responses={200: None}, parameters=[_RESUMABLE])
    def head(self, request: Request, upload_id: UUID) -> Response:
        """How much has come, in `Upload-Offset`."""
        upload = resumable.find(owner=signed_in(request), upload_id=upload_id)
        headers = {"Upload-Offset": str(resumable.offset_of(upload)), "Upload-Length": str(upload.length)}
        return Response(status=200, headers={**headers, **_expiry(upload)})

    @extend_schema(
        request={_PART: bytes},
        responses={204: None},
        parameters=[
            _RESUMABLE,
            _header("Upload-Offset", "Where this part begins."),
            _header("Upload-Checksum", "Algorithm and digest in base64.", required=False),
        ],
    )
    def patch(self, request: Request, upload_id: UUID) -> Response:
        """Append a part."""
        upload = resumable.find(owner=signed_in(request), upload_id=upload_id)
        if request.content_type != _PART:
            return Response({"code": "unsupported_media_type", "message": f"Send parts as {_PART}."}, status=415)
        offset = _number(request, "Upload-Offset")
        checksum = _checksum(request.headers.get("Upload-Checksum"))
        there = resumable.append(upload, request._request, offset=offset, checksum=checksum)
        return Response(status=204, headers={"Upload-Offset": str(there), **_expiry(upload)})

    @extend_schema(request=None, responses={204: None}, parameters=[_RESUMABLE])
    def delete(self, request: Request, upload_id: UUID) -> Response:
        """Forget an upload."""
        resumable.end(resumable.find(owner=signed_in(request), upload_id=upload_id))
        return Response(status=204)


def _expiry(upload: Upload) -> dict[str, str]:
    return {"Upload-Expires": http_date(upload.expires_at.timestamp())}


def _number(request: Request, header: str) -> int:
    text = request.headers.get(header, "")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise UploadUnusable(f"The header '{header}' must be a number of bytes.")
    return int(text)


def _metadata(header: str) -> dict[str, str]:
    found = {}
    for pair in header.split(","):
        key, _, value = pair.strip().partition(" ")
        try:
            found[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, ValueError) as error:
            raise UploadUnusable("The values of 'Upload-Metadata' must be base64 of UTF-8.") from error
    return found


def _checksum(header: str | None) -> tuple[str, bytes] | None:
    if header is None:
        return None
    algorithm, _, value = header.strip().partition(" ")
    if algorithm not in resumable.CHECKSUMS:
        raise UploadUnusable(f"'Upload-Checksum' takes {', '.join(resumable.CHECKSUMS)}.")
    try:
        return algorithm, base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UploadUnusable("The digest in 'Upload-Checksum' must be base64.") from error


urlpatterns = [
    path("uploads", UploadsView.as_view(), name="api-uploads"),
    path("uploads/<uuid:upload_id>", UploadView.as_view(), name="api-upload"),
]
