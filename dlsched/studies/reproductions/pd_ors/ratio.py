"""Figs 10 and 11 of the PD-ORS study: the best utility in hindsight over what is reached, on cases small enough for it.

The study has 10 jobs over 10 slots. A proven optimum is within reach for up to 6 slots only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dlsched.domain.randomness import stream
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference, ratio_draws
from dlsched.policies.primal_dual import offline
from dlsched.policies.primal_dual.problem import Instance
from dlsched.policies.primal_dual.reach import why_never
from dlsched.policies.primal_dual.rounded_slot import Rounding
from dlsched.policies.primal_dual.slot_cost import one_or_several
from dlsched.runner.executor import open_pool
from dlsched.studies.reproductions.hell_knee.steady import Check, verdict_of
from dlsched.studies.reproductions.modelarts.gain import above, at_most, seen
from dlsched.studies.reproductions.modelarts.runs import said
from dlsched.studies.reproductions.path_relinking.grid import as_numbers
from dlsched.studies.reproductions.pd_ors.runs import PAPER, Case, assumed, drawn, legal_utility, pd_ors
from dlsched.studies.reproductions.reproduction import Outcome, Reproduction, Setting
from dlsched.studies.run_all import spread
from dlsched.wording.formats import amount

MOST = 1.4
"""The study's ratios are from 1.0 to this."""
PLAIN = Case(jobs=10, machines=10, slots=6)
CROWDED = Case(jobs=2000, machines=4, slots=6)
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


@dataclass(frozen=True, slots=True)
class Question:
    """A case of a kind and seed; ``gains`` are tried beside the greedy PD-ORS."""

    kind: str
    seed: int
    gains: tuple[float, ...] = ()


Variant = tuple[str, float]
"""How rounding fails, and the factor before it."""


@dataclass(frozen=True, slots=True)
class Answer:
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


def answer_of(question: Question) -> Answer:
    """Solve one case in hindsight and online."""
    instance = tiny(question.kind, question.seed)
    greedy = legal_utility(instance, pd_ors(instance))
    found = offline.solve(instance, NODE_LIMIT)
    rounded, failed, slots = {}, {}, {}
    for way, tries in TRIES.items():
        for gain in question.gains:
            rule = Rounding(stream(question.seed, "policy"), gain, tries=tries, repairs=way == REPAIRED)
            rounded[way, gain] = legal_utility(instance, pd_ors(instance, one_or_several(rule)))
            failed[way, gain], slots[way, gain] = rule.repaired, rule.repaired + rule.rounded
    best = max(found.utility, greedy, *rounded.values(), 0.0)
    return Answer(best, max(best, found.bound), greedy, rounded, failed, slots)


@dataclass(frozen=True)
class Study:
    """Answers by kind of case, over the seeds from 1."""

    answers: Mapping[str, Sequence[Answer]]

    def ratio(self, kind: str) -> Interval:
        """Return the sum of the best utilities found over the sum of PD-ORS's."""
        answers = self.answers[kind]
        return mean_interval(ratio_draws([one.best for one in answers], [one.greedy for one in answers]))

    def reached(self, kind: str, variant: Variant) -> Floats:
        """Return draws of PD-ORS's utility over the best: the inverse of the ratio, as PD-ORS may reach nothing."""
        answers = self.answers[kind]
        return ratio_draws([one.rounded[variant] for one in answers], [one.best for one in answers])

    def at_most(self, kind: str) -> Interval:
        """Return the same with the proven bounds instead of the best found."""
        answers = self.answers[kind]
        return mean_interval(ratio_draws([one.bound for one in answers], [one.greedy for one in answers]))

    def failed(self, kind: str, variant: Variant) -> float:
        """Return the share of the slots rounded where no rounding was legal."""
        answers = self.answers[kind]
        return sum(one.failed[variant] for one in answers) / max(1, sum(one.slots[variant] for one in answers))

    def counts(self, kind: str) -> dict[str, int]:
        """Return cases by what came out."""
        answers = self.answers[kind]
        paying = [one for one in answers if one.best > 0]
        return {
            "cases": len(answers),
            "cases_with_utility": len(paying),
            "cases_with_a_ratio_of_at_most_1.4": sum(one.best <= MOST * one.greedy for one in paying),
            "cases_without_proof": sum(one.bound > one.best * (1 + 1e-6) for one in answers),
        }


def run_study(setting: Setting, draws: Mapping[str, int], gains: tuple[float, ...] = ()) -> Study:
    """Return the answers to so many cases of each kind."""
    asked = [
        Question(kind, seed, gains) for kind in (CROWDED_WORDS, PLAIN_WORDS)
        for seed in range(1, draws[kind] + 1)
    ]  # fmt: skip

    def told(done: int) -> None:
        if setting.progress is not None:
            setting.progress(done / len(asked), f"{done} of {len(asked)} cases")

    with open_pool().executor as executor:
        answers = spread(executor, answer_of, asked, told)
    by_kind: dict[str, list[Answer]] = {}
    for question, answer in zip(asked, answers, strict=True):
        by_kind.setdefault(question.kind, []).append(answer)
    return Study(by_kind)


def figure_10(setting: Setting) -> Outcome:
    """Return the competitive ratio of PD-ORS."""
    study = run_study(setting, QUICK_DRAWS if setting.quick else DRAWS)
    checks = [
        at_most(f"ratio at most {MOST:g}, {kind}", study.at_most(kind), MOST, f"({said(study.ratio(kind), 2)})")
        for kind in KINDS
    ]
    rows = "; ".join(_ratio_words(study, kind) for kind in KINDS)
    why = " ".join((seen(checks), _sample(study), assumed(PLAIN, ("PD-ORS",), _sizes())))
    data = {
        kind: {
            "ratio": as_numbers(study.ratio(kind)),
            "ratio_with_proven_bounds": as_numbers(study.at_most(kind)),
            **study.counts(kind),
        }
        for kind in KINDS
    }
    return Outcome(f"Best utility in hindsight over PD-ORS's: {rows}.", verdict_of(checks), why, data | _said(checks))


def figure_11(setting: Setting) -> Outcome:
    """Return the ratio over the factor before rounding."""
    study = run_study(setting, QUICK_ROUNDED if setting.quick else ROUNDED, GAINS)
    checks = [check for way in TRIES for kind in KINDS for check in _best_at_one(study, way, kind)]
    rows = "; ".join(
        f"{way}, {kind}: {', '.join(said(share_of(study, kind, (way, gain)), 2) for gain in GAINS)}"
        for way in TRIES
        for kind in KINDS
    )
    words = f"PD-ORS's part of the best utility in hindsight at G {', '.join(f'{gain:g}' for gain in GAINS)}: {rows}."
    why = " ".join((seen(checks), _failures(study), _sample(study), assumed(PLAIN, ("PD-ORS",), _sizes())))
    data = {
        way: {
            kind: {
                f"{gain:g}": {
                    "part_of_the_best": as_numbers(share_of(study, kind, (way, gain))),
                    "share_of_roundings_that_failed": study.failed(kind, (way, gain)),
                }
                for gain in GAINS
            }
            for kind in KINDS
        }
        for way in TRIES
    }
    counts = {"cases": {kind: study.counts(kind) for kind in KINDS}}
    return Outcome(words, verdict_of(checks), why, data | counts | _said(checks))


def _best_at_one(study: Study, way: str, kind: str) -> list[Check]:
    """Return whether less of the best is reached at every other factor than at 1."""
    at_one = study.reached(kind, (way, 1.0))
    checks = []
    for gain in GAINS:
        if gain != 1.0:
            less = paired_difference(at_one, study.reached(kind, (way, gain)))
            checks.append(
                above(f"most reached at G = 1, {way}, {kind}: less at", less, f"{gain:g} (by {said(less, 2)})")
            )
    return checks


def _ratio_words(study: Study, kind: str) -> str:
    bound, counts = study.at_most(kind), study.counts(kind)
    open_cases = counts["cases_without_proof"]
    proof = f", with the proven bounds of {open_cases} of them {said(bound, 2)}" if open_cases else ""
    low = counts["cases_with_a_ratio_of_at_most_1.4"]
    return (
        f"{said(study.ratio(kind), 2)} over {amount(counts['cases'], 'case')} of {kind}{proof} (at most {MOST:g} in "
        f"{low} of {counts['cases_with_utility']} where there is any utility)"
    )


def share_of(study: Study, kind: str, variant: Variant) -> Interval:
    """Return PD-ORS's part of the best utility."""
    return mean_interval(study.reached(kind, variant))


def _failures(study: Study) -> str:
    parts = [f"{gain:g} {study.failed(CROWDED_WORDS, (PRINTED, gain)):.0%}" for gain in GAINS]
    most = max(
        abs(share_of(study, kind, (REPAIRED, gain)).mean - 1 / study.ratio(kind).mean)
        for kind in KINDS
        for gain in GAINS
    )
    return (
        f"Of {TRIES[PRINTED]:,} random roundings of a slot none is legal at G {', '.join(parts)} of the times: below 1 "
        "there are too few workers, above 1 too many for the batch or the machines. As printed such a "
        "number of workers is then not possible in the slot; repaired, rounding never changes the part by more than "
        f"{most:.2f} against the greedy sweep over machines."
    )


def _sample(study: Study) -> str:
    return (
        "A ratio is the sum of the best utilities over the sum of those reached, over all cases; ± its 95% interval. "
        "The best in hindsight is proven but where said otherwise."
    )


def _sizes() -> tuple[str, ...]:
    return (
        f"{PLAIN.slots} slots and {PLAIN.machines} machines; an exact optimum of the study's 10 slots (Fig. 10) or of "
        "50 jobs on 100 machines (Fig. 11) is out of reach, and the number of machines of Fig. 10 is not printed",
        f"in so few slots few of 10 jobs as printed can be done at all, hence also {CROWD} jobs that could each be "
        f"done alone on {CROWDED.machines} machines",
        f"the search for the best ends after {NODE_LIMIT} nodes of its tree",
    )


def _said(checks: Sequence[Check]) -> dict[str, Any]:
    return {"checks": [{"claim": f"{check.text} {check.where}".rstrip(), "holds": check.holds} for check in checks]}


RATIO = (
    Reproduction(
        "pd-ors-10",
        PAPER,
        "Fig. 10",
        "The best total utility in hindsight is 1.0 to 1.4 times PD-ORS's.",
        figure_10,
    ),
    Reproduction(
        "pd-ors-11",
        PAPER,
        "Fig. 11",
        "Of factors G from 0.2 to 1.2 before rounding, 1 gives the least ratio of the optimum to PD-ORS's utility.",
        figure_11,
    ),
)
