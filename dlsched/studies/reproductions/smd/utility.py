"""Figs 7 to 10 of the SMD study: total utility over capacity and over the number of jobs.

Every policy is judged with every admission rule on the same batches, as the study does not say how Optimus and ESW
admit jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.reproductions.claims import Check, above, as_numbers, mean_words, nested, outcome_of, surely_above
from dlsched.studies.reproductions.paired import PairedStudy, by_cell
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Reproduction, Setting
from dlsched.studies.reproductions.smd.batch import (
    ADMISSIONS,
    METHODS,
    PAPER,
    UNIT_OF_CAPACITY,
    Admission,
    Policy,
    admitted,
    draw_batch,
)
from dlsched.wording.formats import amount, share
from dlsched.workload.studies.smd import ServerJobsSpec, assumptions_of

QUICK_SEEDS, SEEDS = tuple(range(1, 11)), tuple(range(1, 51))
FAR = 0.05
"""SMD "significantly outperforms" where it is surely more than this share above; the study gives no number."""
TIED = 0.005
"""Optimus ties SMD where no batch sets them further apart, as a share of SMD's utility."""
RIVALS: tuple[Policy, ...] = ("Optimus", "ESW")
Updates = Literal["async", "sync"]
Axis = Literal["units", "jobs"]


class Size(NamedTuple):
    """A point of a figure: so many jobs on so many units of capacity."""

    jobs: int
    units: int


OVER_UNITS = tuple(Size(50, units) for units in range(1, 6))
"""Capacities of the study."""
OVER_JOBS = tuple(Size(jobs, 3) for jobs in range(20, 101, 20))
"""Assumed: what is printed of the study names neither the numbers of jobs nor the capacity."""


Cell = tuple[Size, Policy, Admission]


@dataclass(frozen=True)
class UtilityStudy(PairedStudy[Cell, float]):
    """Total utilities by size, policy and admission, over the seeds."""

    sizes: tuple[Size, ...]
    seeds: tuple[int, ...]

    def total(self, size: Size, policy: Policy, admission: Admission) -> Interval:
        """Return the mean total utility."""
        return self.mean((size, policy, admission))

    def gain(self, size: Size, other: Policy, admission: Admission, far: float = 0.0) -> Interval:
        """Return SMD's total utility, with the knapsack, minus 1 + ``far`` times another total; paired by seed."""
        return self.difference((size, "SMD", "knapsack"), (size, other, admission), times=1 + far)

    def growth_with_size(self, rival: Policy, admission: Admission) -> Interval:
        """Return how much larger SMD's gain is at the largest size than at the smallest; paired by seed."""
        return self.growth([((size, "SMD", "knapsack"), (size, rival, admission)) for size in self.sizes])

    def furthest(self, rival: Policy, admission: Admission) -> float:
        """Return how far a batch sets SMD and a rival with equal admission apart at most, as a share of SMD's."""
        pairs = [self.pair((size, "SMD", admission), (size, rival, admission)) for size in self.sizes]
        apart = [abs(ours - theirs) / np.where(ours > 0, ours, 1.0) for ours, theirs in pairs]
        return float(np.max(apart))


def run_study(setting: Setting, updates: Updates, sizes: Sequence[Size]) -> UtilityStudy:
    """Return the total utilities at all sizes; fewer jobs are the first ones of a batch."""
    seeds = QUICK_SEEDS if setting.quick else SEEDS
    spec = ServerJobsSpec(jobs=max(size.jobs for size in sizes), updates=updates)
    totals: list[tuple[Cell, float]] = []
    for number, seed in enumerate(seeds, 1):
        batch = draw_batch(spec, seed)
        for policy in METHODS:
            value = batch.value(batch.choices(policy))
            for size in sizes:
                offered = value[: size.jobs], batch.reserved[: size.jobs], size.units * UNIT_OF_CAPACITY
                for admission in ADMISSIONS:
                    total = float(offered[0][admitted(*offered, admission)].sum())
                    totals.append(((size, policy, admission), total))
        setting.tell(number, len(seeds), "batches")
    return UtilityStudy(by_cell(totals), tuple(sizes), seeds)


def figure(setting: Setting, updates: Updates, axis: Axis) -> Outcome:
    """Return one of Figs 7 to 10: over units of capacity or over jobs."""
    study = run_study(setting, updates, OVER_UNITS if axis == "units" else OVER_JOBS)
    sample = (
        f"Means over {amount(len(study.seeds), 'seed')}, the same jobs under every policy; ± is the 95% interval, of "
        "differences paired by seed; a part of the claim counts as seen where all of it agrees."
    )
    assumed = _words_of_assumptions(study, updates, axis)
    return outcome_of(_ours(study, axis), checks_of(study, axis), data_of(study, axis), sample, assumed)


def checks_of(study: UtilityStudy, axis: Axis) -> list[Check]:
    """Return the parts of the claim, with both ways to read whom SMD is compared with."""
    both: tuple[Admission, ...] = ("first come", "knapsack")
    checks = []
    for admission in both:
        for rival in RIVALS:
            name = _name(rival, admission)
            for size in study.sizes:
                ours, theirs = study.total(size, "SMD", "knapsack").mean, study.total(size, rival, admission).mean
                where = f"{_at(size, axis)} ({ours:.1f} and {theirs:.1f})"
                text = f"SMD more than {FAR:.0%} above {name}, at"
                checks.append(above(text, study.gain(size, rival, admission, FAR), where))
            first, last = _at(study.sizes[0], axis), _at(study.sizes[-1], axis)
            grown = study.growth_with_size(rival, admission)
            text = f"more gained on {name} at {last} than at {first} (by {mean_words(grown)})"
            # What two tied policies gain on each other is no matter of more draws.
            visible = TIED * study.total(study.sizes[-1], "SMD", "knapsack").mean
            checks.append(Check(text, surely_above(grown), unsure=grown.high is None or grown.high > visible))
    return checks


def data_of(study: UtilityStudy, axis: Axis) -> dict[str, Any]:
    """Return all numbers by policy, admission and size."""
    by_size = {str(getattr(size, axis)): size for size in study.sizes}

    def numbers(mean: Callable[[Size, Policy, Admission], Interval]) -> Any:
        return nested(
            lambda policy, admission, size: as_numbers(mean(size, policy, admission)),
            tuple(METHODS),
            ADMISSIONS,
            by_size,
        )

    return {
        "over": axis,
        "sizes": [size._asdict() for size in study.sizes],
        "seeds": list(study.seeds),
        "total_utility": numbers(study.total),
        "smd_with_knapsack_minus": numbers(study.gain),
        "furthest_apart_with_equal_admission": nested(study.furthest, RIVALS, ADMISSIONS),
    }


def tie_sentence(study: UtilityStudy) -> str:
    """Return whether Optimus ties SMD where both admit jobs alike."""
    apart = max(study.furthest("Optimus", admission) for admission in ADMISSIONS)
    count = f"{len(study.seeds) * len(study.sizes):,} batches"
    if apart <= TIED:
        most = "under 0.01%" if apart < 1e-4 else f"at most {share(apart)}"
        return f"With equal admission Optimus ties SMD within {share(TIED)}: {most} apart in any of {count}."
    return f"With equal admission Optimus does not tie SMD within {share(TIED)}: up to {share(apart)} apart in {count}."


def admission_sentence(study: UtilityStudy) -> str:
    """Return how much of SMD's gain on Optimus (first come) its admission alone makes, over all sizes."""
    whole = sum(study.gain(size, "Optimus", "first come").mean for size in study.sizes)
    alone = sum(study.gain(size, "SMD", "first come").mean for size in study.sizes)
    if whole <= 0:
        return "SMD gains nothing on Optimus (first come)."
    return f"Of SMD's gain on Optimus (first come), about {share(alone / whole)} comes from admission control."


def _ours(study: UtilityStudy, axis: Axis) -> str:
    sizes = study.sizes[:: max(1, len(study.sizes) // 2)]
    best = ", ".join(mean_words(study.total(size, "SMD", "knapsack")) for size in sizes)
    others = [(policy, admission) for admission in ADMISSIONS for policy in METHODS]

    def row(policy: Policy, admission: Admission) -> str:
        cells = (
            f"{study.total(size, policy, admission).mean:.1f} ({mean_words(study.gain(size, policy, admission))} less)"
            for size in sizes
        )
        return f"{_name(policy, admission)} {', '.join(cells)}"

    rows = "; ".join(row(*other) for other in others[1:])
    at = ", ".join(str(getattr(size, axis)) for size in sizes)
    totals = f"Total utility at {at} {axis}: SMD (knapsack) {best}; {rows}."
    return f"{totals} {admission_sentence(study)} {tie_sentence(study)}"


def _at(size: Size, axis: Axis) -> str:
    return amount(size.units, "unit") if axis == "units" else amount(size.jobs, "job")


def _name(policy: Policy, admission: Admission) -> str:
    return f"{policy} ({admission})"


def _words_of_assumptions(study: UtilityStudy, updates: Updates, axis: Axis) -> str:
    size = study.sizes[0]
    given = [f"{size.jobs} jobs, as in the study"] if axis == "units" else [f"{size.units} units of capacity"]
    if axis == "jobs":
        given.append(
            "numbers of jobs are ours, and first come gains nothing by jobs behind those that fill the capacity"
        )
    given += [
        *assumptions_of(ServerJobsSpec(updates=updates)),
        "SMD chooses the exact optimum of both its problems",
        "first come stops at the first job that does not fit, or lets others pass; the study does not say how its "
        "rivals admit",
        f"'significantly' read as more than {FAR:.0%}",
    ]
    return f"Assumed: {'; '.join(given)}."


def _reproduction(number: int, updates: Updates, axis: Axis, time: CpuTime) -> Reproduction:
    kind = "Asynchronous" if updates == "async" else "Synchronous"
    over = "1 to 5 units of capacity" if axis == "units" else "all numbers of jobs"
    more = "capacity" if axis == "units" else "jobs"
    claim = f"{kind} jobs: SMD's total utility is far above Optimus' and ESW's at {over}, by more the more {more}."
    compute = partial(figure, updates=updates, axis=axis)
    return PAPER.figure(number, claim, compute, time)


UTILITY = (
    _reproduction(7, "async", "units", CpuTime(0.65, 2.9)),
    _reproduction(8, "sync", "units", CpuTime(0.54, 2.8)),
    _reproduction(9, "async", "jobs", CpuTime(0.71, 4.1)),
    _reproduction(10, "sync", "jobs", CpuTime(0.69, 4.3)),
)
