"""What a policy saves against another one, and how much lower the proven bound says it could be at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlsched.metrics.kpi import KPIS
from dlsched.metrics.limits import COST, limited
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.statements import Change, Estimate, change_of, value_of
from dlsched.wording.certainty import value_words
from dlsched.wording.formats import MISSING, Number, listed, money, share

MOST_TOLD = 4
TOTAL, MACHINES, LATENESS, BOUND = "total_cost", "vm_cost", "tardiness_cost", "total_cost_bound"
TOTAL_COST = KPIS[TOTAL]
COST_PARTS = {MACHINES: "machines", LATENESS: "lateness", "rejection_cost": "rejections"}
"""What a total cost consists of, in words."""

Draws = Sequence[Mapping[str, Number]]
"""The metrics of each future of a run."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Share of another run's total cost that a run saves, with its interval (the share itself where there is none).

    ``change`` is that of the total cost in $, whose verdict is the verdict of the saving.
    """

    share: float
    low: float
    high: float
    change: Change

    @property
    def is_told(self) -> bool:
        """Whether it is sure that the run costs less, or that it costs more."""
        return self.change.verdict in ("better", "worse")


Savings = Mapping[tuple[str, str], Saving | None]
"""(Run, other run) -> what the first saves against the second."""


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run costs, $: by part (``COST_PARTS``), in total, and the proven bound on the total.

    Of the recorded month where there is one, else means over futures.
    """

    name: str
    parts: Mapping[str, float]
    total: Estimate
    bound: float | None


def gain_words(metrics: Mapping[str, Number]) -> str:
    """Return "total cost could be up to 12% lower: no policy can do it for less than $6,100"; "" without a bound."""
    found = limited(COST, metrics)
    return "" if found is None else f"total cost {found.words}"


def cost_words(metrics: Mapping[str, Number]) -> str:
    """Return "$26,800 in all: $9,040 for machines and $17,700 for lateness"; parts of $0 are left out."""
    there = [(key, word) for key, word in COST_PARTS.items() if metrics.get(key)]
    total = f"{money(metrics.get(TOTAL))} in all"
    if len(there) < 2:
        return total + (f", all of it for {there[0][1]}" if there else "")
    return f"{total}: {listed([f'{money(metrics[key])} for {word}' for key, word in there])}"


def saving(ours: Sequence[float], theirs: Sequence[float], basis: Basis) -> Saving | None:
    """Return what ours saves of theirs, future by future; None if theirs cost nothing."""
    base = value_of(TOTAL_COST, theirs, basis).value
    if base <= 0:
        return None
    change = change_of(TOTAL_COST, ours, theirs, basis)
    more, least, most = change.shares_of(base)
    return Saving(-more, -most, -least, change)


def saved_shares(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return (theirs - ours) / theirs of each pair; theirs above 0."""
    return [(other - this) / other for this, other in zip(ours, theirs, strict=True)]


def saving_words(of: Saving | None) -> str:
    """Return a saving for a table: "saves 38% (34% to 42%)", "costs 13% (8% to 16%) more"; a dash where there is none.

    Where the interval holds both: "not clear (costs 2% more to saves 7%)".
    """
    if of is None:
        return MISSING
    if of.low < 0 < of.high:
        return f"not clear (costs {share(-of.low)} more to saves {share(of.high)})"
    if of.share < 0:
        return f"costs {value_words('share', -of.share, -of.high, -of.low)} more"
    return f"saves {value_words('share', of.share, of.low, of.high)}"


def savings_sentence(costs: Sequence[RunCost], found: Savings, baseline: str, certainty: str) -> str:
    """Return what each run saves against the baseline, most first, what no policy can beat, and how sure that is.

    "Against EDF ($56,100), PR saves 75% (72% to 78%) and PS costs 12% (8% to 16%) more; whether LAS saves is not clear;
    no policy can save more than 80% (95% interval over 3 simulated versions of the workload)."
    """
    base = next(cost for cost in costs if cost.name == baseline)
    pairs = [(cost.name, of) for cost in costs if (of := found.get((cost.name, baseline))) is not None]
    pairs.sort(key=lambda pair: -pair[1].share)
    same = [name for name, of in pairs if of.change.verdict == "same" or (not of.change.value and of.low == of.high)]
    unsure = [name for name, of in pairs if name not in same and not of.is_told and of.change.verdict != "rough"]
    told = [f"{name} {saving_words(of)}" for name, of in pairs if name not in same and name not in unsure]
    if len(told) > MOST_TOLD:
        told[MOST_TOLD - 1 :] = [f"{len(told) - MOST_TOLD + 1} more in the table"]
    parts = [listed(told)] if told else []
    parts += [f"{listed(same)} {'cost' if len(same) > 1 else 'costs'} the same"] if same else []
    parts += [f"whether {listed(unsure)} {'save' if len(unsure) > 1 else 'saves'} is not clear"] if unsure else []
    if base.bound is not None and base.total.value > 0:
        parts.append(f"no policy can save more than {share(max(0.0, 1.0 - base.bound / base.total.value))}")
    return f"Against {baseline} ({money(base.total.value)}), {'; '.join(parts)} ({certainty})."


def run_costs(runs: Sequence[tuple[str, Draws]], basis: Basis) -> list[RunCost]:
    """Return the costs of the runs that have one in every future, in the given order."""
    found = []
    for name, futures in runs:
        totals = [future.get(TOTAL) for future in futures]
        if not totals or any(total is None for total in totals):
            continue
        told = futures if basis.kind == "drawn" else futures[:1]
        bounds = [float(bound) for future in told if (bound := future.get(BOUND)) is not None]
        found.append(
            RunCost(
                name,
                {key: sum(float(future.get(key) or 0.0) for future in told) / len(told) for key in COST_PARTS},
                value_of(TOTAL_COST, [float(total or 0.0) for total in totals], basis),
                sum(bounds) / len(told) if len(bounds) == len(told) else None,
            )
        )
    return found


def savings(runs: Sequence[tuple[str, Draws]], basis: Basis) -> Savings:
    """Return (run, other run) -> what the first saves against the second in paired futures; runs without cost out."""
    totals = {
        name: [float(future[TOTAL] or 0.0) for future in futures]
        for name, futures in runs
        if futures and all(future.get(TOTAL) is not None for future in futures)
    }
    return {
        (this, other): saving(ours, theirs, basis)
        for this, ours in totals.items()
        for other, theirs in totals.items()
        if this != other
    }
