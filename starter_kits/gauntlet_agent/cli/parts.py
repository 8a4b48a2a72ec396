"""Sends a large file in parts (tus 1.0), and goes on after the connection broke."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO, Final

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import clean, console
from gauntlet_agent.cli.platform_api import PlatformApi

PART_BYTES: Final = 8 << 20  # what is sent again at most when a connection breaks
_BUSY: Final = 423  # the platform still writes what came before the connection broke
_PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 30.0, 30.0, 30.0)  # without any progress; then it is given up


def send_in_parts(
    api: PlatformApi, file: IO[bytes], *, file_name: str, length: int, advance: Callable[[int], object]
) -> str:
    """Send the whole file; return the upload's id, which a submission can name.

    Args:
        file: seekable.
        advance: told how many bytes more have arrived; fewer than nothing where some have to be sent again.

    Raises:
        CommandFailed: the platform refuses it, or cannot be reached for some minutes.
    """
    upload = api.begin_upload(length=length, file_name=file_name)
    offset = 0
    while offset < length:
        before, offset = offset, _send_next(api, upload, file, offset=offset)
        advance(offset - before)
    return upload


def _send_next(api: PlatformApi, upload: str, file: IO[bytes], *, offset: int) -> int:
    """Send the next part; return how many bytes have arrived then."""
    file.seek(offset)
    try:
        return api.send_part(upload, file.read(PART_BYTES), offset=offset)
    except CommandFailed as failed:
        if not _may_pass(failed):
            raise
        return _ask_until_answered(api, upload, failed)


def _ask_until_answered(api: PlatformApi, upload: str, failed: CommandFailed) -> int:
    """How much has arrived, as soon as the platform says it."""
    for pause in _PAUSES:
        console(stderr=True).print(f"{clean(failed.message)} Going on in {pause:g} s …")
        time.sleep(pause)
        try:
            return api.upload_offset(upload)
        except CommandFailed as again:
            if not _may_pass(again):
                raise
            failed = again
    raise failed


def _may_pass(failed: CommandFailed) -> bool:
    return failed.code is Exit.UNREACHABLE or failed.status == _BUSY
