"""Cells of exported tables."""

from __future__ import annotations

from typing import Final

#: As OWASP's page on CSV injection has them, with the wide forms that spreadsheets of East Asia read as the others.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", *"＝＋－＠")


def safe_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
