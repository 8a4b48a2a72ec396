"""Why an image archive is not taken."""

from __future__ import annotations

from typing import Final

_MOST_MESSAGE: Final = 10_000  # characters: names in it are bounded already


class ImageRefused(Exception):
    """The archive holds no image that can be run here.

    ``file`` is the file in the archive, or in one of its layers, that is at fault, or empty; ``message`` goes on from
    there and says what to do.
    """

    def __init__(self, message: str, *, file: str = "") -> None:
        super().__init__(f"{file}: {message}" if file else message)
        self.file = shown(file)
        self.message = shown(message, most=_MOST_MESSAGE)


def shown(text: str, *, most: int = 200) -> str:
    """A stranger's text, fit to be stored, and to be shown on a line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)[:most]
