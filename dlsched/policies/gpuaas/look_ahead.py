"""Rollouts: several rules are played out on the jobs known and the jobs expected; the cheapest decides for a while.

A rule of a moment cannot know what its habits cost later: restarts, hours paid and not used, changes that the next
arrival undoes. Here each rule is run to the end of the jobs, with true bills and lateness, and the first of them, the
default, is left only for one that is cheaper by a margin. Jobs still to come are taken to be like the latest ones, at
their mean gap: without them a rule that spends what later jobs will need looks too good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.assignment import max_weight_assignment
from dlsched.policies.gpuaas.instance import Instance, Schedule, run_times

Rule = Callable[[Instance, Schedule], tuple[Schedule, float | None]]
"""From an instance and the schedule in force (of its jobs and nodes) to a schedule and the time it is meant to last."""
DONE = 1e-9
MOST_STEPS_A_JOB = 50
"""A rule that takes more decisions than this for each job goes round in circles and is out."""


@dataclass(frozen=True, eq=False)
class Ahead:
    """What lies ahead of a decision, times in seconds from now.

    ``instance``: all J jobs, those to come too, with residual times without restarts and slack from now on;
    ``arrives_s`` (J,) 0 for jobs that are here; ``held``: the schedule in force; ``ahead_s`` (J,) what is left of a
    running job's restart; ``start_s`` and ``change_s`` the time without progress after a start and after a change of a
    running job; ``paid_s`` (N,) time of each open node that is paid already, where leases are billed by the hour, else
    None. ``period_s``: a decision lasts no longer.
    """

    instance: Instance
    arrives_s: Floats
    held: Schedule
    ahead_s: Floats
    start_s: float = 0.0
    change_s: float = 0.0
    paid_s: Floats | None = None
    period_s: float = np.inf


def cheapest_rule(ahead: Ahead, rules: Mapping[str, Rule], margin: float) -> str:
    """Return the name of the cheapest rule; the first unless another one is cheaper by the ``margin``, a share."""
    best, *others = rules
    least_usd = (1.0 - margin) * played_out(ahead, rules[best])
    for name in others:
        usd = played_out(ahead, rules[name], least_usd)
        if usd < least_usd:
            best, least_usd = name, usd
    return best


def played_out(ahead: Ahead, rule: Rule, limit_usd: float = np.inf) -> float:
    """Return what a rule costs to the end of all jobs, machines and lateness, $.

    Infinity if it never gets there, or not below the limit.
    """
    full, left = ahead.instance, np.ones(ahead.instance.num_jobs)
    left[~np.isfinite(full.fastest)] = 0.0
    node, gpus, vm = ahead.held.node.copy(), ahead.held.gpus.copy(), ahead.held.vm.copy()
    restart_s = ahead.ahead_s.copy()
    leases = None if ahead.paid_s is None else _Leases.of(full, ahead.held, ahead.paid_s)
    now_s = usd = 0.0
    for _ in range(MOST_STEPS_A_JOB * full.num_jobs):
        is_open = left > DONE
        if not is_open.any():
            return usd
        if usd >= limit_usd:
            return np.inf
        rows = np.flatnonzero(is_open & (ahead.arrives_s <= now_s))
        next_s = ahead.arrives_s[is_open & (ahead.arrives_s > now_s)].min(initial=np.inf)
        if not len(rows):
            vm[:] = full.node_vm
            if leases is not None:
                leases.keep(vm)
            now_s = next_s
            continue
        idle = _idle_s(ahead, rows, node[rows], gpus[rows], vm, restart_s[rows])
        point = replace(
            full,
            times=full.times[rows] * left[rows, None, None] + idle,
            slack=full.slack[rows] - now_s,
            weight=full.weight[rows],
            running=node[rows] >= 0,
        )
        schedule, lasts_s = rule(point, Schedule(node[rows], gpus[rows], vm))
        runs = schedule.runs
        if not len(runs) and next_s == np.inf:
            return np.inf
        times = run_times(point, schedule)
        lost_s = np.zeros(len(rows))
        lost_s[runs] = idle[runs, full.vm_family[schedule.vm[schedule.node[runs]]], schedule.gpus[runs] - 1]
        if ahead.change_s > 0:
            schedule, moved = _in_place(schedule, Schedule(node[rows], gpus[rows], vm))
            times[moved] += ahead.change_s - lost_s[moved]
            lost_s[moved] = ahead.change_s
        step_s = min(next_s - now_s, times.min(), ahead.period_s, np.inf if lasts_s is None else lasts_s)
        usd += leases.bill(schedule.vm, step_s) if leases is not None else step_s * _usd_per_s(full, schedule.vm)
        now_s += step_s
        gained = np.maximum(0.0, step_s - lost_s) / np.where(np.isfinite(times), times - lost_s, 1.0)
        left[rows[runs]] *= np.maximum(0.0, 1.0 - gained[runs])
        restart_s[rows] = np.maximum(0.0, lost_s - step_s)
        left[rows[times <= step_s]] = 0.0
        ended = rows[left[rows] <= DONE]
        usd += float(full.weight[ended] @ np.maximum(0.0, now_s - full.slack[ended]))
        node[rows], gpus[rows], vm = schedule.node, schedule.gpus, schedule.vm.copy()
        node[ended], gpus[ended] = -1, 0
        vm[np.setdiff1d(np.flatnonzero(full.node_vm < 0), node[node >= 0])] = -1
    return np.inf


def _idle_s(ahead: Ahead, rows: Ints, node: Ints, gpus: Ints, vm: Ints, left_s: Floats) -> Floats:
    """Return the time without progress before each configuration of each job, (rows, F, G): as it is, no change."""
    runs = np.flatnonzero(node >= 0)
    idle = np.full((len(rows), *ahead.instance.times.shape[1:]), ahead.start_s)
    idle[runs] = ahead.change_s
    idle[runs, ahead.instance.vm_family[vm[node[runs]]], gpus[runs] - 1] = left_s[runs]
    return idle


def _in_place(schedule: Schedule, held: Schedule) -> tuple[Schedule, Ints]:
    """Return the schedule with nodes numbered such that most jobs stay, and the jobs that change all the same.

    A job stays on the node it is on with as many GPUs of the same machine; all else that runs on is a restart.
    """
    ran = (schedule.node >= 0) & (held.node >= 0)
    alike = ran & (schedule.gpus == held.gpus) & (schedule.vm[schedule.node] == held.vm[held.node])
    stays = 2.0 * (schedule.vm[:, None] == held.vm) + np.eye(len(held.vm))  # after jobs leases count, then names
    np.add.at(stays, (schedule.node[alike], held.node[alike]), 3.0 * len(held.vm) + 1.0)
    real = max_weight_assignment(stays)
    vm = np.empty_like(schedule.vm)
    vm[real] = schedule.vm
    node = np.where(schedule.node >= 0, real[schedule.node], -1)
    return Schedule(node, schedule.gpus, vm), np.flatnonzero(ran & ~(alike & (node == held.node)))


def _usd_per_s(instance: Instance, vm: Ints) -> float:
    return float(instance.vm_price[vm[vm >= 0]].sum())


@dataclass(eq=False)
class _Leases:
    """Machines rented by the hour, by type: the time of each that is paid and not used."""

    usd_per_s: Floats
    paid_s: dict[int, list[float]]

    @classmethod
    def of(cls, instance: Instance, held: Schedule, paid_s: Floats) -> _Leases:
        leases = cls(instance.vm_price, {})
        for vm, left_s in zip(held.vm.tolist(), paid_s.tolist(), strict=True):
            if vm >= 0:
                leases.paid_s.setdefault(vm, []).append(left_s)
        return leases

    def keep(self, vms: Ints) -> None:
        """Give up machines beyond those asked for, first where least is paid."""
        for vm, paid in self.paid_s.items():
            paid.sort()
            del paid[: max(0, len(paid) - int((vms == vm).sum()))]

    def bill(self, vms: Ints, step_s: float) -> float:
        """Return what is due for these machines over a step: started hours not paid yet, $."""
        self.keep(vms)
        usd = 0.0
        for vm in np.unique(vms[vms >= 0]).tolist():
            paid = self.paid_s.setdefault(vm, [])
            paid.extend([0.0] * (int((vms == vm).sum()) - len(paid)))
            for number, left_s in enumerate(paid):
                hours = max(0.0, np.ceil((step_s - left_s) / HOUR_S - DONE))
                usd += hours * HOUR_S * float(self.usd_per_s[vm])
                paid[number] = left_s + hours * HOUR_S - step_s
        return usd
