"""The judge's model as a scoring program reaches it: the metered door that the platform opens in its sandbox.

The door speaks the OpenAI chat-completions protocol on the sandbox's loopback. The model's key, the budget, the kept
answers and the patience with the provider are on its other side; what a program has to do is to ask and to wait.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from gauntlet_scoring.errors import ScoringInputError

URL_VARIABLE: Final = "GAUNTLET_JUDGE_URL"
MODEL_VARIABLE: Final = "GAUNTLET_JUDGE_MODEL"
RUNS_VARIABLE: Final = "GAUNTLET_JUDGE_RUNS"
TEMPERATURE_VARIABLE: Final = "GAUNTLET_JUDGE_TEMPERATURE"
CONCURRENCY_VARIABLE: Final = "GAUNTLET_JUDGE_CONCURRENCY"
PLACE_HEADER: Final = "X-Gauntlet-Place"
"""Which question of a run this is: the same request at another place is another question, with an answer of its own."""

TRIES: Final = 3  # of one question whose answers cannot be read
_WAIT_SECONDS: Final = 3600.0  # the door's own patience ends long before
#: What the door passes on of a provider that refuses a question, such as its moderation.
_REFUSED: Final = frozenset({400, 403, 404, 405, 413, 415, 422, 501})
_PACED: Final = 600  # how often the door may say "not now" to one question

T = TypeVar("T")


class JudgeUnavailable(ScoringInputError):
    """The judge cannot be had: no fault of any agent, and nothing is scored."""


class QuestionRefused(Exception):
    """The provider does not take this one question; others it may take."""


class UnreadableAnswer(ValueError):
    """The model did not answer in the form that it was asked for; the text says what is wrong."""


@dataclass(frozen=True)
class JudgeSettings:
    """How the judge is asked. The defaults are the paper's (A32): 5 runs at temperature 0.3."""

    url: str
    model: str
    runs: int = 5
    temperature: float = 0.3
    concurrency: int = 4
    key: str = field(default="", repr=False)  # of a provider of one's own; a platform's door wants none

    @classmethod
    def read(cls, settings: Mapping[str, str], environment: Mapping[str, str]) -> JudgeSettings:
        """From the environment, which the platform sets, and from a program's settings.

        Raises:
            JudgeUnavailable: no door was opened.
            ScoringInputError: a number is none.
        """
        url, model = environment.get(URL_VARIABLE, ""), environment.get(MODEL_VARIABLE, "")
        if not url or not model:
            raise JudgeUnavailable(
                "judging by a language model needs a model, and none is offered here: the task names one under `judge`"
            )
        try:
            return cls(
                url=url.rstrip("/"),
                model=model,
                runs=int(environment.get(RUNS_VARIABLE) or settings.get("runs") or cls.runs),
                temperature=float(
                    environment.get(TEMPERATURE_VARIABLE) or settings.get("temperature") or cls.temperature
                ),
                concurrency=int(environment.get(CONCURRENCY_VARIABLE) or cls.concurrency),
            )
        except ValueError as error:
            raise ScoringInputError(f"a setting of the judge is no number: {error}") from error

    def facts(self) -> dict[str, str]:
        """What belongs into the provenance."""
        return {"judge_model": self.model, "judge_runs": str(self.runs), "judge_temperature": f"{self.temperature:g}"}


@dataclass(frozen=True)
class Question:
    """What a model is asked, and where in the evaluation that is."""

    system: str
    user: str
    place: str


class JudgeDoor:
    """Asks the model; several threads may."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self._json_mode = True
        # The door is on this sandbox's loopback: no proxy that an environment names is in between.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def read_answer(self, question: Question, read: Callable[[str], T]) -> T:
        """Ask until ``read`` can read the answer, :data:`TRIES` times at most.

        Raises:
            UnreadableAnswer: it never could.
            QuestionRefused
            JudgeUnavailable
        """
        for number in range(1, TRIES + 1):
            try:
                return read(self._ask(question, place=f"{question.place}/{number}"))
            except UnreadableAnswer:
                if number == TRIES:
                    raise
        raise AssertionError("unreachable")

    def each(self, work: Callable[[T], Any], items: Sequence[T]) -> list[Any]:
        """``work`` on all items, some at once, results in their order; the first error ends it."""
        with ThreadPoolExecutor(max_workers=max(1, self._settings.concurrency)) as pool:
            running = [pool.submit(work, item) for item in items]
            try:
                return [each.result() for each in running]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _ask(self, question: Question, *, place: str) -> str:
        for _ in range(_PACED):
            request = self._request(question, place)
            try:
                with self._opener.open(request, timeout=_WAIT_SECONDS) as response:
                    body = response.read()
                return _content(body)
            except urllib.error.HTTPError as error:
                self._refused(error)
            except (OSError, http.client.HTTPException) as error:
                raise JudgeUnavailable(f"the judge's door did not answer ({type(error).__name__})") from error
        raise JudgeUnavailable("the judge's door let nothing through for too long")

    def _request(self, question: Question, place: str) -> urllib.request.Request:
        # The limit of an answer is the door's to set: it knows what the provider calls it.
        body: dict[str, Any] = {
            "model": self._settings.model,
            "temperature": self._settings.temperature,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ],
        }
        if self._json_mode:
            body["response_format"] = {"type": "json_object"}
        headers = {"Content-Type": "application/json", PLACE_HEADER: _ascii(place)}
        if self._settings.key:
            headers["Authorization"] = f"Bearer {self._settings.key}"
        return urllib.request.Request(  # noqa: S310 - the platform's own address
            f"{self._settings.url}/chat/completions",
            data=json.dumps(body).encode("utf-8", "surrogatepass"),
            headers=headers,
        )

    def _refused(self, error: urllib.error.HTTPError) -> None:
        """Wait where that helps and ask again; else say why it does not.

        Raises:
            QuestionRefused
            JudgeUnavailable
        """
        code, message = _reason(error)
        if code == "rate_limit_exceeded":
            time.sleep(min(60.0, float(error.headers.get("retry-after") or 1.0)))
        elif error.code in _REFUSED:
            if not self._json_mode or error.code != 400:
                raise QuestionRefused(f"the judge's model does not take this question (status {error.code})")
            self._json_mode = False  # not every provider has it; the answer's form is checked anyhow
        else:
            raise JudgeUnavailable(message or f"the judge's door answered with status {error.code}")


def _ascii(text: str) -> str:
    """A text as a header may hold it."""
    return text.encode("ascii", "backslashreplace").decode()


def _reason(error: urllib.error.HTTPError) -> tuple[str, str]:
    try:
        said = json.loads(error.read())
        return str(said["code"]), str(said["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return "", ""


def _content(body: bytes) -> str:
    """What the model said.

    Raises:
        UnreadableAnswer: it said nothing.
    """
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        content = None
    if not isinstance(content, str):
        raise UnreadableAnswer("the answer holds no text")
    return content


def read_object(text: str) -> dict[str, Any]:
    """The one JSON object that an answer is: nothing before it, nothing after it, no key twice, no Markdown.

    Raises:
        UnreadableAnswer
    """
    try:
        value = json.loads(text.strip(), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, UnreadableAnswer) else "it is not one JSON object and nothing else"
        raise UnreadableAnswer(reason) from None
    if not isinstance(value, dict):
        raise UnreadableAnswer("it is not a JSON object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise UnreadableAnswer("a key stands in it twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise UnreadableAnswer(f"{name} is not JSON")
