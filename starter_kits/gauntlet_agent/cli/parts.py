"""Sends a large file in parts (tus 1.0) and submits it; goes on after the connection, or the command, broke off."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO, Any, Final, TypeVar

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import clean, console, size
from gauntlet_agent.cli.platform_api import PlatformApi
from gauntlet_agent.cli.progress import Advance, progress
from gauntlet_agent.cli.unfinished import Note, Sent, digest_of, named, noted, others

Answer = TypeVar("Answer")

PART_BYTES: Final = 8 << 20  # what is sent again at most when a connection breaks; what is larger is sent in parts
_NOT_FOUND: Final = 404
_WRONG_OFFSET: Final = 409  # of a part: what the platform has is not what was thought
_BUSY: Final = 423  # the platform still writes what came before the connection broke
_TOO_MANY: Final = 429
_DAMAGED: Final = 460  # on its way; sent again it may be whole
_USELESS: Final = (400, 404, 413, 422)  # what is sent can never be submitted
_PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 30.0, 30.0, 30.0)  # without any progress; then it is given up


def sent_file(api: PlatformApi, slug: str, phase: int, *, file: IO[bytes], file_name: str, length: int) -> Sent:
    """What is sent and where to, with the account and the digest by which a later run knows it."""
    return Sent(
        server=api.server,
        account=str(api.me().get("username", "")),
        competition=slug,
        phase=phase,
        digest=digest_of(file),
        file_name=file_name,
        length=length,
    )


def submit_in_parts(api: PlatformApi, file: IO[bytes], *, sent: Sent, name: str | None, resume: bool) -> dict[str, Any]:
    """Send the whole file, from where an earlier run broke off, and submit it; return what the platform made of it.

    Args:
        file: seekable.
        resume: False forgets what earlier runs from here have sent to this server.

    Raises:
        CommandFailed: the platform refuses it, or cannot be reached for some minutes; or Ctrl-C was pressed.
    """
    with noted(sent) as note:
        if not resume:
            _forget(api, sent.server, note)
        try:
            offset = _ready(api, sent, note)
            with progress(sent.file_name, sent.length, done=offset) as advance:
                _send(api, file, sent=sent, upload=str(note.upload), offset=offset, advance=advance)
            return _submit(api, sent, note, name)
        except KeyboardInterrupt:
            message = "Interrupted. "
            message += "The same command goes on from where it was." if note.upload else "Nothing was sent."
            raise CommandFailed(message, code=Exit.INTERRUPTED) from None
        except CommandFailed as failed:
            if note.upload and failed.status not in _USELESS:
                hint = "The same command goes on from where it was, for as long as the platform keeps what was sent."
                failed.hints += (hint,)
            raise


def _submit(api: PlatformApi, sent: Sent, note: Note, name: str | None) -> dict[str, Any]:
    """Submit what was sent. Asked again, the platform makes no second submission of it."""
    upload = str(note.upload)
    try:
        made, earlier = _patiently(lambda: api.submit_sent(sent.competition, sent.phase, upload=upload, name=name))
    except CommandFailed as failed:
        if failed.status in _USELESS:
            note.remove()
        raise
    note.remove()
    if earlier:
        console(stderr=True).print(
            "An earlier request submitted it already, and its answer was lost; this is what it made."
        )
    return made


def _ready(api: PlatformApi, sent: Sent, note: Note) -> int:
    """Find what an earlier run has sent, or begin; return how much has arrived."""
    offset = _offset_of_earlier(api, note)
    if note.upload is None:
        note.write(upload=_begin(api, sent))
    elif offset:
        message = f"Going on with an earlier run: {size(offset)} of {size(sent.length)} have arrived."
        console(stderr=True).print(message)
    return offset


def _send(api: PlatformApi, file: IO[bytes], *, sent: Sent, upload: str, offset: int, advance: Advance) -> None:
    furthest, tried = offset, 0
    while offset < sent.length:
        before = offset
        offset, failed = _send_next(api, upload, file, offset=offset, tried=tried)
        advance(offset - before)
        furthest, tried = (offset, 0) if offset > furthest else (furthest, tried + 1)
        if tried == len(_PAUSES):
            said = failed.message if failed else ""
            raise CommandFailed(f"{api.server} keeps nothing of what is sent. {said}".rstrip(), code=Exit.UNREACHABLE)


def _begin(api: PlatformApi, sent: Sent) -> str:
    try:
        return api.begin_upload(length=sent.length, file_name=sent.file_name)
    except CommandFailed as failed:
        unfinished = [named(found) for found, _ in others(sent.server)]
        if failed.status == _TOO_MANY and unfinished:
            failed.hints += (f"Begun from here and not submitted: {', '.join(unfinished)}.",)
            failed.hints += ("With --no-resume what earlier runs have sent is forgotten first.",)
        raise


def _offset_of_earlier(api: PlatformApi, note: Note) -> int:
    """How much an earlier run has sent; the note is emptied where that is not there any more."""
    if note.upload is None:
        return 0
    upload = note.upload
    try:
        return _patiently(lambda: api.upload_offset(upload))
    except CommandFailed as failed:
        if failed.status != _NOT_FOUND:
            raise
        console(stderr=True).print("What an earlier run has sent is not kept any more; it is sent from the start.")
        note.upload = None
        return 0


def _forget(api: PlatformApi, server: str, own: Note) -> None:
    """Delete what earlier runs from here have sent to a server; what is being sent now stays."""
    if own.upload is not None:
        _delete(api, own.upload)
        own.upload = None
    for _, note in others(server):
        _delete(api, str(note.upload))
        note.remove()


def _delete(api: PlatformApi, upload: str) -> None:
    try:
        api.delete_upload(upload)
    except CommandFailed as failed:
        if failed.status != _NOT_FOUND:
            raise


def _send_next(
    api: PlatformApi, upload: str, file: IO[bytes], *, offset: int, tried: int
) -> tuple[int, CommandFailed | None]:
    """Send the next part; return how many bytes have arrived then, and how it failed.

    Args:
        tried: how often it was sent already; the longer it is waited.
    """
    try:
        return api.send_part(upload, file, offset=offset, most=PART_BYTES), None
    except CommandFailed as failed:
        if failed.status in (_WRONG_OFFSET, _DAMAGED):
            return _patiently(lambda: api.upload_offset(upload)), failed
        if not _may_pass(failed):
            raise
        return _patiently(lambda: api.upload_offset(upload), failed, tried=tried), failed


def _patiently(ask: Callable[[], Answer], failed: CommandFailed | None = None, *, tried: int = 0) -> Answer:
    """Ask until the platform answers; ``failed`` is how it failed just before, after so many tries."""
    pauses = iter(_PAUSES[tried:])
    while True:
        if failed is not None:
            pause = next(pauses, None)
            if pause is None:
                raise failed
            console(stderr=True).print(f"{clean(failed.message)} Going on in {pause:g} s …")
            time.sleep(pause)
        try:
            return ask()
        except CommandFailed as again:
            if not _may_pass(again):
                raise
            failed = again


def _may_pass(failed: CommandFailed) -> bool:
    return failed.code is Exit.UNREACHABLE or failed.status == _BUSY
