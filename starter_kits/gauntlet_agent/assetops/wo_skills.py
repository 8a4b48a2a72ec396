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


ORDER_SKILLS: Final = (
    Skill("bundle", r"\bbundl|\bdone together\b|\bwithin two weeks\b", bundle, unless=r"^retrieve\b(?!.*\bbundl)"),
    Skill("compare", r"\bcompare the counts\b|\bmachine with the most\b", compare_found),
    Skill("rank", r"\bwhich (?:one )?of\b|\bon which one\b|\bneeded the most\b", rank_machines, unless=r"\balerts?\b"),
    Skill("month", r"\bbusiest\b|\bwhich month\b|\bmonth with the (?:most|highest)\b|\bby month\b", busiest_month,
          unless=r"\balerts?\b"),
    Skill("split", r"\bpreventive\b.*\bcorrective\b|\bplanned\b.*\brepair|\bboth (?:counts|kinds)\b", split_kinds),
    Skill("codes", r"\bfailure codes?\b|\bdistribution\b|\bprimary codes?\b|\bby code\b", group_codes,
          unless=r"\brules?\b|\bindicators?\b|\banomal"),
    Skill("equipment", r"\bequipment records?\b|\bwhich equipment\b|\blist\b.*\bequipment\b", find_equipment),
)  # fmt: skip
#: What is left when nothing more particular is asked.
LISTING_SKILLS: Final = (
    Skill("orders", r"\bwork orders?\b|\bjobs?\b|\brepairs?\b|\bwork (?:was|is|done)\b|\bmaintenance\b|\bupkeep\b",
          get_orders, unless=r"\balerts?\b|\banomal|\bevents?\b"),
)  # fmt: skip
