"""What stands behind the advice of a memo: who gains, what could change the answer, a search for a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dlsched.metrics.job_classes import NAMED, NOUNS, groupings_of
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import Row, compare
from dlsched.metrics.winner_words import ordered, with_letters
from dlsched.metrics.winners import Group, Winners, winners
from dlsched.report.units import UNITS, Dot, titled
from dlsched.studies.sizing.answer import FrontierPoint, Sizing, frontier
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import VERDICTS, bars_words, claim_words, goal_words
from dlsched.studies.sweep.answer import Sweep
from dlsched.studies.sweep.words import point_words
from dlsched.wording.formats import amount, count, listed, money_per_month

# ---- who gains, who loses -----------------------------------------------------------------------------


def winners_of(
    baseline: str,
    before: Sequence[pd.DataFrame],
    after: Mapping[str, Sequence[pd.DataFrame]],
    *,
    exact: bool = False,
    hide_names: bool = False,
) -> tuple[Winners, ...]:
    """Return who gains and loses waiting time under each option, by users, groups or classes, whichever jobs name.

    Parameters
    ----------
    before
        Jobs tables of the baseline, draw by draw.
    after
        Jobs tables of each other option, the same draws.
    exact
        Whether nothing is random, so that one draw says all.
    hide_names
        Show A, B, C in place of names that somebody gave.
    """
    by = groupings_of(before[0])[0]
    answers = [
        winners(list(zip(before, jobs, strict=True)), by, names=(baseline, name), exact=exact)
        for name, jobs in after.items()
    ]
    return tuple(with_letters(answer) if hide_names else answer for answer in answers)


def has_names(answer: Winners) -> bool:
    """Whether the groups bear names that somebody gave."""
    return answer.by in NAMED


def noun(answer: Winners) -> str:
    """Return what a group is, as the head of a column."""
    return NOUNS[answer.by][0].capitalize()


def ends(answer: Winners, most: int) -> list[Group]:
    """Return at most so many groups, in their order: half from the end that gains most, half from the other."""
    groups = ordered(answer)
    if len(groups) <= most:
        return groups
    first = most // 2
    return [*groups[:first], *groups[len(groups) - (most - first) :]]


# ---- what could change the answer ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Situation:
    """One thing that is different, in words, and one metric of all options there."""

    words: str
    row: Row


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Situations, the first of them as things are; all rows are of one metric."""

    situations: tuple[Situation, ...]
    draws: int
    exact: bool

    @property
    def basis(self) -> Basis:
        """What the futures are of."""
        return EXACT_BASIS if self.exact else Basis(kind="drawn", futures=self.draws - 1)

    @property
    def label(self) -> str:
        """Label of the metric."""
        return self.situations[0].row.kpi.label

    @property
    def names(self) -> tuple[str, ...]:
        """The options, in the order of the rows' cells."""
        return tuple(cell.name for cell in self.situations[0].row.cells)

    def words(self, name: str) -> str:
        """Return in how many situations an option is best; "" where a single draw of something random cannot tell."""
        if name not in self.names or (self.draws == 1 and not self.exact):
            return ""
        # Where nobody is marked best all tie.
        decided = [each for each in self.situations if any(cell.best for cell in each.row.cells)]
        lost = [each for each in decided if not each.row.of(name).best]
        total = amount(len(self.situations), "situation")
        if not lost:
            return f"{name} is best, or level with the best, in all {total}."
        kept = count(len(self.situations) - len(lost))
        return f"{name} is best, or level with the best, in {kept} of {total}; not at: {lost[0].words}."


def of_sweep(sweep: Sweep, metric: str, *, exact: bool = False) -> Sensitivity | None:
    """Return what a sweep of one thing at a time says about a metric; None where it says nothing.

    A metric the sweep does not have is replaced by its first one that is good or bad. ``exact``: nothing is random.
    """
    judged = [key for key in sweep.metrics if key in KPIS and KPIS[key].better != "neutral"]
    key = metric if metric in judged else judged[0] if judged else ""
    if not key or len(sweep.policies) < 2:
        return None
    situations = []
    for point in range(len(sweep.points)):
        row = _row(sweep, point, key, exact=exact)
        if row is not None:
            situations.append(Situation(point_words(sweep, point), row))
    return Sensitivity(tuple(situations), len(sweep.futures.seeds), exact) if situations else None


def _row(sweep: Sweep, point: int, key: str, *, exact: bool) -> Row | None:
    draws: Mapping[str, list[dict[str, float | None]]] = {
        sweep.labels[policy]: [{key: cell.values.get(key)} for cell in sweep.at(point, policy)]
        for policy in sweep.policies
    }
    basis = EXACT_BASIS if exact else Basis(kind="drawn", futures=len(sweep.futures.seeds) - 1)
    comparison = compare(list(draws.items()), sweep.labels[sweep.reference], basis=basis, keys=(key,))
    return comparison.row(key)


# ---- a search for a size ------------------------------------------------------------------------------

COUNTED = {"gpus": "GPUs", "nodes": "Nodes"}
"""What a size costs where no prices are set."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """The sizes that were tried, cheapest first, in the units of the axes.

    ``option``: name of the option that takes the size found; "" where none of the memo does.
    """

    sizing: Sizing
    points: tuple[FrontierPoint, ...]
    target: Target
    option: str = ""

    @property
    def service(self) -> KPI:
        """The metric of the target that is shown."""
        return self.target.kpi

    @property
    def cost_title(self) -> str:
        """Title of the cost axis: dollars a month, else GPUs or nodes."""
        kpi = KPIS["cost_month"]
        return COUNTED.get(self.sizing.cost_by) or titled(kpi.label, kpi.kind)

    @property
    def service_title(self) -> str:
        """Title of the service axis."""
        return titled(self.service.label, self.service.kind)

    @property
    def limit(self) -> float:
        """The target in the unit of the service axis."""
        return UNITS[self.service.kind].of(self.target.limit)

    def at(self, point: FrontierPoint) -> Dot:
        """Return cost and service with their 95% intervals in the units of the axes."""
        unit = UNITS[self.service.kind]
        below, above = (unit.of(one) for one in point.service.bars)
        return point.cost.value, unit.of(point.service.value), point.cost.bars, (below, above)

    def kind(self, point: FrontierPoint) -> str:
        """Return what a size is: the answer, today's, or just one that was tried."""
        names = {"answer": point.answer, "today": point.today}
        return ", ".join(name for name, holds in names.items() if holds) or "tried"

    def sign(self, point: FrontierPoint) -> str:
        """Return what a mark shows: nodes of the answer and of today (A, B where several types vary), else nothing."""
        if not (point.answer or point.today):
            return ""
        letters = "A" if point.answer else "B"
        return f"{point.counts[0]:,}" if len(point.counts) == 1 else letters

    def cost_words(self, point: FrontierPoint) -> str:
        """Return what a size costs: "$53,000/month", "80 GPUs"."""
        if self.sizing.cost_by in COUNTED:
            return f"{point.cost.value:,.0f} {COUNTED[self.sizing.cost_by]}"
        return money_per_month(point.cost.value)

    def words(self, point: FrontierPoint) -> str:
        """Return a size with its numbers: "10 nodes, answer: $53,000/month, 35 min, ok"."""
        served = f"{self.service.show(point.service.value)}, {VERDICTS[point.check.verdict]}"
        return f"{self.sizing.words(point.counts)}, {self.kind(point)}: {self.cost_words(point)}, {served}"

    @property
    def note(self) -> str:
        """How the picture is read."""
        better = "up" if self.service.better == "higher" else "down"
        return (
            f"Sizes tried under {self.sizing.label}; filled: the answer; square: today; dashed: the target; "
            f"{better} and to the left is better; {bars_words(self.sizing.rule)}."
        )


def frontier_of(sizing: Sizing, option: str = "") -> Frontier | None:
    """Return the picture of a search; None where fewer than two sizes have both numbers."""
    points = frontier(sizing)
    targets = sizing.rule.targets
    target = next((one for one in targets if not one.rises_with_size), targets[0])  # as ``frontier`` chooses
    return Frontier(sizing, tuple(points), target, option) if len(points) > 1 else None


def asked_words(sizing: Sizing) -> str:
    """Return what was asked of every size: targets, claim, policy."""
    rule = sizing.rule
    return goal_words(rule.targets, rule.claim, rule.level, sizing.label, exact=rule.exact)


def answer_words(sizing: Sizing) -> str:
    """Return what the answer claims, without its name: "the cheapest we tried that would have met …"."""
    if sizing.answer is None:
        return ""
    text = claim_words(sizing, sizing.answer)
    asked = f" Targets: {listed([one.words for one in sizing.rule.targets])}." if len(sizing.rule.targets) > 1 else ""
    return f"{text}{asked}"
