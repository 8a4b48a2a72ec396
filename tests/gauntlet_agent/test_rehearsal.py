"""An episode to rehearse with: its tools are functions, and nothing leaves the process."""

from __future__ import annotations

import pytest

from gauntlet_agent import Episode, GatewayUnreachable, ToolError
from gauntlet_agent.rehearsal import Rehearsal


def count(year: int, kind: str = "any") -> dict[str, int]:
    """Counts jobs."""
    if year < 2000:
        raise ValueError("no such year")
    return {"jobs": year - 2000}


def test_tools_are_functions_and_calls_are_kept() -> None:
    episode: Episode = Rehearsal("How many?", {"answer_format": {"jobs": "integer"}}, tools={"count": count})
    (tool,) = episode.tools()
    assert (tool.name, tool.description) == ("count", "Counts jobs.")
    assert tool.input_schema["required"] == ["year"]
    assert episode.call("count", year=2003) == {"jobs": 3}
    assert isinstance(episode, Rehearsal)
    assert episode.calls == [("count", {"year": 2003})]
    assert episode.show["answer_format"] == {"jobs": "integer"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("count", {"year": 1999}), ("count", {"day": 3}), ("other", {})],
)
def test_what_goes_wrong_is_a_tools_error(name: str, arguments: dict[str, int]) -> None:
    episode = Rehearsal("?", tools={"count": count})
    with pytest.raises(ToolError):
        episode.call(name, **arguments)
    assert len(episode.calls) == 1


def test_plans_notes_and_answers_are_kept_and_talk_reaches_nobody() -> None:
    episode = Rehearsal("?")
    episode.plan([("WOAgent", "Count.")])
    episode.note("a thought")
    episode.answer("three", {"jobs": 3})
    assert (episode.plans, episode.notes, episode.given) == (
        [[("WOAgent", "Count.")]],
        ["a thought"],
        ("three", {"jobs": 3}),
    )
    assert episode.answered
    with pytest.raises(GatewayUnreachable):
        Rehearsal("?").say("hello?")
