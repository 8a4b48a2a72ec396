"""Words and names of the showcase."""

from __future__ import annotations

from typing import Final

TERMS: Final = """You keep the rights to your agent. By joining you agree that

1. your submissions are run in a sandbox and what they do is recorded,
2. your user name and scores stand on the leaderboard, where anyone can read them,
3. one person takes part with one account.
"""

OVERVIEW: Final = """A plant's maintenance team asks questions about its equipment: work orders, alerts, anomalies.
Your agent answers them with eight tools over **incomplete, untidy records**, and says so where the records cannot
answer.

## What your agent is given

An episode is one question. The agent sees its text and the tools, may declare a plan, calls tools, and closes the
episode with an answer. Half of the score is what it *did*, as the platform recorded it.

| Part | Weight | Measured on |
|---|---|---|
| Task completion | 1/3 | the answer |
| Data retrieval accuracy | 1/3 | recorded tool calls |
| Result verification | 1/3 | the answer and the calls |

## How to start

```
pip install gauntlet-agent
gauntlet test starter_kits/minimal
gauntlet submit starter_kits/minimal --competition plant-floor-questions
```
"""

DATA: Final = """Records of 2019 to 2023: 11 pieces of equipment, 4,213 work orders, 61,000 alerts. Dates come in three
notations, codes in two, and some work orders are double. Nothing may be assumed that a tool has not said.
"""

QUESTIONS: Final = [
    ("How many work orders of chiller 6 were preventive in the second half of 2021?", "counts"),
    ("Which anomalies of air handler 2 happened within a day of a work order?", "knowledge"),
    ("List the days of March 2020 on which pump 11 raised more than five alerts.", "days"),
    ("Will boiler 3 fail within the next month?", "declined"),
    ("How many corrective work orders did each equipment of building 4 have in 2022?", "groups"),
    ("In which week of 2020 did cooling tower 1 have its first refrigerant alert?", "first week"),
]

_NAMES: Final = """ada grace-h kolmogorov lovelace-lab mira.tan jonas_w okonkwo delta-reply tsinghua-nlp ferro
rosalind beatrix uni-graz-ml quietstorm petrov k.nakamura sable hopper42 lindqvist paloalto-agents
maria.santos orbital zhang.wei tinyloop eth-robotics noether b.ramanujan harbor saanvi dijkstra-fan
lukas.h amber-fox polyglot mcp-maximalist oyelaran s.haddad wintermute perceptron e.castillo hilbert"""
_ADJECTIVES: Final = "amber brisk calm dense early fair glad hazel ivory jade keen lucid mellow noble opal plain"
_NOUNS: Final = "anvil beacon cedar delta ember falcon grove harbor inlet juniper kestrel lantern maple nimbus"
PEOPLE: Final = _NAMES.split()
#: Names as people write them: as long as they may be, without a space, from right to left, with signs.
AWKWARD: Final = ("x" * 150, "باحث.الذكاء", "Donaudampfschifffahrtsgesellschaftskapitaen.Mustermann@people.example")
AWKWARD_TEAM: Final = "🦊 Füchse & Söhne " + "W" * 40
AWKWARD_SUBMISSION: Final = "planner_" * 25
LEFT: Final = _ADJECTIVES.split()
RIGHT: Final = _NOUNS.split()

LOG: Final = """[agent] starting, python 3.11.2
[agent] 8 tools: list_equipment, get_work_orders, get_events, get_alerts, get_anomalies, date_range, group_by, describe
[agent] episode 1: plan with 3 steps
Traceback (most recent call last):
  File "/app/program/agent.py", line 61, in <module>
    main()
  File "/app/program/agent.py", line 54, in main
    answer = solve(episode)
  File "/app/program/agent.py", line 38, in solve
    first = orders["rows"][0]["work_order_id"]
KeyError: 'rows'
"""

CHECK_LOG: Final = """Looking in links: wheels
Processing ./wheels/httpx-0.28.1-py3-none-any.whl
ERROR: Could not find a version that satisfies the requirement anyio (from httpx) (from versions: none)
ERROR: No matching distribution found for anyio
"""

OPERATOR: Final = "operator@people.example"
NO_DISK: Final = "Less than 1 GiB is free in the folder of the worker; 0.4 GiB are."
LOST_CHECK: Final = "The platform could not check the bundle, and the attempt was given back. Submit it again."
IMAGE_NOTE: Final = "The image has no USER: its program runs as an unprivileged user here, not as root."

#: What a right answer looks like, by the category of a question.
FORMS: Final = {
    "counts": "The answer states the number of preventive work orders that started in the period, as an integer, and "
    "says which equipment and period were counted. Cancelled orders do not count.",
    "knowledge": "The answer names each anomaly with its time and the work order within a day of it. An anomaly "
    "without one is left out.",
    "days": "The answer lists the days, each as a date, in their order, and no other.",
    "declined": "The records cannot tell the future: the answer says so, and does not guess.",
    "groups": "The answer gives one number for each piece of equipment, those with none among them.",
    "first week": "The answer names the ISO week and the day of the first alert that is about refrigerant.",
}
REMARKS: Final = (
    "It counted an inspection that the record calls corrective.",
    "Right number, but it never says which period it took.",
    "The second call repeats the first; it did no harm.",
    "I would not have sent a technician on this answer.",
)
OPINIONS: Final = (
    "We ask this every Monday.",
    "Nobody would ask it without naming the building.",
    "Realistic, but the period is longer than we look at.",
)
BACKGROUNDS: Final = (
    ("Reliability engineer", 14, "daily"),
    ("Maintenance planner", 9, "some"),
    ("Data scientist", 5, "daily"),
    ("Service technician", 22, "new"),
)
