"""What a search for a size answers: every size tried with its draws, the size recommended, headroom, one more node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from dlsched.domain.model import Answer, FrozenModel
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.intervals import LEVEL, Interval, mean_interval, paired_difference
from dlsched.metrics.stats.knee import knee_of
from dlsched.studies.design.variants import Futures
from dlsched.studies.sizing.rule import Check, Replicate, Rule, TargetCheck, judge, mean_of, values_of
from dlsched.studies.sizing.targets import Target
from dlsched.wording.formats import amount, listed

Counts = tuple[int, ...]
"""Nodes of each VM type that varies, in the order of ``Sizing.types``."""
CostBy = Literal["price", "runs", "gpus", "nodes"]
"""Which size is cheaper: by the price of its nodes, by what its runs cost a month (free slots); without prices by its
GPUs, and by its nodes where those have none."""
Status = Literal["found", "none", "stopped"]
COST = "cost_month"


class VmRange(FrozenModel):
    """A VM type whose number of nodes varies: the key of the change, its name, from ``least`` to ``most`` nodes.

    ``today``: what the scenario has. ``usd_per_h``: price of a node, None where none is set or policies choose the
    machines; ``gpus`` of a node.
    """

    key: str
    name: str
    least: int
    most: int
    today: int
    usd_per_h: float | None = None
    gpus: int = 0


class Size(FrozenModel):
    """A size that was tried, and its draws by seed.

    ``usd_month``: price of all fixed nodes over 30.4 days; None without prices and for free slots. ``error``: why the
    size cannot be run at all.
    """

    counts: Counts
    usd_month: float | None = None
    gpus: int = 0
    draws: tuple[Replicate, ...] = ()
    error: str = ""


class Load(FrozenModel):
    """``factor`` times as many jobs over the same time, and the draws at this load."""

    factor: float
    draws: tuple[Replicate, ...]
    error: str = ""


class Headroom(FrozenModel):
    """How much more load a size takes: the ``last`` factor that meets the targets and the ``first`` above it that does
    not; None where none was found within the factors tried. ``loads``: what was tried, ascending.
    """

    counts: Counts
    last: float | None
    first: float | None
    loads: tuple[Load, ...]


class Sizing(Answer):
    """The whole answer.

    ``sizes`` ascend. ``answer``: the cheapest size that was confirmed, None where none was; of free slots the smallest,
    or one whose runs cost distinguishably less. ``neighbours``: the sizes just below it that were tried; none meets the
    targets, or its runs cost more. ``search_seeds`` found the answer, ``confirm_seeds`` are fresh draws that confirmed
    it; empty where nothing is random. ``reasons``: why there is no answer, or what limits it. ``runs``: how many were
    asked for, repeated ones once.
    """

    scenario: str
    scenario_name: str
    policy: str
    label: str
    params: Mapping[str, Any]
    futures: Futures
    rule: Rule
    types: tuple[VmRange, ...] = Field(min_length=1)
    cost_by: CostBy
    today: Counts
    sizes: tuple[Size, ...]
    answer: Counts | None
    neighbours: tuple[Counts, ...]
    search_seeds: tuple[int, ...]
    confirm_seeds: tuple[int, ...]
    status: Status
    reasons: tuple[str, ...]
    headroom: tuple[Headroom, ...]
    runs: int

    @cached_property
    def _by_counts(self) -> dict[Counts, Size]:
        return {size.counts: size for size in self.sizes}

    def size(self, counts: Counts) -> Size:
        """Return a size that was tried; KeyError for another."""
        return self._by_counts[counts]

    def words(self, counts: Counts) -> str:
        """Return a size in words: "10 nodes", "4 nodes of A100 and 2 nodes of H100"."""
        return counts_words(self.types, counts)


def counts_words(types: Sequence[VmRange], counts: Counts) -> str:
    """Return a size in words; types of which there are none are left out."""
    parts = [
        amount(count, "node") + (f" of {vm.name}" if vm.name else "")
        for vm, count in zip(types, counts, strict=True)
        if count or len(types) == 1
    ]
    return listed(parts) if parts else "no nodes"


# ---- one size ----------------------------------------------------------------------------------------


def check_at(sizing: Sizing, counts: Counts) -> Check:
    """Return the verdict on all draws of a size, those of the search and fresh ones together.

    Where it has fresh draws, a size meets the targets only if those alone do too.
    """
    size = sizing.size(counts)
    found = judge(sizing.rule, size.draws, size.error)
    fresh = [draw for draw in size.draws if draw.seed in sizing.confirm_seeds]
    if found.verdict == "meets" and fresh and judge(sizing.rule, fresh).verdict != "meets":
        return replace(found, verdict="unsure", why="the fresh draws alone do not meet the targets")
    return found


def check_load(sizing: Sizing, load: Load) -> Check:
    """Return the verdict at a load."""
    return judge(rule_at(sizing.rule, load), load.draws, load.error)


def jobs_words(load: float) -> str:
    """Return how many jobs there are at a load: "75% more jobs", "as many jobs as today", "20% fewer jobs"."""
    percent = round(100 * (load - 1))
    return f"{abs(percent)}% {'more' if percent > 0 else 'fewer'} jobs" if percent else "as many jobs as today"


def rule_at(rule: Rule, load: Load) -> Rule:
    """Return the rule at a load: which jobs are added or left out is drawn, so several futures of it differ."""
    return rule if len(load.draws) < 2 else rule.model_copy(update={"exact": False})


def cost_at(sizing: Sizing, counts: Counts) -> Interval | None:
    """Return what a size costs a month: fixed nodes exactly, free slots as the mean over draws; None without prices."""
    return cost_of(sizing.size(counts), sizing.cost_by, exact=sizing.rule.exact)


def cost_of(size: Size, cost_by: CostBy, *, exact: bool) -> Interval | None:
    """Return what a size costs a month; see :func:`cost_at`."""
    if cost_by == "runs":
        return mean_of(size.draws, COST, exact=exact)
    return None if size.usd_month is None else Interval(size.usd_month, 0.0, max(1, len(size.draws)), LEVEL)


def tightest(sizing: Sizing, counts: Counts) -> TargetCheck | None:
    """Return the target whose mean uses most of its limit; None where no target has a mean."""
    there = [one for one in check_at(sizing, counts).targets if one.mean is not None]
    return max(there, key=lambda one: one.target.share_used(one.mean.mean if one.mean else 0.0), default=None)


def difference(sizing: Sizing, counts: Counts, baseline: Counts, metric: str) -> Interval | None:
    """Return a metric of a size minus that of another, paired by the draws both have; None where one has no value."""
    return paired(sizing.size(counts), sizing.size(baseline), metric, exact=sizing.rule.exact)


def cost_difference(sizing: Sizing, counts: Counts, baseline: Counts) -> Interval | None:
    """Return what a size costs a month more than another; None without prices."""
    if sizing.cost_by == "runs":
        return difference(sizing, counts, baseline, COST)
    ours, theirs = cost_at(sizing, counts), cost_at(sizing, baseline)
    return None if ours is None or theirs is None else Interval(ours.mean - theirs.mean, 0.0, 1, LEVEL)


def paired(ours: Size, theirs: Size, metric: str, *, exact: bool, level: float = LEVEL) -> Interval | None:
    """Return a metric of a size minus that of another; see :func:`difference`."""
    theirs_by_seed = {draw.seed: draw for draw in theirs.draws}
    common = [draw for draw in ours.draws if draw.seed in theirs_by_seed]
    values, base = values_of(common, metric), values_of([theirs_by_seed[draw.seed] for draw in common], metric)
    if values is None or base is None:
        return None
    found = paired_difference(values, base, level)
    return Interval(found.mean, 0.0, found.n, level) if exact else found


# ---- all sizes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A size in cost against service: both means, the verdict, and what it is.

    ``efficient``: no size tried is at most as dear and better, or cheaper and as good. ``knee``: see
    :func:`metrics.stats.knee.knee_of`.
    """

    counts: Counts
    cost: Interval
    service: Interval
    check: Check
    today: bool
    answer: bool
    efficient: bool
    knee: bool


def frontier(sizing: Sizing, metric: str = "") -> list[FrontierPoint]:
    """Return all sizes tried that have a cost and the metric, cheapest first.

    ``metric``: one of the targets; empty = the first that does not rise with size. Cost is dollars a month, GPUs or
    nodes where no prices are set. Means over draws are compared as they are.
    """
    target = _of_metric(sizing, metric)
    sign = 1.0 if target.side == "at most" else -1.0
    found = []
    for size in sizing.sizes:
        cost = _axis_cost(sizing, size)
        service = mean_of(size.draws, target.metric, exact=sizing.rule.exact)
        if cost is not None and service is not None:
            found.append((cost, service, size.counts))
    found.sort(key=lambda one: (one[0].mean, sign * one[1].mean, one[2]))
    efficient = [not any(_beats(other, one, sign) for other in found) for one in found]
    kept = [place for place, good in enumerate(efficient) if good]
    at = knee_of([found[place][0].mean for place in kept], [sign * found[place][1].mean for place in kept])
    knee = None if at is None else kept[at]
    return [
        FrontierPoint(
            counts, cost, service, check_at(sizing, counts), counts == sizing.today, counts == sizing.answer,
            efficient[place], place == knee,
        )
        for place, (cost, service, counts) in enumerate(found)
    ]  # fmt: skip


def _axis_cost(sizing: Sizing, size: Size) -> Interval | None:
    if sizing.cost_by in ("gpus", "nodes"):
        many = size.gpus if sizing.cost_by == "gpus" else sum(size.counts)
        return Interval(float(many), 0.0, max(1, len(size.draws)), LEVEL)
    return cost_of(size, sizing.cost_by, exact=sizing.rule.exact)


def _of_metric(sizing: Sizing, metric: str) -> Target:
    targets = sizing.rule.targets
    if metric:
        return next(target for target in targets if target.metric == metric)
    return next((target for target in targets if not target.rises_with_size), targets[0])


_Point = tuple[Interval, Interval, Counts]


def _beats(ours: _Point, theirs: _Point, sign: float) -> bool:
    cost = ours[0].mean - theirs[0].mean
    service = sign * (ours[1].mean - theirs[1].mean)
    return cost <= 0 and service <= 0 and (cost < 0 or service < 0)


@dataclass(frozen=True, slots=True)
class OneMore:
    """One node more of a VM type: the size, its cost a month more, and what it changes by target, all paired."""

    vm: VmRange
    counts: Counts
    usd_month: Interval | None
    changes: Mapping[str, Interval | None]


def one_more(sizing: Sizing) -> list[OneMore]:
    """Return what one node more of each type changes at the answer; nothing where there is no answer."""
    answer = sizing.answer
    if answer is None:
        return []
    found = []
    for place, vm in enumerate(sizing.types):
        counts = (*answer[:place], answer[place] + 1, *answer[place + 1 :])
        if counts in sizing._by_counts and not sizing.size(counts).error:
            metrics = [target.metric for target in sizing.rule.targets]
            changes = {metric: difference(sizing, counts, answer, metric) for metric in metrics}
            found.append(OneMore(vm, counts, cost_difference(sizing, counts, answer), changes))
    return found


@dataclass(frozen=True, slots=True)
class Reversal:
    """A larger size that does worse: by its difference in a metric to the smaller size, paired."""

    smaller: Counts
    larger: Counts
    metric: str
    change: Interval


def reversals(sizing: Sizing) -> list[Reversal]:
    """Return where more nodes are distinguishably worse, of targets that do not rise with size.

    Each size is compared with the next larger one tried (more of one type, less of none). Together, the comparisons
    call nothing worse that is equal in 95 of 100 answers (Bonferroni).
    """
    targets = [target for target in sizing.rule.targets if not target.rises_with_size]
    pairs = list(_next_larger([size for size in sizing.sizes if size.draws]))
    level = 1 - (1 - LEVEL) / max(1, len(pairs) * len(targets))
    found = []
    for smaller, larger in pairs:
        for target in targets:
            change = paired(larger, smaller, target.metric, exact=sizing.rule.exact, level=level)
            sign = 1.0 if target.side == "at most" else -1.0
            if change is not None and sign * change.mean > 0 and change.tells_apart():
                found.append(Reversal(smaller.counts, larger.counts, target.metric, change))
    return found


def _next_larger(sizes: Sequence[Size]) -> Iterator[tuple[Size, Size]]:
    """Yield each size with those above it that have none of the others in between."""
    for smaller in sizes:
        above = [size for size in sizes if size.counts != smaller.counts and _covers(size, smaller)]
        for larger in above:
            if not any(other is not larger and _covers(larger, other) for other in above):
                yield smaller, larger


def _covers(larger: Size, smaller: Size) -> bool:
    return all(ours >= theirs for ours, theirs in zip(larger.counts, smaller.counts, strict=True))


def reachable(sizing: Sizing, metric: str) -> tuple[Counts, Interval] | None:
    """Return the size tried with the best mean of a metric, the cheapest of them; None where none has a mean."""
    sign = 1.0 if KPIS[metric].better == "lower" else -1.0
    found = [
        (sign * mean.mean, sum(size.counts), size.counts, mean)
        for size in sizing.sizes
        if (mean := mean_of(size.draws, metric, exact=sizing.rule.exact)) is not None
    ]
    if not found:
        return None
    best = min(found, key=lambda one: one[:3])
    return best[2], best[3]


def left_out(sizing: Sizing, counts: Counts) -> Interval | None:
    """Return the jobs of a draw that were rejected or not done, mean over draws; None without draws."""
    left = [float(draw.jobs - draw.done) for draw in sizing.size(counts).draws if not draw.error]
    if not left:
        return None
    return Interval(left[0], 0.0, 1, LEVEL) if sizing.rule.exact else mean_interval(left)
