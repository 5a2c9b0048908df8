"""What a search for a size answers: sizes with their futures, the size recommended, headroom, one more node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.statements import Change, Estimate, change_of
from dlsched.studies.sizing.campaigns import Campaign
from dlsched.studies.sizing.question import TargetsAnswer
from dlsched.studies.sizing.rule import (
    Check,
    Replicate,
    Rule,
    TargetCheck,
    Verdict,
    decided,
    estimate_of,
    judge,
    values_of,
)
from dlsched.studies.sizing.targets import Target
from dlsched.wording.formats import amount, listed

Counts = tuple[int, ...]
"""Nodes of each VM type that varies, in the order of ``Sizing.types``."""
CostBy = Literal["price", "runs", "gpus", "nodes"]
"""Which size is cheaper: by the price of its nodes, by what its runs cost a month (rented); without prices by its
GPUs, and by its nodes where those have none."""
Status = Literal["found", "none", "stopped"]
COST = "cost_month"


class VmRange(FrozenModel):
    """A VM type whose number of nodes varies: the key of the change, its name, from ``least`` to ``most`` nodes.

    ``today``: what the scenario has. ``usd_per_h``: price of a node, None if none is set or policies choose the
    machines; ``gpus`` of a node. ``rented``: the number is how many machines a policy may rent at once.
    """

    key: str
    name: str
    least: int
    most: int
    today: int
    usd_per_h: float | None = None
    gpus: int = 0
    rented: bool = False


class Size(FrozenModel):
    """A size that was tried, and its runs by future.

    ``usd_month``: price of all owned nodes over 30.4 days; None without prices and for rented machines. ``error``: why
    the size cannot be run at all. ``stopped``: what it does was certain before all futures ran, so its numbers are
    not to be shown beside others.
    """

    counts: Counts
    usd_month: float | None = None
    gpus: int = 0
    draws: tuple[Replicate, ...] = ()
    error: str = ""
    stopped: bool = False


class Load(FrozenModel):
    """``factor`` times as many jobs over the same time, and the runs at this load; ``basis``: what its futures are of.

    ``stopped``, ``error``: as of a :class:`Size`.
    """

    factor: float
    draws: tuple[Replicate, ...]
    basis: Basis = EXACT_BASIS
    error: str = ""
    stopped: bool = False


class Headroom(FrozenModel):
    """How much more load a size takes: the ``last`` factor that meets the targets, the ``first`` that does not.

    ``last`` is None if the size misses them with the jobs of now, ``first`` where the most tried meet them.
    ``loads``: the jobs of now, and these two.
    """

    counts: Counts
    last: float | None
    first: float | None
    loads: tuple[Load, ...]


class Sizing(TargetsAnswer):
    """The whole answer.

    ``sizes`` ascend; all that are not ``stopped`` ran the same ``futures``, under ``condition``. ``answer``: the
    cheapest size that meets the targets, None if none was found; of rented machines the fewest, or a size whose runs
    cost less beyond chance. ``neighbours``: the sizes just below it; none meets the targets, or its runs cost more.
    ``reasons``: why there is no answer, or what limits it. ``campaign``: the most that one user submitted on one day,
    of a recorded trace. ``rented_nodes``: up to so many come and go beside each size. ``runs``: how many were asked
    for, repeated ones once.
    """

    types: tuple[VmRange, ...] = Field(min_length=1)
    cost_by: CostBy
    today: Counts
    sizes: tuple[Size, ...]
    answer: Counts | None
    neighbours: tuple[Counts, ...]
    status: Status
    reasons: tuple[str, ...]
    headroom: tuple[Headroom, ...]
    campaign: Campaign | None = None
    rented_nodes: int = 0
    runs: int

    @cached_property
    def _by_counts(self) -> dict[Counts, Size]:
        return {size.counts: size for size in self.sizes}

    def size(self, counts: Counts) -> Size:
        """Return a size that was tried; KeyError for another."""
        return self._by_counts[counts]

    @property
    def shown(self) -> tuple[Size, ...]:
        """The sizes that ran all futures or cannot be run: those that may stand beside each other."""
        return tuple(size for size in self.sizes if not size.stopped)

    def words(self, counts: Counts) -> str:
        """Return a size in words: "10 nodes", "4 nodes of A100 and 2 nodes of H100"."""
        return counts_words(self.types, counts, self.rented_nodes)


def above(counts: Counts) -> list[Counts]:
    """Return the sizes with one node more of each type, in turn."""
    return [(*counts[:place], count + 1, *counts[place + 1 :]) for place, count in enumerate(counts)]


def counts_words(types: Sequence[VmRange], counts: Counts, rented_nodes: int = 0, more: str = "") -> str:
    """Return a size in words, with what is rented beside it; types of which there are none are left out.

    ``more``: "more " where it is a difference of two sizes.
    """
    parts = [
        ("up to " if vm.rented else "")
        + amount(count, more + ("rented machine" if vm.rented else "node"))
        + (f" of {vm.name}" if vm.name else "")
        for vm, count in zip(types, counts, strict=True)
        if count or (len(types) == 1 and not rented_nodes)
    ]
    if rented_nodes:
        parts.append(f"up to {amount(rented_nodes, 'rented node')}")
    return listed(parts) if parts else "no nodes"


# ---- one size ----------------------------------------------------------------------------------------


def check_at(sizing: Sizing, counts: Counts) -> Check:
    """Return the verdict on a size; without numbers where it was certain before all futures ran."""
    size = sizing.size(counts)
    return _check(sizing.rule, size.draws, size.error, len(sizing.futures.seeds), stopped=size.stopped)


def check_load(sizing: Sizing, load: Load) -> Check:
    """Return the verdict at a load."""
    rule = rule_at(sizing.rule, load)
    futures = 1 if rule.exact else rule.basis.futures + 1
    return _check(rule, load.draws, load.error, futures, stopped=load.stopped)


def _check(rule: Rule, draws: tuple[Replicate, ...], error: str, futures: int, *, stopped: bool) -> Check:
    if not stopped:
        return judge(rule, draws, error)
    found = decided(rule, draws, futures)
    verdict: Verdict = "unsure" if found is None else "meets" if found else "fails"
    why = f"stopped after {len(draws):,} of {amount(futures, 'future')}"
    nothing = tuple(TargetCheck(target, verdict, None, None, 0, 0) for target in rule.targets)
    return Check(verdict, nothing, 0, 0, None, 0, why, stopped=True)


def jobs_words(load: float) -> str:
    """Return how many jobs there are at a load: "75% more jobs", "as many jobs as today", "20% fewer jobs"."""
    percent = round(100 * (load - 1))
    return f"{abs(percent)}% {'more' if percent > 0 else 'fewer'} jobs" if percent else "as many jobs as today"


def rule_at(rule: Rule, load: Load) -> Rule:
    """Return the rule at a load: which jobs are added or left out is drawn, where nothing else is random too."""
    return rule if load.factor == 1.0 else rule.model_copy(update={"basis": load.basis})


def cost_at(sizing: Sizing, counts: Counts) -> Estimate | None:
    """Return what a size costs a month: owned nodes exactly, rented machines by their runs; None without prices."""
    return cost_of(sizing.size(counts), sizing.cost_by, sizing.rule)


def cost_of(size: Size, cost_by: CostBy, rule: Rule) -> Estimate | None:
    """Return what a size costs a month; see :func:`cost_at`."""
    if cost_by == "runs":
        return None if size.stopped else estimate_of(rule, size.draws, COST)
    return None if size.usd_month is None else Estimate(size.usd_month, None, None, max(1, len(size.draws)))


def tightest(sizing: Sizing, counts: Counts) -> TargetCheck | None:
    """Return the target whose value uses most of its limit; None if no target has a value."""
    there = [one for one in check_at(sizing, counts).targets if one.value is not None]
    return max(there, key=lambda one: one.target.share_used(one.value.value if one.value else 0.0), default=None)


def difference(sizing: Sizing, counts: Counts, baseline: Counts, metric: str) -> Change | None:
    """Return how a metric of a size differs from that of another, future by future; None if one has no value."""
    return paired(sizing.size(counts), sizing.size(baseline), metric, sizing.rule.basis)


def usd_more(sizing: Sizing, counts: Counts, baseline: Counts) -> float | None:
    """Return what a size costs a month more than another; None without prices."""
    ours, theirs = cost_at(sizing, counts), cost_at(sizing, baseline)
    return None if ours is None or theirs is None else ours.value - theirs.value


def paired(ours: Size, theirs: Size, metric: str, basis: Basis) -> Change | None:
    """Return how a metric of a size differs from that of another; None if one has no value, or not all futures."""
    if ours.stopped or theirs.stopped:
        return None
    values, base = values_of(ours.draws, metric), values_of(theirs.draws, metric)
    return None if values is None or base is None else change_of(KPIS[metric], values, base, basis)


# ---- all sizes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A size in cost against service: both values, the verdict, and what it is.

    ``efficient``: no size shown is at most as dear and better, or cheaper and as good.
    """

    counts: Counts
    cost: Estimate
    service: Estimate
    check: Check
    today: bool
    answer: bool
    efficient: bool


def frontier(sizing: Sizing, metric: str = "") -> list[FrontierPoint]:
    """Return all sizes that ran all futures and have a cost and the metric, cheapest first.

    ``metric``: one of the targets; empty = the first that does not rise with size. Cost is dollars a month, GPUs or
    nodes where no prices are set.
    """
    target = _of_metric(sizing, metric)
    sign = 1.0 if target.side == "at most" else -1.0
    found = []
    for size in sizing.shown:
        cost = _axis_cost(sizing, size)
        service = estimate_of(sizing.rule, size.draws, target.metric)
        if cost is not None and service is not None:
            found.append((cost, service, size.counts))
    found.sort(key=lambda one: (one[0].value, sign * one[1].value, one[2]))
    return [
        FrontierPoint(
            counts, cost, service, check_at(sizing, counts), counts == sizing.today, counts == sizing.answer,
            not any(_beats(other, (cost, service, counts), sign) for other in found),
        )
        for cost, service, counts in found
    ]  # fmt: skip


def _axis_cost(sizing: Sizing, size: Size) -> Estimate | None:
    if sizing.cost_by in ("gpus", "nodes"):
        many = size.gpus if sizing.cost_by == "gpus" else sum(size.counts)
        return Estimate(float(many), None, None, max(1, len(size.draws)))
    return cost_of(size, sizing.cost_by, sizing.rule)


def _of_metric(sizing: Sizing, metric: str) -> Target:
    targets = sizing.rule.targets
    if metric:
        return next(target for target in targets if target.metric == metric)
    return next((target for target in targets if not target.rises_with_size), targets[0])


_Point = tuple[Estimate, Estimate, Counts]


def _beats(ours: _Point, theirs: _Point, sign: float) -> bool:
    cost = ours[0].value - theirs[0].value
    service = sign * (ours[1].value - theirs[1].value)
    return cost <= 0 and service <= 0 and (cost < 0 or service < 0)


@dataclass(frozen=True, slots=True)
class OneMore:
    """One node more of a VM type: the size, its cost a month more, and what it changes by target, future by future."""

    vm: VmRange
    counts: Counts
    usd_month: float | None
    changes: Mapping[str, Change | None]


def one_more(sizing: Sizing) -> list[OneMore]:
    """Return what one node more of each type changes at the answer; nothing where there is no answer."""
    answer = sizing.answer
    if answer is None:
        return []
    found = []
    shown = {size.counts for size in sizing.shown if not size.error}
    for vm, counts in zip(sizing.types, above(answer), strict=True):
        if counts in shown:
            metrics = [target.metric for target in sizing.rule.targets]
            changes = {metric: difference(sizing, counts, answer, metric) for metric in metrics}
            found.append(OneMore(vm, counts, usd_more(sizing, counts, answer), changes))
    return found


@dataclass(frozen=True, slots=True)
class Reversal:
    """A larger size that does worse, by how a metric differs from that of the smaller size, future by future."""

    smaller: Counts
    larger: Counts
    metric: str
    change: Change


def reversals(sizing: Sizing) -> list[Reversal]:
    """Return where more nodes do worse in the same futures, of targets that do not rise with size.

    Each size is compared with the next larger one shown (more of one type, less of none).
    """
    targets = [target for target in sizing.rule.targets if not target.rises_with_size]
    found = []
    for smaller, larger in _next_larger([size for size in sizing.shown if size.draws]):
        for target in targets:
            change = paired(larger, smaller, target.metric, sizing.rule.basis)
            if change is not None and change.verdict in ("worse", "likely worse"):
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


def reachable(sizing: Sizing, metric: str) -> tuple[Counts, Estimate] | None:
    """Return the size shown with the best value of a metric, the smallest of them; None if none has a value."""
    sign = 1.0 if KPIS[metric].better == "lower" else -1.0
    found = [
        (sign * value.value, sum(size.counts), size.counts, value)
        for size in sizing.shown
        if (value := estimate_of(sizing.rule, size.draws, metric)) is not None
    ]
    if not found:
        return None
    best = min(found, key=lambda one: one[:3])
    return best[2], best[3]


def left_out(sizing: Sizing, counts: Counts) -> float | None:
    """Return the jobs that were rejected or not done: of what was recorded, else the mean; None without any run."""
    left = [float(draw.jobs - draw.done) for draw in sizing.size(counts).draws if not draw.error]
    if not left:
        return None
    return left[0] if sizing.rule.basis.kind != "drawn" else sum(left) / len(left)
