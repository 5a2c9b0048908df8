"""Fig. 12 of the SMD study: how much of what users reserve their jobs use.

The study says neither how forward passes are timed nor which instances its limits count: all cases are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from dlsched.domain.workload import RESOURCES, Floats
from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.reproductions.claims import Check, above, as_numbers, nested, outcome_of
from dlsched.studies.reproductions.paired import PairedStudy, by_cell
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Printed, PrintedNumber, Setting
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

Capacity = Literal["instances", "units"]
CAPACITIES: tuple[Capacity, ...] = ("instances", "units")


class Setup(NamedTuple):
    """Which of ``UPDATES``, which of ``SIZES``."""

    updates: str
    instance: str

    @property
    def words(self) -> str:
        """The setup, in words."""
        return f"{self.updates}, instances of {self.instance}"

    @property
    def spec(self) -> ServerJobsSpec:
        """What the jobs are drawn from."""
        return ServerJobsSpec.model_validate({"jobs": max(JOBS), **UPDATES[self.updates], **SIZES[self.instance]})


SETUPS = tuple(Setup(updates, instance) for instance in SIZES for updates in UPDATES)
Cell = tuple[Setup, Capacity, int, Policy, Admission]


@dataclass(frozen=True)
class UseStudy(PairedStudy[Cell, Floats]):
    """Used over reserved by resource, (R,), over all admitted jobs; over the seeds."""

    seeds: tuple[int, ...]

    def share(
        self,
        setup: Setup,
        jobs: int,
        policy: Policy = "SMD",
        admission: Admission = "knapsack",
        capacity: Capacity = "instances",
    ) -> Interval:
        """Return the share used, as a mean over the resources."""
        return self.mean((setup, capacity, jobs, policy, admission), np.mean)

    def spared(self, setup: Setup, jobs: int) -> Interval:
        """Return by how much larger ESW's share is than SMD's, both with the knapsack; paired by seed."""
        esw: Cell = (setup, "instances", jobs, "ESW", "knapsack")
        return self.difference(esw, (setup, "instances", jobs, "SMD", "knapsack"), np.mean)

    def by_resource(self, setup: Setup, jobs: int) -> dict[str, float]:
        """Return SMD's mean share of each resource."""
        means = np.mean(self.results[setup, "instances", jobs, "SMD", "knapsack"], axis=0)
        return dict(zip(RESOURCES, means.tolist(), strict=True))


def share_used(used: Floats, reserved: Floats, taken: Mask) -> Floats:
    """Return what the jobs ``taken`` (I,) use of what they reserve, both (I, R), of each resource together, (R,)."""
    return np.asarray(used[taken].sum(axis=0) / reserved[taken].sum(axis=0))


def run_study(setting: Setting) -> UseStudy:
    """Return the shares of all setups; fewer jobs are the first ones of a batch."""
    seeds = QUICK_SEEDS if setting.quick else SEEDS
    todo = [(setup, seed) for setup in SETUPS for seed in seeds]
    shares: list[tuple[Cell, Floats]] = []
    for number, (setup, seed) in enumerate(todo, 1):
        shares += _shares(setup, seed)
        setting.tell(number, len(todo), "batches")
    return UseStudy(by_cell(shares), seeds)


def _shares(setup: Setup, seed: int) -> Iterator[tuple[Cell, Floats]]:
    batch = draw_batch(setup.spec, seed)
    instances = INSTANCES * instance_of(setup.spec)
    rooms: dict[Capacity, Floats] = {"instances": instances, "units": UNITS * UNIT_OF_CAPACITY}
    for policy in METHODS:
        choices = batch.choices(policy)
        value, used = batch.value(choices), batch.used(choices)
        for capacity, jobs, admission in product(CAPACITIES, JOBS, ADMISSIONS):
            taken = admitted(value[:jobs], batch.reserved[:jobs], rooms[capacity], admission)
            yield (setup, capacity, jobs, policy, admission), share_used(used[:jobs], batch.reserved[:jobs], taken)


def figure_12(setting: Setting) -> Outcome:
    """Return the shares used over the number of jobs."""
    study = run_study(setting)
    return outcome_of(_ours(study), checks_of(study), data_of(study), _reading(study), _assumed(study))


def checks_of(study: UseStudy) -> list[Check]:
    """Return the parts of the claim, setup by setup."""
    checks = []
    for setup in SETUPS:
        shares = [study.share(setup, jobs) for jobs in JOBS]
        inside = all(LEAST <= one.mean <= MOST for one in shares)
        sure = all((one.low or 0.0) >= LEAST and (one.high or 1.0) <= MOST for one in shares)
        where = f"{setup.words} ({_range(shares)})"
        checks.append(Check(f"{LEAST:.0%} to {MOST:.0%} used:", sure, where, unsure=inside))
    for setup in SETUPS:
        spared = study.spared(setup, JOBS[-1])
        points = f"{100 * spared.mean:.1f} {PLUS_MINUS} {100 * (spared.half_width or 0):.1f} points"
        checks.append(above(f"less used than by ESW at {JOBS[-1]} jobs:", spared, f"{setup.words} ({points})"))
    return checks


def data_of(study: UseStudy) -> dict[str, Any]:
    """Return all shares: means over the resources by setup, policy, admission and jobs, SMD's also by resource."""
    setups = {setup.words: setup for setup in SETUPS}
    return {
        "jobs": list(JOBS),
        "seeds": list(study.seeds),
        "capacities": {"instances": INSTANCES, "units": UNITS},
        "used_of_reserved": nested(
            lambda capacity, setup, policy, admission, jobs: as_numbers(
                study.share(setup, jobs, policy, admission, capacity)
            ),
            CAPACITIES, setups, tuple(METHODS), ADMISSIONS, JOBS,
        ),
        "used_of_reserved_by_resource": nested(study.by_resource, setups, JOBS),
    }  # fmt: skip


def _ours(study: UseStudy) -> str:
    rows = []
    for instance in SIZES:
        shares = (
            f"{updates} {_range([study.share(Setup(updates, instance), jobs) for jobs in JOBS])}" for updates in UPDATES
        )
        rows.append(f"instances of {instance}: {', '.join(shares)}")
    widest = max(study.share(setup, jobs).half_width or 0.0 for setup in SETUPS for jobs in JOBS)
    sure = f"95% intervals of the means: up to {PLUS_MINUS} {100 * widest:.1f} points"
    return f"SMD's jobs use, means at {JOBS[0]} to {JOBS[-1]} jobs, {'; '.join(rows)}. {sure}."


def _reading(study: UseStudy) -> str:
    """Return how far the share depends on the resource."""
    setup = SETUPS[0]
    parts = study.by_resource(setup, JOBS[-1])
    texts = ", ".join(f"{parts[name]:.0%} of {word}" for name, word in _WORDS.items())
    tight = _range([study.share(one, jobs, capacity="units") for one in SETUPS for jobs in JOBS])
    return (
        "A job grows until one of its limits binds, so the share depends on how an instance's resources compare with "
        f"what workers and servers ask for: {setup.words}, {JOBS[-1]} jobs: {texts}. The study names the family of "
        "instances, not the size, and an instance of it has no GPU though workers ask for up to 4. Where a "
        "limit binds, SMD's numbers of workers and servers fill it better than equal ones, so that ESW uses less; SMD "
        f"leaves more over only where more workers would slow a job. On {UNITS} units, where few jobs get in, those "
        f"with small limits do, and use {tight}."
    )


_WORDS = {"gpus": "GPUs", "cpus": "CPUs", "mem_gib": "memory", "disk_gib": "disk"}


def _assumed(study: UseStudy) -> str:
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


def _range(shares: Sequence[Interval]) -> str:
    return f"{100 * min(one.mean for one in shares):.1f} to {100 * max(one.mean for one in shares):.1f}%"


USED = (
    PAPER.figure(
        12,
        "Admitted jobs use 30 to 50% of what their users reserve, at 40 to 200 jobs, less than other policies.",
        figure_12,
        CpuTime(29, 87, full_is_measured=False),
        Printed("30–50% used", (PrintedNumber("used_of_reserved", LEAST, MOST),)),
    ),
)
