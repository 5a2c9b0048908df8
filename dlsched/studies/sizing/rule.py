"""Whether a cluster meets its targets: the verdict on replicated draws, under one of two claims (decision 026)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.metrics.stats.intervals import LEVEL, Interval, binomial_interval, mean_interval
from dlsched.studies.sizing.targets import Target
from dlsched.wording.formats import amount

Verdict = Literal["meets", "fails", "unsure"]
Claim = Literal["average", "nearly-every"]
CLAIMS: Mapping[Claim, str] = {"average": "in the average month", "nearly-every": "in nearly every month"}
"""What is claimed of a size, as sentences say it. A draw stands for a month, however long the jobs last."""
_WORST: tuple[Verdict, ...] = ("fails", "unsure", "meets")


class Replicate(FrozenModel):
    """What one run says: metrics by key, None where undefined.

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


class Rule(FrozenModel):
    """What is asked of a size.

    ``average``: the mean over draws meets every target. ``nearly-every``: a share ``level`` of draws meets them all at
    once. ``exact``: nothing is random, one draw says all.
    """

    targets: tuple[Target, ...] = Field(min_length=1, max_length=8)
    claim: Claim = "average"
    level: float = Field(0.95, gt=0, lt=1, description="Share of draws that must meet the targets.")
    exact: bool = False

    @model_validator(mode="after")
    def _differ(self) -> Self:
        metrics = [target.metric for target in self.targets]
        twice = [metric for metric in metrics if metrics.count(metric) > 1]
        if twice:
            raise ValueError(f"targets must be of different metrics, {twice[0]} is there twice")
        return self


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One target at one size: its verdict, the mean over draws (None where a draw has none), draws that meet it.

    ``why``: what made it fail beside the numbers, else "".
    """

    target: Target
    verdict: Verdict
    mean: Interval | None
    hits: int
    n: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """All targets at one size.

    ``hits`` of ``n`` draws meet every target and have the needed jobs done, in share between ``low`` and ``high`` (the
    exact binomial interval; 0 and 1 without draws). ``lacks``: jobs too few done, over all draws. ``why``: what made
    it fail beside its targets, else "".
    """

    verdict: Verdict
    targets: tuple[TargetCheck, ...]
    hits: int
    n: int
    low: float
    high: float
    lacks: int
    why: str = ""

    def of(self, metric: str) -> TargetCheck:
        """Return the check of a metric's target; KeyError where it is no target."""
        for one in self.targets:
            if one.target.metric == metric:
                return one
        raise KeyError(metric)


def judge(rule: Rule, draws: Sequence[Replicate], error: str = "") -> Check:
    """Return the verdict on the draws of one size; ``error``: why the size cannot be run at all."""
    if not draws:
        nothing = tuple(TargetCheck(target, "fails", None, 0, 0, error) for target in rule.targets)
        return Check("fails" if error else "unsure", nothing, 0, 0, 0.0, 1.0, 0, error)
    checks = tuple(_target_check(rule, target, draws) for target in rule.targets)
    hits = sum(is_hit(rule.targets, draw) for draw in draws)
    low, high = binomial_interval(hits, len(draws))
    if rule.exact:
        low = high = hits / len(draws)
    why = _why(rule, draws)
    if why:
        verdict: Verdict = "fails"
    elif rule.claim == "nearly-every":
        verdict = _of_share(rule, hits, len(draws))
    else:
        verdict = worst([check.verdict for check in checks])
    return Check(verdict, checks, hits, len(draws), low, high, sum(draw.lacks for draw in draws), why)


def require_numbers(targets: Sequence[Target], draws: Sequence[Replicate]) -> None:
    """Raise InputError for a target that has no number in any of the draws though jobs were done."""
    done = [draw for draw in draws if draw.done]
    for target in targets:
        if done and all(draw.values.get(target.metric) is None for draw in done):
            why = f"{target.kpi.label} has no number on these jobs and machines"
            do = "Set what it needs (due times, weights, prices), or take another target"
            raise InputError(f"target {target.metric}", why, do)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst of some verdicts: one that fails decides, then one that is unsure; of none it meets."""
    return min(verdicts, key=_WORST.index, default="meets")


def is_hit(targets: Sequence[Target], draw: Replicate) -> bool:
    """Whether one draw has the needed jobs done and meets all targets at once."""
    return not draw.error and not draw.lacks and all(_meets(target, draw) for target in targets)


def values_of(draws: Sequence[Replicate], metric: str) -> list[float] | None:
    """Return a metric of every draw; None where a draw has none: the others alone would be another set of draws."""
    values = [draw.values.get(metric) for draw in draws]
    return None if not values or any(value is None for value in values) else [float(value or 0.0) for value in values]


def mean_of(draws: Sequence[Replicate], metric: str, *, exact: bool = False) -> Interval | None:
    """Return the mean over draws with its 95% interval, without width where ``exact``; None where a draw has none."""
    values = values_of(draws, metric)
    if values is None:
        return None
    return Interval(values[0], 0.0, len(values), LEVEL) if exact else mean_interval(values)


def _target_check(rule: Rule, target: Target, draws: Sequence[Replicate]) -> TargetCheck:
    mean = mean_of(draws, target.metric, exact=rule.exact)
    hits, n = sum(_meets(target, draw) for draw in draws), len(draws)
    missing = sum(draw.values.get(target.metric) is None for draw in draws)
    why = f"no value in {missing:,} of {amount(n, 'draw')}" if missing else ""
    if rule.claim == "nearly-every":
        verdict = _of_share(rule, hits, n)
    else:
        verdict = "fails" if mean is None else _of_mean(target, mean)
    return TargetCheck(target, verdict, mean, hits, n, why)


def _meets(target: Target, draw: Replicate) -> bool:
    value = draw.values.get(target.metric)
    return not draw.error and value is not None and target.met_by(value)


def _of_mean(target: Target, mean: Interval) -> Verdict:
    """Judge by both ends of the interval: inside the limit, outside, or on both sides of it."""
    if mean.low is None or mean.high is None:  # one draw of something random
        return "unsure"
    ends = target.met_by(mean.low), target.met_by(mean.high)
    return "meets" if all(ends) else "unsure" if any(ends) else "fails"


def _of_share(rule: Rule, hits: int, n: int) -> Verdict:
    """Judge by the share of draws seen; it fails only where the whole interval is below the level."""
    if hits >= rule.level * n - 1e-9:
        return "meets"
    return "fails" if rule.exact or binomial_interval(hits, n)[1] < rule.level else "unsure"


def _why(rule: Rule, draws: Sequence[Replicate]) -> str:
    """Return what makes a size fail whatever its targets say: a run the audit refuses, or jobs left undone."""
    refused = next((draw for draw in draws if draw.audit), None)
    if refused is not None:
        return f"the audit found a violation in draw {refused.seed}: {refused.audit[0]}"
    if rule.claim == "nearly-every":  # such a draw is none that meets the targets
        return ""
    ended = next((draw for draw in draws if draw.error), None)
    if ended is not None:
        return f"the run of draw {ended.seed} failed: {ended.error}"
    lacks = sum(draw.needed - draw.done for draw in draws)
    return f"{amount(lacks, 'job')} fewer done over {amount(len(draws), 'draw')} than needed" if lacks > 0 else ""
