"""The evidence behind the advice of a memo: which groups gain, what could change the answer, a search for a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dlsched.metrics.job_classes import NAMED, NOUNS, groupings_of
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import Comparison, Row, compare
from dlsched.metrics.winner_words import ordered, with_letters
from dlsched.metrics.winners import Group, Winners, winners
from dlsched.report.alternatives import Alternative
from dlsched.report.choice import GOOD, Advice
from dlsched.report.units import UNITS, Dot, titled
from dlsched.studies.sizing.answer import FrontierPoint, Sizing, frontier
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import VERDICTS, bars_words, claim_words, condition_words, goal_words
from dlsched.studies.sweep.answer import Sweep
from dlsched.studies.sweep.words import point_words
from dlsched.wording.formats import amount, count, listed, money_per_month
from dlsched.wording.settings import is_plural, within_sentence

# ---- gains and losses ---------------------------------------------------------------------------------


def winners_of(
    baseline: str,
    before: Sequence[pd.DataFrame],
    after: Mapping[str, Sequence[pd.DataFrame]],
    *,
    exact: bool = False,
    hide_names: bool = False,
) -> tuple[Winners, ...]:
    """Return which users, groups or classes gain and lose waiting time under each option.

    Parameters
    ----------
    before
        Jobs tables of the baseline, draw by draw.
    after
        Jobs tables of each other option, the same draws.
    exact
        Whether nothing is random, so that one draw says all.
    hide_names
        Show A, B, C in place of names that people gave.
    """
    by = groupings_of(before[0])[0]
    answers = [
        winners(list(zip(before, jobs, strict=True)), by, names=(baseline, name), exact=exact)
        for name, jobs in after.items()
    ]
    return tuple(with_letters(answer) if hide_names else answer for answer in answers)


def has_names(answer: Winners) -> bool:
    """Whether the groups have names that people gave."""
    return answer.by in NAMED


def noun(answer: Winners) -> str:
    """Return what a group is, as the head of a column."""
    return NOUNS[answer.by][0].capitalize()


def ends(answer: Winners, most: int) -> list[Group]:
    """Return at most this many groups, in their order: half from the end that gains most, half from the other."""
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
    """Situations, the first of them as things are; all rows are of one metric, and of the options of the memo."""

    situations: tuple[Situation, ...]
    basis: Basis
    futures: int

    @property
    def label(self) -> str:
        """Label of the metric."""
        return self.situations[0].row.kpi.label

    @property
    def names(self) -> tuple[str, ...]:
        """The options, the baseline first."""
        return tuple(cell.name for cell in self.situations[0].row.cells)

    def where(self, name: str, advice: Advice) -> list[Situation]:
        """Return the situations in which what the advice says of an option's service holds.

        An option that is chosen for its service is better than the baseline there; one chosen for its cost serves no
        worse.
        """
        as_it_is = self.situations[0].row.of(name).verdict
        holds = GOOD if advice.kind != "choose" or as_it_is in GOOD else (*GOOD, "same", "not clear")
        return [one for one in self.situations if one.row.of(name).verdict in holds]

    def words(self, advice: Advice) -> str:
        """Return in how many situations the advice holds; "" where it says nothing of these options."""
        base, total = self.names[0], amount(len(self.situations), "situation")
        name, what = advice.option, f"on {within_sentence(self.label)}"
        if advice.is_change and name in self.names:
            held = self.where(name, advice)
            lost = [one for one in self.situations if one not in held]
            how = "better than" if self.situations[0].row.of(name).verdict in GOOD else "no worse than"
            is_are = "are" if is_plural(name) else "is"
            every = "both situations" if len(held) == 2 else f"all {total}"
            if not lost:
                return f"{name} {is_are} {how} {base} {what} in {every}."
            return f"{name} {is_are} {how} {base} {what} in {count(len(held))} of {total}; not in: {lost[0].words}."
        if advice.kind != "stay":
            return ""
        better = [(one, cell.name) for one in self.situations for cell in one.row.cells if cell.verdict in GOOD]
        if not better:
            return f"No option is clearly better than {base} {what} in any of {total}."
        situation, name = better[0]
        return f"{name} {'are' if is_plural(name) else 'is'} better than {base} {what} in: {situation.words}."

    def fits(self, comparison: Comparison) -> bool:
        """Whether it is about the runs of a comparison: as things are, the same options have the same numbers."""
        mine = self.situations[0].row
        told = comparison.row(mine.kpi.key)
        return told is not None and [(cell.name, cell.value, cell.delta) for cell in told.cells] == [
            (cell.name, cell.value, cell.delta) for cell in mine.cells
        ]


def of_sweep(sweep: Sweep, metric: str, options: Sequence[Alternative], basis: Basis) -> Sensitivity | None:
    """Return what a sweep of one thing at a time says of the options of a memo, by its metric of service.

    None if it says nothing of one of them: "best of all" must be of the same options everywhere.
    """
    policies = {option.name: option.policy for option in options}
    as_they_are = not any(option.changes or option.condition.changes for option in options)
    if not as_they_are or metric not in sweep.metrics or not {*policies.values()} <= {*sweep.policies}:
        return None
    situations = []
    for point in range(len(sweep.points)):
        values = [
            (name, [{metric: cell.values.get(metric)} for cell in sweep.at(point, policy)])
            for name, policy in policies.items()
        ]
        row = compare(values, options[0].name, basis=basis, keys=(metric,)).row(metric)
        if row is not None:
            situations.append(Situation(point_words(sweep, point), row))
    return Sensitivity(tuple(situations), basis, len(sweep.futures.seeds)) if situations else None


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
    """Return the picture of a search; None if fewer than two sizes have both numbers."""
    points = frontier(sizing)
    targets = sizing.rule.targets
    target = next((one for one in targets if not one.rises_with_size), targets[0])  # as ``frontier`` chooses
    return Frontier(sizing, tuple(points), target, option) if len(points) > 1 else None


def asked_words(sizing: Sizing) -> str:
    """Return what was asked of every size: targets, how often, policy, conditions."""
    rule, condition = sizing.rule, condition_words(sizing.condition)
    words = goal_words(rule.targets, rule.claim, rule.level, sizing.label, exact=rule.exact)
    return f"{words}, with {listed(condition)}" if condition else words


def answer_words(sizing: Sizing) -> str:
    """Return what the answer claims, without its name: "the cheapest we tried that would have met …"."""
    if sizing.answer is None:
        return ""
    text = claim_words(sizing, sizing.answer)
    asked = f" Targets: {listed([one.words for one in sizing.rule.targets])}." if len(sizing.rule.targets) > 1 else ""
    return f"{text}{asked}"
