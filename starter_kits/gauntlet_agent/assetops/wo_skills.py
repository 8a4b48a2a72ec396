"""What the WO agent can do by rules with work orders: find, count, group, rank, bundle, and see what comes next."""

from __future__ import annotations

from typing import Any, Final

from gauntlet_agent.assetops import analyses
from gauntlet_agent.assetops.periods import Period
from gauntlet_agent.assetops.report import Report
from gauntlet_agent.assetops.skills import Skill, Unanswerable, Work, said
from gauntlet_agent.assetops.work_records import (
    Machine,
    Table,
    analysed,
    count,
    find_machine,
    find_machines,
    kinds_word,
    listing,
    rows,
)


def find_equipment(work: Work) -> Report:
    """Which machines are meant."""
    machines = find_machines(work)
    facts = {**machines[0].facts, "machines": [one.facts for one in machines]}
    return Report.of(f"{said(f'{one.name} is {one.id}' for one in machines)}.", facts)


def scope(work: Work) -> tuple[Machine, Period, str | None, dict[str, Any]]:
    """The machine, period and kind of work that a request is about, and the facts that say so to later steps."""
    machine, period = find_machine(work), work.period
    kind = work.reading.kind or (work.known.get("kind") if not work.reading.has(r"\ball\b|\beach\b|\bboth\b") else None)
    facts = {**machine.facts, **period.arguments}
    return machine, period, kind, {**facts, "kind": kind} if kind else facts


def get_orders(work: Work) -> Report:
    """How many work orders were finished, of a kind where one is named."""
    machine, period, kind, facts = scope(work)
    number = count(work, "orders", machine, period, kind=kind)
    facts["work_orders"] = number
    if kind:
        facts[kind] = number
    return Report.of(f"{machine.name}: {number} {kinds_word(kind)} {period.words}.", facts)


def split_kinds(work: Work) -> Report:
    """How many work orders were preventive and how many corrective."""
    machine, period, _, facts = scope(work)
    both = {kind: count(work, "orders", machine, period, kind=kind) for kind in ("preventive", "corrective")}
    return Report.of(f"{machine.name}: {listing(both)} {period.words}.", {**facts, **both})


def group_codes(work: Work) -> Report:
    """How the work orders are spread over failure codes, and the most frequent one."""
    machine, period, kind, facts = scope(work)
    answer = rows(work, "orders", machine, period, kind=kind)
    codes = analyses.counted(answer.rows, "primary_code")
    top = next(iter(codes), None)
    facts |= {
        "distribution": codes,
        "codes": sorted(codes),
        "work_orders": sum(codes.values()),
        "code": top,
        "count": codes.get(top or "", 0),
    }
    return Report.of(f"{machine.name} {period.words}: {listing(codes)}.", facts)


def code_again(work: Work) -> Report:
    """The most frequent code of one period, and how often it came up in another."""
    machine, periods = find_machine(work), work.reading.periods
    code = str(work.known.get("code") or "")
    if not code and len(periods) > 1:
        first = rows(work, "orders", machine, periods[0])
        code = next(iter(analyses.counted(first.rows, "primary_code")), "")
    if not code or not periods:
        raise Unanswerable("It is not known which failure code is meant.", "Say which code.")
    again = rows(work, "orders", machine, periods[-1])
    number = analyses.counted(again.rows, "primary_code").get(code, 0)
    facts = {**machine.facts, **periods[-1].arguments, "code": code, "count": number}
    return Report.of(f"{code}: {number} times {periods[-1].words}.", facts)


def busiest_month(work: Work) -> Report:
    """In which month most work was finished."""
    machine, period, kind, facts = scope(work)
    months = analyses.by_month(rows(work, "orders", machine, period, kind=kind).rows, "finished")
    if not months:
        raise Unanswerable(f"No work was completed on {machine.name} {period.words}.")
    month = next(iter(months))
    return Report.of(
        f"{month}, with {months[month]}.", {**facts, "month": month, "count": months[month], "months": months}
    )


def busiest_year(work: Work) -> Report:
    """In which year most work was finished."""
    machine, _, kind, facts = scope(work)
    period = _years(work)
    found = rows(work, "orders", machine, period, kind=kind)
    yearly = analyses.by_year(found.rows, "finished", period.start.year, period.end.year)
    year = max(yearly, key=lambda one: yearly[one])
    return Report.of(
        f"{year}, with {yearly[year]}.", {**facts, "year": year, "yearly": yearly, "in_year": yearly[year]}
    )


def last_order(work: Work) -> Report:
    """On which day the last work order of a period was finished."""
    machine, period, kind, facts = scope(work)
    found = rows(work, "orders", machine, period, kind=kind).rows
    if not found:
        raise Unanswerable(f"No {kinds_word(kind)} were completed on {machine.name} {period.words}.")
    day = analyses.day(found[-1], "finished")
    return Report.of(f"The last one was completed on {day}.", {**facts, "day": day, "work_orders": len(found)})


def rank_machines(work: Work) -> Report:
    """On which machine most work was finished."""
    machines, period, kind = find_machines(work), work.period, work.reading.kind
    counts = {one.id: count(work, "orders", one, period, kind=kind) for one in machines}
    return _best(counts, {**period.arguments})


def compare_found(work: Work) -> Report:
    """Compare what earlier steps counted, machine by machine."""
    steps = [step for step in work.known.get("steps", []) if isinstance(step, dict) and "work_orders" in step]
    counts = {str(step.get("equipment_id")): int(step["work_orders"]) for step in steps}
    if len(counts) < 2:
        return rank_machines(work)
    return _best(counts, {})


def _best(counts: dict[str, int], about: dict[str, Any]) -> Report:
    facts = dict(about)
    best = max(sorted(counts), key=lambda name: counts[name])
    facts |= {"equipment": best, "equipment_id": best, "count": counts[best], "counts": counts}
    return Report.of(f"{best}, with {counts[best]}: {listing(counts)}.", facts)


def bundle(work: Work) -> Report:
    """Which repairs could have been done together."""
    machine, period, _, facts = scope(work)
    found = analysed(work, machine, analyses.bundles, Table("orders", period, "corrective"))
    text = f"{found['bundles']} bundles, the largest with {found['largest']} repairs."
    return Report.of(text, {**facts, **found})


def next_work(work: Work) -> Report:
    """Which code probably comes next, by what came next before."""
    machine = find_machine(work)
    until = _until(work)
    found = analysed(work, machine, analyses.next_code, Table("orders", until))
    if not found:
        raise Unanswerable(f"{machine.name} has no work orders with a failure code to go by.")
    text = f"After {found['after']} most often came {found['code']}, in a share of {found['probability']}."
    return Report.of(text, {**machine.facts, **found})


def _until(work: Work) -> Period | None:
    """Everything before the present day, or before the end of the period that is named."""
    from datetime import date, timedelta

    today = work.reading.now
    if today is None and work.known.get("end"):
        return Period(date(1900, 1, 1), date.fromisoformat(str(work.known["end"])))
    if today is None:
        named = work.reading.period
        return Period(date(1900, 1, 1), named.start - timedelta(days=1)) if named else None
    return Period(date(1900, 1, 1), today - timedelta(days=1))


def trend(work: Work) -> Report:
    """The straight line through yearly numbers of work orders: its slope, what it says ahead, whether to replace."""
    machine, _, kind, facts = scope(work)
    period = _years(work)
    ahead = _year_ahead(work, period)
    first, last = period.start.year, period.end.year
    found = analysed(work, machine, analyses.yearly_line, Table("orders", period, kind), "finished", first, last, ahead)
    slope = float(found["slope"])
    facts |= {
        "yearly": found["yearly"],
        "slope": round(slope, 4),
        "jobs": round(float(found["ahead"]), 4),
        "year": ahead,
    }
    limit = _limit(work)
    if limit is not None:
        facts["replace"] = slope > limit
    return Report.of(f"{machine.name}: {slope:.3f} a year; {facts['jobs']:.2f} in {ahead}.", facts)


def _years(work: Work) -> Period:
    """The years to fit a line to: the longest period that is named, or the one that is known."""
    named = max(work.reading.periods, key=lambda one: (one.end - one.start).days, default=None)
    return named or work.period


def _year_ahead(work: Work, period: Period) -> int:
    """The year that is asked for beyond the record, else the next."""
    years = [one.start.year for one in work.reading.periods if one.start > period.end]
    return max(years, default=period.end.year + 1)


def _limit(work: Work) -> float | None:
    import re

    found = re.search(r"(?:more than|above|over|exceeds?)\s+(\d+(?:\.\d+)?)", work.reading.words)
    return float(found[1]) if found else None


ORDER_SKILLS: Final = (
    Skill("bundle", r"\bbundl|\bdone together\b|\bwithin two weeks\b", bundle, unless=r"^retrieve\b(?!.*\bbundl)"),
    Skill("next", r"\b(?:came|comes?) next\b|\bnext (?:work order|job|code)\b|\bmost probable code\b", next_work),
    Skill("trend", r"\bstraight line\b|\byear-over-year\b|\bslope\b|\btrend\b|\bproject how many\b", trend,
          unless=r"\balerts?\b|\brules?\b"),
    Skill("code_again", r"\b(?:this|that|the same) (?:failure )?code\b|\bcame? up again\b", code_again),
    Skill("compare", r"\bcompare the counts\b|\bmachine with the most\b", compare_found),
    Skill("rank", r"\bwhich (?:one )?of\b|\bon which one\b|\bneeded the most\b", rank_machines, unless=r"\balerts?\b"),
    Skill("month", r"\bbusiest\b|\bwhich month\b|\bmonth with the (?:most|highest)\b|\bby month\b", busiest_month,
          unless=r"\balerts?\b"),
    Skill("year", r"\byear with the most\b|\bby year\b", busiest_year, unless=r"\balerts?\b|\bstraight line\b"),
    Skill("last", r"\bfind the last\b|\blast one\b", last_order, unless=r"\balerts?\b"),
    Skill("split", r"\bpreventive\b.*\bcorrective\b|\bplanned\b.*\brepair|\bboth (?:counts|kinds)\b", split_kinds),
    Skill("codes", r"\bfailure codes?\b|\bdistribution\b|\bprimary codes?\b|\bby code\b", group_codes,
          unless=r"\brules?\b|\bindicators?\b|\banomal"),
    Skill("equipment", r"\bequipment records?\b|\bwhich equipment\b|\blist\b.*\bequipment\b", find_equipment),
    Skill("orders", r"\bwork orders?\b|\bjobs?\b|\brepairs?\b|\bwork (?:was|is|done)\b|\bmaintenance\b|\bupkeep\b",
          get_orders, unless=r"\balerts?\b|\banomal|\bevents?\b"),
)  # fmt: skip
