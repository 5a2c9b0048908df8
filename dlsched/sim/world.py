"""The true state of a run: who holds what, how far everybody is, which nodes are there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Absence, Cluster
from dlsched.domain.columns import RECORDED
from dlsched.domain.plan import Share, Step
from dlsched.domain.workload import GPU, Floats, Ints, Texts, Workload
from dlsched.placement import Site, TrialPlacer
from dlsched.sim.event_queue import EventQueue, EventType
from dlsched.sim.ledger import Piece, RunLedger
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.sim.prepare import Prepared
from dlsched.sim.progress import JobProgress
from dlsched.sim.rows import SortedRows
from dlsched.speed import build_speed
from dlsched.workload.hostlist import expand
from dlsched.workload.node_names import node_numbers

_T = TypeVar("_T", bound=np.generic)


class LiveNodes:
    """Nodes as they are now (a ``domain.state.Nodes``); all columns are read-only to those who look."""

    def __init__(self, cluster: Cluster, site: Site, room: TrialPlacer) -> None:
        table = cluster.nodes
        self._cluster = cluster
        self.vm_types = tuple(site.vm_types)
        self.partition, self.features = table.partition, table.features
        self._vm, self._speed = table.vm.copy(), table.speed.copy()
        self._up, self._failed = np.ones(len(table.vm), dtype=bool), np.zeros(len(table.vm), dtype=bool)
        self.vm: Ints = _read_only(self._vm)
        self.up: NDArray[np.bool_] = _read_only(self._up)
        self.failed: NDArray[np.bool_] = _read_only(self._failed)
        self.speed: Floats = _read_only(self._speed)
        self._site: Site | None = None
        self.look_at(site, room)

    def look_at(self, site: Site, room: TrialPlacer) -> None:
        """Show these capacities and free resources."""
        if site is not self._site:
            self._site, self.gpu_type = site, site.gpu_type
            self.capacity: Floats = _read_only(site.capacity)
        self.free: Floats = _read_only(room.free)

    @cached_property
    def _number(self) -> dict[str, int]:
        return node_numbers(self._cluster)

    @cached_property
    def names(self) -> Texts:
        """Names of the nodes; "" where they are not known."""
        names = np.full(len(self.up), "", dtype=object)
        for name, number in self._number.items():
            names[number] = name
        return names

    def named(self, hosts: str) -> Ints:
        """Return the nodes of a host list, ascending, unknown names left out; ALL = every node."""
        if hosts.strip().upper() == "ALL":
            return np.arange(len(self.up))
        known = {self._number[name] for name in expand(hosts) if name in self._number}
        return np.array(sorted(known), dtype=np.int64)

    def set_away(self, node: int, absences: Collection[Absence]) -> None:
        """Mark a node as away for these absences, none = there."""
        self._up[node] = not absences
        self._failed[node] = any(not absence.planned for absence in absences)

    def set_vm(self, node: int, vm: int) -> None:
        """Put a VM type (number, -1 = none) on a slot."""
        self._vm[node] = vm
        self._speed[node] = self.vm_types[vm].speed if vm >= 0 else 1.0


def _read_only(values: NDArray[_T]) -> NDArray[_T]:
    view = values.view()
    view.flags.writeable = False
    return view


class World:
    """Everything the engine changes. ``held`` = shares of running rows; ``future`` = steps to come of a row."""

    def __init__(self, prepared: Prepared, event_queue: EventQueue) -> None:
        scenario = prepared.scenario
        self.scenario, self.options, self.truth = scenario, scenario.options, prepared.truth
        self.jobs = scenario.workload
        self.believed = believed_jobs(prepared)
        self.event_queue = event_queue
        self.ledger = RunLedger(len(self.jobs))
        self.progress = JobProgress(len(self.jobs))
        self.speed = build_speed(scenario.speed, self.jobs, scenario.cluster.vm_types)
        site = Site.of(self.jobs, scenario.cluster, self.options.placement)
        self.room = TrialPlacer(site, site.capacity)
        self.nodes = LiveNodes(scenario.cluster, site, self.room)
        self.held: dict[int, tuple[Share, ...]] = {}
        self.future: dict[int, tuple[Step, ...]] = {}
        self.blocked: dict[int, tuple[float, ...]] = {}
        self.lease_from_s: dict[int, float] = {}
        self.is_waiting = np.zeros(len(self.jobs), dtype=bool)
        self.joined_queue: list[int] | None = None
        """Rows that joined the queue since they were last looked at; None = they never are."""
        self.start_number: dict[int, int] = {}
        """The latest start of each row that has run, counted over all starts."""
        self.num_starts = 0
        self.active, self.waiting, self.running = SortedRows(), SortedRows(), SortedRows()
        self.num_ended = 0
        self.planned = tuple(absence for absence in scenario.cluster.absences if absence.planned)
        self._away: dict[int, list[Absence]] = {}
        self._head = self.believed.head(0)

    def submitted_jobs(self) -> Workload:
        """Return the believed rows submitted so far."""
        if len(self._head) != self.event_queue.submitted:
            self._head = self.believed.head(self.event_queue.submitted)
        return self._head

    def is_active(self, row: int) -> bool:
        """Whether a row has been submitted and has not ended."""
        return row in self.held or bool(self.is_waiting[row])

    def width(self, row: int) -> tuple[int, int]:
        """Return workers and servers held now."""
        return gang_width(self.held.get(row, ()))

    # ---- life of a job ------------------------------------------------------------------------------

    def submit(self, row: int) -> None:
        """A row arrives."""
        self.active.add(row)
        self.wait(row)
        cancel_s = float(self.truth.cancel_s[row])
        if cancel_s < math.inf:
            self.event_queue.push(cancel_s, EventType.CANCEL, row)

    def wait(self, row: int) -> None:
        """A row joins the queue."""
        self.is_waiting[row] = True
        self.waiting.add(row)
        self.ledger.begin_wait(row)
        if self.joined_queue is not None:
            self.joined_queue.append(row)

    def finish(self, row: int, status: JobStatus, at_s: float) -> None:
        """A row ends in this way; what it held must have been given back."""
        self.drop_future(row)
        self.event_queue.drop(EventType.CANCEL, row)
        if self.is_waiting[row]:
            self.is_waiting[row] = False
            self.waiting.remove(row)
        self.active.remove(row)
        self.num_ended += 1
        self.ledger.end_job(row, status, at_s)

    def give_back(self, row: int) -> None:
        """Give the shares of a running row back to the nodes; the piece is closed separately."""
        self.room.release(row, self.held[row])

    def close_piece(self, row: int, at_s: float, end: PieceEnd, lost_work: float = 0.0) -> None:
        """A running row stops; it neither holds nor waits until the caller says which."""
        shares, progress = self.held.pop(row), self.progress
        workers, servers = gang_width(shares)
        piece = Piece(
            row,
            float(progress.start_s[row]),
            at_s,
            workers,
            servers,
            float(progress.rate[row]),
            float(progress.restart_rate[row]),
            float(progress.progress_from_s[row]),
            end,
            lost_work,
            shares,
            self.blocked.get(row),
        )
        self.ledger.close_piece(piece)
        progress.end(row, at_s, lost_work)
        self.running.remove(row)
        self.blocked.pop(row, None)
        self.event_queue.drop(EventType.COMPLETION, row)

    def open_piece(self, row: int, shares: tuple[Share, ...], now_s: float, restart: tuple[float, float]) -> None:
        """A row that neither holds nor waits starts on shares; ``restart`` = its length and the rate meanwhile."""
        workers, progress = gang_width(shares)[0], self.progress
        progress.begin(
            row,
            now_s,
            rate=self._rate(row, shares),
            restart_rate=restart[1],
            from_s=now_s + restart[0],
            gpus=workers * self.room.site.asks.demand[row][GPU],
        )
        if math.isnan(progress.first_start_s[row]):
            progress.first_start_s[row], progress.first_workers[row] = now_s, workers
        self.held[row] = shares
        self.running.add(row)
        self.start_number[row] = self.num_starts
        self.num_starts += 1
        self.event_queue.push(progress.finish_s(row, float(self.truth.work[row])), EventType.COMPLETION, row)

    def leave_queue(self, row: int) -> None:
        """A waiting row is about to start."""
        self.is_waiting[row] = False
        self.waiting.remove(row)
        self.ledger.end_wait(row)

    def change_piece(self, row: int, shares: tuple[Share, ...], now_s: float, end: PieceEnd) -> None:
        """Put a row on these shares (none = back to the queue), whatever it held; the room is the caller's.

        ``end`` says why a running piece ends.
        """
        if row not in self.held:
            self.leave_queue(row)
            self.open_piece(row, shares, now_s, (self.options.restart_s, 0.0))
            return
        restart = self._restart(row, shares, now_s)
        self.close_piece(row, now_s, end)
        if shares:
            self.open_piece(row, shares, now_s, restart)
        else:
            self.wait(row)

    def _restart(self, row: int, shares: tuple[Share, ...], now_s: float) -> tuple[float, float]:
        """Return the length of the restart of a running row that goes on with these shares, and its rate meanwhile.

        Delayed: scale-downs and moves cost nothing themselves, but do not cut short a restart under way.
        """
        if self.options.restart_mode == "pause" or self.options.restart_s == 0 or not shares:
            return self.options.restart_s, 0.0
        old_rate = self.progress.rate_at(row, now_s)
        if gang_width(shares)[0] > self.width(row)[0]:
            return self.options.restart_s, old_rate
        left_s = max(0.0, float(self.progress.progress_from_s[row]) - now_s)
        return left_s, min(old_rate, self._rate(row, shares)) if left_s else 0.0

    def _rate(self, row: int, shares: tuple[Share, ...]) -> float:
        workers, servers = gang_width(shares)
        return self.speed.rate(row, workers, servers, self._vms(shares), len(shares))

    def _vms(self, shares: tuple[Share, ...]) -> set[int]:
        return {int(self.nodes.vm[share.node]) for share in shares}

    # ---- reservations -------------------------------------------------------------------------------

    def set_future(self, row: int, steps: tuple[Step, ...]) -> None:
        """Replace the steps to come of a row (all dated, with shares)."""
        if not steps:
            self.drop_future(row)
            return
        self.future[row] = steps
        self.event_queue.push(steps[0].start_s or 0.0, EventType.STEP, row)

    def drop_future(self, row: int) -> None:
        """Forget the reservation of a row."""
        if self.future.pop(row, None) is not None:
            self.event_queue.drop(EventType.STEP, row)

    # ---- nodes --------------------------------------------------------------------------------------

    def use_room(self, room: TrialPlacer) -> None:
        """Make a checked trial the truth."""
        self.room = room
        self.nodes.look_at(room.site, room)

    def node_leaves(self, absence: Absence) -> list[int]:
        """A node goes away; return the running rows with a share there, in source order."""
        absences = self._away.setdefault(absence.node, [])
        absences.append(absence)
        self.nodes.set_away(absence.node, absences)
        return rows_on(self.held, absence.node)

    def node_returns(self, absence: Absence) -> None:
        """An absence ends; the node is back when no other covers it."""
        others = self._away[absence.node]
        others.remove(absence)
        self.nodes.set_away(absence.node, others)
        if not others:
            self.room.free[absence.node] = self.room.site.capacity[absence.node]

    def set_vm(self, node: int, vm: int, now_s: float) -> None:
        """End the lease of a slot, if any, and begin one of this VM type (-1 = none)."""
        old = int(self.nodes.vm[node])
        if old >= 0:
            self.ledger.close_lease(node, old, self.lease_from_s.pop(node), now_s)
        if vm >= 0:
            self.lease_from_s[node] = now_s
        self.nodes.set_vm(node, vm)


def rows_on(held: dict[int, tuple[Share, ...]], node: int) -> list[int]:
    """Return the rows with a share on a node, ascending."""
    return sorted(row for row, shares in held.items() if any(share.node == node for share in shares))


def gang_width(shares: Iterable[Share]) -> tuple[int, int]:
    """Return workers and servers of shares in all."""
    workers = servers = 0
    for share in shares:
        workers += share.workers
        servers += share.servers
    return workers, servers


def believed_jobs(prepared: Prepared) -> Workload:
    """Return the workload as policies may see it: believed work, nothing recorded."""
    unknown: dict[str, Any] = dict.fromkeys(RECORDED)
    work = prepared.truth.believed_work.copy()
    work.flags.writeable = False
    return dataclasses.replace(prepared.scenario.workload, work=work, **unknown)
