"""A workload and machines as an instance of whole slots, as in the PD-ORS study: nothing starts within a slot."""

from __future__ import annotations

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import RESOURCES, Floats, Workload
from dlsched.policies.primal_dual.problem import Instance, Job
from dlsched.policies.primal_dual.state_adapter import AT_BORDER, most_workers, workers_per_server

NEEDED = ("step_s", "spread_s", "utility_1", "utility_2", "utility_3")


def instance_of(jobs: Workload, capacity: Floats, slots: int, slot_s: float) -> Instance:
    """Return jobs on machines with ``capacity`` (H, R) over ``slots`` slots of ``slot_s`` seconds, in order of arrival.

    A job arrives in the slot of its submission and may use that slot; its utility counts slots. Jobs submitted after
    the last slot stay: they can never finish.

    Raises
    ------
    InputError
        If times of training steps or utilities are missing, or a time on one machine is 0.
    """
    for name in NEEDED:
        if getattr(jobs, name) is None:
            raise InputError(f"column {name}", "is missing; booking by slot needs it", "Add the column")
    arrival = np.floor(jobs.submit_s / slot_s + AT_BORDER).astype(int).tolist()
    return Instance(
        slots, capacity, tuple(_job(jobs, row, slot, slot_s) for row, slot in enumerate(arrival)), RESOURCES
    )


def _job(jobs: Workload, row: int, arrival: int, slot_s: float) -> Job:
    step_s, spread_s, worth, slope, half = (float(getattr(jobs, name)[row]) for name in NEEDED)
    if step_s <= 0:
        raise InputError(
            f"job {jobs.job_id[row]}, step_s", f"must be above 0, got {step_s:g}", "Give the time of a sample"
        )
    return Job(
        name=str(jobs.job_id[row]),
        arrival=arrival,
        first=arrival,
        work=float(jobs.work[row]),
        near=step_s / slot_s,
        far=(step_s + spread_s) / slot_s,
        batch=most_workers(jobs, row),
        ratio=workers_per_server(jobs, row),
        worker_demand=jobs.demand[row],
        server_demand=jobs.server_demand[row],
        utility=(worth, slope, half),
    )
