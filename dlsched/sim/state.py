"""What a policy sees of the world: the believed state, read-only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from dlsched.domain.cluster import Absence
from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Allocation, Share
from dlsched.domain.policy import EventKind
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import PlacementRule
from dlsched.domain.slurm import SlurmSetup
from dlsched.domain.state import Nodes
from dlsched.domain.utility import utility_at
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.placement import TrialPlacer
from dlsched.sim.event_queue import instant_s
from dlsched.sim.reservations import Uses, future_uses, lasting_room
from dlsched.sim.world import World


class PolicyView:
    """A ``domain.state.State`` of one instant; arrays are built when they are asked for."""

    def __init__(self, world: World, now_s: float, cause: EventKind, rng: np.random.Generator) -> None:
        self._world = world
        self.now_s = now_s
        self.cause = cause
        self.nodes: Nodes = world.nodes
        self.rng = rng

    @property
    def jobs(self) -> Workload:
        """The rows submitted so far, with believed work and nothing recorded."""
        return self._world.submitted_jobs()

    @cached_property
    def active(self) -> Ints:
        """Rows submitted and not ended."""
        return self._world.active.array()

    @cached_property
    def waiting(self) -> Ints:
        """Active rows that hold nothing."""
        return self._world.waiting.array()

    @cached_property
    def running(self) -> Ints:
        """Active rows that hold something."""
        return self._world.running.array()

    @property
    def calendar(self) -> tuple[Absence, ...]:
        """Planned absences that have not ended."""
        return tuple(absence for absence in self._world.planned if absence.until_s > self.now_s)

    @property
    def queues(self) -> QueueTree | None:
        """Quotas of queues; None if the scenario has no queues."""
        return self._world.scenario.queues

    @property
    def oversize(self) -> str:
        """What becomes of jobs that are too large: "refuse" the run, "drop" or "cap" them."""
        return self._world.options.oversize

    @property
    def slurm(self) -> SlurmSetup | None:
        """Settings of the cluster's Slurm; None if they are not known."""
        return self._world.scenario.slurm

    def _checked_rows(self, rows: Ints) -> Ints:
        """Return rows counted from 0; PlanError when one has not been submitted: it cannot be known yet."""
        submitted = self._world.event_queue.submitted
        rows = np.asarray(rows)
        if not rows.size or 0 <= rows.min() <= rows.max() < submitted:
            return rows
        if not -submitted <= rows.min() <= rows.max() < submitted:
            strange = rows[(rows < -submitted) | (rows >= submitted)][0]
            raise PlanError(
                f"At {self.now_s:g} s: the policy asks about row {strange}, which has not been submitted yet."
            )
        return np.where(rows < 0, rows + submitted, rows)

    def remaining(self, rows: Ints) -> Floats:
        """Believed work left, at least 0."""
        rows = self._checked_rows(rows)
        left = self._world.believed.work[rows] - self._world.progress.done_at(rows, self.now_s)
        return np.asarray(np.maximum(left, 0.0))

    def attained_gpu_s(self, rows: Ints) -> Floats:
        """GPU-seconds held so far."""
        return self._world.progress.attained_at(rows, self.now_s)

    @property
    def change_s(self) -> float:
        """Seconds without progress that a resize or move costs a running job; 0 where its old width keeps running."""
        options = self._world.options
        return options.restart_s if options.restart_mode == "pause" else 0.0

    @property
    def restart_s(self) -> float:
        """Seconds without progress after a start."""
        return self._world.options.restart_s

    @property
    def bills_hours(self) -> bool:
        """Whether each rental is billed by the started hour; else to the second."""
        return self._world.options.billing == "hour"

    def restart_ahead_s(self, rows: Ints) -> Floats:
        """Seconds without progress ahead: what is left of a running row's restart, a whole one for a waiting row."""
        progress = self._world.progress
        left_s = np.where(progress.restart_rate[rows] > 0, 0.0, progress.progress_from_s[rows] - self.now_s)
        return np.where(self._world.is_waiting[rows], self._world.options.restart_s, np.maximum(left_s, 0.0))

    def started_s(self, rows: Ints) -> Floats:
        """First start; NaN when never started."""
        return np.asarray(self._world.progress.first_start_s[rows])

    def first_workers(self, rows: Ints) -> Ints:
        """Width of the first start; 0 when never started."""
        return np.asarray(self._world.progress.first_workers[rows])

    def held(self, row: int) -> tuple[Share, ...]:
        """Shares held now; empty when waiting."""
        return self._world.held.get(row, ())

    def reserved(self, row: int) -> Allocation:
        """Future dated steps; empty when none."""
        return self._world.future.get(row, ())

    @cached_property
    def _future_uses(self) -> Uses:
        return future_uses(self._world)

    def committed(self, node: int) -> tuple[tuple[float, float, int, tuple[float, ...]], ...]:
        """Future commitments of a node: (start_s, end_s, row, amount per resource), by start and row."""
        return tuple(sorted(self._future_uses.get(node, ())))

    def rate(self, rows: Ints, workers: Ints) -> Floats:
        """Believed work per second on reference nodes; 0 where the width is not legal."""
        return self._world.speed.rates(self._checked_rows(rows), workers)

    def rate_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Believed work per second on nodes of one machine type; 0 where the job cannot run so."""
        return self._world.speed.rates_on(self._checked_rows(rows), workers, vm)

    @property
    def updates(self) -> str:
        """How workers with parameter servers make steps: "sync" or "async"; "" where steps are not modelled."""
        speed = self._world.scenario.speed
        return speed.updates if speed.kind == "parameter-server" else ""

    @property
    def placement(self) -> PlacementRule:
        """The scenario's rule for placing a width."""
        return self._world.options.placement

    @property
    def slot_s(self) -> float:
        """Length of a slot of the reservation grid, which starts at 0."""
        return self._world.options.slot_s

    def utility(self, rows: Ints, end_s: Floats) -> Floats:
        """Worth of rows that complete then; NaN where they have no utility function."""
        rows = self._checked_rows(rows)
        end_s = np.asarray(end_s, dtype=float)
        return utility_at(
            self._world.jobs, self._world.options, rows, end_s, instant_s(float(np.max(end_s, initial=0.0)))
        )

    def width_limits(self, rows: Ints) -> tuple[Ints, Ints]:
        """Smallest and largest legal width."""
        rows = self._checked_rows(rows)
        smallest, largest = self._world.speed.limits()
        return smallest[rows], largest[rows]

    def requested(self, rows: Ints) -> Ints:
        """Requested width, capped where the scenario caps oversize jobs."""
        return np.asarray(self._world.jobs.workers[self._checked_rows(rows)])

    def placer(self) -> TrialPlacer:
        """Return a trial copy of what is free from now on, reservations kept."""
        room = self._world.room
        return TrialPlacer(
            room.site, lasting_room(self._world, self.now_s), self.now_s, blocked_total(self._world.blocked)
        )


def blocked_total(blocked: Mapping[int, tuple[float, ...]]) -> tuple[float, ...] | None:
    """Return what jobs block on the pool beyond their use, per resource; None = nothing."""
    return tuple(map(sum, zip(*blocked.values(), strict=True))) if blocked else None
