"""Fig. 11 of the SMD study: what its approximations reach of the optimum, beside what its theorem promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dlsched.domain.workload import RESOURCES, Floats
from dlsched.policies.smd import knapsack
from dlsched.policies.smd.problem import Choice
from dlsched.policies.smd.rounding import theorem_4_ratio
from dlsched.studies.reproductions.claims import Check, above, as_numbers, mean_words, nested, outcome_of
from dlsched.studies.reproductions.paired import PairedStudy, by_cell
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Setting
from dlsched.studies.reproductions.smd.batch import (
    DRAWS,
    EPSILON,
    INSTANCES,
    M_DELTA,
    PAPER,
    UNIT_OF_CAPACITY,
    Batch,
    approximated,
    draw_batch,
    instance_of,
)
from dlsched.wording.formats import PLUS_MINUS, amount
from dlsched.workload.studies.smd import ServerJobsSpec, assumptions_of

QUICK_SEEDS, SEEDS = tuple(range(1, 11)), tuple(range(1, 51))
JOBS = (10, 20, 30, 40, 50)
DELTA = 1.0
"""Of Theorem 4; 1 promises most of all."""
DECIMALS = 6
SUBSETS = 1
"""Jobs taken for sure at a time by the scheme of Frieze and Clarke."""

Updates = Literal["async", "sync"]
KINDS: tuple[Updates, ...] = ("async", "sync")
STUDY, ONE_DRAW, EXACT_OUTER, EXACT_INNER, TIGHT, EXACT = (
    "approximations",
    "approximations, one random rounding",
    "exact admission",
    "exact workers and servers",
    "exact workers and servers, one unit of capacity",
    "exact workers, servers and admission",
)
VARIANTS = (STUDY, ONE_DRAW, EXACT_OUTER, EXACT_INNER, TIGHT, EXACT)


BOUND = "bound of the theorem"
Cell = tuple[str, Updates, int]
"""Which of ``VARIANTS``, or ``BOUND`` for the theorem's bound of the same jobs; updates; number of jobs."""


@dataclass(frozen=True)
class RatioStudy(PairedStudy[Cell, float]):
    """Ratios of SMD's utility to the optimum, over the seeds.

    ``unbound`` is the number of batches all jobs of which fit together.
    """

    seeds: tuple[int, ...]
    unbound: int

    def least(self, variant: str, updates: Updates) -> float:
        """Return the least ratio of any batch."""
        return min(min(self.results[variant, updates, jobs]) for jobs in JOBS)


def run_study(setting: Setting) -> RatioStudy:
    """Return all ratios; fewer jobs are the first ones of a batch."""
    seeds = QUICK_SEEDS if setting.quick else SEEDS
    ratios: list[tuple[Cell, float]] = []
    unbound = 0
    for number, seed in enumerate(seeds, 1):
        for updates in KINDS:
            spec = ServerJobsSpec(jobs=max(JOBS), updates=updates)
            batch, capacity = draw_batch(spec, seed), INSTANCES * instance_of(spec)
            chosen = batch.choices("SMD")
            values = {
                "exact": batch.value(chosen),
                "all draws": batch.value(approximated(batch.problems, seed)),
                "one draw": batch.value(approximated(batch.problems, seed, draws=1)),
            }
            for jobs in JOBS:
                reserved = batch.reserved[:jobs]
                first = {name: value[:jobs] for name, value in values.items()}
                by_variant = _ratios(first, reserved, capacity)
                by_variant[BOUND] = float(theorem_5(batch, chosen)[:jobs].min() / first["exact"].max())
                ratios += [((variant, updates, jobs), ratio) for variant, ratio in by_variant.items()]
                unbound += bool((reserved.sum(axis=0) <= capacity).all())
        setting.tell(number, len(seeds), "seeds")
    return RatioStudy(by_cell(ratios), seeds, unbound)


def theorem_5(batch: Batch, best: Sequence[Choice]) -> Floats:
    """Return mu_i(tau_i (1 + eps1) (24 / M + 4) / delta) (1 - eps2) of each job, (I,).

    The least over the jobs, by the largest utility there is, is the share of the optimum that Theorem 5 promises.
    """
    longer = (1 + EPSILON) * theorem_4_ratio(M_DELTA, DELTA)
    return batch.value(best, longer) * (1 - EPSILON)


def _ratios(value: Mapping[str, Floats], reserved: Floats, capacity: Floats) -> dict[str, float]:
    def total(name: str, method: knapsack.Method, room: Floats) -> float:
        return knapsack.solve(value[name], reserved, room, method, SUBSETS).value

    best = total("exact", "exact", capacity)
    tight = total("exact", "exact", UNIT_OF_CAPACITY)
    return {
        STUDY: total("all draws", "frieze-clarke", capacity) / best,
        ONE_DRAW: total("one draw", "frieze-clarke", capacity) / best,
        EXACT_OUTER: total("all draws", "exact", capacity) / best,
        EXACT_INNER: total("exact", "frieze-clarke", capacity) / best,
        TIGHT: total("exact", "frieze-clarke", UNIT_OF_CAPACITY) / tight,
        EXACT: 1.0,
    }


def figure_11(setting: Setting) -> Outcome:
    """Return the ratio over the number of jobs."""
    study = run_study(setting)
    basis, assumed = f"{_reading(study)} {_rounding(study)}", _words_of_assumptions(study)
    return outcome_of(_ours(study), checks_of(study), data_of(study), basis, assumed)


def checks_of(study: RatioStudy) -> list[Check]:
    """Return the parts of the claim."""
    first, last = JOBS[0], JOBS[-1]
    checks = []
    for updates in KINDS:
        for jobs in JOBS:
            beyond = study.difference((STUDY, updates, jobs), (BOUND, updates, jobs))
            checks.append(above(f"ratio above the theorem's bound, {updates}, at", beyond, f"{jobs} jobs"))
        grown = study.difference((STUDY, updates, last), (STUDY, updates, first))
        by = mean_words(grown, DECIMALS)
        checks.append(above(f"ratio larger with {last} jobs than with {first}, {updates} ({by})", grown))
    for jobs in JOBS:
        lost = study.difference((STUDY, "async", jobs), (STUDY, "sync", jobs))
        where = f"{jobs} jobs (by {mean_words(lost, DECIMALS)})"
        checks.append(above("ratio of sync below that of async, at", lost, where))
    return checks


def data_of(study: RatioStudy) -> dict[str, Any]:
    """Return all ratios and bounds."""
    return {
        "jobs": list(JOBS),
        "seeds": list(study.seeds),
        "ratio": nested(lambda *cell: as_numbers(study.mean(cell)), VARIANTS, KINDS, JOBS),
        "least_ratio": nested(study.least, VARIANTS, KINDS),
        "bound_of_theorem_5": nested(lambda *cell: max(study.results[BOUND, *cell]), KINDS, JOBS),
        "bound_with_our_subsets": knapsack.guarantee(SUBSETS, len(RESOURCES)),
        "batches_that_fit_together": study.unbound,
    }


def _ours(study: RatioStudy) -> str:
    rows = []
    for updates in KINDS:
        means = ", ".join(f"{mean_words(study.mean((STUDY, updates, jobs)), DECIMALS)} with {jobs}" for jobs in JOBS)
        rows.append(f"{updates} {means} jobs")
    largest = max(max(study.results[BOUND, updates, jobs]) for updates in KINDS for jobs in JOBS)
    bound = "below 1e-100" if largest < 1e-100 else f"at most {largest:.2g}"
    return (
        f"Utility over the optimum: {'; '.join(rows)}. Theorem 5 promises {bound}. With exact workers, servers and "
        "admission the ratio is 1 by construction."
    )


def _reading(study: RatioStudy) -> str:
    batches = len(study.seeds) * len(KINDS) * len(JOBS)
    needed = round(len(RESOURCES) / EPSILON) - 1  # 1 - R / (k + 1) = 1 - eps2
    tight = ", ".join(f"{updates} {mean_words(study.mean((TIGHT, updates, JOBS[-1])), 3)}" for updates in KINDS)
    return (
        f"The users' limits of {JOBS[-1]} jobs are at most {20 * JOBS[-1]:,} instances, so that {INSTANCES:,} hold all "
        f"jobs ({study.unbound:,} of {batches:,} batches) and admission decides nothing: what is lost is lost in "
        f"choosing workers and servers. On one unit of capacity the scheme of Frieze and Clarke alone reaches {tight} "
        f"with {JOBS[-1]} jobs. Its share of {EPSILON:g} in the theorem would need sets of {needed} jobs; with ours of "
        f"{SUBSETS} and {len(RESOURCES)} resources nothing is promised at all."
    )


def _rounding(study: RatioStudy) -> str:
    """Return what one random rounding instead of the best of many does to both kinds of updates."""
    texts = []
    for updates in KINDS:
        mean, least = study.mean((ONE_DRAW, updates, JOBS[-1])), study.least(ONE_DRAW, updates)
        texts.append(f"{updates} {mean_words(mean, DECIMALS)} (least of any batch {least:.4f})")
    return (
        f"Of {DRAWS} random roundings the fastest is kept. The count of roundings can be read otherwise: with one "
        f"alone, rounded down where it exceeds a limit, the ratio with {JOBS[-1]} jobs is {' and '.join(texts)}."
    )


def _words_of_assumptions(study: RatioStudy) -> str:
    given = [
        f"epsilon {EPSILON:g} and M {M_DELTA:g} as in the study, F {DRAWS} (not printed)",
        f"the theorem with delta {DELTA:g}, which promises most",
        "optimum: exact workers and servers of each job, exact knapsack",
        "transfers overlap wait-free, forward times per sample, utility in hours (async) and days (sync)",
        assumptions_of(ServerJobsSpec())[3],
    ]
    return f"{PLUS_MINUS} is the 95% interval over {amount(len(study.seeds), 'seed')}. Assumed: {'; '.join(given)}."


RATIO = (
    PAPER.figure(
        11,
        "SMD's utility over the optimum is far above the theorem's bound, grows from 10 to 50 jobs, and is lower for "
        "synchronous than for asynchronous jobs.",
        figure_11,
        CpuTime(12, 60, full_is_measured=False),
    ),
)
