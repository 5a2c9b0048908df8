"""What a policy sees when it is woken. The engine implements these protocols."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Absence, VmType
from dlsched.domain.plan import Allocation, Share
from dlsched.domain.policy import EventKind
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import PlacementRule
from dlsched.domain.slurm import SlurmSetup
from dlsched.domain.workload import Floats, Ints, Texts, Workload


class Nodes(Protocol):
    """Nodes now: ``vm`` indexes ``vm_types`` (-1 = empty slot), ``up`` says whether a node is there, ``failed``
    whether it is away by surprise, so that its return is unknown (it may have failed during a planned absence);
    ``capacity`` and ``free`` have shape (nodes, resources); a node that is down has zero free.
    """

    vm_types: tuple[VmType, ...]
    vm: Ints
    up: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    capacity: Floats
    free: Floats
    speed: Floats
    partition: Texts
    gpu_type: Texts
    features: Texts

    @property
    def names(self) -> Texts:
        """Names of the nodes; "" where they are not known."""
        ...

    def named(self, hosts: str) -> Ints:
        """Return the nodes of a host list, ascending, unknown names left out; ALL = every node."""
        ...


class Placer(Protocol):
    """A trial copy of the nodes: changes here change nothing in the simulation."""

    @property
    def free(self) -> Floats:
        """What is free in the trial, shape (nodes, resources)."""
        ...

    @property
    def pool_free(self) -> Floats:
        """What is free of all nodes together, less what jobs block beyond their use, shape (resources,).

        Below 0 where nodes went away and jobs block more than is left.
        """
        ...

    @property
    def is_pool(self) -> bool:
        """Whether the placement rule counts only the total: what a job holds may lie on other nodes later."""
        ...

    def fits(self, row: int, workers: int) -> bool:
        """Whether the placement rule finds room."""
        ...

    def place(self, row: int, workers: int) -> tuple[Share, ...] | None:
        """Take room by the placement rule; None when there is none."""
        ...

    def place_gang(self, row: int, workers: int, servers: int) -> tuple[Share, ...] | None:
        """Take room for workers and servers of one's own choice by the placement rule; None when there is none."""
        ...

    def take(self, row: int, shares: tuple[Share, ...]) -> None:
        """Take exactly these shares."""
        ...

    def release(self, row: int, shares: tuple[Share, ...]) -> None:
        """Give shares back."""
        ...

    def open(self, node: int, vm_name: str) -> None:
        """Put a VM type on an empty slot of the trial."""
        ...

    def copy(self) -> Placer:
        """Return an independent trial."""
        ...


class NodePlacer(Placer, Protocol):
    """A trial that can be narrowed to some nodes."""

    def only(self, nodes: NDArray[np.bool_]) -> NodePlacer:
        """Return a view of this trial with only these nodes: what is taken there is taken here too."""
        ...

    def allowed(self, row: int) -> NDArray[np.bool_] | None:
        """Return the nodes that a row may use, shape (nodes,); None = all."""
        ...


class State(Protocol):
    """The believed state of the world at ``now_s``.

    ``jobs`` is the workload of the rows submitted so far: no later rows; its ``work`` is what is believed; it has
    no recorded start or end. ``active``, ``waiting`` and ``running`` are row numbers in source order.
    ``waiting`` hold nothing now (they may hold a reservation).
    """

    now_s: float
    cause: EventKind
    nodes: Nodes
    rng: np.random.Generator

    @property
    def jobs(self) -> Workload: ...

    @property
    def active(self) -> Ints: ...

    @property
    def waiting(self) -> Ints: ...

    @property
    def running(self) -> Ints: ...

    @property
    def calendar(self) -> tuple[Absence, ...]:
        """Planned absences that have not ended."""
        ...

    @property
    def queues(self) -> QueueTree | None:
        """Quotas of queues; None if the scenario has no queues."""
        ...

    @property
    def oversize(self) -> str:
        """What becomes of jobs that are too large: "refuse" the run, "drop" or "cap" them."""
        ...

    @property
    def slurm(self) -> SlurmSetup | None:
        """Settings of the cluster's Slurm; None if they are not known."""
        ...

    def remaining(self, rows: Ints) -> Floats:
        """Believed work left, at least 0."""
        ...

    def attained_gpu_s(self, rows: Ints) -> Floats:
        """GPU-seconds held so far."""
        ...

    @property
    def change_s(self) -> float:
        """Seconds without progress that a resize or move costs a running job; 0 where its old width keeps running."""
        ...

    @property
    def restart_s(self) -> float:
        """Seconds without progress after a start."""
        ...

    @property
    def bills_hours(self) -> bool:
        """Whether each rental is billed by the started hour; else to the second."""
        ...

    def restart_ahead_s(self, rows: Ints) -> Floats:
        """Seconds without progress ahead: what is left of a running row's restart, a whole one for a waiting row."""
        ...

    def started_s(self, rows: Ints) -> Floats:
        """First start; NaN when never started."""
        ...

    def first_workers(self, rows: Ints) -> Ints:
        """Width of the first start; 0 when never started."""
        ...

    def held(self, row: int) -> tuple[Share, ...]:
        """Shares held now; empty when waiting."""
        ...

    def reserved(self, row: int) -> Allocation:
        """Future dated steps; empty when none."""
        ...

    def committed(self, node: int) -> tuple[tuple[float, float, int, tuple[float, ...]], ...]:
        """Future commitments of a node: (start_s, end_s, row, amount per resource)."""
        ...

    def rate(self, rows: Ints, workers: Ints) -> Floats:
        """Believed work per second on reference nodes (speed 1, the fastest GPU type); 0 where not legal."""
        ...

    def rate_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Believed work per second on nodes of one machine type (number into ``nodes.vm_types``); 0 = cannot."""
        ...

    @property
    def updates(self) -> str:
        """How workers with parameter servers make steps: "sync" or "async"; "" where steps are not modelled."""
        ...

    @property
    def placement(self) -> PlacementRule:
        """The scenario's rule for placing a width."""
        ...

    @property
    def slot_s(self) -> float:
        """Length of a slot of the reservation grid, which starts at 0."""
        ...

    def utility(self, rows: Ints, end_s: Floats) -> Floats:
        """Worth of rows that complete then; NaN where they have no utility function."""
        ...

    def width_limits(self, rows: Ints) -> tuple[Ints, Ints]:
        """Smallest and largest legal width."""
        ...

    def requested(self, rows: Ints) -> Ints:
        """Requested width, capped where the scenario caps oversize jobs."""
        ...

    def placer(self) -> NodePlacer:
        """Return a trial copy of the free resources."""
        ...
