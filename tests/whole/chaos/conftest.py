"""One small competition, an agent that takes its time, and what must be true when it is over, whatever was killed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from leftovers import Remains, finished_once

SCENARIOS = 5
# A second for each scenario: long enough to be killed in, and a kill in it loses work that must be done again.
SLOW = """
time.sleep(1)
value = episode.call("look_up")["value"]
return f"It is {value}.", {"value": value}
"""
# Scores nothing for as long as the test needs to find it at work.
SLOW_SCORER = """
import json, time
time.sleep(3)
json.dump({"patience": 1}, open("/app/output/scores.json", "w"))
"""


@pytest.fixture
def competition(platform: Any, workshop: Any, small_task: Any) -> Any:
    """A competition with a handful of scenarios; its first phase is scored at once, its second slowly."""
    texts = {f"scenario-{number}": f"What is the value of {number}?" for number in range(SCENARIOS)}
    tasks = [small_task(texts), small_task(texts, programs="rubric, slow")]
    return workshop.competition(
        platform.person("organizer").user,
        tasks,
        [(0, "full"), (1, "full")],
        programs={"slow": {"metadata.yaml": "command: python score.py\n", "score.py": SLOW_SCORER}},
    )


@pytest.fixture
def slow_agent(workshop: Any) -> bytes:
    """The bundle of an agent that is right, and slow."""
    return workshop.agent(SLOW)


@pytest.fixture
def assert_finished_once(platform: Any) -> Callable[[str], None]:
    """The submission was finished once and scored once, with every episode, each once, and all of them right."""

    def check(submission: str) -> None:
        platform.wait_for_end(submission)
        finished_once(submission, scenarios=SCENARIOS)

    return check


@pytest.fixture
def remains(platform: Any) -> Remains:
    """Looks for what was left behind."""
    return Remains(platform.installation.var)
