"""A proven lower bound on what finishing the jobs of a run costs, under any policy.

A node's bill is at least its price per GPU times the GPUs in use, so a job pays at least what its GPU-seconds cost at
the lowest price per GPU, and it cannot end sooner than its work allows. Where cores or memory count for the scenario,
they take the place of GPUs. On rented slots a job that was never on several of them at once counts only widths that one
machine of the type holds: where large machines cost more per GPU, wide runs do (decision 072). Rounding to hours, idle
machines, restarts and waiting only add to that; an end within one instant of the due date is not late. With run times
by table it is the bound of docs/papers/path-relinking.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster, VmType, vm_capacity
from dlsched.domain.counted import counted_capacity
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.billing import instant_s
from dlsched.metrics.bounds.fluid import certain_part, machines_at_hand
from dlsched.metrics.run_facts import RunFacts
from dlsched.sim.log import JobStatus
from dlsched.speed import SpeedModel
from dlsched.speed.mixing import job_lower_bounds
from dlsched.speed.parameter_server import ParameterServer

ROWS_AT_ONCE = 20_000
ROUNDING = 1e-9


def total_cost_bound(facts: RunFacts) -> float | None:
    """Return the bound on machine cost plus cost of lateness, $; None if a machine type has no price, or the speed
    model is that of a plug-in, of which no law is known.

    Jobs that did not finish in this run (cancelled, rejected, unfinished) count nothing.
    """
    if not facts.scenario.speed.is_ours:
        return None
    if any(vm.usd_per_h is None for vm in _machines(facts.scenario.cluster)):
        return None
    speed = facts.speed
    rows = np.flatnonzero(facts.completed | facts.is_status(JobStatus.FAILED))
    if isinstance(speed, ParameterServer):
        return float(_by_gangs(facts, rows).sum())
    bound = _by_table if facts.scenario.speed.kind == "table" else _by_law
    parts = (rows[at : at + ROWS_AT_ONCE] for at in range(0, len(rows), ROWS_AT_ONCE))
    return float(sum(bound(facts, speed, part).sum() for part in parts))


def _by_table(facts: RunFacts, speed: SpeedModel, rows: Ints) -> Floats:
    """Return the bound of each row over all mixtures of GPU types and numbers of GPUs."""
    usd_per_unit_s = _usd_per_unit_s(facts.scenario)
    widths = np.arange(1, int(speed.limits()[1][rows].max(initial=1)) + 1)
    times = np.full((len(rows), len(usd_per_unit_s), len(widths)), np.inf)
    row, width = np.repeat(rows, len(widths)), np.tile(widths, len(rows))
    for vm in machines_at_hand(facts.scenario.cluster).tolist():
        rate = np.where(_may_hold(facts, row, width, vm), speed.rates_on(row, width, vm), 0.0)
        rate = rate.reshape(len(rows), len(widths))
        np.divide(facts.truth.work[rows][:, None], rate, out=times[:, vm], where=rate > 0)
    certain = certain_part(facts, times.min(axis=(1, 2), initial=np.inf))
    # the part may be 0, and a machine that the job cannot use takes for ever
    np.multiply(times, certain[:, None, None], out=times, where=np.isfinite(times))
    slack_s, weight = _slack_s(facts, rows) + instant_s(facts.log.end_s), _weight(facts, rows)
    per_worker, found = _per_worker(facts, rows), np.zeros(len(rows))
    for units in np.unique(per_worker):
        these = per_worker == units
        prices = units * usd_per_unit_s if units > 0 else np.zeros(len(usd_per_unit_s))
        found[these] = job_lower_bounds(times[these], prices, slack_s[these], weight[these])
    return found


def _by_law(facts: RunFacts, speed: SpeedModel, rows: Ints) -> Floats:
    """Return least machine cost + least lateness of each row; weaker, because one width need not reach both.

    Under these laws a job uses the fewest GPU-seconds at its smallest width.
    """
    smallest = speed.limits()[0][rows]
    fastest = speed.fastest()[rows] * max(vm.speed for vm in _machines(facts.scenario.cluster))
    alone_s = facts.truth.work[rows] / fastest
    certain = certain_part(facts, alone_s)
    work, alone_s = facts.truth.work[rows] * certain, alone_s * certain
    units = smallest * _per_worker(facts, rows)
    bill = np.full(len(rows), np.inf)
    usd_per_unit_s = _usd_per_unit_s(facts.scenario)
    for vm in np.flatnonzero(np.isfinite(usd_per_unit_s)).tolist():
        rate = np.where(_may_hold(facts, rows, smallest, vm), speed.rates_on(rows, smallest, vm), 0.0)
        usd = np.divide(work * units * usd_per_unit_s[vm], rate, out=np.full(len(rows), np.inf), where=rate > 0)
        np.minimum(bill, usd, out=bill)
    bill = np.where(units > 0, bill, 0.0)
    return bill + _weight(facts, rows) * _late_s(facts, rows, alone_s)


def _by_gangs(facts: RunFacts, rows: Ints) -> Floats:
    """Return least machine cost + least lateness of each row over all workers and servers it may have.

    The width with the fewest GPU-seconds need not be the smallest, and policies may choose more servers than go with a
    width; see :meth:`ParameterServer.least_times_s`.
    """
    vm_types = facts.scenario.cluster.vm_types
    usd_per_unit_s = float((_usd_per_unit_s(facts.scenario) / [vm.speed for vm in vm_types]).min())
    least, units = facts.least_step_s[rows], _per_worker(facts, rows)
    alone_s = facts.truth.work[rows] * least[:, 0] / max(vm.speed for vm in _machines(facts.scenario.cluster))
    certain = certain_part(facts, alone_s)
    work, alone_s = facts.truth.work[rows] * certain, alone_s * certain
    with np.errstate(invalid="ignore"):
        bill = np.where(units > 0, work * least[:, 1] * units * usd_per_unit_s, 0.0)
    return np.asarray(bill + _weight(facts, rows) * _late_s(facts, rows, alone_s))


def _machines(cluster: Cluster) -> list[VmType]:
    """Return the machine types that jobs can run on."""
    return [cluster.vm_types[vm] for vm in machines_at_hand(cluster)]


def _usd_per_unit_s(scenario: Scenario) -> Floats:
    """Return the $ per GPU (core, GiB) and second of each machine type, infinite without any, shape (machine types,).

    In delayed restarts the lowest counts everywhere: a job that grew goes on at its old rate for a while, and may by
    then hold cheaper machines than those the rate is from. It grew in GPUs, so it holds no fewer than that rate needs.
    """
    usd = np.full(len(scenario.cluster.vm_types), np.inf)
    units = counted_capacity(scenario.cluster, scenario.counted)
    for number in machines_at_hand(scenario.cluster).tolist():
        if units[number] > 0:
            usd[number] = (scenario.cluster.vm_types[number].usd_per_h or 0.0) / HOUR_S / units[number]
    keeps_rate = scenario.options.restart_mode == "delayed" and scenario.options.restart_s > 0
    return np.where(np.isfinite(usd), usd.min(), np.inf) if keeps_rate else usd


def _may_hold(facts: RunFacts, rows: Ints, width: Ints, vm: int) -> NDArray[np.bool_]:
    """Return whether a machine type may hold so many workers of each row: one machine of rented slots, several of them
    for jobs that were on several at once, and several of owned nodes, where most policies spread jobs.
    """
    if not facts.scenario.cluster.free_slots:
        return np.ones(len(rows), dtype=bool)
    capacity = np.array(vm_capacity(facts.scenario.cluster.vm_types[vm])) * (1 + ROUNDING)
    fits = (facts.jobs.demand[rows] * width[:, None] <= capacity).all(axis=1)
    return np.asarray(fits | facts.was_spread[rows])


def _per_worker(facts: RunFacts, rows: Ints) -> Floats:
    """Return what a worker of each row holds of the counted resource."""
    return np.asarray(facts.jobs.demand[rows, facts.scenario.counted])


def _slack_s(facts: RunFacts, rows: Ints) -> Floats:
    if facts.jobs.due_s is None:
        return np.full(len(rows), np.inf)
    slack_s = facts.jobs.due_s[rows] - facts.jobs.submit_s[rows]
    return np.where(np.isnan(slack_s), np.inf, slack_s)


def _late_s(facts: RunFacts, rows: Ints, alone_s: Floats) -> Floats:
    """Return the time past due if the rows run from their submission, 0 within one instant as in a run's facts."""
    past_s = alone_s - _slack_s(facts, rows)
    return np.where(past_s > instant_s(facts.log.end_s), past_s, 0.0)


def _weight(facts: RunFacts, rows: Ints) -> Floats:
    weight = facts.jobs.weight_usd_per_s
    return np.zeros(len(rows)) if weight is None else np.nan_to_num(weight[rows])
