"""What a policy saves against another one, and how much the proven bound leaves to gain at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlsched.metrics.limits import COST, NOTHING_LEFT, limited
from dlsched.metrics.stats.intervals import Interval, mean_interval
from dlsched.wording.formats import MISSING, Number, listed, money, share, show_interval

MOST_TOLD = 4
TOTAL, MACHINES, LATENESS, BOUND = "total_cost", "vm_cost", "tardiness_cost", "total_cost_bound"
COST_PARTS = {MACHINES: "machines", LATENESS: "lateness", "rejection_cost": "rejections"}
"""What a total cost consists of, in words."""

Draws = Sequence[Mapping[str, Number]]
"""The metrics of each draw of a run."""
Savings = Mapping[tuple[str, str], Interval | None]
"""(Run, other run) -> share of the other's total cost that the first saves."""


@dataclass(frozen=True, slots=True)
class RunCost:
    """Mean costs of a run over its draws, $: by part (``COST_PARTS``), in total, and the proven bound on the total."""

    name: str
    parts: Mapping[str, float]
    total: Interval
    bound: float | None


def gain_words(metrics: Mapping[str, Number]) -> str:
    """Return "at most 12% left to gain: no policy can do it for less than $6,100"; "" without a bound."""
    found = limited(COST, metrics)
    return "" if found is None else found.words


def cost_words(metrics: Mapping[str, Number]) -> str:
    """Return "$26,800 in all: $9,040 for machines and $17,700 for lateness"; parts of $0 are left out."""
    there = [(key, word) for key, word in COST_PARTS.items() if metrics.get(key)]
    total = f"{money(metrics.get(TOTAL))} in all"
    if len(there) < 2:
        return total + (f", all of it for {there[0][1]}" if there else "")
    return f"{total}: {listed([f'{money(metrics[key])} for {word}' for key, word in there])}"


def saving(ours: Sequence[float], theirs: Sequence[float], *, exact: bool = False) -> Interval | None:
    """Return the mean over paired draws of (theirs - ours) / theirs; None where a draw of theirs cost nothing.

    ``exact``: nothing is random, so that a single draw has no uncertainty.
    """
    if any(cost <= 0 for cost in theirs):
        return None
    return _sure(mean_interval(saved_shares(ours, theirs)), exact=exact)


def saved_shares(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return (theirs - ours) / theirs of each paired draw; theirs above 0."""
    return [(other - this) / other for this, other in zip(ours, theirs, strict=True)]


def _sure(of: Interval, *, exact: bool) -> Interval:
    """Return the interval; a single draw of what is not random has no width."""
    return Interval(of.mean, 0.0, 1) if exact and of.n == 1 else of


def saving_words(of: Interval | None) -> str:
    """Return a saving for a table: "saves 38% ± 4 pp", or "costs 13% ± 2 pp more"; a dash where there is none."""
    if of is None:
        return MISSING
    size = show_interval("share", abs(of.mean), of.half_width)
    return f"costs {size} more" if of.mean < 0 else f"saves {size}"


def savings_sentence(
    costs: Sequence[RunCost], found: Savings, baseline: str, certainty: str, dollars: Mapping[str, float] | None = None
) -> str:
    """Return what each run saves against the baseline, most first, how much nobody can save, and how sure that is.

    "Against EDF ($56,100), PR saves 75% ± 3 pp, RG saves 74% ± 3 pp and PS costs 12% ± 4 pp more; LAS and FIFO are not
    distinguishable; nobody can save more than 80% (95%, 3 paired draws)." ``dollars``: by run, the difference from the
    baseline where that is told apart from 0; it is named where the share is not.
    """
    dollars = dollars or {}
    base = next(cost for cost in costs if cost.name == baseline)
    pairs = [(cost.name, of) for cost in costs if (of := found.get((cost.name, baseline))) is not None]
    pairs.sort(key=lambda pair: -pair[1].mean)
    same = [name for name, of in pairs if of.half_width == 0 and abs(of.mean) < NOTHING_LEFT]
    vague = [name for name, of in pairs if of.half_width and not of.tells_apart()]
    unsure = [name for name in vague if name not in dollars]
    sizes = {
        name: money(abs(dollars[name])) if name in vague else show_interval("share", abs(of.mean), of.half_width)
        for name, of in pairs
        if name not in same and name not in unsure
    }
    saves = {name: dollars[name] < 0 if name in vague else of.mean > 0 for name, of in pairs if name in sizes}
    told = [f"{name} saves {size}" if saves[name] else f"{name} costs {size} more" for name, size in sizes.items()]
    if len(told) > MOST_TOLD:
        told[MOST_TOLD - 1 :] = [f"{len(told) - MOST_TOLD + 1} more in the table"]
    parts = [listed(told)] if told else []
    parts += [f"{listed(same)} {'cost' if len(same) > 1 else 'costs'} the same"] if same else []
    parts += [f"{listed(unsure)} {'are' if len(unsure) > 1 else 'is'} not distinguishable"] if unsure else []
    if base.bound is not None and base.total.mean > 0:
        parts.append(f"nobody can save more than {share(max(0.0, 1.0 - base.bound / base.total.mean))}")
    return f"Against {baseline} ({money(base.total.mean)}), {'; '.join(parts)} ({certainty})."


def run_costs(runs: Sequence[tuple[str, Draws]], *, exact: bool = False) -> list[RunCost]:
    """Return the costs of the runs that have one in every draw, in the given order."""
    found = []
    for name, draws in runs:
        totals = [draw.get(TOTAL) for draw in draws]
        if not totals or any(total is None for total in totals):
            continue
        total = mean_interval([float(value or 0.0) for value in totals])
        bounds = [draw.get(BOUND) for draw in draws]
        known = [float(value) for value in bounds if value is not None]
        parts = {key: sum(float(draw.get(key) or 0.0) for draw in draws) / len(draws) for key in COST_PARTS}
        found.append(
            RunCost(
                name, parts, _sure(total, exact=exact), sum(known) / len(known) if len(known) == len(bounds) else None
            )
        )
    return found


def savings(runs: Sequence[tuple[str, Draws]], *, exact: bool = False) -> Savings:
    """Return (run, other run) -> what the first saves against the second, over paired draws; runs without cost out."""
    totals = {
        name: [float(draw[TOTAL] or 0.0) for draw in draws]
        for name, draws in runs
        if draws and all(draw.get(TOTAL) is not None for draw in draws)
    }
    return {
        (this, other): saving(ours, theirs, exact=exact)
        for this, ours in totals.items()
        for other, theirs in totals.items()
        if this != other
    }
