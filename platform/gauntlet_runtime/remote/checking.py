"""`gauntlet-worker --check`: whether this machine could work for the site, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Final

from gauntlet_runtime.remote.errors import SiteAway, SiteFault, Why, WorkerRefused
from gauntlet_runtime.remote.options import Options
from gauntlet_runtime.remote.serving import described, sandbox_of, sign_of_life
from gauntlet_runtime.remote.site import Site
from gauntlet_runtime.remote.source import HttpJobSource
from gauntlet_runtime.sandbox.interface import ImageUnavailable, Sandbox, SandboxError

IMAGES: Final = ("gauntlet/agent", "gauntlet/scorer")
_GIB: Final = 1 << 30

Row = tuple[str, bool, str]  # what, whether it is good, what was found


def checked(options: Options) -> tuple[bool, str]:
    """Whether all is good, and the table that says so. No job is taken."""
    rows = list(_rows(options))
    width = max(len(what) for what, _, _ in rows)
    lines = [f"{what.ljust(width)}  {'ok' if good else 'NO'}  {found}" for what, good, found in rows]
    return all(good for _, good, _ in rows), "\n".join(lines)


def _rows(options: Options) -> Iterator[Row]:
    sandbox: Sandbox | None = None
    said = ""
    try:
        sandbox = sandbox_of(options)
        said = described(sandbox)
    except SandboxError as error:
        said = str(error)
    yield _site(options, sandbox=said if sandbox is not None else "")
    yield "sandbox", sandbox is not None, said
    if sandbox is not None:
        for image in IMAGES:
            yield _image(sandbox, image)
    free = shutil.disk_usage(options.folder).free
    wanted = options.min_free_bytes
    room = f"{free / _GIB:.1f} GiB are free in {options.folder}; {wanted / _GIB:.1f} GiB have to be (--min-free)"
    yield "disk", free >= wanted, room


def _site(options: Options, *, sandbox: str) -> Row:
    said = sign_of_life(
        name=f"{options.name}:{os.getpid()}",
        state="stopped",
        sandbox=sandbox,
        reason="It only looked whether it could work.",
    )
    with Site(options.url, options.token, verify=options.verify) as site:
        try:
            answer = HttpJobSource(site).beat(said)
        except WorkerRefused as refused:
            return "site", False, str(refused)
        except SiteFault:
            return "site", False, Why.NO_SITE.sentence
        except SiteAway as away:
            reason = away.hint.sentence if away.hint else f"{options.url} cannot be reached: {away}."
            return "site", False, reason
    return "site", True, f"{options.url} takes the token; the queue is {answer.queue}"


def _image(sandbox: Sandbox, image: str) -> Row:
    try:
        return f"image {image}", True, sandbox.image_digest(image)
    except ImageUnavailable as error:
        return f"image {image}", False, str(error)
