"""The plain alternative of the worker: looks for work every second, and keeps nothing from one job to the next.

No doorbell, no warm gateway and no cache: for each job a gateway that loads everything anew, and every artifact
fetched and unpacked again. Sandboxes, scoring and what is stored are the platform's own, so that the difference is how
the work is found and prepared. Runs until it is told to end.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path

POLL_SECONDS = 1.0


def main() -> None:
    """Look, work, sleep."""
    import django

    django.setup()
    from django.conf import settings

    from gauntlet.evaluation.job_source import DatabaseJobSource
    from gauntlet.evaluation.services import start_evaluations
    from gauntlet.evaluation.work import sandbox
    from gauntlet.submissions.checks import check_next
    from gauntlet_runtime.jobs import Claim
    from gauntlet_runtime.worker import Worker

    class OneJob(DatabaseJobSource):
        """Gives one job and then none."""

        given = False

        def claim(self, *, queues: object, worker: str) -> Claim | None:
            if self.given:
                return None
            claim = super().claim(queues=["default"], worker=worker)
            self.given = claim is not None
            return claim

    while True:
        check_next(sandbox=sandbox(), on_accept=start_evaluations)
        with tempfile.TemporaryDirectory(dir=settings.VAR) as folder:
            Path(folder).chmod(0o711)
            with Worker(OneJob(), sandbox(), Path(folder), ["default"], "plain") as worker:
                worker.work_until_empty()
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    main()
