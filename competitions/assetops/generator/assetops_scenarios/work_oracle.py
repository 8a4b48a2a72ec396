"""The oracle for work orders, events, alerts and anomalies: every number with pandas, from the tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

import pandas as pd

from assetops_scenarios.records import GROUPS, Days, Records

FOLLOWS_WITHIN: Final = pd.Timedelta(days=30)
BUNDLE: Final = pd.Timedelta(days=14)


@dataclass(frozen=True)
class Bundle:
    """Jobs that lie so near to each other that they could be done together."""

    first: date
    jobs: int


class WorkOracle:
    """Answers about maintenance and monitoring."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def finished(self, equipment: str, days: Days, kind: str | None = None) -> pd.DataFrame:
        """Work orders finished in the period, of a kind where one is given, in the order of finishing."""
        table = self.records.work_orders
        rows = (table["owner"] == equipment) & days.rows(table["at"])
        if kind is not None:
            rows &= table["work"] == kind
        return table[rows].sort_values(["at", "wo_id"])

    def codes(self, equipment: str, days: Days, kind: str | None = None) -> pd.Series:
        """How often each failure code was used, most frequent first; work orders without one are left out."""
        codes = self.finished(equipment, days, kind)["primary_code"]
        return codes[codes != ""].value_counts()

    def logged(self, equipment: str, days: Days, groups: list[str]) -> pd.DataFrame:
        """Rows of the event log in the period."""
        table = self.records.events
        return table[(table["owner"] == equipment) & days.rows(table["at"]) & table["group"].isin(groups)]

    def by_group(self, equipment: str, days: Days) -> dict[str, int]:
        """How many events of each group were logged."""
        counts = self.logged(equipment, days, list(GROUPS))["group"].value_counts()
        return {said: int(counts.get(group, 0)) for group, said in GROUPS.items()}

    def days_with_events(self, equipment: str, days: Days, groups: list[str]) -> int:
        """On how many days at least one event of the groups was logged."""
        return int(self.logged(equipment, days, groups)["at"].dt.normalize().nunique())

    def rules(self, equipment: str, days: Days) -> pd.Series:
        """How often each monitoring rule raised an alert, most frequent first."""
        table = self.records.alerts
        return table[(table["owner"] == equipment) & days.rows(table["at"])]["rule_id"].value_counts()

    def rule_days(self, equipment: str, days: Days) -> pd.Series:
        """On how many days each monitoring rule raised an alert."""
        table = self.records.alerts
        found = table[(table["owner"] == equipment) & days.rows(table["at"])]
        return found.groupby("rule_id")["at"].agg(lambda times: times.dt.normalize().nunique())

    def indicators(self, equipment: str, days: Days) -> pd.Series:
        """How often each performance indicator was anomalous, most frequent first."""
        table = self.records.anomalies
        return table[(table["owner"] == equipment) & days.rows(table["at"])]["kpi"].value_counts()

    def codes_of_rule(self, rule: str) -> list[str]:
        """The failure codes that a rule points to."""
        table = self.records.rule_codes
        return sorted(set(table[table["rule_id"] == rule]["primary_code"]))

    def codes_of_indicator(self, kpi: str) -> list[str]:
        """The failure codes that an indicator's anomaly points to."""
        table = self.records.indicator_codes
        return sorted(set(table[table["kpi"] == kpi]["primary_code"]))

    def coverage(self, group: str) -> tuple[date, date]:
        """The first and last day on which the site logged anything of a group."""
        times = self.records.events[self.records.events["group"] == group]["at"]
        return times.min().date(), times.max().date()

    def watched(self, group: str) -> list[str]:
        """The machines of which anything of a group was ever logged."""
        table = self.records.events
        known = {one.id for one in self.records.machines}
        return sorted(known & set(table[table["group"] == group]["owner"].dropna()))

    def busy(self) -> list[str]:
        """The machines with work orders, those with most of them first."""
        known = {one.id for one in self.records.machines}
        counts = self.records.work_orders["owner"].value_counts()
        ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        return [str(name) for name, _ in ranked if name in known]

    def years(self) -> tuple[int, int]:
        """The first and the last year that the work orders cover wholly."""
        times = self.records.work_orders["at"]
        return times.min().year + 1, times.max().year - 1

    def yearly(self, equipment: str, first: int, last: int, kind: str | None = None) -> pd.Series:
        """Finished work orders by year, years without one included."""
        found = self.finished(equipment, Days(date(first, 1, 1), date(last, 12, 31)), kind)
        yearly: pd.Series = found["at"].dt.year.value_counts().reindex(range(first, last + 1), fill_value=0)
        return yearly.sort_index()

    def yearly_alerts(self, equipment: str, first: int, last: int) -> pd.DataFrame:
        """Alerts by year (rows) and rule (columns)."""
        table = self.records.alerts
        days = Days(date(first, 1, 1), date(last, 12, 31))
        found = table[(table["owner"] == equipment) & days.rows(table["at"])]
        counts = pd.crosstab(found["at"].dt.year, found["rule_id"])
        return counts.reindex(range(first, last + 1), fill_value=0)

    def next_codes(self, equipment: str, until: date) -> tuple[str, pd.Series]:
        """The latest job's code, and how often each code came next after it before, as shares, the greatest first."""
        codes = self._sequence(equipment, until)
        last = str(codes.iloc[-1])
        followers = codes.shift(-1)[codes == last].dropna()
        return last, followers.value_counts(normalize=True)

    def _sequence(self, equipment: str, until: date) -> pd.Series:
        orders = self.finished(equipment, Days(date(1900, 1, 1), until))
        return orders[orders["primary_code"] != ""]["primary_code"].reset_index(drop=True)

    def bundles(self, equipment: str, days: Days) -> list[Bundle]:
        """Repairs that could be done together: from each first one all within two weeks, two or more of them."""
        times = list(self.finished(equipment, days, "corrective")["at"])
        found: list[Bundle] = []
        while times:
            first = times[0]
            inside = [at for at in times if at - first <= BUNDLE]
            times = times[len(inside) :]
            if len(inside) > 1:
                found.append(Bundle(first.date(), len(inside)))
        return found

    def lead_times(self, equipment: str, days: Days) -> pd.Series:
        """Days from each alert to the first repair finished after it, where one came within 30 days."""
        table = self.records.alerts
        alerts = table[(table["owner"] == equipment) & days.rows(table["at"])]["at"].sort_values()
        whole = Days(days.start, date(2999, 12, 31))
        repairs = self.finished(equipment, whole, "corrective")["at"]
        waits = [
            later.iloc[0] - at
            for at in alerts
            if not (later := repairs[(repairs > at) & (repairs <= at + FOLLOWS_WITHIN)]).empty
        ]
        return pd.Series(waits, dtype="timedelta64[ns]").dt.total_seconds() / 86400

    def months_with_both(self, equipment: str, days: Days) -> int:
        """In how many calendar months there were an alert and a finished repair."""
        table = self.records.alerts
        alerts = table[(table["owner"] == equipment) & days.rows(table["at"])]["at"].dt.to_period("M")
        repairs = self.finished(equipment, days, "corrective")["at"].dt.to_period("M")
        return len(set(alerts) & set(repairs))

    def descriptions(self, equipment: str, days: Days) -> pd.Series:
        """How often each description stands in the log of alerts and work, most frequent first."""
        return self.logged(equipment, days, ["WORK_ORDER", "ALERT"])["description"].value_counts()


def slope(yearly: pd.Series) -> float:
    """The straight line through yearly counts by least squares, in counts a year."""
    years = pd.Series(yearly.index, dtype=float) - float(yearly.index[0])
    counts = pd.Series(yearly.to_numpy(), dtype=float)
    centred = years - years.mean()
    return float((centred * (counts - counts.mean())).sum() / (centred**2).sum())
