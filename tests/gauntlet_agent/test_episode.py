"""What an agent does with an open episode, against a server with the official MCP SDK."""

from __future__ import annotations

import datetime as dt
import decimal
import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

import pytest

import gauntlet_agent as ga


@pytest.fixture
def within(episodes: Any) -> Callable[[Callable[[ga.Episode], Any]], Any]:
    """Run something inside the one episode and return what it returned."""

    def inside(action: Callable[[ga.Episode], Any]) -> Any:
        kept: list[Any] = []

        def solve(episode: ga.Episode) -> str:
            kept.append(action(episode))
            return "done"

        ga.run(solve, url=episodes.url, keep_going=False)
        return kept[0]

    return inside


def test_an_episode_shows_what_the_organizer_shows(within: Any) -> None:
    def look(episode: ga.Episode) -> None:
        assert episode.id == "e1"
        assert episode.text == "How many pumps?"
        assert episode.show == {"unit": "pumps"}
        assert episode.scenario["id"] == "s1"
        assert episode.messages == [{"role": "user", "text": "How many pumps?"}]
        assert episode.deadline is not None
        assert episode.deadline.tzinfo is not None
        assert 0 < episode.seconds_left <= 60
        assert episode.budget == {"turns": 60, "tool_calls": 50}
        episode.note("looked")
        assert episode.budget["turns"] == 59

    within(look)


def test_tools_are_listed_with_their_schemas(within: Any) -> None:
    tools = within(lambda episode: episode.tools())
    assert tools[0] == ga.Tool(
        name="count",
        description="How many work orders a piece of equipment has.",
        input_schema={"type": "object", "properties": {"equipment": {"type": "string"}}, "required": ["equipment"]},
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("count", {"equipment": "pump"}, {"count": 4}),
        ("names", {}, ["a", "b"]),
        ("result_dict", {}, {"result": 5}),
        ("prose", {}, "nothing to see"),
        ("json_text", {}, {"a": [1, 2]}),
    ],
)
def test_a_call_gives_structured_content_else_json_else_text(
    within: Any, episodes: Any, tool: str, arguments: dict[str, Any], expected: Any
) -> None:
    assert within(lambda episode: episode.call(tool, **arguments)) == expected
    assert episodes.calls == [("e1", tool, arguments)]


def test_arguments_may_be_dates_sets_and_decimals(within: Any, episodes: Any) -> None:
    sent = {"day": dt.date(2024, 5, 1), "names": {"b", "a"}, "limit": decimal.Decimal("1.5"), "name": "x"}
    assert within(lambda episode: episode.call("echo", **sent)) == {
        "day": "2024-05-01",
        "names": ["a", "b"],
        "limit": 1.5,
        "name": "x",
    }


def test_a_value_that_json_has_no_word_for_is_refused_before_the_call(within: Any, episodes: Any) -> None:
    def call(episode: ga.Episode) -> None:
        with pytest.raises(ga.GauntletError, match="arguments of 'echo' cannot be sent as JSON"):
            episode.call("echo", value=float("nan"))

    within(call)
    assert episodes.calls == []


@pytest.mark.parametrize(("tool", "words"), [("refuse", "no such equipment"), ("absent", "Unknown tool: absent")])
def test_an_error_of_a_tool_is_a_tool_error_with_its_words(within: Any, tool: str, words: str) -> None:
    def call(episode: ga.Episode) -> None:
        with pytest.raises(ga.ToolError, match=words):
            episode.call(tool)
        assert episode.call("names") == ["a", "b"]  # the session lives on

    within(call)


def test_calls_from_two_threads_overlap(within: Any) -> None:
    def call(episode: ga.Episode) -> list[Any]:
        results: list[Any] = []
        threads = [threading.Thread(target=lambda: results.append(episode.call("meet"))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    assert within(call) == ["met", "met"]  # the tool answers only when both calls are there


def test_a_forked_child_has_connections_of_its_own(within: Any, episodes: Any) -> None:
    """An agent may spread its work over processes; the parent's thread and sockets are not there in a child."""

    def fork_and_call(episode: ga.Episode) -> None:
        episode.call("names")
        episode.note("from the parent")
        context = multiprocessing.get_context("fork")
        child = context.Process(target=lambda: (episode.call("count", equipment="ab"), episode.note("from the child")))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        assert episode.call("names") == ["a", "b"]

    within(fork_and_call)
    assert [name for _, name, _ in episodes.calls] == ["names", "count", "names"]
    assert episodes.bodies("/notes") == [{"text": "from the parent"}, {"text": "from the child"}]
    assert len(episodes.connections) >= 2


def test_a_plan_may_be_given_as_dicts_pairs_or_text(within: Any, episodes: Any) -> None:
    within(
        lambda episode: episode.plan(
            [("WorkOrders", "count them"), {"agent": "B", "instruction": "add", "depends_on": [0]}, "say so"]
        )
    )
    assert episodes.bodies("/plan") == [
        {
            "steps": [
                {"agent": "WorkOrders", "instruction": "count them"},
                {"agent": "B", "instruction": "add", "depends_on": [0]},
                {"instruction": "say so"},
            ]
        }
    ]


def test_saying_something_returns_the_reply_and_grows_the_conversation(within: Any) -> None:
    def talk(episode: ga.Episode) -> None:
        assert episode.say("which site?") == ga.Reply(text="you said which site?", done=True)
        assert episode.messages[1:] == [
            {"role": "agent", "text": "which site?"},
            {"role": "user", "text": "you said which site?"},
        ]
        assert episode.seconds_left <= 12.5

    within(talk)


def test_an_answer_closes_the_episode_for_everything_else(episodes: Any) -> None:
    def solve(episode: ga.Episode) -> None:
        episode.answer("4", data={"count": 4})
        with pytest.raises(ga.EpisodeClosed):
            episode.answer("5")
        with pytest.raises(ga.EpisodeClosed):
            episode.call("names")
        with pytest.raises(ga.EpisodeClosed):
            episode.note("too late")

    ga.run(solve, url=episodes.url, keep_going=False)
    assert episodes.answers == {"e1": {"text": "4", "data": {"count": 4}}}
    assert episodes.calls == []


def test_an_answer_that_is_not_text_is_refused_here(within: Any) -> None:
    def answer(episode: ga.Episode) -> None:
        with pytest.raises(TypeError, match="structured values as data="):
            episode.answer({"count": 4})  # type: ignore[arg-type]

    within(answer)


def test_a_call_after_the_platform_ended_the_episode_says_so(episodes: Any) -> None:
    def solve(episode: ga.Episode) -> str:
        episode.call("names")
        episodes.end_in_call = True
        with pytest.raises(ga.EpisodeClosed):
            episode.call("names")
        episodes.end_in_call = False
        return "never arrives"

    with pytest.raises(ga.EpisodeClosed, match=r"This episode is over\."):
        ga.run(solve, url=episodes.url, keep_going=False)
    assert len(episodes.calls) == 1


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, "budget_exceeded", ga.BudgetExceeded),
        (410, "episode_closed", ga.EpisodeClosed),
        (404, "not_found", ga.EpisodeClosed),
        (409, "conflict", ga.Conflict),
        (409, "already_answered", ga.EpisodeClosed),
        (413, "too_large", ga.TooLarge),
        (422, "invalid", ga.InvalidRequest),
        (503, "unavailable", ga.Unavailable),
    ],
)
def test_a_refusal_is_an_exception_of_its_kind(
    within: Any, episodes: Any, status: int, code: str, kind: type[ga.GatewayError]
) -> None:
    episodes.refusals.append(("/notes", status, {"code": code, "message": "Not now."}))

    def note(episode: ga.Episode) -> None:
        with pytest.raises(kind) as caught:
            episode.note("x")
        assert (caught.value.status, caught.value.code, str(caught.value)) == (status, code, "Not now.")

    within(note)


def test_what_the_gateway_puts_off_is_asked_again(within: Any, episodes: Any) -> None:
    put_off = {"code": "busy", "message": "Wait.", "retry_after": 0.01}
    episodes.refusals += [("/notes", 503, put_off), ("/notes", 429, put_off)]
    within(lambda episode: episode.note("x"))
    assert episodes.bodies("/notes") == [{"text": "x"}] * 3
