"""How long a cluster keeps its targets while demand grows: each month, when it breaks, what to order and when."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.studies.sizing.answer import Counts, VmRange, counts_words
from dlsched.studies.sizing.question import TargetsAnswer
from dlsched.studies.sizing.rule import Check, Replicate, judge
from dlsched.wording.formats import number

Found = Literal["breaks", "unsure", "holds"]
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip


class GrowthStep(FrozenModel):
    """Nodes that come (``nodes`` above 0) or are retired (below 0) from the begin of a month on.

    ``key``: the change of their VM type; ``month``: 0 is today's month.
    """

    month: int = Field(ge=0, le=600)
    key: str = Field(min_length=1, max_length=120)
    nodes: int = Field(ge=-100_000, le=100_000)


class Month(FrozenModel):
    """A month: ``load`` times as many jobs, ``counts`` of nodes of each VM type, and its runs by future.

    ``basis``: what its futures are of. ``usd_month``: price of all fixed nodes over 30.4 days, None if it is not
    known; ``error``: why the month cannot be run.
    """

    month: int
    load: float
    counts: Counts
    basis: Basis = EXACT_BASIS
    usd_month: float | None = None
    draws: tuple[Replicate, ...] = ()
    error: str = ""


class Order(FrozenModel):
    """The cheapest nodes that hold in a month in which those ``planned`` do not; ``counts`` None if none were found.

    ``usd_more``: their price a month above that of the planned ones; ``most``: the most that were looked at.
    """

    month: int
    load: float
    planned: Counts
    counts: Counts | None
    usd_more: float | None = None
    most: Counts = ()

    @property
    def more(self) -> Counts | None:
        """How many nodes of each type to order."""
        return None if self.counts is None else tuple(a - b for a, b in zip(self.counts, self.planned, strict=True))


class Growth(TargetsAnswer):
    """The whole answer; months ascend from 0, today's.

    Each month is played by itself, with ``load`` times as many jobs, in the same ``futures``, under ``condition``: no
    queue is carried over. ``rented_nodes``: up to so many come and go beside those of ``types``. ``orders``: what
    would hold in the first month that is not surely good, and in the last.
    """

    types: tuple[VmRange, ...] = Field(min_length=1)
    rented_nodes: int = 0
    percent: float
    lead_months: int
    begin: str = ""
    steps: tuple[GrowthStep, ...]
    months: tuple[Month, ...] = Field(min_length=1)
    orders: tuple[Order, ...] = ()

    def check(self, month: int) -> Check:
        """Return the verdict on a month."""
        found = self.months[month]
        return judge(self.rule.model_copy(update={"basis": found.basis}), found.draws, found.error)

    def words(self, counts: Counts) -> str:
        """Return nodes in words, with what is rented beside them."""
        return counts_words(self.types, counts, self.rented_nodes)

    def load_of(self, month: int) -> str:
        """Return by what a month's jobs are multiplied: "1.03x"."""
        return f"{number(self.months[month].load)}x"

    def name_of(self, month: int) -> str:
        """Return a month as it is called: "May 2027" where the first has a date, else "month 6"."""
        return month_name(self.begin, month)


def month_name(begin: str, month: int, *, letters: int = 20) -> str:
    """Return month number ``month`` after ``begin`` ("2026-11"): "February 2027", with few letters "Feb 2027".

    "month 3" without a begin. Negative: before it.
    """
    if not begin:
        return f"month {month}"
    year, of_year = month_of(begin, month)
    return f"{MONTHS[of_year - 1][:letters]} {year}"


def month_of(begin: str, month: int) -> tuple[int, int]:
    """Return year and month (1 to 12) of month number ``month`` after ``begin`` ("2026-11")."""
    year, first = map(int, begin.split("-"))
    years, of_year = divmod(first - 1 + month, 12)
    return year + years, of_year + 1


def first_of(growth: Growth, *verdicts: str) -> int | None:
    """Return the first month with one of these verdicts; None if there is none."""
    return next((one.month for one in growth.months if growth.check(one.month).verdict in verdicts), None)


def breaks_at(growth: Growth) -> int | None:
    """Return the first month that surely fails; None if none does."""
    return first_of(growth, "fails")


def order_by(growth: Growth) -> int | None:
    """Return the month by which more nodes have to be ordered: ``lead_months`` before the first not surely good one.

    Below 0: it should have been done. None if every month meets its targets.
    """
    first = first_of(growth, "fails", "unsure")
    return None if first is None else first - growth.lead_months


def recovers_at(growth: Growth) -> int | None:
    """Return the first good month after one that surely fails, as a delivery can bring; None if there is none."""
    broken = breaks_at(growth)
    if broken is None:
        return None
    return next((one.month for one in growth.months[broken:] if growth.check(one.month).verdict == "meets"), None)


def to_order(growth: Growth) -> Order | None:
    """Return the order that holds until the last month that is not surely good; None if none is needed or found.

    So many nodes more as the first and the last of these months ask for.
    """
    found = [(order, order.more) for order in growth.orders]
    if not found or any(more is None for _, more in found):
        return None
    last = growth.orders[-1]
    more = tuple(max(each) for each in zip(*(more for _, more in found if more is not None), strict=True))
    counts = tuple(a + b for a, b in zip(last.planned, more, strict=True))
    dearest = [order.usd_more for order in growth.orders]
    usd = None if any(usd is None for usd in dearest) else max(usd for usd in dearest if usd is not None)
    return last.model_copy(update={"counts": counts, "usd_more": usd})
