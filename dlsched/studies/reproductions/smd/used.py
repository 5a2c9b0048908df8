"""Fig. 12 of the SMD study: how much of what users reserve their jobs use.

The study says neither how forward passes are timed nor which instances its limits count: all cases are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from dlsched.domain.workload import RESOURCES, Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.studies.reproductions.hell_knee.steady import Check, verdict_of
from dlsched.studies.reproductions.modelarts.gain import above, seen
from dlsched.studies.reproductions.path_relinking.grid import as_numbers
from dlsched.studies.reproductions.reproduction import Outcome, Reproduction, Setting
from dlsched.studies.reproductions.smd.batch import (
    ADMISSIONS,
    INSTANCES,
    METHODS,
    PAPER,
    UNIT_OF_CAPACITY,
    Admission,
    Mask,
    Policy,
    admitted,
    draw_batch,
    instance_of,
)
from dlsched.wording.formats import PLUS_MINUS, amount
from dlsched.workload.studies.smd import ServerJobsSpec

QUICK_SEEDS, SEEDS = tuple(range(1, 11)), tuple(range(1, 31))
JOBS = (40, 80, 120, 160, 200)
UNITS = 3
"""A capacity that holds few of the jobs; the study names none for this figure, the last it names are instances."""
LEAST, MOST = 0.3, 0.5
"""Shares in the study."""

UPDATES: Mapping[str, Mapping[str, str]] = {
    "async": {"updates": "async"},
    "sync": {"updates": "sync"},
    "sync, times per mini-batch": {"updates": "sync", "forward_per": "mini-batch"},
}
SIZES: Mapping[str, Mapping[str, float]] = {
    "36 CPUs, 60 GiB, 4 GPUs, 60 GiB disk": {},
    "36 CPUs, 60 GiB, 16 GPUs, 120 GiB disk": {"instance_gpus": 16, "instance_disk_gib": 120},
    "8 CPUs, 15 GiB, 1 GPU, 15 GiB disk": {
        "instance_cpus": 8, "instance_mem_gib": 15, "instance_gpus": 1, "instance_disk_gib": 15,
    },
}  # fmt: skip
"""C4 instances, the largest and the middle one; they have neither GPUs nor disk of their own, which are assumed."""

Case = tuple[str, str]
"""Which of ``UPDATES``, which of ``SIZES``."""
Capacity = Literal["instances", "units"]
CAPACITIES: tuple[Capacity, ...] = ("instances", "units")
CASES: tuple[Case, ...] = tuple((updates, instance) for instance in SIZES for updates in UPDATES)
Key = tuple[Case, Capacity, int, Policy, Admission]


_ESW_AND_SMD: tuple[Policy, ...] = ("ESW", "SMD")


@dataclass(frozen=True)
class Study:
    """Used over reserved by resource, one row (R,) for each seed, over all admitted jobs."""

    seeds: tuple[int, ...]
    shares: Mapping[Key, Sequence[Floats]]

    def mean(
        self,
        case: Case,
        jobs: int,
        policy: Policy = "SMD",
        admission: Admission = "knapsack",
        capacity: Capacity = "instances",
    ) -> Interval:
        """Return the share used, as a mean over the resources."""
        return mean_interval(np.mean(self.shares[case, capacity, jobs, policy, admission], axis=1))

    def spared(self, case: Case, jobs: int) -> Interval:
        """Return by how much larger ESW's share is than SMD's, both with the knapsack; paired by seed."""
        theirs, ours = (
            np.mean(self.shares[case, "instances", jobs, policy, "knapsack"], axis=1) for policy in _ESW_AND_SMD
        )
        return paired_difference(theirs, ours)

    def by_resource(self, case: Case, jobs: int) -> dict[str, float]:
        """Return SMD's mean share of each resource."""
        means = np.mean(self.shares[case, "instances", jobs, "SMD", "knapsack"], axis=0)
        return dict(zip(RESOURCES, means.tolist(), strict=True))


def share_used(used: Floats, reserved: Floats, taken: Mask) -> Floats:
    """Return what the jobs ``taken`` (I,) use of what they reserve, both (I, R), of each resource together, (R,)."""
    return np.asarray(used[taken].sum(axis=0) / reserved[taken].sum(axis=0))


def spec_of(case: Case) -> ServerJobsSpec:
    """Return the jobs of a case."""
    return ServerJobsSpec.model_validate({"jobs": max(JOBS), **UPDATES[case[0]], **SIZES[case[1]]})


def run_study(setting: Setting) -> Study:
    """Return the shares of all cases; fewer jobs are the first ones of a batch."""
    seeds = QUICK_SEEDS if setting.quick else SEEDS
    todo = [(case, seed) for case in CASES for seed in seeds]
    shares: dict[Key, list[Floats]] = {}
    for number, (case, seed) in enumerate(todo, 1):
        for key, share in _shares(case, seed):
            shares.setdefault(key, []).append(share)
        if setting.progress is not None:
            setting.progress(number / len(todo), f"{number} of {len(todo)} batches")
    return Study(seeds, shares)


def _shares(case: Case, seed: int) -> Iterator[tuple[Key, Floats]]:
    spec = spec_of(case)
    batch = draw_batch(spec, seed)
    rooms: dict[Capacity, Floats] = {"instances": INSTANCES * instance_of(spec), "units": UNITS * UNIT_OF_CAPACITY}
    for policy in METHODS:
        choices = batch.choices(policy)
        value, used = batch.value(choices), batch.used(choices)
        for capacity, jobs, admission in product(CAPACITIES, JOBS, ADMISSIONS):
            taken = admitted(value[:jobs], batch.reserved[:jobs], rooms[capacity], admission)
            yield (case, capacity, jobs, policy, admission), share_used(used[:jobs], batch.reserved[:jobs], taken)


def figure_12(setting: Setting) -> Outcome:
    """Return the shares used over the number of jobs."""
    study = run_study(setting)
    checks = checks_of(study)
    why = " ".join((seen(checks), _reading(study), _assumed(study)))
    return Outcome(_ours(study), verdict_of(checks), why, data_of(study, checks))


def checks_of(study: Study) -> list[Check]:
    """Return the parts of the claim, case by case."""
    checks = []
    for case in CASES:
        found = [study.mean(case, jobs) for jobs in JOBS]
        inside = all(LEAST <= one.mean <= MOST for one in found)
        sure = all((one.low or 0.0) >= LEAST and (one.high or 1.0) <= MOST for one in found)
        where = f"{name_of(case)} ({_range(found)})"
        checks.append(Check(f"{LEAST:.0%} to {MOST:.0%} used:", sure, where, unsure=inside))
    for case in CASES:
        spared = study.spared(case, JOBS[-1])
        points = f"{100 * spared.mean:.1f} {PLUS_MINUS} {100 * (spared.half_width or 0):.1f} points"
        checks.append(above(f"less used than by ESW at {JOBS[-1]} jobs:", spared, f"{name_of(case)} ({points})"))
    return checks


def name_of(case: Case) -> str:
    """Return a case in words."""
    return f"{case[0]}, instances of {case[1]}"


def data_of(study: Study, checks: Sequence[Check]) -> dict[str, Any]:
    """Return all shares: means over the resources by case, policy, admission and jobs, SMD's also by resource."""
    return {
        "jobs": list(JOBS),
        "seeds": list(study.seeds),
        "capacities": {"instances": INSTANCES, "units": UNITS},
        "used_of_reserved": {
            capacity: {name_of(case): _table(study, case, capacity) for case in CASES} for capacity in CAPACITIES
        },
        "used_of_reserved_by_resource": {
            name_of(case): {str(jobs): study.by_resource(case, jobs) for jobs in JOBS} for case in CASES
        },
        "checks": [{"claim": f"{check.text} {check.where}", "holds": check.holds} for check in checks],
    }


def _table(study: Study, case: Case, capacity: Capacity) -> dict[str, Any]:
    return {
        policy: {
            admission: {str(jobs): as_numbers(study.mean(case, jobs, policy, admission, capacity)) for jobs in JOBS}
            for admission in ADMISSIONS
        }
        for policy in METHODS
    }


def _ours(study: Study) -> str:
    rows = []
    for instance in SIZES:
        shares = (f"{updates} {_range([study.mean((updates, instance), n) for n in JOBS])}" for updates in UPDATES)
        rows.append(f"instances of {instance}: {', '.join(shares)}")
    widest = max(study.mean(case, jobs).half_width or 0.0 for case in CASES for jobs in JOBS)
    sure = f"95% intervals of the means: up to {PLUS_MINUS} {100 * widest:.1f} points"
    return f"SMD's jobs use, means at {JOBS[0]} to {JOBS[-1]} jobs, {'; '.join(rows)}. {sure}."


def _reading(study: Study) -> str:
    """Return how far the share depends on the resource."""
    case = CASES[0]
    parts = study.by_resource(case, JOBS[-1])
    texts = ", ".join(f"{parts[name]:.0%} of {word}" for name, word in _WORDS.items())
    tight = _range([study.mean(case, n, capacity="units") for case in CASES for n in JOBS])
    return (
        "A job grows until one of its limits binds, so the share depends on how an instance's resources compare with "
        f"what workers and servers ask for: {name_of(case)}, {JOBS[-1]} jobs: {texts}. The study names the family of "
        "instances, not the size, and an instance of it has no GPU though workers ask for up to 4. Where a "
        "limit binds, SMD's numbers of workers and servers fill it better than equal ones, so that ESW uses less; SMD "
        f"leaves more over only where more workers would slow a job. On {UNITS} units, where few jobs get in, those "
        f"with small limits do, and use {tight}."
    )


_WORDS = {"gpus": "GPUs", "cpus": "CPUs", "mem_gib": "memory", "disk_gib": "disk"}


def _assumed(study: Study) -> str:
    given = (
        "used over reserved of all admitted jobs together, the mean of the four resources",
        f"capacity {INSTANCES:,} instances, as in Fig. 11",
        "transfers overlap wait-free",
        "GPUs and disk of an instance",
        "utility in hours, in days for sync with times per sample",
        "SMD with exact workers, servers and knapsack",
    )
    sure = f"{PLUS_MINUS} is the 95% interval over {amount(len(study.seeds), 'seed')}."
    return f"{sure} Assumed: {'; '.join(given)}."


def _range(found: Sequence[Interval]) -> str:
    return f"{100 * min(one.mean for one in found):.1f} to {100 * max(one.mean for one in found):.1f}%"


USED = (
    Reproduction(
        "smd-12",
        PAPER,
        "Fig. 12",
        "Admitted jobs use 30 to 50% of what their users reserve, at 40 to 200 jobs, less than other policies.",
        figure_12,
    ),
)
