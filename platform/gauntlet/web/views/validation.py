"""The page on which a scenario file with its ground truth is checked before it goes into a bundle."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from gauntlet.web.forms import ValidateForm
from gauntlet.web.templatetags.gauntlet_ui import size
from gauntlet.web.validation_page import MOST_BYTES, CannotCheck, check


@require_http_methods(["GET", "POST"])
@login_required
def validate(request: HttpRequest) -> HttpResponse:
    """Findings and graphs of a file that was pasted or uploaded; nothing of it is kept."""
    form = ValidateForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"nav": "validate", "form": form, "most": size(MOST_BYTES)}
    if request.method == "GET":
        return render(request, "validate.html", context)
    if form.is_valid():
        given = form.cleaned_data
        try:
            checked = check(given["content"], strength=given["strength"], vocabulary=given["vocabulary"])
        except CannotCheck as refusal:
            form.add_error(None, str(refusal))
        else:
            file: UploadedFile[Any] | None = given["file"]
            context |= {"checked": checked, "name": file.name if file else "what you pasted"}
    return render(request, "validate.html", context, status=200 if form.is_valid() else 422)
