"""The most utility that a tiny run could have had, had all of its jobs been known in advance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.placement.eligibility import features_matter
from dlsched.policies.primal_dual.offline import MOST_CELLS, MOST_SLOTS, solve
from dlsched.policies.primal_dual.policy import Judged
from dlsched.policies.primal_dual.problem import Instance, Schedule, utility_of
from dlsched.policies.primal_dual.state_adapter import AT_BORDER, PLENTY, StateJob
from dlsched.studies.inspect.dual_prices.answer import Hindsight
from dlsched.studies.inspect.dual_prices.run import Watcher, watched
from dlsched.studies.inspect.dual_prices.spec import DualPricesSpec
from dlsched.studies.simulation import Progress
from dlsched.wording.formats import amount

UNCERTAIN = ("restart_s", "estimate_error", "bug_share", "cancel_share")


def why_not(scenario: Scenario, horizon: int) -> str:
    """Return why the best in hindsight is not computed for a run with this horizon; "" where it can be."""
    options = scenario.options
    if scenario.cluster.absences or scenario.cluster.rents_nodes or any(getattr(options, name) for name in UNCERTAIN):
        return "Nodes that go away, restarts, estimates that are off and jobs that fail have no place in that program."
    machine_kinds = {(pool.partition, pool.vm.gpu_type, pool.vm.speed) for pool in scenario.cluster.pools}
    if len(machine_kinds) > 1 or features_matter(scenario.workload, scenario.cluster):
        return "Machines of several kinds have no place in that program."
    jobs = scenario.workload
    if not len(jobs):
        return "There are no jobs."
    slots = last_slot(scenario) + horizon
    if slots > MOST_SLOTS:
        fits = MOST_SLOTS - last_slot(scenario)
        over = (
            f"Jobs arrive over {amount(last_slot(scenario) + 1, 'slot')} and may be booked over {slots:,}; the program "
            f"takes {MOST_SLOTS}."
        )
        return over + (f" With a horizon of {amount(fits, 'slot')} a run would be small enough." if fits > 0 else "")
    cells = len(jobs) * scenario.cluster.num_nodes * slots
    if cells > MOST_CELLS:
        return f"Jobs x machines x slots are {cells:,}; the program takes {MOST_CELLS:,}."
    return ""


def last_slot(scenario: Scenario) -> int:
    """Return the slot in which the last job arrives, counted from that of the first."""
    slots = np.floor(scenario.workload.submit_s / scenario.options.slot_s + AT_BORDER)
    return int(slots.max() - slots.min())


def run_hindsight(spec: DualPricesSpec, scenario: Scenario, progress: Progress | None = None) -> Hindsight:
    """Return the best of the run's jobs, or the bounds that the search proved.

    Raises
    ------
    InputError
        As :func:`run_dual_prices`; or where :func:`why_not` says why.
    """
    watcher = watched(spec, scenario)
    if why := why_not(watcher.prepared.scenario, watcher.horizon):
        raise InputError("best in hindsight", why, "Take a smaller case")
    if any(one.again for _, one in watcher.judged):
        raise InputError("best in hindsight", "a job was booked twice in this run", "Take a run without failures")
    if progress is not None:
        progress(0.3, "searching all plans")
    instance = instance_of(watcher)
    best = solve(instance)
    ours = utility_of(instance.jobs, [_shifted_schedule(at, one) for at, one in watcher.judged])
    return Hindsight(ours=ours, utility=best.utility, bound=best.bound, status=best.status)


def instance_of(watcher: Watcher) -> Instance:
    """Return the run's jobs, machines and slots; slot 0 is that of the first decision."""
    scenario = watcher.prepared.scenario
    jobs = tuple(_shifted(at, one.job) for at, one in watcher.judged)
    slots = max((at for at, _ in watcher.judged), default=0) + watcher.horizon
    capacity = np.minimum(scenario.cluster.nodes.capacity, PLENTY)
    return Instance(slots, capacity, jobs, tuple(map(str, range(capacity.shape[1]))))


def _shifted(by: int, job: StateJob) -> StateJob:
    """Return a job with its slots counted from the run's first; before it is there it may not run anyway."""
    worths = np.concatenate([np.full(by, job.worths[0]), job.worths])
    return replace(job, arrival=job.arrival + by, first=job.first + by, worths=worths)


def _shifted_schedule(by: int, one: Judged) -> Schedule | None:
    schedule = one.decision.schedule
    return {by + slot: booking for slot, booking in schedule.items()} if schedule else None
