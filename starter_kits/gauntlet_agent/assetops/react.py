"""Sub-agents that a language model drives: ReAct with tool calls, and CodeReAct for work orders (A21).

Both see only their own server's tools. The model thinks and acts until it says something without calling a tool; what
it says then is the answer, as JSON where it found values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from gauntlet_agent.assetops.desk import Desk, NotMyTool
from gauntlet_agent.assetops.examples import SUB_AGENT
from gauntlet_agent.assetops.guardrails import clean, compress
from gauntlet_agent.assetops.report import Report, Review
from gauntlet_agent.assetops.roster import AGENTS, CODE_TOOL, WO
from gauntlet_agent.errors import BudgetExceeded, ToolError
from gauntlet_agent.json_repair import NotJson, read_object
from gauntlet_agent.models import Models, Said, ToolCall, fit, function_tool

ASK_TOOL: Final = "ask_parent"
_OBSERVATION: Final = 3000  # characters of a tool's result that the model is shown
_CODE: Final = re.compile(r"```(?:python|py)\s*\n(.*?)```", re.DOTALL)
_ANSWER: Final = """When you know the answer, reply without calling a tool, with one JSON object: `text` is a sentence
for people, and beside it stands every value that you found under a name of its own (files under `file_path`). If the
data cannot answer the request, reply {"text": "why not", "unanswerable": true}. Never invent a value."""
_TABLES: Final = """You answer with Python programs, which you run with `run_wo_code`. pandas is installed, and the
business objects are CSV files in /app/data:
- work_orders.csv: wo_id, equipment_id, equipment_name, description, primary_code, primary_code_description,
  secondary_code, component, preventive (TRUE or FALSE), priority, reported, started, finished
- events.csv: event_id, equipment_id, equipment_name, time, group (WORK_ORDER, ALERT, ANOMALY), type, description
- alerts.csv: alert_id, equipment_id, rule_id, start, end
- anomalies.csv: anomaly_id, equipment_id, time, kpi, value, lower, upper
- equipment.csv, alert_rules.csv, alert_rule_mapping.csv (rule_id, primary_code), anomaly_mapping.csv (kpi,
  primary_code), failure_codes.csv, primary_failure_codes.csv
Some rows name their equipment by its name only. Print what you need to see, and keep it short."""


class ReactAgent:
    """A sub-agent that thinks, calls its tools, and observes."""

    def __init__(self, name: str, models: Models, *, max_steps: int, examples: bool, context: int = 24000) -> None:
        self.name = name
        self._models = models
        self._max_steps = max_steps
        self._examples = examples
        self._context = context

    def work(self, request: str, desk: Desk) -> Report:
        """Do what a request asks for and report.

        Raises:
            ModelUnavailable: the model cannot be asked; the caller has rules to fall back on
            GatewayError, GatewayUnreachable
        """
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self._instructions(desk)},
            {"role": "user", "content": request},
        ]
        failures = successes = 0
        for _ in range(self._max_steps):
            said = self._models.say(fit(messages, limit=self._context), tools=self._tools(desk))
            calls = said.calls or _code_in(said, desk)
            if not calls:
                return _report(said.text, failures=failures, successes=successes)
            messages.append(said.message)
            for call in calls:
                observation, failed = self._observe(call, desk)
                failures, successes = failures + failed, successes + (not failed)
                role = {"role": "tool", "tool_call_id": call.id} if said.calls else {"role": "user"}
                messages.append({**role, "content": observation})
        last = str(messages[-1]["content"])
        review = Review("failed", f"No answer after {self._max_steps} steps.", ("Ask for less at once.",))
        return Report(json.dumps({"text": compress(last, limit=500)}), review, "The last observation only.")

    def _instructions(self, desk: Desk) -> str:
        parts = [f"You are {self.name}. {AGENTS[self.name].does}", _ANSWER]
        if self.name == WO and desk.has(CODE_TOOL):
            parts.insert(1, _TABLES)
        if desk.may_ask:
            parts.append(f"Where the request leaves open what you need to know, ask with `{ASK_TOOL}`; do not guess.")
        if self._examples:
            parts.append(f"Example:\n{SUB_AGENT[self.name]}")
        return "\n\n".join(parts)

    def _tools(self, desk: Desk) -> list[dict[str, Any]]:
        names = list(desk.tools)
        if self.name == WO and desk.has(CODE_TOOL):
            names = [name for name in names if name in (CODE_TOOL, "recommend_workorder", "currentdatetime")]
        tools = [function_tool(name, desk.tools[name].description, desk.tools[name].input_schema) for name in names]
        if desk.may_ask:
            question = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
            tools.append(
                function_tool(ASK_TOOL, "Ask whoever gave you this request for what it leaves open.", question)
            )
        return tools

    def _observe(self, call: ToolCall, desk: Desk) -> tuple[str, bool]:
        """What comes of a call, as the model is told it, and whether it failed."""
        if call.arguments is None:
            return "The arguments are not a JSON object. Call the tool again with one.", True
        if call.name == ASK_TOOL:
            return desk.ask(str(call.arguments.get("question") or "")) or "Nothing is known about that.", False
        try:
            result = desk.call(call.name, **call.arguments)
        except (NotMyTool, ToolError, TypeError) as error:
            return f"Error: {compress(str(error), limit=600)}", True
        except BudgetExceeded as error:
            return f"No more tool calls: {error.message} Answer with what you have.", True
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        failed = isinstance(result, Mapping) and result.get("exit_code") not in (0, None)
        return compress(text, limit=_OBSERVATION), failed


def _code_in(said: Said, desk: Desk) -> tuple[ToolCall, ...]:
    """A program that a model wrote as text, where it does not call tools: CodeReAct's own form."""
    found = _CODE.findall(said.text)
    if not found or not desk.has(CODE_TOOL):
        return ()
    return (ToolCall(id="code", name=CODE_TOOL, arguments={"code": found[-1]}),)


def _report(text: str, *, failures: int, successes: int) -> Report:
    try:
        found = read_object(text)
    except NotJson:
        if not successes:  # words that rest on nothing that was looked at
            return Report.failed(f"No tool was used, and this was said: {clean(text)[:300]}")
        return Report(clean(text), Review("accomplished" if text.strip() else "failed"), "Prose.")
    if found.get("unanswerable"):
        return Report.failed(str(found.get("text") or "The data cannot answer this."))
    said = clean(str(found.pop("text", "") or found.get("answer", "")))
    review = Review("accomplished" if not failures else "partial", f"{failures} tool calls failed." if failures else "")
    return Report.of(said, found, review=review)
