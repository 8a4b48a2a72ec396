"""Agent bundles as participants send them, and a sandbox for the checks that need none."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.base import ContentFile

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase
    from gauntlet.submissions.models import Submission

AGENT = "name: My agent\ncommand: python agent.py\n"


@pytest.fixture
def zip_of() -> Callable[[dict[str, Any]], bytes]:
    """Make a zip of files."""
    return _zip_of


def _zip_of(files: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


@pytest.fixture
def agent_zip() -> Callable[..., bytes]:
    """Make an agent bundle; files that are given replace those of a good one, None leaves one out."""

    def make(**changes: str | bytes | None) -> bytes:
        files: dict[str, Any] = {"agent.yaml": AGENT, "agent.py": "print('agent')\n"}
        files |= {name.replace("__", "."): content for name, content in changes.items()}
        return _zip_of({name: content for name, content in files.items() if content is not None})

    return make


@pytest.fixture
def make_participant(make_user: Callable[..., User]) -> Callable[[Phase], User]:
    """Somebody who takes part."""

    from gauntlet.competitions.services import join

    def make(phase: Phase) -> User:
        user = make_user()
        join(phase.competition, user=user, terms_accepted=True)
        return user

    return make


@pytest.fixture
def send(agent_zip: Callable[..., bytes]) -> Callable[..., Submission]:
    """Upload a bundle the way a page does."""

    from gauntlet.submissions.services import receive

    def make(phase: Phase, user: User, content: bytes | None = None, **more: Any) -> Submission:
        upload = ContentFile(agent_zip() if content is None else content)
        return receive(phase=phase, participant=user, upload=upload, **{"file_name": "mine.zip", "name": "", **more})

    return make
