"""The language models as an agent in a real sandbox meets them, with plain HTTP."""

from __future__ import annotations

import json
import zipfile
from decimal import Decimal
from pathlib import Path

from model_server import KEY

from gauntlet_scoring.trajectory import Outcome


def test_a_call_is_forwarded_recorded_and_counted(models):
    outcome = models.agent(
        """
e = next_episode()
say(chat("one two three", temperature=0.25, seed=7, metadata={"a": "b"}))
say(ask("GET", "/episodes")[1]["episodes"][0]["budget"])
answer(e)
"""
    )
    (status, said), budget = outcome.said
    assert (status, said["choices"][0]["message"]["content"]) == (200, "answer 1 to one two three")
    assert said["our_own"] == {"kept": True}
    (seen,) = models.server.seen
    assert models.server.paths == ["/v1/chat/completions"]
    assert seen == {
        "model": "small",
        "messages": [{"role": "user", "content": "one two three"}],
        "temperature": 0.25,
        "seed": 7,
        "metadata": {"a": "b"},
        "max_tokens": 1000,
    }
    assert outcome.kinds() == ["scenario", "model_call", "model_result", "answer", "end"]
    call, result = outcome.record()[1:3]
    assert (call.call, call.model, call.request["temperature"]) == ("m0", "small", 0.25)
    assert "max_tokens" not in call.request  # as the agent sent it
    assert (result.call, result.status, result.response, result.cached) == ("m0", 200, said, False)
    assert (result.prompt_tokens, result.completion_tokens, result.estimated) == (3, 6, False)
    assert result.cost == "0.00000405"
    (episode,) = outcome.episodes
    assert (episode.outcome, episode.model_calls, episode.tokens) == (Outcome.ANSWERED, 1, 9)
    assert episode.cost == Decimal("0.00000405")
    assert budget["tokens"] == 100_000 - 9
    (reserved,), (settled,) = models.platform.reserved, models.platform.settled
    assert (settled.id, settled.tokens, settled.cost, settled.paid) == (reserved.id, 9, episode.cost, True)
    assert reserved.tokens > 1000
    assert (episode.steps, episode.tool_calls) == (1, 0)  # a model call is no action


def test_a_call_belongs_to_an_episode(models):
    outcome = models.agent(
        """
say(chat("too early"))
a = next_episode()
b = next_episode()
say(chat("which?")[1]["code"])
say(chat("by address", episode=a)[0])
body = {"model": "free", "messages": [{"role": "user", "content": "by header"}]}
say(ask("POST", "/llm/v1/chat/completions", body, **{"X-Gauntlet-Episode": b["id"]})[0])
say(chat("of no episode", episode={"id": "e9"})[0])
answer(a)
say(chat("after the answer", episode=a)[0])
say(chat("the only one left")[0])
answer(b)
""",
        keys=["A", "B"],
        max_parallel_episodes=2,
    )
    (early, said), which, *rest = outcome.said
    assert (early, said["error"]["code"], which) == (409, "which_episode", "which_episode")
    assert "/episodes/ID/llm/v1" in said["message"]
    assert rest == [200, 200, 404, 409, 200]
    assert [e.model_calls for e in outcome.episodes] == [1, 2]


def test_a_sandbox_of_its_own_calls_for_its_own_episode_only(models):
    outcome = models.agent(
        """
e = next_episode()
say(chat("mine")[0], chat("another's", episode={"id": "e1" if e["id"] == "e0" else "e0"})[0])
answer(e)
""",
        keys=["A", "B"],
        isolation="scenario",
    )
    first, not_yet, second, over = outcome.said
    assert (first, not_yet, second, over) == (200, 404, 200, 409)
    assert [e.model_calls for e in outcome.episodes] == [1, 1]


def test_only_what_is_offered_can_be_reached(models):
    outcome = models.agent(
        """
e = next_episode()
url = "/llm/v1/chat/completions"
for model in ("large", "Small", "", None, ["small"], {}):
    say(ask("POST", url, {"model": model, "messages": []})[0])
say(raw("POST", url, b"{not json")[0], raw("POST", url, b"[1]")[0])
say(raw("POST", url, b" " * (5 << 20))[0])
say([ask(*what)[0] for what in (("GET", url), ("POST", "/llm/v1/models", {}), ("POST", "/llm/v1/responses", {}),
                                ("GET", "/llm/v1/models/large"), ("POST", "/llm/v1/../admin", {}))])
say(ask("GET", "/llm/v1/models/small"))
answer(e)
"""
    )
    assert outcome.said[:6] == [404] * 6
    assert outcome.said[6:9] == [400, 400, 413]
    assert outcome.said[9] == [405, 405, 404, 404, 404]
    assert outcome.said[10] == [200, {"id": "small", "object": "model", "created": 0, "owned_by": "ours"}]
    assert models.server.seen == []
    assert models.platform.reserved == []


def test_large_requests_and_answers_stand_beside_the_record(models):
    outcome = models.agent(
        "e = next_episode()\nsay(chat('word ' * 20000)[0])\nanswer(e)", llm={"per_episode": {"tokens": 200_000}}
    )
    assert outcome.said == [200]
    call, result = outcome.record()[1:3]
    assert call.request is None
    assert result.response is None
    with zipfile.ZipFile(outcome.episodes[0].trajectory) as archive:
        request = json.loads(archive.read(f"blobs/{call.blob}"))
        response = json.loads(archive.read(f"blobs/{result.blob}"))
    assert request["messages"][0]["content"] == "word " * 20000
    assert response["choices"][0]["message"]["content"].startswith("answer 1 to word word")


def test_the_key_is_nowhere_but_in_the_gateway(models, capfd):
    models.server.faults += ["400", "401"]
    outcome = models.agent(
        """
import os, pathlib
e = next_episode()
say(dict(os.environ))
say(chat("show me the key"), chat("and again"))
found, needle = [], b"sk-our-" + b"own"
for path in pathlib.Path("/").rglob("*"):
    if path.parts[1] in ("proc", "sys", "usr", "lib", "opt", "venv"):
        continue
    try:
        if path.is_file() and needle in path.read_bytes():
            found.append(str(path))
    except OSError:
        pass
say(found)
for one in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("environ", "cmdline"):
        try:
            say(needle in (one / name).read_bytes())
        except OSError:
            pass
answer(e)
""",
    )
    environment, (refused, why), (wrong, _), found, *processes = outcome.said
    assert (environment["OPENAI_API_KEY"], refused, wrong) == ("none", 400, 503)
    assert environment["OPENAI_BASE_URL"] == environment["GAUNTLET_LLM_URL"] == "http://127.0.0.1:8080/llm/v1"
    assert why["error"]["message"] == "refused; the key was ***"
    assert (found, any(processes)) == ([], False)
    key = KEY.encode()
    written = [path for path in models.room.folder.rglob("*") if path.is_file()]
    assert any(path.name == "setup.json" for path in written)
    assert [path for path in written if key in unpacked(path)] == []
    assert KEY not in repr(outcome.result)
    said = capfd.readouterr()
    assert KEY not in said.out + said.err


def unpacked(path: Path) -> bytes:
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
