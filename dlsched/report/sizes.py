"""A search for a size in a memo: what was asked of it, what it claims, and every size tried in cost against service."""

from __future__ import annotations

from dataclasses import dataclass

from dlsched.metrics.kpi import KPI, KPIS
from dlsched.report.units import UNITS, titled
from dlsched.studies.sizing.answer import FrontierPoint, Sizing, check_at, frontier
from dlsched.studies.sizing.rule import CLAIMS, TargetCheck
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import VERDICTS, sentence
from dlsched.wording.formats import MISSING, amount, listed, share, show_interval

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

    def at(self, point: FrontierPoint) -> tuple[float, float, float, float]:
        """Return cost, service and their 95% half widths in the units of the axes."""
        unit = UNITS[self.service.kind]
        halves = (point.cost.half_width or 0.0, unit.of(point.service.half_width or 0.0))
        return point.cost.mean, unit.of(point.service.mean), *halves

    def kind(self, point: FrontierPoint) -> str:
        """Return what a size is: the answer, today's, the knee, or just one that was tried."""
        names = {"answer": point.answer, "today": point.today, "knee": point.knee}
        return ", ".join(name for name, holds in names.items() if holds) or "tried"

    def sign(self, point: FrontierPoint) -> str:
        """Return what a mark shows: nodes of the answer and of today (A, B where several types vary), else nothing."""
        if not (point.answer or point.today):
            return ""
        letters = "A" if point.answer else "B"
        return f"{point.counts[0]:,}" if len(point.counts) == 1 else letters

    def cost_words(self, point: FrontierPoint) -> str:
        """Return what a size costs with its interval: "$53,000/month", "80 GPUs"."""
        if self.sizing.cost_by in COUNTED:
            return f"{point.cost.mean:,.0f} {COUNTED[self.sizing.cost_by]}"
        return show_interval("usd_per_month", point.cost.mean, point.cost.half_width)

    def words(self, point: FrontierPoint) -> str:
        """Return a size with its numbers: "10 nodes, answer: $53,000/month, 35 min, ok"."""
        served = f"{self.service.show(point.service.mean)}, {VERDICTS[point.check.verdict]}"
        return f"{self.sizing.words(point.counts)}, {self.kind(point)}: {self.cost_words(point)}, {served}"

    @property
    def note(self) -> str:
        """How the picture is read, and the knee in words."""
        knee = next((self.sizing.words(point.counts) for point in self.points if point.knee), "")
        knees = f"; knee, no recommendation: {knee}" if knee else ""
        better = "up" if self.service.better == "higher" else "down"
        return (
            f"Sizes tried under {self.sizing.label}; filled: the answer; square: today; dashed: the target; "
            f"{better} and to the left is better; bars are 95% intervals{knees}."
        )


def reached_words(one: TargetCheck) -> str:
    """Return what a size reached of a target: "35 min ± 10 min, ok"."""
    kpi, mean = one.target.kpi, one.mean
    reached = MISSING if mean is None else show_interval(kpi.kind, mean.mean, mean.half_width)
    return f"{reached}, {VERDICTS[one.verdict]}"


def frontier_of(sizing: Sizing, option: str = "") -> Frontier | None:
    """Return the picture of a search; None where fewer than two sizes have both numbers."""
    points = frontier(sizing)
    targets = sizing.rule.targets
    target = next((one for one in targets if not one.rises_with_size), targets[0])  # as ``frontier`` chooses
    return Frontier(sizing, tuple(points), target, option) if len(points) > 1 else None


def asked_words(sizing: Sizing) -> str:
    """Return what was asked of every size: targets, claim, policy."""
    rule = sizing.rule
    targets = listed([target.words for target in rule.targets])
    if rule.exact:
        return f"{targets}, under {sizing.label}"
    sure = f" ({share(rule.level)} of draws)" if rule.claim == "nearly-every" else ""
    return f"{targets}, {CLAIMS[rule.claim]}{sure}, under {sizing.label}"


def claim_words(sizing: Sizing) -> str:
    """Return what the answer claims, without its name: "the cheapest we tried that meet … Held in 39 of 40 draws".

    Fresh draws and those of the search are counted together; several targets are named.
    """
    if sizing.answer is None:
        return ""
    told = sentence(sizing).removeprefix("Today's ").removeprefix(sizing.words(sizing.answer))
    text = told.strip().removeprefix("are ").removeprefix("is ")
    asked = f" Targets: {listed([one.words for one in sizing.rule.targets])}." if len(sizing.rule.targets) > 1 else ""
    if sizing.rule.exact:
        return f"{text}{asked}"
    check = check_at(sizing, sizing.answer)
    return f"{text}{asked} Held in {check.hits:,} of {amount(check.n, 'draw')}."
