"""Score jobs with a judge on this host's own sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from judge_room import Bank, JudgeRoom
from model_server import ModelServer, model_server


@pytest.fixture(scope="session")
def judge_process() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def judge_model(judge_process: ModelServer) -> Iterator[ModelServer]:
    """The judge's provider, with nothing wrong and nothing seen."""
    judge_process.reset()
    yield judge_process
    judge_process.reset()


@pytest.fixture
def judged(room: Any, judge_model: ModelServer) -> JudgeRoom:
    return JudgeRoom(room=room, server=judge_model, bank=Bank(url=judge_model.url))
