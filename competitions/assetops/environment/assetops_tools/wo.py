"""The WO server: work orders, the event log, alerts, anomalies, and the codes and rules behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from assetops_tools.arguments import Arguments, Period, choice, days, names_list, optional_text, page, required_text
from assetops_tools.errors import BadArgument
from assetops_tools.site import Site, matching
from assetops_tools.storage import Condition, Row, in_period
from assetops_tools.tool import PAGE, TEXT, Answer, Episode, Tool

KINDS: Final = ("preventive", "corrective")
GROUPS: Final = ("WORK_ORDER", "ALERT", "ANOMALY")
CODE_TOOL: Final = "run_wo_code"
_GROUPINGS: Final[dict[str, Callable[[Row], str]]] = {
    "primary_code": lambda row: str(row["primary_code"] or ""),
    "year": lambda row: str(row["finished"] or "")[:4],
    "month": lambda row: str(row["finished"] or "")[:7],
    "component": lambda row: str(row["component"] or ""),
}


def list_workorders(episode: Episode, arguments: Arguments) -> Answer:
    """Work orders by the day on which the work was finished."""
    limit, offset = page(arguments)
    where = _orders_where(episode.site, arguments)
    found = episode.site.records.find("work_orders", where, order=("finished",), limit=limit, offset=offset)
    return _page_of(episode.site, "work_orders", where, found, offset)


def get_workorder(episode: Episode, arguments: Arguments) -> Answer:
    """One work order."""
    identifier = required_text(arguments, "wo_id")
    found = episode.site.records.find("work_orders", [Condition("wo_id", "=", identifier.upper())], limit=1)
    if not found:
        raise BadArgument(f"There is no work order {identifier!r:.80}.")
    return dict(found[0])


def count_workorders(episode: Episode, arguments: Arguments) -> Answer:
    """How many work orders there are, in all and by a property."""
    grouping = choice(arguments, "group_by", tuple(_GROUPINGS))
    where = _orders_where(episode.site, arguments)
    if grouping is None:
        return {"total": episode.site.records.count("work_orders", where)}
    columns = ("primary_code", "primary_code_description", "component", "finished")
    rows = episode.site.records.find("work_orders", where, columns=columns)
    counts = Counter(_GROUPINGS[grouping](row) for row in rows)
    by_time = grouping in ("year", "month")
    ordered = sorted(counts.items(), key=(lambda item: item[0]) if by_time else (lambda item: (-item[1], item[0])))
    described = {str(row["primary_code"]): row["primary_code_description"] for row in rows}
    groups = [
        {
            grouping: key or None,
            "count": count,
            **({"description": described.get(key)} if grouping == "primary_code" else {}),
        }
        for key, count in ordered
    ]
    return {"total": len(rows), "group_by": grouping, "groups": groups}


def list_events(episode: Episode, arguments: Arguments) -> Answer:
    """The event log by the day on which an event was logged."""
    limit, offset = page(arguments)
    group = choice(arguments, "group", GROUPS)
    where = _where(episode.site, arguments, days(arguments), "time")
    if group is not None:
        where.append(Condition("group", "=", group))
    found = episode.site.records.find("events", where, order=("time",), limit=limit, offset=offset)
    counts = {
        one: episode.site.records.count("events", [*where, Condition("group", "=", one)])
        for one in ([group] if group else GROUPS)
    }
    return {**_page_of(episode.site, "events", where, found, offset), "by_group": counts}


def daily_event_counts(episode: Episode, arguments: Arguments) -> Answer:
    """How many events an equipment had on each day of a period; days without one are left out."""
    asset = episode.site.asset(required_text(arguments, "equipment_id"))
    groups = [choice({"groups": name}, "groups", GROUPS) for name in names_list(arguments, "groups")] or list(GROUPS)
    period = days(arguments, required=True)
    where = [Condition("equipment_id", "=", asset.id), *in_period("time", period.start, period.after)]
    rows = episode.site.records.find("events", where, columns=("time", "group"), order=("time",))
    by_day: dict[str, Counter[str]] = {}
    for row in rows:
        if row["group"] in groups:
            by_day.setdefault(str(row["time"])[:10], Counter())[str(row["group"])] += 1
    listed = [
        {"day": day, "total": sum(counts.values()), **{group: counts[group] for group in GROUPS if group in groups}}
        for day, counts in by_day.items()
    ]
    total = sum(sum(counts.values()) for counts in by_day.values())
    return {"equipment_id": asset.id, "days_with_events": len(by_day), "total_events": total, "days": listed}


def list_alerts(episode: Episode, arguments: Arguments) -> Answer:
    """Alerts by the day on which they began."""
    rule = optional_text(arguments, "rule_id")
    extra = [Condition("rule_id", "=", rule.upper())] if rule else []
    return _records(episode, arguments, "alerts", "start", by="rule_id", extra=extra)


def list_anomalies(episode: Episode, arguments: Arguments) -> Answer:
    """Anomalies of performance indicators by their day."""
    name = optional_text(arguments, "kpi")
    extra = [Condition("kpi", "=", _kpi(episode.site, name))] if name else []
    return _records(episode, arguments, "anomalies", "time", by="kpi", extra=extra)


def get_failure_codes(episode: Episode, arguments: Arguments) -> Answer:
    """The failure codes, or those that hold a text."""
    wanted = optional_text(arguments, "text").casefold()

    def holding(table: str) -> list[Row]:
        rows = episode.site.records.find(table)
        return [row for row in rows if any(wanted in str(cell or "").casefold() for cell in row.values())]

    primary, codes = holding("primary_failure_codes"), holding("failure_codes")
    return {"total_primary": len(primary), "primary_codes": primary, "total": len(codes), "failure_codes": codes}


def get_alert_rules(episode: Episode, arguments: Arguments) -> Answer:
    """The alert rules, or those of one equipment."""
    found = episode.site.records.find("alert_rules", _equipment(episode.site, arguments))
    return {"total": len(found), "alert_rules": found}


def get_alert_rule_mapping(episode: Episode, arguments: Arguments) -> Answer:
    """Which primary codes the alerts of a rule point to."""
    rule = optional_text(arguments, "rule_id")
    found = episode.site.records.find("alert_rule_mapping", [Condition("rule_id", "=", rule.upper())] if rule else [])
    return {"total": len(found), "mapping": found}


def get_anomaly_mapping(episode: Episode, arguments: Arguments) -> Answer:
    """Which primary codes a high or low indicator points to."""
    name = optional_text(arguments, "kpi")
    where = [Condition("kpi", "=", _kpi(episode.site, name))] if name else []
    found = episode.site.records.find("anomaly_mapping", where)
    return {"total": len(found), "mapping": found}


def list_equipment(episode: Episode, arguments: Arguments) -> Answer:
    """All equipment."""
    del arguments
    found = [
        {"equipment_id": one.id, "equipment_name": one.name, "site_name": one.site, "asset_class": one.kind}
        for one in episode.site.assets
    ]
    return {"total": len(found), "equipment": found}


def recommend_workorder(episode: Episode, arguments: Arguments) -> Answer:
    """Keep a recommendation with the episode; the records do not change."""
    asset = episode.site.asset(required_text(arguments, "equipment_id"))
    code = _primary_code(episode.site, required_text(arguments, "primary_code"))
    reason = required_text(arguments, "reason")
    kept = episode.kept.setdefault("recommendations", [])
    if len(kept) >= 100:
        raise BadArgument("This episode has recommended a hundred work orders; that is enough.")
    made = {
        "recommendation_id": f"REC{len(kept) + 1}",
        "equipment_id": asset.id,
        "primary_code": code["primary_code"],
        "primary_code_description": code["description"],
        "reason": reason,
    }
    kept.append(made)
    return made


def run_wo_code(episode: Episode, arguments: Arguments) -> Answer:
    """Never answered here: the platform runs the code, in a sandbox of its own.

    Raises:
        BadArgument: always.
    """
    del episode, arguments
    raise BadArgument(f"{CODE_TOOL} is run by the platform, in a sandbox of its own; this program runs no code.")


def _records(
    episode: Episode, arguments: Arguments, table: str, time: str, *, by: str, extra: Sequence[Condition]
) -> Answer:
    limit, offset = page(arguments)
    where = [*_where(episode.site, arguments, days(arguments), time), *extra]
    counts = Counter(str(row[by]) for row in episode.site.records.find(table, where, columns=(by,)))
    found = episode.site.records.find(table, where, order=(time,), limit=limit, offset=offset)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    by_name = [{by: name, "count": count} for name, count in ordered]
    return {**_page_of(episode.site, table, where, found, offset), f"by_{by}": by_name}


def _page_of(site: Site, table: str, where: Sequence[Condition], found: list[Row], offset: int) -> Answer:
    total = site.records.count(table, where)
    end = offset + len(found)
    return {"total": total, table: found, "next_offset": end if end < total else None}


def _equipment(site: Site, arguments: Arguments) -> list[Condition]:
    name = optional_text(arguments, "equipment_id")
    return [Condition("equipment_id", "=", site.asset(name).id)] if name else []


def _where(site: Site, arguments: Arguments, period: Period, column: str) -> list[Condition]:
    return [*_equipment(site, arguments), *in_period(column, period.start, period.after)]


def _orders_where(site: Site, arguments: Arguments) -> list[Condition]:
    kind = choice(arguments, "kind", KINDS)
    code = optional_text(arguments, "primary_code")
    where = _where(site, arguments, days(arguments), "finished")
    if kind is not None:
        where.append(Condition("preventive", "=", kind == "preventive"))
    if code:
        where.append(Condition("primary_code", "=", str(_primary_code(site, code)["primary_code"])))
    return where


def _primary_code(site: Site, code: str) -> dict[str, Any]:
    for row in site.records.find("primary_failure_codes"):
        if str(row["primary_code"]).casefold() == code.casefold():
            return dict(row)
    raise BadArgument(f"There is no primary failure code {code!r:.80}; get_failure_codes shows those that there are.")


def _kpi(site: Site, name: str) -> str:
    rows = [*site.records.find("anomaly_mapping", columns=("kpi",)), *site.records.find("anomalies", columns=("kpi",))]
    names = list(dict.fromkeys(str(row["kpi"]) for row in rows))
    found = matching(name, names)
    if found is None:
        raise BadArgument(f"There is no performance indicator {name!r:.80}; there is {', '.join(names)}.")
    return found


_WHO: Final = {"type": "string", "description": "identifier or name of the equipment; all of it where left out"}
_ONE: Final = {"type": "string", "description": "identifier or name of the equipment"}
_START: Final = {"type": "string", "format": "date", "description": "first day, YYYY-MM-DD, included"}
_END: Final = {"type": "string", "format": "date", "description": "last day, YYYY-MM-DD, included"}
_SPAN: Final = {"equipment_id": _WHO, "start": _START, "end": _END}
_KIND: Final = {"type": "string", "enum": list(KINDS), "description": "only this kind; both where left out"}
_CODE: Final = {"type": "string", "description": "a primary failure code"}
_GROUP: Final = {"type": "string", "enum": list(GROUPS), "description": "only this group; all where left out"}

TOOLS: Final = (
    Tool(
        "list_workorders",
        "wo",
        "Work orders by the day on which the work was finished, oldest first. `total` is the full number, the list "
        "comes in pages.",
        {**_SPAN, "kind": _KIND, "primary_code": _CODE, **PAGE},
        (),
        list_workorders,
    ),
    Tool("get_workorder", "wo", "One work order by its identifier.", {"wo_id": TEXT}, ("wo_id",), get_workorder),
    Tool(
        "count_workorders",
        "wo",
        "How many work orders there are, by the day on which the work was finished; with `group_by` also how many by "
        "primary code, component (most frequent first), year or month (oldest first).",
        {**_SPAN, "kind": _KIND, "primary_code": _CODE, "group_by": {"type": "string", "enum": list(_GROUPINGS)}},
        (),
        count_workorders,
    ),
    Tool(
        "list_events",
        "wo",
        "The event log by the day on which an event was logged: work orders, alerts, anomalies. `by_group` holds the "
        "full numbers, the list comes in pages. Work that was written down late is logged late.",
        {**_SPAN, "group": _GROUP, **PAGE},
        (),
        list_events,
    ),
    Tool(
        "daily_event_counts",
        "wo",
        "How many events of the log an equipment had on each day of a period, in all and by group; days without any "
        "are left out.",
        {
            "equipment_id": _ONE,
            "start": _START,
            "end": _END,
            "groups": {"type": "array", "items": {"type": "string", "enum": list(GROUPS)}},
        },
        ("equipment_id", "start", "end"),
        daily_event_counts,
    ),
    Tool(
        "list_alerts",
        "wo",
        "Alerts by the day on which they began: rule, beginning, end. `by_rule_id` holds the full numbers.",
        {**_SPAN, "rule_id": TEXT, **PAGE},
        (),
        list_alerts,
    ),
    Tool(
        "list_anomalies",
        "wo",
        "Anomalies of performance indicators: indicator, value, bounds. `by_kpi` holds the full numbers.",
        {**_SPAN, "kpi": TEXT, **PAGE},
        (),
        list_anomalies,
    ),
    Tool(
        "get_failure_codes",
        "wo",
        "Failure codes, primary and secondary, with description and category; `text` keeps those that hold it.",
        {"text": TEXT},
        (),
        get_failure_codes,
    ),
    Tool(
        "get_alert_rules",
        "wo",
        "The alert rules of an equipment, or all: what is compared with which threshold for how many minutes.",
        {"equipment_id": _WHO},
        (),
        get_alert_rules,
    ),
    Tool(
        "get_alert_rule_mapping",
        "wo",
        "Which primary failure codes an alert of a rule points to. Not every rule was mapped.",
        {"rule_id": TEXT},
        (),
        get_alert_rule_mapping,
    ),
    Tool(
        "get_anomaly_mapping",
        "wo",
        "Which primary failure codes a high or a low value of a performance indicator points to.",
        {"kpi": TEXT},
        (),
        get_anomaly_mapping,
    ),
    Tool("list_equipment", "wo", "All equipment with identifier, name, site and kind.", {}, (), list_equipment),
    Tool(
        "recommend_workorder",
        "wo",
        "Recommend a work order for an equipment, with a primary failure code and the reason. It is noted for who "
        "plans the work; the records do not change.",
        {"equipment_id": _ONE, "primary_code": _CODE, "reason": TEXT},
        ("equipment_id", "primary_code", "reason"),
        recommend_workorder,
        read_only=False,
    ),
    Tool(
        CODE_TOOL,
        "wo",
        "Run Python over the business objects: the CSV files in /app/data (work_orders, events, alerts, anomalies, "
        "alert_rules, alert_rule_mapping, anomaly_mapping, failure_codes, primary_failure_codes, equipment), with "
        "pandas installed. Answers what the code printed, its exit code and how long it ran; nothing is kept.",
        {"code": {"type": "string", "description": "a Python program; print what you want to see"}},
        ("code",),
        run_wo_code,
    ),
)
