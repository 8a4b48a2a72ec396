"""Questions that lead to maintenance: what to do about an alert, what to do together, what comes next, what lasts.

The rules by which a choice is made stand in the question, so that there is one right answer.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from assetops_scenarios.event_questions import alerts, anomalies, logged
from assetops_scenarios.picking import Picker, month_of, say_day, snake, year_of
from assetops_scenarios.question import CODE, WO, Call, Field, Question
from assetops_scenarios.records import Days, Machine
from assetops_scenarios.work_oracle import slope
from assetops_scenarios.work_questions import COUNT, after, grouped, look_up, orders

_CODES = "list of text, the failure codes"
_BUNDLED = "the repairs that were completed within two weeks of the first one of them; a bundle has at least two"


def bundles(picker: Picker) -> Question | None:
    """Which repairs could have been done together."""
    machine = picker.maintained()
    first, last = picker.work.years()
    year = picker.rng.randint(first, last)
    long = picker.rng.random() < 0.4 and year + 2 <= last
    days = Days(year_of(year).days.start, year_of(year + 2 if long else year).days.end)
    said = f"the years {year} to {year + 2}" if long else str(year)
    found = picker.work.bundles(machine.id, days)
    if not found:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Which repairs of {who} in {said} could have been done together? A bundle is {_BUNDLED}. "
        "How many bundles are there, and how many repairs does the largest one have?",
        f"I want to save visits: go through the completed repairs of {who} in {said} in the order of their completion "
        f"and bundle them. A bundle is {_BUNDLED}. Tell me the number of bundles and the size of the largest.",
    )
    largest = max(one.jobs for one in found)
    return Question(
        template="bundles",
        text=text,
        category="Decision Support",
        stage=4,
        plan=[
            (WO, f"Retrieve the corrective work orders of {machine.name} completed in {said}."),
            (WO, "Sort the repairs by completion and group those within two weeks of the first of a group."),
            (WO, "Keep the groups of two or more and report their number and the largest size."),
        ],
        calls=[look_up(machine), orders(machine, days, "corrective")],
        fields={"bundles": Field(len(found), COUNT), "largest": Field(largest, COUNT)},
        expected=f"{len(found)} bundles, the largest with {largest} repairs.",
        machines=(machine,),
    )


def next_job(picker: Picker) -> Question | None:
    """Which job probably comes next, by what came next before."""
    machine = picker.maintained()
    first, last = picker.work.years()
    month = month_of(picker.rng.randint(min(first + 4, last), last), picker.rng.randint(1, 12))
    until = month.days.start - timedelta(days=1)
    code, shares = picker.work.next_codes(machine.id, until)
    if len(shares) < 2 or shares.iloc[0] == shares.iloc[1]:
        return None
    who = picker.call_it(machine)
    text = (
        f"Assume that today is {say_day(month.days.start)}. Going by the order in which jobs were completed on {who} "
        "so far: after the failure code of the latest job, which code came next most often, and in what share of the "
        "cases? Leave out jobs without a code."
    )
    best, share = str(shares.index[0]), round(float(shares.iloc[0]), 4)
    return Question(
        template="next_job",
        text=text,
        category="Prediction",
        stage=4,
        plan=[
            (WO, f"Retrieve all work orders of {machine.name} completed before {say_day(month.days.start)}."),
            (WO, "Order them by completion and take the failure code of the latest one."),
            (WO, "Count which code came next after the same code before, and divide by the number of cases."),
            (WO, "Report the most probable code and its probability."),
        ],
        calls=[
            look_up(machine),
            Call(
                "list_workorders",
                {"equipment_id": machine.id, "end": until.isoformat()},
                f"past_work_orders_of_{snake(machine.name)}",
                machine=machine,
                instead=CODE,
                loose=("end",),
            ),
        ],
        fields={
            "after": Field(code, "text, the failure code of the latest job"),
            "code": Field(best, "text, the failure code that most often came next"),
            "probability": Field(share, "number from 0 to 1", 0.0051),
        },
        expected=f"After {code} comes {best} with probability {share}.",
        machines=(machine,),
    )


def work_for_indicator(picker: Picker) -> Question | None:
    """Which failure codes an anomaly points to."""
    known = sorted(set(picker.records.indicator_codes["kpi"]))
    pair = picker.rng.random() < 0.4
    chosen = picker.rng.sample(known, min(len(known), 2 if pair else 1))
    codes = sorted({code for one in chosen for code in picker.work.codes_of_indicator(one)})
    machine = picker.monitored()
    who, said = picker.call_it(machine), " and ".join(chosen)
    text = picker.one_of(
        f"I just noticed that {said} went out of bounds on {who}. Which failure codes should a work order be about?",
        f"On {who} there is an anomaly of {said}. List the failure codes that it may be down to.",
    )
    return Question(
        template="codes_for_indicator",
        text=text,
        category="Decision Support",
        stage=4,
        plan=[
            (WO, f"Look up which failure codes an anomaly of {said} points to."),
            (WO, "Report the failure codes as candidates of a work order."),
        ],
        calls=[Call("get_anomaly_mapping", {}, "codes_by_indicator", instead=CODE)],
        fields={"codes": Field(codes, _CODES)},
        expected=f"{said} points to {len(codes)} codes: {', '.join(codes)}.",
        machines=(machine,),
    )


def work_for_rule(picker: Picker) -> Question | None:
    """Which failure codes the alerts of the busiest rule point to."""
    machine, period = picker.monitored(), picker.rng.choice((picker.year, picker.month))(monitored=True)
    rules = picker.work.rules(machine.id, period.days)
    if rules.empty or (len(rules) > 1 and rules.iloc[0] == rules.iloc[1]):
        return None
    rule = str(rules.index[0])
    codes = picker.work.codes_of_rule(rule)
    if not codes:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Review the alerts of {who} in {period.said}. Take the monitoring rule that fired most often: which failure "
        "codes does it point to?",
        f"{who} raised alerts in {period.said}. Which failure codes should the crew look into, going by the rule with "
        "the most alerts?",
    )
    return Question(
        template="codes_for_rule",
        text=text,
        category="Decision Support",
        stage=4,
        plan=[
            (WO, f"Retrieve the alerts of {machine.name} for {period.said}."),
            (WO, "Find the monitoring rule with the most alerts."),
            (WO, "Look up the failure codes that this rule points to and report them."),
        ],
        calls=[
            look_up(machine),
            alerts(machine, period.days),
            Call("get_alert_rule_mapping", {"rule_id": rule}, "codes_of_the_rule", instead=CODE),
        ],
        fields={"rule": Field(rule, "text, the rule's identifier"), "codes": Field(codes, _CODES)},
        expected=f"{rule} fired most often and points to {len(codes)} codes: {', '.join(codes)}.",
        machines=(machine,),
    )


def recommend_or_wait(picker: Picker) -> Question | None:
    """Whether a new job should be opened, or it is too early: the rule fired often, and nothing was done about it."""
    machine, period = picker.monitored(), picker.month(monitored=True)
    limit = picker.rng.choice((3, 4, 5))
    fired = picker.work.rule_days(machine.id, period.days)
    rules = sorted(str(rule) for rule, number in fired.items() if number >= limit)
    done = set(picker.work.finished(machine.id, period.days)["primary_code"])
    open_rules = [rule for rule in rules if not done & set(picker.work.codes_of_rule(rule))]
    who = picker.call_it(machine)
    text = (
        f"After checking the alerts and the completed jobs of {who} in {period.said}: should I open a new job, or is "
        f"it too early? Open one if some monitoring rule fired on at least {limit} days of the month and no job with a "
        "failure code that this rule points to was completed in that month."
    )
    listed = look_up(machine)
    found = [after(alerts(machine, period.days), listed), after(orders(machine, period.days), listed)]
    return Question(
        template="recommend_or_wait",
        text=text,
        category="Decision Support",
        stage=4,
        plan=[
            (
                WO,
                f"Retrieve the alerts of {machine.name} for {period.said} and count the days on which each rule fired.",
            ),
            (WO, f"Retrieve the work orders of {machine.name} completed in {period.said}."),
            (WO, "Look up which failure codes the rules point to and compare them with the completed work."),
            (WO, "Decide whether a new work order is due and report the rules that call for it."),
        ],
        calls=[
            listed,
            *found,
            Call(
                "get_alert_rule_mapping",
                {},
                "codes_by_rule",
                after=tuple(one.output for one in found),
                instead=CODE,
                needed=bool(rules),
            ),
        ],
        fields={
            "open_job": Field(bool(open_rules), "true or false"),
            "rules": Field(open_rules, "list of text, the rules that call for a job; empty where none does"),
        },
        expected=f"A new job is due because of {', '.join(open_rules)}." if open_rules else "No new job is due yet.",
        machines=(machine,),
    )


def review(picker: Picker) -> Question | None:
    """A month's alerts and anomalies in one review."""
    machine, period = picker.monitored(), picker.month(monitored=True)
    rules, kinds = picker.work.rules(machine.id, period.days), picker.work.indicators(machine.id, period.days)
    if rules.empty or kinds.empty:
        return None
    now = period.days.end + timedelta(days=picker.rng.randint(1, 6))
    who = picker.call_it(machine)
    text = (
        f"Assume today is {say_day(now)}. I would like to review how {who} did in {period.said}: how many alerts were "
        "raised, how many anomalies were there, and which performance indicators were out of bounds?"
    )
    listed = look_up(machine)
    return Question(
        template="monthly_review",
        text=text,
        category="Decision Support",
        stage=3,
        plan=[
            (WO, f"Retrieve the alerts of {machine.name} for {period.said} and count them."),
            (WO, f"Retrieve the anomalies of {machine.name} for {period.said} and count them by indicator."),
            (WO, "Report the counts and the indicators concerned."),
        ],
        calls=[
            listed,
            after(alerts(machine, period.days), listed),
            after(anomalies(machine, period.days), listed),
        ],
        fields={
            "alerts": Field(int(rules.sum()), COUNT),
            "anomalies": Field(int(kinds.sum()), COUNT),
            "indicators": Field(sorted(map(str, kinds.index)), "list of text, the names of the indicators"),
        },
        expected=f"{int(rules.sum())} alerts and {int(kinds.sum())} anomalies, of {', '.join(map(str, kinds.index))}.",
        machines=(machine,),
    )


def repair_or_replace(picker: Picker) -> Question | None:
    """Whether repairs grow so much over the whole record that a replacement should be planned (442)."""
    machine = picker.maintained()
    first, last = picker.work.years()
    yearly = picker.work.yearly(machine.id, first, last, "corrective")
    trend = slope(yearly)
    limit = picker.rng.choice((0.3, 0.5, 1.0))
    if int(yearly.sum()) < 5 or abs(trend - limit) < 0.05:
        return None
    who = picker.call_it(machine)
    text = (
        f"Examine whether the year-over-year increase of repairs on {who} warrants planning its replacement: fit a "
        f"straight line to the yearly number of completed repairs from {first} to {last}, years without one included. "
        f"By how many repairs a year does it rise, and is that more than {limit}, from where on we replace?"
    )
    return Question(
        template="repair_or_replace",
        text=text,
        category="Decision Support",
        stage=4,
        plan=_trend_plan(machine, "corrective work orders", first, last, "decide about the replacement"),
        calls=[look_up(machine), grouped(machine, _years(first, last), "year", "corrective")],
        fields={
            "slope": Field(round(trend, 4), "number, repairs a year", 0.01),
            "replace": Field(trend > limit, "true or false"),
        },
        expected=f"{trend:.3f} repairs a year: {'plan a replacement' if trend > limit else 'go on repairing'}.",
        machines=(machine,),
    )


def _trend_plan(machine: Machine, what: str, first: int, last: int, decide: str) -> list[tuple[str, str]]:
    return [
        (WO, f"Retrieve the {what} of {machine.name} from {first} to {last}."),
        (WO, "Count them by year, years without any included, and fit a straight line."),
        (WO, f"Compare the slope and {decide}."),
    ]


def _years(first: int, last: int) -> Days:
    return Days(year_of(first).days.start, year_of(last).days.end)


def lead_time(picker: Picker) -> Question | None:
    """How long after an alert a repair follows (443)."""
    machine = picker.monitored()
    begin, end = picker.work.coverage("ALERT")
    days = Days(begin, end)
    waits = picker.work.lead_times(machine.id, days)
    if len(waits) < 5:
        return None
    who = picker.call_it(machine)
    text = (
        f"Measure the typical time between alerts and the repairs that they precede on {who}, over all alerts on "
        "record: for each alert take the first repair completed after it within 30 days. How many alerts have one, and "
        "what is the median time in days?"
    )
    median = round(float(waits.median()), 4)
    listed = look_up(machine)
    found = [after(alerts(machine, days), listed), after(orders(machine, days, "corrective"), listed)]
    return Question(
        template="alert_to_repair",
        text=text,
        category="Prediction",
        stage=4,
        plan=[
            (WO, f"Retrieve all alerts of {machine.name}."),
            (WO, f"Retrieve all corrective work orders of {machine.name}."),
            (WO, "Find for each alert the first repair within 30 days after it and the time between them."),
            (WO, "Report how many alerts were followed and the median time."),
        ],
        calls=[listed, *[whole_record(one) for one in found]],
        fields={
            "followed": Field(len(waits), "integer, alerts with a repair within 30 days"),
            "median_days": Field(median, "number, days with decimals", 0.05),
        },
        expected=f"{len(waits)} alerts were followed by a repair; the median is {median} days.",
        machines=(machine,),
    )


def whole_record(call: Call) -> Call:
    """Over the whole record no days need be named."""
    return replace(call, loose=("start", "end"))


def clusters(picker: Picker) -> Question | None:
    """In how many months alerts and repairs fall together (444)."""
    machine, period = picker.monitored(), picker.year(monitored=True)
    begin, end = picker.work.coverage("ALERT")
    years = Days(period.days.start, period.days.end) if picker.rng.random() < 0.5 else Days(begin, end)
    said = period.said if years == period.days else f"the time from {say_day(begin)} to {say_day(end)}"
    who = picker.call_it(machine)
    found = picker.work.months_with_both(machine.id, years)
    text = (
        f"Quantify how often alerts and repairs cluster on {who}: in how many calendar months of {said} was there at "
        "least one alert and at least one completed repair?"
    )
    listed = look_up(machine)
    return Question(
        template="alert_and_repair_months",
        text=text,
        category="Decision Support",
        stage=4,
        plan=[
            (WO, f"Retrieve the alerts of {machine.name} in {said}."),
            (WO, f"Retrieve the corrective work orders of {machine.name} completed in {said}."),
            (WO, "Count the calendar months that have both and report the number."),
        ],
        calls=[
            listed,
            after(alerts(machine, years), listed),
            after(orders(machine, years, "corrective"), listed),
        ],
        fields={"months": Field(found, "integer, months with both")},
        expected=f"Alerts fall together with completed repairs in {found} calendar months, over all that time.",
        machines=(machine,),
    )


def steepest_rule(picker: Picker) -> Question | None:
    """Which rule's alerts grow fastest (445)."""
    machine = picker.monitored()
    begin, end = picker.work.coverage("ALERT")
    first, last = begin.year + (begin.timetuple().tm_yday > 1), end.year - 1
    if last - first < 2:
        first, last = begin.year, end.year
    table = picker.work.yearly_alerts(machine.id, first, last)
    if table.shape[1] < 2 or last - first < 1:
        return None
    slopes = sorted(((slope(table[rule]), str(rule)) for rule in table.columns), reverse=True)
    if slopes[0][0] - slopes[1][0] < 0.05:
        return None
    trend, rule = slopes[0]
    who = picker.call_it(machine)
    text = (
        f"Identify which monitoring rule of {who} shows the steepest upward trend and therefore comes first in the "
        f"long-term capital plan: fit a straight line to each rule's yearly number of alerts from {first} to {last}, "
        "years without one included, and name the rule with the greatest slope."
    )
    return Question(
        template="steepest_rule",
        text=text,
        category="Decision Support",
        stage=4,
        plan=_trend_plan(machine, "alerts", first, last, "name the rule that grows fastest"),
        calls=[look_up(machine), alerts(machine, _years(first, last))],
        fields={
            "rule": Field(rule, "text, the rule's identifier"),
            "slope": Field(round(trend, 4), "number, alerts a year", 0.01),
        },
        expected=f"{rule} grows by {trend:.3f} alerts a year.",
        machines=(machine,),
    )


def top_descriptions(picker: Picker) -> Question | None:
    """What stands in the log most often over the whole record (446)."""
    machine = picker.monitored()
    begin = picker.work.coverage("WORK_ORDER")[0]
    end = picker.work.coverage("WORK_ORDER")[1]
    days = _years(begin.year, end.year)
    counts = picker.work.descriptions(machine.id, days)
    if len(counts) < 4 or counts.iloc[2] == counts.iloc[3] or "" in counts.index[:3]:
        return None
    top = [str(name) for name in counts.index[:3]]
    who = picker.call_it(machine)
    text = (
        f"Determine which three descriptions account for the most alert and work order events of {who} from "
        f"{begin.year} to {end.year} and should therefore drive the next ten-year budget. How many events have the "
        "most frequent one?"
    )
    return Question(
        template="top_descriptions",
        text=text,
        category="Decision Support",
        stage=4,
        plan=[
            (WO, f"Retrieve the alert and work order events of {machine.name} from {begin.year} to {end.year}."),
            (WO, "Count the events by description and rank them."),
            (WO, "Report the three most frequent descriptions."),
        ],
        calls=[look_up(machine), whole_record(logged(machine, days))],
        fields={
            "descriptions": Field(top, "list of text, three descriptions as they stand in the log"),
            "most": Field(int(counts.iloc[0]), "integer, events with the most frequent description"),
        },
        expected=f"{'; '.join(top)}. The first has {int(counts.iloc[0])} events.",
        machines=(machine,),
    )


def yearly_outlook(picker: Picker) -> Question | None:
    """How many jobs a straight line through the past predicts for the year after the record (440)."""
    machine = picker.maintained()
    first, last = picker.work.years()
    kind = picker.rng.choice(("preventive", "corrective"))
    yearly = picker.work.yearly(machine.id, first, last, kind)
    if int(yearly.sum()) < 5:
        return None
    trend = slope(yearly)
    ahead = float(yearly.mean()) + trend * (last + 1 - (first + last) / 2)
    word = "planned" if kind == "preventive" else "repair"
    who = picker.call_it(machine)
    text = (
        f"Project how many {word} jobs {who} is likely to need in {last + 1}: put a straight line through the yearly "
        f"number of completed ones from {first} to {last}, years without one included, and read it off for {last + 1}."
    )
    return Question(
        template="yearly_outlook",
        text=text,
        category="Prediction",
        stage=2,
        plan=_trend_plan(machine, f"{kind} work orders", first, last, f"read the line off for {last + 1}"),
        calls=[look_up(machine), grouped(machine, _years(first, last), "year", kind)],
        fields={"jobs": Field(round(ahead, 4), "number with decimals, as the line says", 0.05)},
        expected=f"{ahead:.2f} {kind} jobs in {last + 1}.",
        machines=(machine,),
    )
