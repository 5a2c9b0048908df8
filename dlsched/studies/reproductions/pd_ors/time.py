"""Fig. 9 of the PD-ORS study: the median time from arrival to completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dlsched.metrics.stats.intervals import Interval
from dlsched.policies.primal_dual.reach import most_completed
from dlsched.studies.reproductions.claims import Check, above, as_numbers, mean_words, nested, outcome_of
from dlsched.studies.reproductions.pd_ors.runs import (
    PAPER,
    RIVALS,
    JobsOnMachines,
    PlanResult,
    Policy,
    PolicyStudy,
    assumed,
    drawn,
    run_study,
    sample_of,
)
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Setting

OTHERS: tuple[Policy, ...] = ("OASiS", *RIVALS)
POLICIES: tuple[Policy, ...] = ("PD-ORS", *OTHERS)
PRINTED = JobsOnMachines(jobs=100, machines=30, slots=80)
SHORT = PRINTED._replace(work=0.1)
"""Jobs a tenth as long, so that half of them can be done at all."""
CASES = {"work as printed": PRINTED, "a tenth of the work": SHORT}
_ASSUMED = (
    "slots from that of arrival to the last one used, both counted; all slots where a job is not completed, as in the "
    "study",
    "a tenth of the work: ours, to see the order of the policies",
)


def figure_9(setting: Setting) -> Outcome:
    """Return the median training time by policy, with the work printed and with a tenth of it."""
    study = run_study(setting, tuple(CASES.values()), POLICIES)
    instances = (drawn(PRINTED, seed) for seed in study.seeds)
    possible = [most_completed(one.jobs, one.capacity, one.slots) for one in instances]
    rows = (
        f"{words}: {', '.join(f'{policy} {mean_words(study.mean((case, policy), median))}' for policy in POLICIES)} "
        "slots"
        for words, case in CASES.items()
    )
    basis, given = f"{_limit(possible)} {sample_of(study)}", assumed(PRINTED, OTHERS, _ASSUMED)
    ours = f"Median training time, {'; '.join(rows)}."
    return outcome_of(ours, checks_of(study), data_of(study, possible), basis, given)


def median(result: PlanResult) -> float:
    """Return the median training time of a seed, slots."""
    return float(np.median(result.training_slots))


def saved(study: PolicyStudy, case: JobsOnMachines, rival: Policy) -> Interval:
    """Return by how many slots a rival's median is longer than PD-ORS's, paired by seed."""
    return study.difference((case, rival), (case, "PD-ORS"), median)


def checks_of(study: PolicyStudy) -> list[Check]:
    """Return whether PD-ORS's median is the shortest, rival by rival, with both amounts of work."""
    checks = []
    for words, case in CASES.items():
        for rival in OTHERS:
            ours, theirs = study.pair((case, "PD-ORS"), (case, rival), median)
            where = f"{rival}'s ({ours.mean():.1f} and {theirs.mean():.1f})"
            checks.append(above(f"PD-ORS's median shorter, {words}, than", saved(study, case, rival), where))
    return checks


def data_of(study: PolicyStudy, possible: Sequence[int]) -> dict[str, Any]:
    """Return medians, completed jobs and differences by amount of work and policy."""
    return {
        "seeds": list(study.seeds),
        "median_training_slots": nested(lambda *cell: as_numbers(study.mean(cell, median)), CASES, POLICIES),
        "completed_jobs": nested(
            lambda *cell: as_numbers(study.mean(cell, lambda result: result.completed)), CASES, POLICIES
        ),
        "slots_longer_than_pd_ors": nested(lambda *cell: as_numbers(saved(study, *cell)), CASES, OTHERS),
        "most_jobs_any_policy_completes": list(possible),
    }


def _limit(possible: Sequence[int]) -> str:
    """Return whether the median of the printed work can be below T at all."""
    most, half = max(possible), PRINTED.jobs // 2
    if most >= half:
        return f"Any policy completes at most {most} of {PRINTED.jobs} jobs of a seed with the work printed."
    return (
        f"With the work printed no policy at all completes more than {most} of {PRINTED.jobs} jobs of a seed (the "
        f"least they need of a resource exceeds what {PRINTED.machines} machines have in {PRINTED.slots} slots). So "
        f"the median is {PRINTED.slots} slots whatever the policy: the study's jobs must be shorter or its machines "
        "larger than printed."
    )


TIME = (
    PAPER.figure(
        9,
        "The median training time of 100 jobs on 30 machines over 80 slots is shortest under PD-ORS.",
        figure_9,
        CpuTime(38, 150, full_is_measured=False),
    ),
)
