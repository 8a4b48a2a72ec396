"""What the WO agent can do by rules with the event log: events, alerts, anomalies, and what they point to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gauntlet_agent.assetops import analyses
from gauntlet_agent.assetops.periods import Period
from gauntlet_agent.assetops.reading import plain
from gauntlet_agent.assetops.report import Report
from gauntlet_agent.assetops.roster import WO
from gauntlet_agent.assetops.skills import RuleAgent, Skill, Unanswerable, Work, names_of, rows_of, said
from gauntlet_agent.assetops.wo_skills import LISTING_SKILLS, ORDER_SKILLS
from gauntlet_agent.assetops.work_records import Machine, Table, analysed, check_recorded, find_machine, listing, rows

GROUP_WORDS: Final = {"WORK_ORDER": "work_orders", "ALERT": "alerts", "ANOMALY": "anomalies"}
_TABLE: Final = {"ALERT": "alerts", "ANOMALY": "anomalies"}
_CODE_KEYS: Final = ("primary_code", "primary_failure_code", "code")


def scope(work: Work) -> tuple[Machine, Period, dict[str, Any]]:
    """The machine and the period that a request is about, and the facts that say so to later steps."""
    machine, period = find_machine(work), work.period
    return machine, period, {**machine.facts, **period.arguments}


def events_by_group(work: Work) -> Report:
    """How many events of each group were logged; only of the groups that are named, where some are."""
    machine, period, facts = scope(work)
    counts = analyses.counted(_events(work, machine, period), "group")
    named = work.reading.groups or list(GROUP_WORDS)
    said_counts = {GROUP_WORDS[group]: counts.get(group, 0) for group in named}
    if not any(said_counts.values()):
        _check_group(work, named[0], period)
    return Report.of(f"{machine.name} {period.words}: {listing(said_counts)}.", {**facts, **said_counts})


def days_with_events(work: Work) -> Report:
    """On how many days something of the groups that are named was logged."""
    machine, period, facts = scope(work)
    groups = work.reading.groups or list(GROUP_WORDS)
    answer = work.call("daily_event_counts", equipment_id=machine.id, **period.arguments)
    days = _days_of(answer, groups)
    if days is None:
        found = [row for row in _events(work, machine, period) if row.get("group") in groups]
        days = sorted({analyses.day(row, "time") for row in found})
    if not days:
        _check_group(work, groups[0], period)
    return Report.of(f"On {len(days)} days.", {**facts, "days_with_events": len(days), "days": days[:60]})


def first_and_last(work: Work) -> Report:
    """When the first and the last event of a group was logged."""
    machine, period, facts = scope(work)
    groups = work.reading.groups or list(GROUP_WORDS)
    found = [row for group in groups for row in _of_group(work, machine, period, group)]
    if not found:
        raise Unanswerable(f"Nothing of the kind was logged for {machine.name} {period.words}.")
    days = sorted(analyses.day(row, "time") for row in found)
    return Report.of(
        f"From {days[0]} to {days[-1]}.", {**facts, "first": days[0], "last": days[-1], "events": len(days)}
    )


def top_rule(work: Work) -> Report:
    """How many alerts there were, and which monitoring rule raised most of them."""
    machine, period, facts = scope(work)
    found = rows(work, "alerts", machine, period)
    rules = analyses.counted(found.rows, "rule_id")
    rule = next(iter(rules), None)
    facts |= {"alerts": found.total, "by_rule": rules, "rule": rule, "count": rules.get(rule or "", 0)}
    return Report.of(f"{found.total} alerts of {machine.name} {period.words}: {listing(rules)}.", facts)


def top_indicator(work: Work) -> Report:
    """How many anomalies there were, and which indicator has most of them."""
    machine, period, facts = scope(work)
    found = rows(work, "anomalies", machine, period)
    kpis = analyses.counted(found.rows, "kpi")
    kpi = next(iter(kpis), None)
    facts |= {"anomalies": found.total, "by_indicator": kpis, "indicator": kpi, "count": kpis.get(kpi or "", 0)}
    text = f"{found.total} anomalies of {machine.name} {period.words}: {listing(kpis)}."
    return Report.of(text, {**facts, "indicators": sorted(kpis)})


def compare_periods(work: Work) -> Report:
    """In which of two periods more of a group was logged, and by how many."""
    machine = find_machine(work)
    group = next(iter(work.reading.groups), "ALERT")
    word = GROUP_WORDS[group]
    steps = [
        step for step in work.known.get("steps", []) if isinstance(step, dict) and word in step and "start" in step
    ]
    counts = {str(step["start"]): int(step[word]) for step in steps}
    if len(counts) < 2:
        counts = {one.start.isoformat(): len(_of_group(work, machine, one, group)) for one in work.reading.periods}
    if len(counts) < 2:
        raise Unanswerable("There are no two periods to compare.", "Name both periods.")
    best = max(counts, key=lambda start: counts[start])
    least = min(counts.values())
    facts = {**machine.facts, "month": best[:7], "difference": counts[best] - least, "counts": counts}
    return Report.of(f"{best[:7]}, by {counts[best] - least}.", facts)


def codes_of_rule(work: Work) -> Report:
    """Which failure codes a monitoring rule points to: the one named, the one known, or the busiest one."""
    rule = work.reading.rule or work.known.get("rule")
    facts: dict[str, Any] = {}
    if not rule:
        facts = top_rule(work).facts
        rule = facts.get("rule")
    if not rule:
        raise Unanswerable("There were no alerts, so no rule stands out.")
    codes = sorted(set(rule_codes(work, str(rule)).get(str(rule), [])))
    return Report.of(f"{rule} points to {said(codes)}.", {**facts, "rule": rule, "codes": codes, "count": len(codes)})


def codes_of_indicator(work: Work) -> Report:
    """Which failure codes an anomaly of the named indicators points to."""
    mapped = rows_of(work.call("get_anomaly_mapping"))
    names = list(dict.fromkeys(str(row.get("kpi")) for row in mapped))
    flat = plain(work.reading.text)
    named = [name for name in names if plain(name) in flat]
    named = [name for name in named if not any(name != other and plain(name) in plain(other) for other in named)]
    if not named:
        raise Unanswerable(f"It is not known which indicator is meant; there are {said(names)}.", "Name the indicator.")
    codes = sorted({code for row in mapped if row.get("kpi") in named for code in _codes(row)})
    return Report.of(f"{said(named)} points to {said(codes)}.", {"indicators": named, "codes": codes})


def due_or_early(work: Work) -> Report:
    """Whether a new job is due: a rule fired on enough days, and nothing with one of its codes was done."""
    machine, period, facts = scope(work)
    alerts = rows(work, "alerts", machine, period).rows
    orders = rows(work, "orders", machine, period).rows
    limit = work.reading.number_near(r"days", 1)
    found = analyses.rules_to_act_on(alerts, orders, rule_codes(work), limit)
    text = f"Open a job for {said(found['rules'])}." if found["open_job"] else "It is too early for a new job."
    return Report.of(text, {**facts, **found, "alerts": len(alerts)})


def review(work: Work) -> Report:
    """A period's alerts and anomalies."""
    return Report.of(
        f"{(alerts := top_rule(work)).text} {(anomalies := top_indicator(work)).text}",
        {**alerts.facts, **anomalies.facts},
    )


def top_descriptions(work: Work) -> Report:
    """What stands in the log most often."""
    machine, period, facts = scope(work)
    groups = work.reading.groups or ["WORK_ORDER", "ALERT"]
    most = work.reading.number_near(r"(?:most )?(?:frequent )?descriptions?", 3)
    counts = analysed(work, machine, analyses.descriptions, Table("events", period), groups, most)
    top = list(counts)
    if not top:
        raise Unanswerable(f"Nothing was logged for {machine.name} {period.words}.")
    return Report.of(f"{listing(counts)}.",
                     {**facts, "descriptions": top, "most": counts[top[0]], "count": counts[top[0]]})  # fmt: skip


def rule_codes(work: Work, rule: str | None = None) -> dict[str, list[str]]:
    """The failure codes that monitoring rules point to."""
    found: dict[str, list[str]] = {}
    for row in rows_of(work.call("get_alert_rule_mapping", rule_id=rule)):
        found.setdefault(str(row.get("rule_id") or rule), []).extend(_codes(row))
    return found


def _codes(row: Mapping[str, Any]) -> list[str]:
    for key in _CODE_KEYS:
        if row.get(key):
            return re.findall(r"[A-Z]+\d+", str(row[key])) or [str(row[key])]
    return names_of(row, *_CODE_KEYS)


def _events(work: Work, machine: Machine, period: Period, group: str | None = None) -> list[dict[str, Any]]:
    found = work.all_rows("list_events", equipment_id=machine.id, **period.arguments, group=group)
    return analyses.within(found, "time") if found and "time" in found[0] else found


def _of_group(work: Work, machine: Machine, period: Period, group: str) -> list[dict[str, Any]]:
    found = _events(work, machine, period, group)
    if not found:
        _check_group(work, group, period)
    return found


def _check_group(work: Work, group: str, period: Period) -> None:
    check_recorded(work, _TABLE.get(group, "events"), period)


def _days_of(answer: Any, groups: list[str]) -> list[str] | None:
    """The days with an event of the groups; None where the answer does not tell groups apart."""
    days: list[str] = []
    keys = {key for group in groups for key in (group, GROUP_WORDS[group])}
    every = {key for group in GROUP_WORDS for key in (group, GROUP_WORDS[group])}
    for row in rows_of(answer):
        counts = row.get("counts") if isinstance(row.get("counts"), Mapping) else row
        if isinstance(counts, Mapping) and every & set(counts):
            number = sum(int(counts.get(key) or 0) for key in keys)
        elif row.get("group") in every:
            number = int(row.get("count") or 0) if row["group"] in keys else 0
        elif len(groups) == len(GROUP_WORDS):
            number = int(row.get("count") or row.get("total") or 0)
        else:
            return None
        if number:
            days.append(str(row.get("day") or row.get("date"))[:10])
    return sorted(set(days))


#: Asked for before work orders are thought of, since their words occur in these requests too; and after.
DECISION_SKILLS: Final = (
    Skill("due_or_early", r"\btoo early\b|\bopen (?:one|a new|a job)\b|\bnew (?:job|work order) is due\b|"
          r"\bwhether a new\b", due_or_early),
    Skill("descriptions", r"\bdescriptions?\b", top_descriptions),
    Skill("codes_of_rule", r"\bcodes?\b.*\brules?\b|\brules?\b.*\bcodes?\b", codes_of_rule,
          unless=r"\bwork orders? completed\b"),
    Skill("codes_of_indicator", r"\bcodes?\b.*\b(?:anomal\w+|indicator|out of bounds)\b|"
          r"\b(?:anomal\w+|indicator|out of bounds)\b.*\bcodes?\b", codes_of_indicator),
    Skill("compare", r"\b(?:which|the) month (?:had|with) more\b|\bcompare\b.*\balerts\b|\bmore alerts in\b|"
          r"\bcompare the two\b", compare_periods),
)  # fmt: skip
LOG_SKILLS: Final = (
    Skill("days", r"\bdaily counts?\b|\bhow many days\b|\bdays with\b|\bnumber of days\b", days_with_events),
    Skill("first_and_last", r"\bfirst and (?:the )?last\b|\bbetween which two days\b", first_and_last),
    Skill("review", r"\balerts\b.*\banomalies\b.*\bindicators?\b|\breview how\b", review),
    Skill("events", r"\bevents?\b|\blogged\b|\blog\b|\bby group\b|\beach group\b", events_by_group),
    Skill("alerts", r"\balerts?\b|\bmonitoring rules?\b|\bmost frequent rule\b", top_rule,
          unless=r"\banomal"),
    Skill("anomalies", r"\banomal|\bindicators?\b|\bbounds\b", top_indicator),
)  # fmt: skip


def wo_agent() -> RuleAgent:
    """The WO agent by rules."""
    return RuleAgent(WO, (*DECISION_SKILLS, *ORDER_SKILLS, *LOG_SKILLS, *LISTING_SKILLS))
