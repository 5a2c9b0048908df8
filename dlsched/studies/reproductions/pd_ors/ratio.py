"""Figs 10 and 11 of the PD-ORS study: the best utility in hindsight over what is reached, on cases small enough for it.

The study has 10 jobs over 10 slots. A proven optimum is within reach for up to 6 slots only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from dlsched.domain.randomness import stream
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference, ratio_draws
from dlsched.policies.primal_dual import offline
from dlsched.policies.primal_dual.problem import Instance
from dlsched.policies.primal_dual.reach import why_never
from dlsched.policies.primal_dual.rounded_slot import Rounding
from dlsched.policies.primal_dual.slot_cost import one_or_several
from dlsched.studies.reproductions.claims import Check, above, as_numbers, at_most, mean_words, outcome_of
from dlsched.studies.reproductions.paired import PairedStudy, by_cell, compute_all
from dlsched.studies.reproductions.pd_ors.runs import PAPER, JobsOnMachines, assumed, drawn, legal_utility, pd_ors
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Printed, PrintedNumber, Setting
from dlsched.wording.formats import amount

MOST = 1.4
"""The study's ratios are from 1.0 to this."""
PLAIN = JobsOnMachines(jobs=10, machines=10, slots=6)
CROWDED = JobsOnMachines(jobs=2000, machines=4, slots=6)
"""Of these jobs the first ``CROWD`` that could be done alone in time."""
CROWD = 5
PLAIN_WORDS, CROWDED_WORDS = "10 jobs as printed", f"{CROWD} jobs that could all be done alone"
KINDS = {PLAIN_WORDS: PLAIN, CROWDED_WORDS: CROWDED}
QUICK_DRAWS, DRAWS = {PLAIN_WORDS: 120, CROWDED_WORDS: 8}, {PLAIN_WORDS: 600, CROWDED_WORDS: 60}
QUICK_ROUNDED, ROUNDED = {PLAIN_WORDS: 30, CROWDED_WORDS: 6}, {PLAIN_WORDS: 300, CROWDED_WORDS: 60}
"""Cases of Fig. 10 by kind, and of Fig. 11, where each is planned twelve times."""
NODE_LIMIT = 200
"""Of the search for the optimum; what is not proven then has a bound."""

GAINS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
"""Factors before rounding, as in the study."""
REPAIRED, PRINTED = "rounding repaired", "rounding as printed"
TRIES = {REPAIRED: 50, PRINTED: 5000}
"""Random roundings of one slot before it is repaired, or given up (the study's threshold)."""
SAMPLE = (
    "A ratio is the sum of the best utilities over the sum of those reached, over all cases; ± its 95% interval. "
    "The best in hindsight is proven but where said otherwise."
)
_SIZES = (
    f"{PLAIN.slots} slots and {PLAIN.machines} machines; an exact optimum of the study's 10 slots (Fig. 10) or of "
    "50 jobs on 100 machines (Fig. 11) is out of reach, and the number of machines of Fig. 10 is not printed",
    f"in so few slots few of 10 jobs as printed can be done at all, hence also {CROWD} jobs that could each be "
    f"done alone on {CROWDED.machines} machines",
    f"the search for the best ends after {NODE_LIMIT} nodes of its tree",
)


class HindsightTask(NamedTuple):
    """A case of a kind and seed; ``gains`` are tried beside the greedy PD-ORS."""

    kind: str
    seed: int
    gains: tuple[float, ...] = ()


Variant = tuple[str, float]
"""How rounding fails, and the factor before it."""


@dataclass(frozen=True, slots=True)
class HindsightResult:
    """Best utility found in hindsight and its proven bound; PD-ORS's utility, greedy and by variant of rounding.

    ``failed`` are the slots where no rounding was legal, of ``slots`` rounded, by variant.
    """

    best: float
    bound: float
    greedy: float
    rounded: Mapping[Variant, float]
    failed: Mapping[Variant, int]
    slots: Mapping[Variant, int]


def tiny(kind: str, seed: int) -> Instance:
    """Return the case of a kind and seed."""
    instance = drawn(KINDS[kind], seed)
    if kind == PLAIN_WORDS:
        return instance
    able = [job for job in instance.jobs if why_never(job, instance.capacity, instance.slots) is None]
    first = {job.name for job in sorted(able, key=lambda job: int(job.name[1:]))[:CROWD]}
    return replace(instance, jobs=tuple(job for job in able if job.name in first))


def solve_twice(task: HindsightTask) -> HindsightResult:
    """Solve one case in hindsight and online."""
    instance = tiny(task.kind, task.seed)
    greedy = legal_utility(instance, pd_ors(instance))
    optimum = offline.solve(instance, NODE_LIMIT)
    rounded, failed, slots = {}, {}, {}
    for way, tries in TRIES.items():
        for gain in task.gains:
            rule = Rounding(stream(task.seed, "policy"), gain, tries=tries, repairs=way == REPAIRED)
            rounded[way, gain] = legal_utility(instance, pd_ors(instance, one_or_several(rule)))
            failed[way, gain], slots[way, gain] = rule.repaired, rule.repaired + rule.rounded
    best = max(optimum.utility, greedy, *rounded.values(), 0.0)
    return HindsightResult(best, max(best, optimum.bound), greedy, rounded, failed, slots)


@dataclass(frozen=True)
class HindsightStudy(PairedStudy[str, HindsightResult]):
    """Results by kind of case, over the seeds from 1."""

    def ratio(self, kind: str) -> Interval:
        """Return the sum of the best utilities found over the sum of PD-ORS's."""
        return mean_interval(ratio_draws(self.values(kind, lambda one: one.best), self._greedy(kind)))

    def at_most(self, kind: str) -> Interval:
        """Return the same with the proven bounds instead of the best found."""
        return mean_interval(ratio_draws(self.values(kind, lambda one: one.bound), self._greedy(kind)))

    def _greedy(self, kind: str) -> Floats:
        return self.values(kind, lambda one: one.greedy)

    def reached(self, kind: str, variant: Variant) -> Floats:
        """Return draws of PD-ORS's utility over the best: the inverse of the ratio, as PD-ORS may reach nothing."""
        return ratio_draws(self.values(kind, lambda one: one.rounded[variant]), self.values(kind, lambda one: one.best))

    def part(self, kind: str, variant: Variant) -> Interval:
        """Return PD-ORS's part of the best utility."""
        return mean_interval(self.reached(kind, variant))

    def failed(self, kind: str, variant: Variant) -> float:
        """Return the share of the slots rounded where no rounding was legal."""
        results = self.results[kind]
        return sum(one.failed[variant] for one in results) / max(1, sum(one.slots[variant] for one in results))

    def counts(self, kind: str) -> dict[str, int]:
        """Return cases by what came out."""
        results = self.results[kind]
        paying = [one for one in results if one.best > 0]
        return {
            "cases": len(results),
            "cases_with_utility": len(paying),
            "cases_with_a_ratio_of_at_most_1.4": sum(one.best <= MOST * one.greedy for one in paying),
            "cases_without_proof": sum(one.bound > one.best * (1 + 1e-6) for one in results),
        }


def run_study(setting: Setting, draws: Mapping[str, int], gains: tuple[float, ...] = ()) -> HindsightStudy:
    """Return the results of so many cases of each kind."""
    tasks = [
        HindsightTask(kind, seed, gains) for kind in (CROWDED_WORDS, PLAIN_WORDS)
        for seed in range(1, draws[kind] + 1)
    ]  # fmt: skip
    results = compute_all(setting, tasks, solve_twice, "cases")
    return HindsightStudy(by_cell((task.kind, result) for task, result in zip(tasks, results, strict=True)))


def figure_10(setting: Setting) -> Outcome:
    """Return the competitive ratio of PD-ORS."""
    study = run_study(setting, QUICK_DRAWS if setting.quick else DRAWS)
    checks = [
        at_most(f"ratio at most {MOST:g}, {kind}", study.at_most(kind), MOST, f"({mean_words(study.ratio(kind), 2)})")
        for kind in KINDS
    ]
    rows = "; ".join(_ratio_words(study, kind) for kind in KINDS)
    data = {
        kind: {
            "ratio": as_numbers(study.ratio(kind)),
            "ratio_with_proven_bounds": as_numbers(study.at_most(kind)),
            **study.counts(kind),
        }
        for kind in KINDS
    }
    ours = f"Best utility in hindsight over PD-ORS's: {rows}."
    return outcome_of(ours, checks, data, SAMPLE, assumed(PLAIN, ("PD-ORS",), _SIZES))


def figure_11(setting: Setting) -> Outcome:
    """Return the ratio over the factor before rounding."""
    study = run_study(setting, QUICK_ROUNDED if setting.quick else ROUNDED, GAINS)
    checks = [check for way in TRIES for kind in KINDS for check in _best_at_one(study, way, kind)]
    rows = "; ".join(
        f"{way}, {kind}: {', '.join(mean_words(study.part(kind, (way, gain)), 2) for gain in GAINS)}"
        for way in TRIES
        for kind in KINDS
    )
    words = f"PD-ORS's part of the best utility in hindsight at G {', '.join(f'{gain:g}' for gain in GAINS)}: {rows}."
    data = {
        way: {
            kind: {
                f"{gain:g}": {
                    "part_of_the_best": as_numbers(study.part(kind, (way, gain))),
                    "share_of_roundings_that_failed": study.failed(kind, (way, gain)),
                }
                for gain in GAINS
            }
            for kind in KINDS
        }
        for way in TRIES
    }
    counts = {"cases": {kind: study.counts(kind) for kind in KINDS}}
    basis = f"{_failures(study)} {SAMPLE}"
    return outcome_of(words, checks, data | counts, basis, assumed(PLAIN, ("PD-ORS",), _SIZES))


def _best_at_one(study: HindsightStudy, way: str, kind: str) -> list[Check]:
    """Return whether less of the best is reached at every other factor than at 1."""
    at_one = study.reached(kind, (way, 1.0))
    checks = []
    for gain in GAINS:
        if gain != 1.0:
            less = paired_difference(at_one, study.reached(kind, (way, gain)))
            checks.append(
                above(f"most reached at G = 1, {way}, {kind}: less at", less, f"{gain:g} (by {mean_words(less, 2)})")
            )
    return checks


def _ratio_words(study: HindsightStudy, kind: str) -> str:
    bound, counts = study.at_most(kind), study.counts(kind)
    open_cases = counts["cases_without_proof"]
    proof = f", with the proven bounds of {open_cases} of them {mean_words(bound, 2)}" if open_cases else ""
    low = counts["cases_with_a_ratio_of_at_most_1.4"]
    cases = f"{amount(counts['cases'], 'case')} of {kind}{proof}"
    share = f"at most {MOST:g} in {low} of {counts['cases_with_utility']} where there is any utility"
    return f"{mean_words(study.ratio(kind), 2)} over {cases} ({share})"


def _failures(study: HindsightStudy) -> str:
    parts = [f"{gain:g} {study.failed(CROWDED_WORDS, (PRINTED, gain)):.0%}" for gain in GAINS]
    most = max(
        abs(study.part(kind, (REPAIRED, gain)).mean - 1 / study.ratio(kind).mean) for kind in KINDS for gain in GAINS
    )
    return (
        f"Of {TRIES[PRINTED]:,} random roundings of a slot none is legal at G {', '.join(parts)} of the times: below 1 "
        "there are too few workers, above 1 too many for the batch or the machines. As printed such a "
        "number of workers is then not possible in the slot; repaired, rounding never changes the part by more than "
        f"{most:.2f} against the greedy sweep over machines."
    )


RATIO = (
    PAPER.figure(
        10,
        "The best total utility in hindsight is 1.0 to 1.4 times PD-ORS's.",
        figure_10,
        CpuTime(20, 120, full_is_measured=False),
        Printed("1.0 to 1.4", (PrintedNumber("ratio", 1.0, MOST),)),
    ),
    PAPER.figure(
        11,
        "Of factors G from 0.2 to 1.2 before rounding, 1 gives the least ratio of the optimum to PD-ORS's utility.",
        figure_11,
        CpuTime(40, 400, full_is_measured=False),
        Printed("best at G = 1"),
    ),
)
