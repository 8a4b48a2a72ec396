"""What the platform stands on may be away for a moment: the database, and the storage of files."""

from __future__ import annotations

import errno
from typing import ClassVar, Final

from django.db import InterfaceError, OperationalError

from gauntlet.api_errors import DomainError
from gauntlet_scoring.failures import Owner

AGAIN_SECONDS: Final = 5.0

# PostgreSQL's classes of errors that are about the server and not about what was asked: connection, rolled back for
# others' sake, resources, an operator's intervention, the system.
_OF_THE_SERVER: Final = ("08", "40", "53", "57", "58")
_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE}


class PlatformAway(DomainError):
    """The database or the storage cannot be reached now."""

    code: ClassVar = "platform_away"
    status: ClassVar = 503
    owner: ClassVar = Owner.PLATFORM


def is_away(error: BaseException | None) -> bool:
    """Whether the database or the storage cannot be reached, is busy, or has no room: the same may work in a moment."""
    if isinstance(error, InterfaceError):
        return True
    if isinstance(error, OperationalError):
        state = getattr(error.__cause__, "sqlstate", None)
        return state is None or state.startswith(_OF_THE_SERVER)
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return True
    return _is_of_object_storage(error)


def may_pass(error: Exception) -> bool:
    """Whether something that was whole could not be stored: nothing is wrong with it, and it may be sent again."""
    from botocore.exceptions import BotoCoreError, ClientError  # only here: most installations store in a folder

    return isinstance(error, (OperationalError, InterfaceError, OSError, BotoCoreError, ClientError))


def _is_of_object_storage(error: BaseException | None) -> bool:
    from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

    if isinstance(error, ClientError):
        return bool(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500)
    return isinstance(error, (ConnectionError, HTTPClientError))
