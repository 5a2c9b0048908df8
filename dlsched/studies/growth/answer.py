"""How long a cluster keeps its targets while jobs arrive ever faster: each month, when it breaks, when to order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from dlsched.domain.model import Answer, FrozenModel
from dlsched.studies.design.variants import Futures
from dlsched.studies.sizing.answer import VmRange
from dlsched.studies.sizing.rule import Check, Replicate, Rule, judge
from dlsched.wording.formats import number

Found = Literal["breaks", "unsure", "holds"]


class GrowthStep(FrozenModel):
    """Nodes that come (``nodes`` above 0) or are retired (below 0) from the begin of a month on.

    ``key``: the change of their VM type; ``month``: 0 is today's month.
    """

    month: int = Field(ge=0, le=600)
    key: str = Field(min_length=1, max_length=120)
    nodes: int = Field(ge=-100_000, le=100_000)


class Month(FrozenModel):
    """A month: ``load`` times as many jobs, ``counts`` of nodes of each VM type, and its draws.

    ``usd_month``: price of all fixed nodes over 30.4 days, None where it is not known; ``error``: why the month cannot
    be run.
    """

    month: int
    load: float
    counts: tuple[int, ...]
    usd_month: float | None = None
    draws: tuple[Replicate, ...] = ()
    error: str = ""


class Growth(Answer):
    """The whole answer; months ascend from 0, today's.

    Each month is played by itself, with the scenario's jobs arriving ``load`` times as fast: no queue is carried over.
    """

    scenario: str
    scenario_name: str
    policy: str
    label: str
    params: Mapping[str, Any]
    futures: Futures
    rule: Rule
    types: tuple[VmRange, ...] = Field(min_length=1)
    percent: float
    lead_months: int
    begin: str = ""
    steps: tuple[GrowthStep, ...]
    months: tuple[Month, ...] = Field(min_length=1)

    def check(self, month: int) -> Check:
        """Return the verdict on a month."""
        found = self.months[month]
        return judge(self.rule, found.draws, found.error)

    def load_of(self, month: int) -> str:
        """Return by what a month's jobs are multiplied: "1.03x"."""
        return f"{number(self.months[month].load)}x"

    def name_of(self, month: int) -> str:
        """Return a month as it is called: "2027-05" where the first has a date, else "month 6"."""
        return month_name(self.begin, month)


def month_name(begin: str, month: int) -> str:
    """Return month number ``month`` after ``begin`` ("2026-11"); "month 3" without a begin. Negative: before it."""
    if not begin:
        return f"month {month}"
    year, first = map(int, begin.split("-"))
    years, of_year = divmod(first - 1 + month, 12)
    return f"{year + years:04d}-{of_year + 1:02d}"


def first_of(growth: Growth, *verdicts: str) -> int | None:
    """Return the first month with one of these verdicts; None where there is none."""
    return next((one.month for one in growth.months if growth.check(one.month).verdict in verdicts), None)


def breaks_at(growth: Growth) -> int | None:
    """Return the first month that surely fails; None where none does."""
    return first_of(growth, "fails")


def order_by(growth: Growth) -> int | None:
    """Return the month by which more nodes have to be ordered: ``lead_months`` before the first not surely good one.

    Below 0: it should have been done. None where every month meets its targets.
    """
    first = first_of(growth, "fails", "unsure")
    return None if first is None else first - growth.lead_months


def recovers_at(growth: Growth) -> int | None:
    """Return the first good month after one that surely fails, as a delivery can bring; None where there is none."""
    broken = breaks_at(growth)
    if broken is None:
        return None
    return next((one.month for one in growth.months[broken:] if growth.check(one.month).verdict == "meets"), None)
