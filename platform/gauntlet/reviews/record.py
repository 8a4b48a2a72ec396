"""An episode's record as an expert reads it: nothing in it that the platform knows of whose it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from gauntlet.reviews.models import Item
from gauntlet.storage.services import open_artifact
from gauntlet.trajectories.reading import blob_text, events
from gauntlet_scoring.trajectory import (
    AnswerEvent,
    EndEvent,
    Event,
    ModelCallEvent,
    ModelResultEvent,
    ScenarioEvent,
    ToolResultEvent,
)

_A_MODEL: Final = "a model"  # its name is as good as a signature where few participants use it


def blind_events(item: Item) -> Iterator[Event]:
    """What happened in the item's episode, without the scenario's line and the answer, which stand beside it.

    Names of language models are left out. What an agent says of itself stays: the record is not rewritten. Of a large
    tool result, which stands beside the record, the beginning is in its place: an expert can look nowhere else.

    Raises:
        zipfile.BadZipFile: the stored file is damaged.
        pydantic.ValidationError: a line is of another schema version.
    """
    if item.episode is None or item.episode.trajectory is None:
        return
    with open_artifact(item.episode.trajectory) as archive:
        for event in events(archive):
            if isinstance(event, ToolResultEvent) and event.blob is not None:
                yield event.model_copy(update={"text": blob_text(archive, event), "blob": None})
            elif not isinstance(event, ScenarioEvent | EndEvent | AnswerEvent):
                yield _blind(event)


def answer(item: Item) -> AnswerEvent | None:
    """What the agent answered."""
    if item.episode is None or item.episode.trajectory is None:
        return None
    with open_artifact(item.episode.trajectory) as archive:
        return next((event for event in events(archive) if isinstance(event, AnswerEvent)), None)


def _blind(event: Event) -> Event:
    if isinstance(event, ModelCallEvent):
        return event.model_copy(update={"model": _A_MODEL, "request": _without_model(event.request)})
    if isinstance(event, ModelResultEvent):
        return event.model_copy(update={"model": _A_MODEL, "response": _without_model(event.response)})
    return event


def _without_model(body: Any) -> Any:
    if isinstance(body, list):  # a stream's parts
        return [_without_model(part) for part in body]
    if isinstance(body, dict) and "model" in body:
        return {**body, "model": _A_MODEL}
    return body
