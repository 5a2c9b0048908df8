"""Fig. 9 of the PD-ORS study: the median time from arrival to completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.policies.primal_dual.reach import most_completed
from dlsched.studies.reproductions.hell_knee.steady import Check, verdict_of
from dlsched.studies.reproductions.modelarts.gain import above, seen
from dlsched.studies.reproductions.modelarts.runs import said
from dlsched.studies.reproductions.path_relinking.grid import as_numbers
from dlsched.studies.reproductions.pd_ors.runs import (
    PAPER,
    RIVALS,
    Case,
    Policy,
    Study,
    assumed,
    drawn,
    run_study,
    sample_of,
)
from dlsched.studies.reproductions.reproduction import Outcome, Reproduction, Setting

OTHERS: tuple[Policy, ...] = ("OASiS", *RIVALS)
POLICIES: tuple[Policy, ...] = ("PD-ORS", *OTHERS)
PRINTED = Case(jobs=100, machines=30, slots=80)
SHORT = PRINTED._replace(work=0.1)
"""Jobs a tenth as long, so that half of them can be done at all."""
CASES = {"work as printed": PRINTED, "a tenth of the work": SHORT}


def figure_9(setting: Setting) -> Outcome:
    """Return the median training time by policy, with the work printed and with a tenth of it."""
    study = run_study(setting, tuple(CASES.values()), POLICIES)
    checks = checks_of(study)
    possible = possible_in(study)
    why = " ".join((seen(checks), _limit(possible), sample_of(study), assumed(PRINTED, OTHERS, _assumptions())))
    return Outcome(_ours(study), verdict_of(checks), why, data_of(study, checks, possible))


def medians(study: Study, case: Case, policy: Policy) -> Floats:
    """Return the median training time of each seed, slots, (seeds,)."""
    return np.array([np.median(answer.training_slots) for answer in study.answers[case, policy]])


def median(study: Study, case: Case, policy: Policy) -> Interval:
    """Return the mean over the seeds of the median training time, slots."""
    return mean_interval(medians(study, case, policy))


def saved(study: Study, case: Case, rival: Policy) -> Interval:
    """Return by how many slots a rival's median is longer than PD-ORS's, paired by seed."""
    theirs = medians(study, case, rival)
    return paired_difference(theirs, medians(study, case, "PD-ORS")[: len(theirs)])


def possible_in(study: Study) -> list[int]:
    """Return for each seed how many jobs any policy completes at most, with the work printed."""
    instances = (drawn(PRINTED, seed) for seed in study.seeds)
    return [most_completed(one.jobs, one.capacity, one.slots) for one in instances]


def checks_of(study: Study) -> list[Check]:
    """Return whether PD-ORS's median is the shortest, rival by rival, with both amounts of work."""
    checks = []
    for words, case in CASES.items():
        for rival in OTHERS:
            found = saved(study, case, rival)
            theirs = medians(study, case, rival)
            ours = medians(study, case, "PD-ORS")[: len(theirs)]
            where = f"{rival}'s ({ours.mean():.1f} and {theirs.mean():.1f})"
            checks.append(above(f"PD-ORS's median shorter, {words}, than", found, where))
    return checks


def data_of(study: Study, checks: Sequence[Check], possible: Sequence[int]) -> dict[str, Any]:
    """Return medians, completed jobs and differences by amount of work and policy."""

    def completed(case: Case, policy: Policy) -> Interval:
        return mean_interval([answer.completed for answer in study.answers[case, policy]])

    return {
        "seeds": list(study.seeds),
        "median_training_slots": _over(POLICIES, lambda case, policy: median(study, case, policy)),
        "completed_jobs": _over(POLICIES, completed),
        "slots_longer_than_pd_ors": _over(OTHERS, lambda case, rival: saved(study, case, rival)),
        "most_jobs_any_policy_completes": list(possible),
        "checks": [{"claim": f"{check.text} {check.where}".rstrip(), "holds": check.holds} for check in checks],
    }


def _over(policies: Sequence[Policy], number: Any) -> dict[str, Any]:
    return {words: {policy: as_numbers(number(case, policy)) for policy in policies} for words, case in CASES.items()}


def _ours(study: Study) -> str:
    rows = (
        f"{words}: {', '.join(f'{policy} {said(median(study, case, policy))}' for policy in POLICIES)} slots"
        for words, case in CASES.items()
    )
    return f"Median training time, {'; '.join(rows)}."


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


def _assumptions() -> tuple[str, ...]:
    return (
        "slots from that of arrival to the last one used, both counted; all slots where a job is not completed, as in "
        "the study",
        "a tenth of the work: ours, to see the order of the policies",
    )


TIME = (
    Reproduction(
        "pd-ors-9",
        PAPER,
        "Fig. 9",
        "The median training time of 100 jobs on 30 machines over 80 slots is shortest under PD-ORS.",
        figure_9,
    ),
)
