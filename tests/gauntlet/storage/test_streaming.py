"""Downloads are sent chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from gauntlet.storage.streaming import download

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("size", [0, 10, 3 << 20])
def test_a_download_is_the_artifact_in_small_pieces(size: int, make_artifact: Callable[..., Any]) -> None:
    import asyncio

    content = os.urandom(size)
    response = download(make_artifact(content), name="my kit.zip")
    assert response["Content-Length"] == str(size)
    assert response["Content-Disposition"] == 'attachment; filename="my kit.zip"'
    assert response.is_async

    async def collect() -> list[bytes]:
        return [chunk async for chunk in response]

    chunks = asyncio.run(collect())
    assert b"".join(chunks) == content
    assert all(len(chunk) <= 1 << 18 for chunk in chunks)
