"""`gauntlet-worker`: runs a queue's jobs on a machine that is not the platform's."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final

import structlog

from gauntlet_runtime.remote.checking import checked
from gauntlet_runtime.remote.errors import SiteAway, Why, WorkerRefused
from gauntlet_runtime.remote.options import Options, read_options
from gauntlet_runtime.remote.processes import Processes
from gauntlet_runtime.remote.serving import sandbox_of, serve
from gauntlet_runtime.sandbox.interface import SandboxError, SandboxUnavailable

#: Exit statuses after which no process is started again, with what the reader is told once.
_FINAL: Final = {why.status: why.sentence for why in Why} | {
    os.EX_TEMPFAIL: "The site gave no answer for too long, so not all of the queue's jobs may be done. Start it again.",
    os.EX_UNAVAILABLE: "The sandbox cannot be used any more; see above.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = read_options(arguments)
    _log_to_stderr()
    try:
        _make_folder(options)
        if options.check:
            good, table = checked(options)
            sys.stdout.write(f"{table}\n")
            return 0 if good else 1
        sandbox_of(options)  # said once, and not by each process
    except (SandboxError, OSError) as error:
        return _tell(str(error))
    except KeyboardInterrupt:
        return _tell("stopped", status=130)
    processes = Processes(
        lambda: _process(options),
        count=options.processes,
        final=frozenset(_FINAL),
        stop_seconds=options.stop_seconds,
    )
    status = processes.run()
    return _tell(_FINAL[status], status=status) if status else 0


def _process(options: Options) -> int:
    try:
        serve(options)
    except WorkerRefused as refused:
        return refused.why.status
    except SiteAway:
        return os.EX_TEMPFAIL
    except SandboxUnavailable as error:
        _tell(str(error))
        return os.EX_UNAVAILABLE
    except Exception:  # noqa: BLE001 - this process ends; the next one starts afresh
        _tell(traceback.format_exc())
        return 1
    return 0


def _make_folder(options: Options) -> None:
    """A folder that is there already keeps its mode."""
    if not options.folder.is_dir():
        options.folder.mkdir(parents=True, mode=0o711)


def _tell(sentence: str, *, status: int = 1) -> int:
    sys.stderr.write(f"gauntlet-worker: {sentence}\n")
    return status


def _log_to_stderr() -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
