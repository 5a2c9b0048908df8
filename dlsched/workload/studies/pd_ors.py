"""Whole scenarios of jobs that book machines by the slot, as in the PD-ORS study."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.workload.generators import draw, plain
from dlsched.workload.generators.slotted_jobs import MACHINE, SlottedJobsSpec, speed_of_slotted_jobs

__all__ = ["sample_slotted_jobs", "slotted_jobs_scenario", "with_arrivals_of"]

AT_BORDER = 1e-9
"""An arrival this part of a slot before a border is on it."""


def slotted_jobs_scenario(
    spec: SlottedJobsSpec, seed: int = 0, name: str | None = None, options: SimulationRules | None = None
) -> Scenario:
    """Return the jobs of a specification on its machines; utility by slots; no prices."""
    plain_spec = plain(spec)
    slots = SimulationRules(placement="pack", utility_clock="slots", utility_unit_s=spec.slot_s, slot_s=spec.slot_s)
    return Scenario(
        workload=draw(plain_spec, seed),
        cluster=Cluster(pools=(Pool(vm=VmType(name="machine", **MACHINE), count=spec.machines),)),
        options=options or slots,
        speed=speed_of_slotted_jobs(spec),
        seed=seed,
        name=name or "Jobs that book machines",
        data_kind="generated",
        generator=plain_spec,
        assumptions=assumptions_of(spec),
    )


def with_arrivals_of(source: Scenario, spec: SlottedJobsSpec, seed: int = 0, name: str | None = None) -> Scenario:
    """Return the jobs of a specification, arriving over its slots as the jobs of another scenario do.

    The time from its first to its last submission becomes the slots; of more or fewer jobs, evenly spread ones are
    taken. A job arrives at the start of a slot. The jobs are fixed: a run seed draws no others.

    Raises
    ------
    InputError
        If the jobs of ``source`` all come at once.
    """
    submit_s = np.sort(source.workload.submit_s)
    window_s = submit_s[-1] - submit_s[0]
    if not window_s > 0:
        raise InputError(
            f"arrivals of {source.name!r}",
            "all jobs come at once",
            "Take a scenario whose jobs come one after the other",
        )
    made = slotted_jobs_scenario(spec, seed, name)
    picked = (np.arange(spec.jobs) + 0.5) / spec.jobs * len(submit_s)
    at = (submit_s[picked.astype(np.int64)] - submit_s[0]) / window_s
    slot = np.minimum(np.floor(at * spec.slots + AT_BORDER), spec.slots - 1)
    note = f"jobs arrive as those of “{source.name}” do, its {window_s / 3600:.3g} h scaled to {spec.slots} slots"
    return made.replace(
        workload=made.workload.with_columns(submit_s=slot * spec.slot_s),
        generator=None,
        assumptions=(*made.assumptions, note),
    )


def sample_slotted_jobs() -> Scenario:
    """Return the bundled sample: 50 jobs over 20 slots of an hour on 30 machines."""
    return slotted_jobs_scenario(SlottedJobsSpec(machines=30), 1, "Jobs that book 30 machines").replace(
        data_kind="example"
    )


def assumptions_of(spec: SlottedJobsSpec) -> tuple[str, ...]:
    """Return what the drawn jobs take for granted, in words."""
    sensitive = 1 - spec.insensitive - spec.critical
    return (
        "jobs drawn evenly from the ranges of the PD-ORS study",
        f"bandwidth between machines: {spec.slowest_mb_per_slot:g} to {spec.fastest_mb_per_slot:g} MB per slot, "
        f"{spec.inside_factor:g} times as much inside one; the study does not say",
        f"time matters not to {spec.insensitive:.0%} of the jobs, somewhat to {sensitive:.0%}, critically to "
        f"{spec.critical:.0%}",
        f"a slot is {spec.slot_s / 3600:g} h; utility counts slots from arrival to the last one used",
        "machines hold 18 times what a worker asks for in the mean",
        "policies with fixed widths give each job 1 to 30 workers, drawn",
    )
