"""What can go wrong between a worker and the site that it works for."""

from __future__ import annotations

import os
from enum import Enum

from gauntlet_runtime.jobs import SourceUnavailable


class Why(Enum):
    """Why a worker cannot work for the site, however long it waits: its exit status, and what to do about it."""

    TOKEN = (
        os.EX_NOPERM,
        "The site does not accept this worker's token: it was revoked, or is another site's. "
        "Ask the queue's owner for a new one.",
    )
    OUTDATED = (
        os.EX_PROTOCOL,
        "This worker and the site speak different versions of their protocol. "
        "Install the version of gauntlet-runtime that the site runs.",
    )
    TOO_MANY = (
        os.EX_CANTCREAT,
        "Too many workers came with this token within a day. "
        "Make another token on the queue's page for further machines, or start this one less often.",
    )
    CERTIFICATE = (
        os.EX_NOHOST,
        "The site's certificate is not trusted here. "
        "Name the file of the authority that issued it with --ca-file, or check --url.",
    )
    NO_SITE = (
        os.EX_CONFIG,
        "What answers at --url is no Gauntlet that takes workers. "
        "Give the address of the site's front page, which redirects nowhere.",
    )

    def __init__(self, status: int, sentence: str) -> None:
        self.status = status
        self.sentence = sentence


class WorkerRefused(Exception):
    """The worker is to end: waiting does not help."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.sentence)
        self.why = why


class SiteAway(SourceUnavailable):
    """The site gave no answer, or wants to be asked later.

    Args:
        after: the seconds for which it wants to be left alone
        hint: why waiting may not help, where that is likely: of a site that never answered it counts
    """

    def __init__(self, reason: str, *, after: float | None = None, hint: Why | None = None) -> None:
        super().__init__(reason)
        self.after = after
        self.hint = hint


class SiteFault(Exception):
    """The site refused a request of ours: one of the two has a fault, and asking again does not help."""

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
