"""A claimed job's language models, or its judge: budgets and kept answers at the site, calls from this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pydantic import SecretStr

from gauntlet_runtime.jobs import Claim
from gauntlet_runtime.metering import ModelAccess, ModelSupply, Refusal, Reservation, Settlement
from gauntlet_runtime.remote.errors import SiteFault
from gauntlet_runtime.remote.messages import Access
from gauntlet_runtime.remote.site import Site, read

ACCESS_PATIENCE: Final = 30.0  # everything else is asked again by whoever asks
_NOT_FOUND: Final = 404


class HttpModels(ModelSupply):
    """ModelSupply over HTTPS.

    Args:
        about: calls what it is given with the claim's token, and tells a lost lease
    """

    def __init__(self, site: Site, claim: Claim, about: Callable[[Callable[..., Any]], Any]) -> None:
        self._site = site
        self._about = about
        self._path = f"jobs/{claim.job}/models"

    def access(self) -> ModelAccess | None:
        """The provider that the competition's organizer set; None where there is none."""
        answer = self._about(partial(self._site.ask, "GET", f"{self._path}/access", patience=ACCESS_PATIENCE))
        if answer is None:
            return None
        access = read(answer, Access)
        return ModelAccess(
            url=access.url,
            key=SecretStr(access.key),
            limit_field=access.limit_field,
            set_by=access.set_by,
            public_only=access.public_only,
        )

    def reserve(self, reservation: Reservation) -> Refusal | None:
        """Hold what a call can use at most against the evaluation's budget, or say why not."""
        answer = self._about(partial(self._site.ask, "POST", f"{self._path}/reserve", reservation))
        return None if answer is None else read(answer, Refusal)

    def settle(self, settlement: Settlement) -> None:
        """Give back what a call did not use."""
        self._about(partial(self._site.ask, "POST", f"{self._path}/settle", settlement))

    def find_answer(self, key: str, into: Path) -> bool:
        """Put the kept answer to this request into the new file ``into``; False where there is none."""
        try:
            answer = self._about(partial(self._site.ask, "GET", self._answer(key)))
        except SiteFault as fault:
            if fault.status == _NOT_FOUND:
                return False
            raise
        into.write_bytes(answer or b"")
        return True

    def keep_answer(self, key: str, answer: Path) -> None:
        """Keep the answer to this request; the first one stays."""
        self._about(partial(self._site.upload, self._answer(key), answer))

    def _answer(self, key: str) -> str:
        return f"{self._path}/answers/{quote(key, safe='')}"
