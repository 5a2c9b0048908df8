"""Playing rules out: what a rule costs on given jobs, with true bills, restarts and lateness.

A rule of a moment cannot know what its habits cost later: restarts, hours paid and not used, slack used up. A
:class:`Play` carries a rule on from decision to decision, to the end of the jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.assignment import max_weight_assignment
from dlsched.policies.gpuaas.hours import Leases
from dlsched.policies.gpuaas.instance import Instance, Schedule

Rule = Callable[[Instance, Schedule, Floats], tuple[Schedule, float | None]]
"""From an instance, the schedule in force (of its jobs and nodes) and the seconds of each node that are paid already
(N,; 0 where nothing is paid in advance) to a schedule and the time it is meant to last."""
DONE = 1e-9
MOST_STEPS_A_JOB = 50
"""A rule that takes more decisions than this for each job, and one an hour, goes round in circles and is out."""


@dataclass(frozen=True, eq=False)
class Known:
    """What a play is about, in seconds.

    ``point``: its nodes (all free), machine types and period hold, its jobs do not; ``times`` (J, F, G) run times of
    the whole jobs without restarts, ``due_s`` (J,) on the clock of the plays, ``weight`` (J,) $ per second;
    ``start_s`` and ``change_s`` the time without progress after a start and after a change of a running job.
    """

    point: Instance
    times: Floats
    due_s: Floats
    weight: Floats
    start_s: float = 0.0
    change_s: float = 0.0


@dataclass(eq=False)
class Play:
    """How far a rule has come by ``now_s``, and what it has cost, ``usd``, with lateness of the jobs that ended.

    ``left`` (J,) the part of each job that is not done; ``node``, ``gpus`` (J,) and ``vm`` (N,) the schedule in force;
    ``restart_s`` (J,) what is left of a running job's restart; ``leases`` where machines are billed by the hour.
    """

    now_s: float
    left: Floats
    node: Ints
    gpus: Ints
    vm: Ints
    restart_s: Floats
    leases: Leases | None = None
    usd: float = 0.0

    def copy(self) -> Play:
        """Return a play that goes its own way from here."""
        return replace(
            self,
            left=self.left.copy(),
            node=self.node.copy(),
            gpus=self.gpus.copy(),
            vm=self.vm.copy(),
            restart_s=self.restart_s.copy(),
            leases=None if self.leases is None else self.leases.copy(),
        )

    def usd_at_end(self, known: Known, rule: Rule, limit_usd: float = np.inf) -> float:
        """Return what it will have cost when all jobs are done; infinity if that is never, or not below the limit."""
        ahead = self.copy()
        hours = np.where(np.isfinite(known.times), known.times, 0.0).max(axis=(1, 2), initial=0.0).sum() / HOUR_S
        for _ in range(MOST_STEPS_A_JOB * max(1, len(self.left)) + int(hours)):
            rows = np.flatnonzero(ahead.left > DONE)
            if not len(rows):
                return ahead.usd if ahead.usd < limit_usd else np.inf
            if ahead.usd >= limit_usd or not ahead._step(known, rule, rows):
                break
        return np.inf

    def _step(self, known: Known, rule: Rule, rows: Ints) -> bool:
        """Carry the rule's schedule out until it ends or a job does; False if it never would."""
        point, held = known.point, Schedule(self.node[rows], self.gpus[rows], self.vm)
        has_restarts = known.start_s > 0 or known.change_s > 0
        idle = self._idle_s(known, rows, held) if has_restarts else np.zeros((len(rows), 1, 1))
        times = known.times[rows] * self.left[rows, None, None] + idle
        slack = known.due_s[rows] - self.now_s
        paid_s = np.zeros(len(self.vm)) if self.leases is None else self.leases.paid_s
        schedule, lasts_s = rule(point.of_jobs(times, slack, known.weight[rows], held.node >= 0), held, paid_s)
        runs = schedule.runs
        if not len(runs) and lasts_s is None:
            return False
        needs_s, lost_s = np.full(len(rows), np.inf), np.zeros(len(rows))
        at = (runs, point.vm_family[schedule.vm[schedule.node[runs]]], schedule.gpus[runs] - 1)
        needs_s[runs] = known.times[rows[runs], at[1], at[2]] * self.left[rows[runs]]
        if has_restarts:
            lost_s[runs] = idle[at]
        if known.change_s > 0 or self.leases is not None:
            schedule, moved = _in_place(schedule, held)
            lost_s[moved] = known.change_s
        ends_s = needs_s + lost_s
        step_s = min(ends_s.min(initial=np.inf), np.inf if lasts_s is None else lasts_s)
        vms = schedule.vm[schedule.vm >= 0]
        if self.leases is not None:
            self.usd += self.leases.bill(schedule.vm, step_s)
        else:
            self.usd += step_s * float(point.vm_price[vms].sum())
        self.now_s += step_s
        gained = np.maximum(0.0, step_s - lost_s[runs]) / needs_s[runs]
        self.left[rows[runs]] *= np.maximum(0.0, 1.0 - gained)
        self.left[rows[ends_s <= step_s]] = 0.0
        self.restart_s[rows] = np.maximum(0.0, lost_s - step_s)
        ended = rows[self.left[rows] <= DONE]
        self.usd += float(known.weight[ended] @ np.maximum(0.0, self.now_s - known.due_s[ended]))
        self.node[rows], self.gpus[rows] = schedule.node, schedule.gpus
        self.node[ended], self.gpus[ended] = -1, 0
        self.vm = schedule.vm
        return True

    def _idle_s(self, known: Known, rows: Ints, held: Schedule) -> Floats:
        """Return the time without progress before each configuration of each job, (rows, F, G): as it is, no change."""
        idle = np.full((len(rows), *known.times.shape[1:]), known.start_s)
        runs = held.runs
        idle[runs] = known.change_s
        idle[runs, known.point.vm_family[held.vm[held.node[runs]]], held.gpus[runs] - 1] = self.restart_s[rows[runs]]
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
