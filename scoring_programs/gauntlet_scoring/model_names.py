"""Whether two names mean the same language model."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# What names a release, a form or a size on disk of one model; "gpt-4.1" and "gpt-4.1-mini" are two models.
_RELEASE: Final = re.compile(r"[-@:_](?:20\d{2}-?\d{2}-?\d{2}|latest|preview|free)$")


def plain_name(name: str) -> str:
    """A model's name without provider, release date and case: ``openai/GPT-4.1-2025-04-14`` is ``gpt-4.1``."""
    text = unicodedata.normalize("NFKC", name).casefold().strip()
    text = text.rpartition("/")[2]
    while (shorter := _RELEASE.sub("", text)) != text:
        text = shorter
    return text


def same_model(one: str, other: str) -> bool:
    """Whether both names mean the same model, as far as names tell."""
    return plain_name(one) == plain_name(other) != ""
