"""Whether a cluster meets its targets: the verdict on all futures, under one of two claims (decision 030)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.intervals import binomial_interval, mean_interval, t_quantile
from dlsched.metrics.stats.statements import Estimate, possible, value_of
from dlsched.studies.sizing.targets import Target
from dlsched.wording.certainty import FEWEST_DAYS
from dlsched.wording.formats import amount

Verdict = Literal["meets", "fails", "unsure"]
Claim = Literal["average", "nearly-every"]
RECORDED = 0
"""The future that was recorded, where one was."""
ROUNDING = 1e-9
SURELY = 1e-6
"""By so much of its limit an interval has to end beyond a target, so that rounding decides nothing."""
_WORST: tuple[Verdict, ...] = ("fails", "unsure", "meets")


class Replicate(FrozenModel):
    """What one run says: metrics by key, None if undefined; ``seed``: its future.

    ``done`` of ``jobs`` came to an end of their own (completed, failed by a bug of their own, cancelled by their user);
    the others were rejected or not done at the end. ``needed``: how many have to. ``error``: what ended the run,
    ``audit``: the auditor's complaints.
    """

    seed: int
    values: Mapping[str, float | None] = Field(default_factory=dict)
    jobs: int = 0
    done: int = 0
    needed: int = 0
    audit: tuple[str, ...] = ()
    error: str = ""

    @property
    def lacks(self) -> int:
        """Jobs that had to be done and were not."""
        return max(0, self.needed - self.done)


def check_targets_differ(targets: Sequence[Target]) -> None:
    """Raise ValueError where two targets are of one metric."""
    metrics = [target.metric for target in targets]
    twice = [metric for metric in metrics if metrics.count(metric) > 1]
    if twice:
        raise ValueError(f"targets must be of different metrics, {twice[0]} is listed twice")


class Rule(FrozenModel):
    """What is asked of a size.

    ``average``: every target is met on average over futures. ``nearly-every``: a share ``level`` of futures meets them
    all at once. Of a recorded trace what was recorded has to meet them too, and the futures reshuffled from it are
    the others. Future 0 decides alone where nothing is random, or too few days were recorded to say anything of others.
    """

    targets: tuple[Target, ...] = Field(min_length=1, max_length=8)
    claim: Claim = "average"
    level: float = Field(0.95, gt=0, lt=1, description="Share of futures that must meet the targets.")
    basis: Basis = EXACT_BASIS

    @model_validator(mode="after")
    def _differ(self) -> Self:
        check_targets_differ(self.targets)
        return self

    @property
    def labels(self) -> dict[str, str]:
        """The targets' metrics with their labels."""
        return {target.metric: KPIS[target.metric].label for target in self.targets}

    @property
    def exact(self) -> bool:
        """Whether future 0 decides alone."""
        few = self.basis.is_recorded and (self.basis.futures == 0 or 0 < self.basis.days < FEWEST_DAYS)
        return self.basis.is_exact or few

    @property
    def recorded(self) -> bool:
        """Whether what was recorded has to meet the targets beside futures reshuffled from it."""
        return self.basis.is_recorded and not self.exact

    def counted(self, draws: Sequence[Replicate]) -> list[Replicate]:
        """Return the futures that the claim is about: of a recorded trace those beside what was recorded."""
        return [draw for draw in draws if draw.seed != RECORDED] if self.recorded else list(draws)


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One target at one size: its verdict, what is known of its value, and in how many futures it is met.

    ``value`` is None if a future has none; ``mean`` over the ``n`` futures that count, of which ``hits`` meet it.
    ``why``: what made it fail beside the numbers, else "".
    """

    target: Target
    verdict: Verdict
    value: Estimate | None
    mean: float | None
    hits: int
    n: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """All targets at one size.

    ``hits`` of the ``n`` futures that count meet every target and have the needed jobs done. ``recorded``: whether what
    was recorded does, None if there is no such future beside them. ``lacks``: jobs too few done, over all futures.
    ``why``: what made it fail beside its targets, else "". ``stopped``: the verdict was certain before all futures ran,
    and there are no numbers.
    """

    verdict: Verdict
    targets: tuple[TargetCheck, ...]
    hits: int
    n: int
    recorded: bool | None
    lacks: int
    why: str = ""
    stopped: bool = False

    def of(self, metric: str) -> TargetCheck:
        """Return the check of a metric's target; KeyError where it is no target."""
        for one in self.targets:
            if one.target.metric == metric:
                return one
        raise KeyError(metric)


def judge(rule: Rule, draws: Sequence[Replicate], error: str = "") -> Check:
    """Return the verdict on all futures of one size, in their order; ``error``: why the size cannot be run at all."""
    if not draws:
        nothing = tuple(TargetCheck(target, "fails", None, None, 0, 0, error) for target in rule.targets)
        return Check("fails" if error else "unsure", nothing, 0, 0, None, 0, error)
    checks = tuple(_target_check(rule, target, draws) for target in rule.targets)
    counted = rule.counted(draws)
    hits = sum(is_hit(rule.targets, draw) for draw in counted)
    recorded = is_hit(rule.targets, draws[0]) if rule.recorded else None
    why = _why(rule, draws)
    if why or recorded is False:
        verdict: Verdict = "fails"
    elif rule.claim == "nearly-every" or rule.exact:
        verdict = _of_share(rule, hits, len(counted))
    else:
        verdict = worst([check.verdict for check in checks])
    return Check(verdict, checks, hits, len(counted), recorded, sum(draw.lacks for draw in draws), why)


def decided(rule: Rule, draws: Sequence[Replicate], futures: int) -> bool | None:
    """Return whether a size meets its targets over so many futures, as far as some of them decide it; None = open.

    Never another verdict than that on all of them: what was recorded fails, too many miss, no more can miss, or the
    mean, or the interval around it, ends beyond a target whatever the others say.
    """
    if len(draws) == futures:
        return judge(rule, draws).verdict == "meets"
    if any(draw.audit for draw in draws):
        return False
    if rule.recorded and any(draw.seed == RECORDED and not is_hit(rule.targets, draw) for draw in draws):
        return False
    counted, whole = rule.counted(draws), futures - rule.recorded
    if rule.claim == "average":
        missing = any(draw.error for draw in draws) or any(values_of(draws, one.metric) is None for one in rule.targets)
        surely_beyond = _mean_beyond if rule.recorded else _interval_beyond
        beyond = any(surely_beyond(target, counted, whole) for target in rule.targets)
        return False if draws and (missing or beyond) else None
    hits, needed = sum(is_hit(rule.targets, draw) for draw in counted), math.ceil(rule.level * whole - ROUNDING)
    if hits + whole - len(counted) < needed:
        return False
    seen = not rule.recorded or len(counted) < len(draws)
    return True if seen and hits >= needed else None


def _mean_beyond(target: Target, draws: Sequence[Replicate], whole: int) -> bool:
    """Whether the mean over so many futures misses a target whatever those to come say."""
    values = [float(value) for draw in draws if (value := draw.values.get(target.metric)) is not None]
    least, most = possible(target.kpi, values)
    to_come = (whole - len(values)) * (least if target.side == "at most" else most) if whole > len(values) else 0.0
    return math.isfinite(to_come) and target.share_used((sum(values) + to_come) / whole) > 1 + ROUNDING


def _interval_beyond(target: Target, draws: Sequence[Replicate], whole: int) -> bool:
    """Whether the interval of the mean over so many futures ends beyond a target whatever those to come say.

    The end is the mean, plus or minus c times the root of the sum of squares around it, c = t / sqrt(n (n - 1)); that
    of a logarithm lies further out. It is convex in the values to come and alike in each, so that it is best with all
    of them equal. With k values seen of mean v and sum of squares S, and q = k (n - k) / n, they are then
    sqrt(S / (c^2 k^2 - q)) on the better side of v, or as good as they can be if that is no number.
    """
    values = np.array([float(value) for draw in draws if (value := draw.values.get(target.metric)) is not None])
    if _mean_beyond(target, draws, whole) or not len(values):
        return len(values) > 0
    sign = 1.0 if target.side == "at most" else -1.0
    least, most = possible(target.kpi, values.tolist())
    bound = sign * (least if sign > 0 else most)
    if not math.isfinite(bound):
        return False
    seen, left = sign * values, whole - len(values)
    squares, at = float(((seen - seen.mean()) ** 2).sum()), float(seen.mean())
    error = t_quantile(whole - 1) / math.sqrt(whole * (whole - 1))
    share = len(seen) * left / whole
    steep = (error * len(seen)) ** 2 - share
    to_come = max(bound, at - math.sqrt(squares / steep)) if steep > 0 else bound
    mean = (float(seen.sum()) + left * to_come) / whole
    end = sign * (mean + error * math.sqrt(squares + share * (to_come - at) ** 2))
    return target.share_used(min(max(end, least), most)) > 1 + SURELY


def promises(rule: Rule, draws: Sequence[Replicate]) -> bool:
    """Return whether a few futures look as if all of them would meet the targets: a guess to begin a search with."""
    if any(draw.error or draw.audit for draw in draws) or (rule.recorded and not is_hit(rule.targets, draws[0])):
        return False
    counted = rule.counted(draws) or list(draws)
    if rule.claim == "nearly-every":
        return sum(is_hit(rule.targets, draw) for draw in counted) >= rule.level * len(counted) - ROUNDING
    means = [(target, values_of(counted, target.metric)) for target in rule.targets]
    return all(values is not None and target.met_by(sum(values) / len(values)) for target, values in means)


def require_numbers(targets: Sequence[Target], draws: Sequence[Replicate]) -> None:
    """Raise InputError for a target that has no number in any of the draws though jobs were done."""
    done = [draw for draw in draws if draw.done]
    for target in targets:
        if done and all(draw.values.get(target.metric) is None for draw in done):
            why = f"{target.kpi.label} has no number on these jobs and machines"
            do = "Set what it needs (due dates, weights, prices), or take another target"
            raise InputError(f"target {target.metric}", why, do)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst of some verdicts: one that fails decides, then one that is unsure; of none it meets."""
    return min(verdicts, key=_WORST.index, default="meets")


def is_hit(targets: Sequence[Target], draw: Replicate) -> bool:
    """Whether one draw has the needed jobs done and meets all targets at once."""
    return not draw.error and not draw.lacks and all(_meets(target, draw) for target in targets)


def values_of(draws: Sequence[Replicate], metric: str) -> list[float] | None:
    """Return a metric of every draw; None if a draw has none: the others alone would be another set of draws."""
    values = [draw.values.get(metric) for draw in draws]
    return None if not values or any(value is None for value in values) else [float(value or 0.0) for value in values]


def estimate_of(rule: Rule, draws: Sequence[Replicate], metric: str) -> Estimate | None:
    """Return what is known of a metric over all futures of a size; None if one of them has no value."""
    values = values_of(draws, metric)
    return None if values is None else value_of(KPIS[metric], values, rule.basis)


def _target_check(rule: Rule, target: Target, draws: Sequence[Replicate]) -> TargetCheck:
    counted = rule.counted(draws)
    value = estimate_of(rule, draws, target.metric)
    values = values_of(counted, target.metric)
    hits = sum(_meets(target, draw) for draw in counted)
    missing = sum(draw.values.get(target.metric) is None for draw in draws)
    why = f"no value in {missing:,} of {amount(len(draws), 'future')}" if missing else ""
    if rule.recorded and not _meets(target, draws[0]):
        verdict: Verdict = "fails"
    elif rule.claim == "nearly-every" or rule.exact:
        verdict = _of_share(rule, hits, len(counted))
    elif values is None or value is None:
        verdict = "fails"
    else:
        verdict = _of_mean(target, values) if rule.recorded else _of_interval(target, value)
    mean = None if values is None else sum(values) / len(values)
    return TargetCheck(target, verdict, value, mean, hits, len(counted), why)


def _meets(target: Target, draw: Replicate) -> bool:
    value = draw.values.get(target.metric)
    return not draw.error and value is not None and target.met_by(value)


def _of_mean(target: Target, values: Sequence[float]) -> Verdict:
    """Judge by the mean over months reshuffled from a trace; it fails only where it is well outside the limit."""
    mean = mean_interval(values)
    if target.met_by(mean.mean):
        return "meets"
    return "fails" if mean.tells_apart(target.limit) else "unsure"


def _of_interval(target: Target, value: Estimate) -> Verdict:
    """Judge by both ends of the interval of the mean: inside the limit, outside, or on both sides of it."""
    if value.low is None or value.high is None:  # one future of something random
        return "unsure"
    ends = target.met_by(value.low), target.met_by(value.high)
    return "meets" if all(ends) else "unsure" if any(ends) else "fails"


def _of_share(rule: Rule, hits: int, n: int) -> Verdict:
    """Judge by the share of futures seen; it fails only where the whole interval of that share is below the level."""
    if hits >= rule.level * n - ROUNDING:
        return "meets"
    return "fails" if rule.exact or binomial_interval(hits, n)[1] < rule.level else "unsure"


def _why(rule: Rule, draws: Sequence[Replicate]) -> str:
    """Return what makes a size fail whatever its targets say: a run the audit refuses, or jobs left undone."""
    refused = next((draw for draw in draws if draw.audit), None)
    if refused is not None:
        return f"the audit found a violation in future {refused.seed}: {refused.audit[0]}"
    if rule.claim == "nearly-every":  # such a future is none that meets the targets
        return ""
    ended = next((draw for draw in draws if draw.error), None)
    if ended is not None:
        return f"the run of future {ended.seed} failed: {ended.error}"
    lacks = sum(draw.needed - draw.done for draw in draws)
    return f"{amount(lacks, 'job')} fewer done over {amount(len(draws), 'future')} than needed" if lacks > 0 else ""
