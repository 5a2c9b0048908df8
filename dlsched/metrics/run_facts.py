"""What a run log says, derived once: the columns that numbers, series and tables share.

Everything here is a column over jobs, pieces or shares of the log; nothing is aggregated. Money is in
:mod:`dlsched.metrics.billing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.counted import counted_capacity
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.domain.utility import has_utility, utility_at
from dlsched.domain.workload import GPU, RESOURCES, Floats, Ints, Workload
from dlsched.metrics.billing import Bill, Stays, bill_jobs, billed_stays, instant_s, stay_usd, up_stays
from dlsched.metrics.energy import Energy, energy_of
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.speed import SpeedModel, build_speed
from dlsched.speed.parameter_server import ParameterServer

BOUND_S = 600.0
"""Bounded slowdown divides by at least this run time, so that very short jobs do not dominate."""
RESTART_AFTER = (PieceEnd.MOVED, PieceEnd.NODE_LOST, PieceEnd.VM_CHANGED)


@dataclass(frozen=True, eq=False)
class RunFacts:
    """The facts of one run: scenario as it was run, truth and log, and what follows from them."""

    scenario: Scenario
    truth: Truth
    log: RunLog

    @property
    def jobs(self) -> Workload:
        """The jobs the log speaks of, row by row."""
        return self.scenario.workload

    def is_status(self, status: JobStatus) -> NDArray[np.bool_]:
        """Return which jobs ended this way."""
        return np.asarray(self.log.job_status == status)

    @cached_property
    def completed(self) -> NDArray[np.bool_]:
        """Which jobs completed."""
        return self.is_status(JobStatus.COMPLETED)

    # ---- pieces and shares -------------------------------------------------------------------------

    @cached_property
    def piece_of_share(self) -> Ints:
        """Piece of each share."""
        return np.repeat(np.arange(len(self.log.piece_row)), np.diff(self.log.share_first))

    @property
    def share_held(self) -> Floats:
        """What the workers and servers of each share hold, shape (shares, resources); computed anew each time."""
        return np.column_stack([self.share_held_of(resource) for resource in range(len(RESOURCES))])

    def share_held_of(self, resource: int) -> Floats:
        """Return what each share holds of one resource (index in RESOURCES)."""
        row = self.log.piece_row[self.piece_of_share]
        held: Floats = self.log.share_workers * self.jobs.demand[row, resource]
        if self.log.share_servers.any():
            held += self.log.share_servers * self.jobs.server_demand[row, resource]
        return held

    @cached_property
    def piece_held(self) -> Floats:
        """What each piece holds of the counted resource (GPUs, cores, GiB)."""
        counted = self.share_held_of(self.scenario.counted)
        return np.bincount(self.piece_of_share, counted, minlength=len(self.log.piece_row)).astype(float)

    @cached_property
    def piece_length_s(self) -> Floats:
        """Length of each piece."""
        return self.log.piece_end_s - self.log.piece_start_s

    @cached_property
    def piece_slow_s(self) -> Floats:
        """Part of each piece before its own rate holds."""
        return np.clip(self.log.piece_progress_from_s - self.log.piece_start_s, 0.0, self.piece_length_s)

    @cached_property
    def piece_restarting_s(self) -> Floats:
        """Part of each piece without any progress."""
        log = self.log
        at_rest_s = np.where(log.piece_rate > 0, 0.0, self.piece_length_s - self.piece_slow_s)
        return np.where(log.piece_restart_rate > 0, 0.0, self.piece_slow_s) + at_rest_s

    @cached_property
    def piece_lost_s(self) -> Floats:
        """Time that made the lost work of each piece, counted back from its end."""
        log = self.log
        fast_work = log.piece_rate * (self.piece_length_s - self.piece_slow_s)
        lost_fast = np.minimum(log.piece_lost_work, fast_work)
        lost_slow = log.piece_lost_work - lost_fast
        return _ratio(lost_fast, log.piece_rate) + _ratio(lost_slow, log.piece_restart_rate)

    @cached_property
    def piece_is_restart(self) -> NDArray[np.bool_]:
        """Whether a piece follows an earlier one of its job after a gap, a move, a lost node or a changed VM."""
        log = self.log
        order = np.lexsort((log.piece_start_s, log.piece_row))
        earlier, later = order[:-1], order[1:]
        gap_s = log.piece_start_s[later] - log.piece_end_s[earlier]
        apart = gap_s > instant_s(log.piece_start_s[later])
        again = apart | np.isin(log.piece_end[earlier], [int(end) for end in RESTART_AFTER])
        restart = np.zeros(len(order), dtype=bool)
        restart[later] = again & (log.piece_row[earlier] == log.piece_row[later])
        return restart

    def per_job(self, piece_values: Floats | NDArray[np.bool_]) -> Floats:
        """Return the sum of a column over pieces for each job."""
        total = np.bincount(self.log.piece_row, np.asarray(piece_values, dtype=float), minlength=len(self.jobs))
        return total.astype(float)

    @cached_property
    def was_spread(self) -> NDArray[np.bool_]:
        """Which jobs were on several nodes at once."""
        log = self.log
        piece = self.piece_of_share
        apart = (piece[1:] == piece[:-1]) & (log.share_node[1:] != log.share_node[:-1])
        spread = np.zeros(len(self.jobs), dtype=bool)
        spread[log.piece_row[piece[1:][apart]]] = True
        return spread

    # ---- jobs --------------------------------------------------------------------------------------

    @cached_property
    def speed(self) -> SpeedModel:
        """How fast the jobs run on the machine types of the cluster."""
        return build_speed(self.scenario.speed, self.jobs, self.scenario.cluster.vm_types)

    @cached_property
    def least_step_s(self) -> Floats:
        """Least seconds between two steps and least worker-seconds of a step of each job with parameter servers.

        Shape (jobs, 2); no rows under other speed models.
        """
        if not isinstance(self.speed, ParameterServer):
            return np.zeros((0, 2))
        least = [self.speed.least_times_s(row) for row in range(len(self.jobs))]
        return np.array(least, dtype=float).reshape(len(self.jobs), 2)

    @cached_property
    def left_s(self) -> Floats:
        """When each job left the system; the end of the run for unfinished ones."""
        return np.where(np.isnan(self.log.job_end_s), self.log.end_s, self.log.job_end_s)

    @cached_property
    def wait_s(self) -> Floats:
        """First start minus submission; NaN for jobs that never started."""
        return self.log.job_first_start_s - self.jobs.submit_s

    @cached_property
    def jct_s(self) -> Floats:
        """Completion minus submission; NaN for jobs that did not complete."""
        return np.where(self.completed, self.log.job_end_s - self.jobs.submit_s, np.nan)

    @cached_property
    def run_s(self) -> Floats:
        """Time each job held something."""
        return self.per_job(self.piece_length_s)

    @cached_property
    def not_running_s(self) -> Floats:
        """Time each job was in the system without progress."""
        progressing_s = self.per_job(self.piece_length_s - self.piece_restarting_s)
        return np.maximum(self.left_s - self.jobs.submit_s - progressing_s, 0.0)

    @cached_property
    def alone_s(self) -> Floats:
        """Run time of each job alone on reference nodes at its requested width, else at its fastest one.

        A job with a time table takes what it gets: its request only tells policies with fixed widths what to give.
        """
        speed = self.speed
        if self.scenario.speed.kind == "table":
            return self.truth.work / speed.fastest()
        rate = speed.rates(np.arange(len(self.jobs)), self.jobs.workers)
        if (rate <= 0).any():
            rate = np.where(rate > 0, rate, speed.fastest())
        return np.asarray(np.divide(self.truth.work, rate, out=np.full(len(rate), np.inf), where=rate > 0))

    @cached_property
    def slowdown(self) -> Floats:
        """Turnaround time over run time alone; NaN for jobs that did not complete."""
        return self.jct_s / self.alone_s

    @cached_property
    def slowdown_bounded(self) -> Floats:
        """Slowdown with run times below :data:`BOUND_S` counted as that, never below 1."""
        return np.maximum(self.jct_s / np.maximum(self.alone_s, BOUND_S), 1.0)

    @cached_property
    def has_due(self) -> NDArray[np.bool_]:
        """Jobs judged by their due date: those that have one and were not rejected."""
        if self.jobs.due_s is None:
            return np.zeros(len(self.jobs), dtype=bool)
        return ~np.isnan(self.jobs.due_s) & ~self.is_status(JobStatus.REJECTED)

    @cached_property
    def tardiness_s(self) -> Floats:
        """Time past due when the job left, or when the run ended; NaN for jobs without a due date and rejected ones."""
        if self.jobs.due_s is None:
            return np.full(len(self.jobs), np.nan)
        past_s = self.left_s - self.jobs.due_s
        late = past_s > instant_s(self.left_s)
        return np.where(self.has_due, np.where(late, past_s, 0.0), np.nan)

    @cached_property
    def tardiness_usd(self) -> Floats | None:
        """Weight times tardiness of each job, 0 where it has no due date or weight; None without such columns."""
        if self.jobs.due_s is None or self.jobs.weight_usd_per_s is None:
            return None
        return np.nan_to_num(self.tardiness_s) * np.nan_to_num(self.jobs.weight_usd_per_s)

    @cached_property
    def utility(self) -> Floats | None:
        """Worth of each job at its completion, NaN where it has none; None without utility columns."""
        if not has_utility(self.jobs):
            return None
        end_s = np.where(self.completed, self.log.job_end_s, np.nan)
        rows = np.arange(len(self.jobs))
        return utility_at(self.jobs, self.scenario.options, rows, end_s, instant_s(self.left_s))

    # ---- machines and money ------------------------------------------------------------------------

    @cached_property
    def stays(self) -> Stays:
        """Billed stays of nodes."""
        return billed_stays(self.scenario, self.log)

    @cached_property
    def up(self) -> Stays:
        """Stays in which nodes are available."""
        return up_stays(self.scenario, self.log)

    @cached_property
    def bill(self) -> Bill | None:
        """What each job pays; None when a machine has no price."""
        bills = stay_usd(self.scenario, self.stays)
        if np.isnan(bills).any():
            return None
        return bill_jobs(self.scenario, self.log, bills, self.piece_of_share, self.share_held)

    @cached_property
    def energy(self) -> Energy | None:
        """Energy of jobs and idle GPUs; None if the scenario counts none."""
        return energy_of(self.scenario, self.log, self.up, self.piece_of_share, self.share_held_of(GPU))

    @cached_property
    def restart_usd(self) -> float:
        """What the jobs' own GPUs (cores) cost while they restarted, or made work that was lost; 0 without prices."""
        if self.bill is None:
            return 0.0
        wasted = _ratio(self.piece_restarting_s + self.piece_lost_s, self.piece_length_s)
        return float(self.bill.own_usd @ wasted[self.piece_of_share])

    @cached_property
    def unit_s_up(self) -> float:
        """Seconds x what the nodes have of the counted resource while they were up: GPU-seconds, core-seconds."""
        return self._unit_s(self.up)

    @cached_property
    def unit_s_paid(self) -> float:
        """As :attr:`unit_s_up`, of the time that was billed, without rounding up to the hour."""
        return self._unit_s(self.stays)

    def _unit_s(self, stays: Stays) -> float:
        units = counted_capacity(self.scenario.cluster, self.scenario.counted)
        return float(np.sum(units[stays.vm] * (stays.end_s - stays.start_s)))

    @cached_property
    def unit_s_held(self) -> float:
        """As :attr:`unit_s_up`, of what jobs held."""
        return float(self.piece_held @ self.piece_length_s)

    @cached_property
    def unit_s_useful(self) -> float:
        """As :attr:`unit_s_held`, without restarts and lost work."""
        wasted_s = self.piece_restarting_s + self.piece_lost_s
        return self.unit_s_held - float(self.piece_held @ wasted_s)


def _ratio(over: Floats, under: Floats) -> Floats:
    """Return over / under, 0 where under is 0."""
    return np.divide(over, under, out=np.zeros(len(over)), where=under > 0)
