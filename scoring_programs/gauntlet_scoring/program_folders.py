"""Codabench's variables in a program's command, and the folders below /app that they stand for.

Source: the commands of Codabench v1.25.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

#: By variable, without its ``$``.
FOLDERS: Final[Mapping[str, str]] = {
    "input": "input",
    "output": "output",
    "tmp": "output",
    "program": "program",
    "ingestion_program": "program",
    "hidden": "input/ref",
    "shared": "shared",
    "submission_program": "ingested_program",
    "predictions": "input/res",
}
_VARIABLE: Final = re.compile(r"\$(" + "|".join(sorted(FOLDERS, key=len, reverse=True)) + r")(?![A-Za-z0-9_])")


def with_folders(word: str, folders: Mapping[str, str]) -> str:
    """A word of a command with the folder of each variable in its place."""
    return _VARIABLE.sub(lambda match: folders[match[1]], word)
