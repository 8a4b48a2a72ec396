"""The official client, inside a sandbox, against the platform's door."""

from __future__ import annotations

WHOLE = """
e = next_episode()
import asyncio
say(asked("hello there").choices[0].message.content)
chunks = list(asked("tell me", stream=True))
say("".join(c.choices[0].delta.content or "" for c in chunks), len(chunks), [c.usage for c in chunks])
chunks = list(asked("tell me", stream=True, stream_options={"include_usage": True}))
say(chunks[-1].choices, chunks[-1].usage.completion_tokens)
tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]
said = asked("look it up", tools=tools, tool_choice="auto").choices[0]
say(said.finish_reason, said.message.tool_calls[0].function.name, said.message.tool_calls[0].function.arguments)
streamed = [c for c in asked("look it up", tools=tools, stream=True) if c.choices[0].delta.tool_calls]
say(streamed[0].choices[0].delta.tool_calls[0].function.name)
say(asked("as JSON", response_format={"type": "json_object"}).choices[0].message.content)
vectors = client.embeddings.create(model="vectors", input=["a b", "c"])
say([v.embedding for v in vectors.data], vectors.usage.prompt_tokens)
say([m.id for m in client.models.list()], client.models.retrieve("free").owned_by)
async def at_once():
    async with openai.AsyncOpenAI() as other:
        ask = other.chat.completions.create
        said = [ask(model="free", messages=[{"role": "user", "content": f"q{n}"}]) for n in range(3)]
        return sorted(one.choices[0].message.content.split()[-1] for one in await asyncio.gather(*said))
say(asyncio.run(at_once()))
named = openai.OpenAI(base_url=os.environ["GAUNTLET_URL"] + f"/episodes/{e['id']}/llm/v1")
said = named.chat.completions.create(model="free", messages=[{"role": "user", "content": "by address"}], n=2)
say(len(said.choices))
answer(e)

e = next_episode()
for model, text in (("large", "x"), ("small", "x" * 200_000)):
    try:
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
    except openai.APIStatusError as error:
        say(type(error).__name__, error.status_code, error.code, error.body["message"])
say(next_episode())
"""


def test_the_official_client_does_all_that_it_can_and_reads_refusals(with_openai):
    outcome = with_openai.openai(WHOLE, keys=["A", "B"])
    said = iter(outcome.said)
    assert next(said) == "answer 1 to hello there"
    assert (next(said), next(said), next(said)) == ("answer 2 to tell me", 7, [None] * 7)
    assert (next(said), next(said)) == ([], 5)
    assert (next(said), next(said), next(said)) == ("tool_calls", "look_up", '{"site": "north"}')
    assert next(said) == "look_up"
    assert next(said) == '{"number": 6}'
    assert (next(said), next(said)) == ([[3.0, 0.5, -1.0], [1.0, 0.5, -1.0]], 3)
    assert (next(said), next(said)) == (["small", "free", "vectors"], "ours")
    assert next(said) == ["q0", "q1", "q2"]
    assert next(said) == 2
    assert all(
        body["stream_options"] == {"include_usage": True} for body in with_openai.server.seen if "stream" in body
    )
    assert set(with_openai.server.paths) == {"/v1/chat/completions", "/v1/embeddings"}
    calls = [event for event in outcome.record() if event.kind == "model_call"]
    results = [event for event in outcome.record() if event.kind == "model_result"]
    assert len(calls) == len(results) == len(with_openai.server.seen) == 11
    assert all(result.status == 200 and not result.estimated for result in results)
    assert any(call.overlaps for call in calls)
    episode, refused = outcome.episodes
    assert episode.tokens == sum(result.prompt_tokens + result.completion_tokens for result in results)
    name, status, code, message = (next(said) for _ in range(4))
    assert (name, status, code) == ("NotFoundError", 404, "model_not_found")
    assert "There are: small, free, vectors." in message
    name, status, code, message = (next(said) for _ in range(4))
    assert (name, status, code) == ("RateLimitError", 429, "budget_exceeded")
    assert message.startswith("The budget of 100000 tokens for an episode is exhausted: 0 are used or reserved")
    assert next(said) is None  # the client did not insist: the episode was over, and no other is left
    assert (refused.outcome, refused.failure) == ("failed", "budget_exceeded")
    assert refused.message in message
