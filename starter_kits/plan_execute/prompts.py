"""What the models of planner, reviewer and summariser are told. Change it here."""

from __future__ import annotations

from gauntlet_agent.assetops.examples import PLANNER
from gauntlet_agent.assetops.roster import AGENTS

_PLANNER = """You plan how to answer questions about an industrial plant; agents will execute your plan. For each step
write four lines and nothing else:
#Task1: one task in plain language, with asset, site, time and sensor where they matter
#Agent1: the one agent who can do it
#Dependency1: the earlier steps whose results it needs, such as #S1, #S2, or None
#ExpectedOutput1: what it hands over
Use fewer than 5 steps where you can. Steps that do not need each other run at the same time: say None. The last step
yields the answer. Use only these agents:
"""

REVIEWER = """Review this plan before it is executed.
Question: {question}
Plan:
{plan}
Is it complete, is every step given to an agent who can do it, and are the dependencies right? Answer strictly with one
JSON object without Markdown: {{"status": "approved" or "rejected", "reasoning": "...", "suggestions": ["..."]}}"""

SUMMARY = """Question: {question}
What the answer's fields are: {fields}
What the steps of the plan found:
{results}
Answer with one JSON object: {{"answer": "a sentence for people", "data": {{the fields that are asked for}}}}. Use only
what the steps found. Where they found that the records cannot answer, "data" is {{"abstain": true}}."""


def planner_prompt(*, examples: bool) -> str:
    """The planner's system prompt, with or without the in-context example."""
    listed = "\n".join(f"- {agent.name}: {agent.does}" for agent in AGENTS.values())
    return f"{_PLANNER}{listed}" + (f"\n\nExample:\n{PLANNER}" if examples else "")
