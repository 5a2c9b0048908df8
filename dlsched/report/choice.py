"""What to choose: cost against service of each option, and the advice that follows from their verdicts.

The advice is data: :mod:`dlsched.report.advice_words` words it, :mod:`dlsched.report.claims` checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from dlsched.metrics.findings import headline_rows
from dlsched.metrics.money import COSTS
from dlsched.metrics.stats.compare import Comparison, Row, compare
from dlsched.metrics.stats.statements import Estimate, Verdict
from dlsched.report.alternatives import Alternative

NOT_SERVICE = ("completed", *COSTS)
GOOD: tuple[Verdict, ...] = ("better", "likely better")
BAD: tuple[Verdict, ...] = ("worse", "likely worse")
SURE: tuple[Verdict, ...] = ("better", "worse", "same", "changed")

Kind = Literal["rough", "size", "choose", "unranked", "trade-off", "stay"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One number of an option beside the baseline's, as the advice tells it."""

    option: str
    metric: str
    verdict: Verdict
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, and why.

    ``rough``: too little was simulated to say. ``size``: the size that a search found to meet its targets.
    ``choose``: an option that is better than the baseline and worse in nothing; ``ties`` do about as well.
    ``unranked``: there are such options, and each is beaten by another one: which is best cannot be told.
    ``trade-off``: what is better costs something. ``stay``: nothing is better. ``option`` is what to do, the baseline
    where it is none of the others.
    """

    kind: Kind
    option: str
    reasons: tuple[Reason, ...] = ()
    ties: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether it says to do something else than the baseline."""
        return self.kind in ("size", "choose")

    def of(self, option: str) -> tuple[Reason, ...]:
        """Return the reasons about an option."""
        return tuple(reason for reason in self.reasons if reason.option == option)


@dataclass(frozen=True, slots=True)
class Point:
    """An option between what it costs and how well it serves; ``beaten``: another choice is surely no worse in both."""

    name: str
    cost: Estimate
    service: Estimate
    beaten: bool


def service_key(comparison: Comparison) -> str:
    """Return the metric that says how well jobs are served: late jobs, worth, else a time; "" where none is known."""
    rows = [row.kpi.key for row in headline_rows(comparison) if row.kpi.key not in NOT_SERVICE]
    for key in ("late_share", "utility_total"):
        if comparison.row(key) is not None:
            return key
    return rows[0] if rows else ""


def judged_rows(comparison: Comparison, service: str) -> list[Row]:
    """Return the numbers that decide: that of service first, then those that sentences about a comparison speak of."""
    first = comparison.row(service)
    rest = [row for row in headline_rows(comparison) if row is not first]
    return ([] if first is None else [first]) + rest


@dataclass(frozen=True, eq=False)
class Choice:
    """The options of a memo, judged: one metric of service, one of cost, the same everywhere."""

    comparison: Comparison
    options: tuple[Alternative, ...]
    service: str
    cost: str

    @property
    def able(self) -> list[str]:
        """The options that could be chosen instead of the baseline."""
        return [one.name for one in self.options if one.name != self.comparison.baseline and not one.is_limit]

    def advice(self) -> Advice:
        """Return what to do.

        The size that a search found is what was looked for, so it comes first. Else an option must be better in service
        and worse in nothing that decides, or cheaper with the same service; of several the surest, then the one that
        gains most.
        """
        base = self.comparison.baseline
        if self.comparison.is_rough:
            return Advice("rough", base, self._reasons(self.able))
        found = [one.name for one in self.options if one.claim and one.name in self.able]
        if len(found) == 1 and found[0] not in self.beaten():
            return Advice("size", found[0], self._reasons(found))
        winners = self.winners()
        if not winners:
            mixed = [name for name in self.able if {*GOOD} & self._verdicts(name) and {*BAD} & self._verdicts(name)]
            return Advice("trade-off" if mixed else "stay", base, self._reasons(mixed or self.able, mixed=bool(mixed)))
        unbeaten = [name for name in winners if name not in self.beaten()]
        if not unbeaten:
            return Advice("unranked", base, self._reasons(winners))
        best = min(unbeaten, key=self._rank)
        level = {
            one: self._verdict(one, self.service, best) in ("same", "not clear") for one in unbeaten if one != best
        }
        return Advice("choose", best, self._reasons([best]), tuple(one for one, is_level in level.items() if is_level))

    def winners(self) -> list[str]:
        """Return the options that are better than the baseline and worse in nothing that decides."""
        return [name for name in self.able if self._wins(name)]

    def beaten(self) -> set[str]:
        """Return the options that another choice beats: surely no worse in cost and service, and better in one.

        What is worse than the baseline in something else that decides beats no option.
        """
        rest = [
            row for row in judged_rows(self.comparison, self.service) if row.kpi.key not in (self.service, self.cost)
        ]
        fair = [name for name in self.able if not any(row.of(name).verdict in BAD for row in rest)]
        rivals = (self.comparison.baseline, *fair)
        pairs = permutations([one.name for one in self.options], 2)
        return {loser for rival, loser in pairs if rival in rivals and self._beats(rival, loser)}

    def _wins(self, name: str) -> bool:
        served = self._verdict(name, self.service)
        paid = self._verdict(name, self.cost) if self.comparison.row(self.cost) else "same"
        if {*BAD} & self._verdicts(name) or paid in ("mixed", "missing"):
            return False
        return served in GOOD or (served == "same" and paid in GOOD)

    def _beats(self, rival: str, loser: str) -> bool:
        keys = [key for key in (self.service, self.cost) if self.comparison.row(key) is not None]
        said = {self._verdict(rival, key, loser) for key in keys}
        return "better" in said and said <= {"better", "same"}

    def _verdicts(self, name: str) -> set[Verdict]:
        return {row.of(name).verdict for row in judged_rows(self.comparison, self.service)}

    def _verdict(self, name: str, key: str, against: str = "") -> Verdict:
        """Return the verdict on an option in a metric, against the baseline or another option."""
        if against in ("", self.comparison.baseline):
            row = self.comparison.row(key)
        else:
            draws = {one.name: one.draws for one in self.options}
            pair = [(each, draws[each]) for each in (against, name)]
            row = compare(pair, against, basis=self.comparison.basis, keys=(key,)).row(key)
        return "missing" if row is None else row.of(name).verdict

    def _rank(self, name: str) -> tuple[bool, float, float]:
        """Return what to sort by: the surest first, then the largest gain in service, then in cost."""
        is_likely = self._verdict(name, self.service) not in SURE
        return is_likely, self._gain(name, self.service), self._gain(name, self.cost)

    def _gain(self, name: str, key: str) -> float:
        """Return how a metric changes, as a share of the baseline, below 0 = better; 0 where it cannot be told."""
        row = self.comparison.row(key)
        if row is None or (cell := row.of(name)).delta is None or cell.verdict not in (*GOOD, *BAD):
            return 0.0
        base = row.of(self.comparison.baseline).value
        size = abs(cell.delta.value) / (abs(base.value) if base and base.value else 1.0)
        return -size if cell.verdict in GOOD else size

    def _reasons(self, names: Sequence[str], *, mixed: bool = False) -> tuple[Reason, ...]:
        """Return service and cost of some options; ``mixed``: first what is better, then what is worse."""
        found = []
        for name in names:
            told = [row.kpi.key for row in judged_rows(self.comparison, self.service)
                    if row.kpi.key in (self.service, self.cost) or row.of(name).verdict in BAD
                    or (mixed and row.of(name).verdict in GOOD)]  # fmt: skip
            found += [reason for key in told if (reason := self._reason(name, key)) is not None]
        return tuple(found)

    def _reason(self, name: str, key: str) -> Reason | None:
        row = self.comparison.row(key)
        if row is None or (ours := row.of(name)).value is None:
            return None
        theirs = row.of(self.comparison.baseline).value
        return None if theirs is None else Reason(name, key, ours.verdict, theirs.value, ours.value.value)

    def points(self) -> tuple[Point, ...]:
        """Return cost and service of the options that have both; hollow ones are beaten by what could be chosen."""
        paid, served = self.comparison.row(self.cost), self.comparison.row(self.service)
        if paid is None or served is None:
            return ()
        beaten = self.beaten()
        return tuple(
            Point(name, x, y, name in beaten)
            for name in self.comparison.names
            if (x := paid.of(name).value) is not None and (y := served.of(name).value) is not None
        )
