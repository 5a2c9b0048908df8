"""From the scenario as a policy sees it to the arrays of the passes; grows with the submissions, row by row."""

from __future__ import annotations

import math
import re
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.slurm import SlurmAssociation, SlurmLimits, SlurmPartition, SlurmQos, SlurmSetup
from dlsched.domain.state import Nodes, State
from dlsched.domain.workload import CPU, GPU, MEM, RESOURCES, Floats, Ints, Workload, partition_names
from dlsched.policies.shared.facts import JobFacts, JobKind
from dlsched.policies.slurm.hours import Classes, class_of, closed_hours
from dlsched.policies.slurm.kernels import tables
from dlsched.policies.slurm.kernels.fairness import decay_per_s
from dlsched.policies.slurm.kernels.placing import ROOM, TOGETHER
from dlsched.policies.slurm.kernels.priority import LARGE, SMALL, SMALL_TO_TIME, TO_TIME, size_factor
from dlsched.policies.slurm.kernels.tables import NEVER, NOT_SAID, Clock, Core, Count
from dlsched.policies.slurm.params import SlurmParams

_T = TypeVar("_T", bound=np.generic)

ROOT = "root"
LIMITED = ("jobs", "cpu", "mem", "node", "gres/gpu")
"""What limits count; after them GPUs of a type, gres/gpu:TYPE, that some limit names."""
MOST_SLOT_BYTES = 64_000_000
MOST_READY = 16
_SPLIT = {"pool": 1, "spread": 1, "best-fit": 0, "pack": 2}
"""Placement rule -> ``may_split``: anywhere; on one node where one could hold the job; the same, else anywhere."""
_DIGITS = re.compile(r"(\d+)")
_PREEMPTS = {"preempt/partition_prio": 1, "preempt/qos": 2}


class Book:
    """Everything the passes know, in arrays; ``core()`` gives them to compiled code.

    Parameters
    ----------
    params
        Parameters of the policy.
    state
        The scenario at the first decision: nodes and the settings of its Slurm.
    """

    def __init__(self, params: SlurmParams, state: State) -> None:
        self.setup = state.slurm or SlurmSetup()
        self.settings = params.over(self.setup.options)
        self._params, self._nodes = params, state.nodes
        self._facts = JobFacts()
        self._classes: Classes = closed_hours(params.closed_hours)
        self._partitions = {one.name: one for one in self.setup.partitions}
        self._qos = {one.name: one for one in self.setup.qos}
        self._qos_number = {name: number for number, name in enumerate(self._qos, start=1)}
        self._numbers: dict[str, dict[Any, int]] = {
            name: {} for name in ("claim", "partition", "user", "keeper", "alike")
        }
        self._limit_number: dict[tuple[Any, ...], int] = {}
        self._limits_of: list[int] = []
        self._columns = _limited_columns(self.setup)
        self._assocs = _Associations(self.setup)
        self._cpus, self._counts_cpus = _cpus_of(state.nodes)
        self.per_unit: list[tuple[int, int]] = []
        self.pace = np.zeros(0)
        self.most_shares = 0
        self._core = self._empty(state)

    @property
    def core(self) -> Core:
        """The arrays as they are now; asked for anew after rows were added."""
        return self._core

    # ---- what does not change -------------------------------------------------------------------------------

    def _empty(self, state: State) -> Core:
        nodes, setup = state.nodes, self.setup
        count, kept = len(nodes.up), setup.reservations
        capacity = np.array(nodes.capacity, dtype=np.float64, order="C")
        slots = max(16, min(2 * self.settings.bf_max_job_test + 4, MOST_SLOT_BYTES // max(1, count)))
        reservations = np.zeros(len(kept), dtype=tables.RESERVATION)
        reserved = np.zeros((len(kept), count), dtype=np.uint8)
        for number, one in enumerate(kept):
            reservations[number] = (one.start_s, one.end_s)
            reserved[number, nodes.named(one.nodes)] = 1
        leaf = _leaves(setup, nodes)
        counts = np.zeros(len(Count), dtype=np.int64)
        counts[Count.FREE], counts[Count.LEAVES], counts[Count.RESERVATIONS] = 1, leaf.max(initial=-1) + 1, len(kept)
        clock = np.full(len(Clock), NEVER)
        clock[Clock.PERIOD] = clock[Clock.LAST_MAIN] = -NEVER
        return Core(
            jobs=np.zeros(0, dtype=tables.JOB),
            kinds=np.zeros(0, dtype=tables.KIND),
            demand=np.zeros((0, len(RESOURCES))),
            amounts=np.zeros((0, len(self._columns))),
            claims=np.zeros((0, count), dtype=np.uint8),
            partitions=np.zeros((0, count), dtype=np.uint8),
            free=capacity.copy(),
            capacity=capacity,
            up=np.ones(count, dtype=np.uint8),
            order=_node_order(setup, nodes),
            leaf=leaf,
            share_node=np.zeros(0, dtype=np.int64),
            share_units=np.zeros(0, dtype=np.int64),
            queue=np.zeros(0, dtype=np.int64),
            running=np.zeros(0, dtype=np.int64),
            used=np.zeros((0, len(self._columns))),
            caps=np.zeros((0, len(self._columns))),
            limits_of=np.zeros(0, dtype=np.int64),
            assocs=np.zeros(0, dtype=tables.ASSOC),
            reservations=reservations,
            reserved=reserved,
            reserved_for=np.zeros((0, len(kept)), dtype=np.uint8),
            closed=_hours_table(self._classes),
            may_stop=_may_stop(setup, self._qos_number),
            slots=np.zeros(slots, dtype=tables.SLOT),
            slot_free=np.zeros((slots, count), dtype=np.uint8),
            rule=self._rule(state),
            counts=counts,
            clock=clock,
            started=np.zeros(0, dtype=np.int64),
            stopped=np.zeros(0, dtype=np.int64),
            told=np.zeros(0, dtype=np.int64),
            mask=np.zeros(count, dtype=np.uint8),
            shut=np.zeros(count, dtype=np.uint8),
            allowed=np.zeros(count, dtype=np.uint8),
            shut_partitions=np.zeros(0, dtype=np.uint8),
            by_partition=np.zeros(0, dtype=np.int64),
            by_user=np.zeros((1, 1), dtype=np.int64),
            future=np.zeros_like(capacity),
            trial=np.zeros_like(capacity),
            deaths=np.zeros(count, dtype=np.int64),
            pick=np.zeros(count, dtype=np.int64),
            pick_units=np.zeros(count, dtype=np.int64),
            by_leaf=np.zeros(2 * max(1, int(counts[Count.LEAVES])), dtype=np.int64),
            ready=np.zeros((MOST_READY, count)),
            ready_of=np.full((MOST_READY, 2), -1),
        )

    def _rule(self, state: State) -> NDArray[np.void]:
        held, given = self.settings, self._params
        rule = np.zeros(1, dtype=tables.RULE)
        preempts = _PREEMPTS.get(held.PreemptType, 0) if held.PreemptMode != "OFF" else 0
        values: dict[str, float] = {
            "weight_age": held.weight_age, "weight_fairshare": held.weight_fairshare, "max_age_s": held.max_age_s,
            "decay": decay_per_s(held.half_life_s), "damping": held.damping, "period_s": held.period_s,
            "classic": "NO_FAIR_TREE" in held.flags, "in_order": held.in_order, "from_s": given.controller_start,
            "main_delay_s": held.batch_sched_delay, "main_every_s": held.sched_interval,
            "main_depth": held.default_queue_depth, "partition_depth": held.partition_job_depth,
            "tries_at_once": not held.defer, "backfills": held.backfills, "backfill_s": held.bf_interval,
            "backfill_from_s": given.phase, "window_s": held.bf_window_s, "group_s": held.bf_window_linear,
            "grid_s": held.bf_resolution, "grid_from_s": given.minute_start, "max_test": held.bf_max_job_test,
            "max_user": held.bf_max_job_user, "max_partition": held.bf_max_job_part,
            "max_user_partition": held.bf_max_job_user_part, "max_start": held.bf_max_job_start,
            "may_split": _SPLIT[state.placement], "monday_s": given.monday, "preempts": preempts,
        }  # fmt: skip
        for name, value in values.items():
            rule[name] = value
        return rule

    # ---- rows -----------------------------------------------------------------------------------------------

    def add(self, state: State, rows: Ints) -> None:
        """Take in rows in the order of their numbers: all that is known of them at submission."""
        self._facts.update(state)
        jobs, kinds = state.jobs, self._facts.kind_of(rows)
        for number in range(len(self.per_unit), len(self._facts.kinds)):
            self._add_kind(self._facts.kinds[number], number)
        core = self._grown(len(jobs))
        speeds = [self._slowest(state, number) for number in range(len(self.per_unit))]
        rates = np.asarray(state.rate(rows, state.requested(rows)))
        self.pace = np.append(self.pace, np.where(rates > 0, rates, 1.0) * np.array(speeds)[kinds])
        limits_s = self.limits_s(state, rows)
        for row, kind, limit_s in zip(rows.tolist(), kinds.tolist(), limits_s.tolist(), strict=True):
            record = core.jobs[row]
            record["submit_s"] = record["eligible_s"] = jobs.submit_s[row]
            record["limit_s"], record["kind"], record["reason"] = limit_s, kind, NOT_SAID
            record["hours"] = class_of(limit_s, self._classes)
            self._add_job(jobs, row, kind, record)
        users, partitions = len(self._numbers["user"]), len(self._numbers["partition"])
        self._core = self._core._replace(
            limits_of=np.array(self._limits_of, dtype=np.int64),
            assocs=self._assocs.table(self._core.assocs),
            by_user=np.zeros((users + 1, partitions + 1), dtype=np.int64),
        )
        self._core.counts[Count.ASSOCS] = len(self._core.assocs)

    def limits_s(self, state: State, rows: Ints) -> Floats:
        """Return how long rows are believed to run from their next start, on the slowest node they may use."""
        return np.asarray(state.restart_ahead_s(rows) + state.remaining(rows) / self.pace[rows])

    def _slowest(self, state: State, kind: int) -> float:
        mask = self._core.claims[self._core.kinds[kind]["claim"]].astype(bool)
        return float(state.nodes.speed[mask].min(initial=np.inf)) if mask.any() else 1.0

    def _add_kind(self, kind: JobKind, number: int) -> None:
        """A kind of jobs: what is placed of it, where, and what it counts."""
        parts = math.gcd(kind.workers, kind.servers) if kind.servers else kind.workers
        each = kind.workers // parts, kind.servers // parts
        demand = kind.held(*each)
        mask = kind.allowed(self._nodes).astype(np.uint8)
        core = self._core
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.floor((core.capacity + 1e-9) / demand)
        held = np.where(demand > 0, room, np.inf).min(axis=1)
        full = np.sort(np.minimum(np.where(mask == 1, held, 0), parts))[::-1]
        if full.sum() < parts:
            raise InputError(
                "policy slurm",
                f"gives each node equal parts of a job, and no nodes hold {parts:,} x {each[0]:,} workers with "
                f"{each[1]:,} parameter servers",
                "Change the numbers of workers and servers of such jobs, or choose another policy",
            )
        nodes = int(np.searchsorted(np.cumsum(full), parts)) + 1
        partition = self._number("partition", kind.partition)
        names = partition_names(kind.partition)
        record = np.zeros(1, dtype=tables.KIND)
        record["units"], record["num_nodes"], record["whole"] = parts, nodes, full.max(initial=0) >= parts
        record["claim"], record["partition"] = self._number("claim", mask.tobytes()), partition
        in_one = record["whole"][0] and self._core.rule["may_split"][0] == TOGETHER
        parts_in_one = parts if in_one else 0  # else a node is ready when it has room for all it could hold, or for one
        alike = (int(record["claim"][0]), demand.tobytes(), parts_in_one, kind.partition)
        record["alike"] = self._number("alike", alike)
        record["exclusive"] = any(self._partitions[name].exclusive for name in names if name in self._partitions)
        amounts = self._amounts(kind, nodes, mask)
        self._core = core._replace(
            kinds=np.append(core.kinds, record),
            demand=np.vstack([core.demand, demand]),
            amounts=np.vstack([core.amounts, amounts]),
            claims=_with_row(core.claims, int(record["claim"][0]), mask),
            partitions=_with_row(core.partitions, partition, self._nodes_of(kind)),
            shut_partitions=np.zeros(len(self._numbers["partition"]), dtype=np.uint8),
            by_partition=np.zeros(len(self._numbers["partition"]), dtype=np.int64),
        )
        self.per_unit.append(each)

    def _nodes_of(self, kind: JobKind) -> NDArray[np.uint8]:
        """Return the nodes of the partitions of a kind, whatever else it asks for."""
        plain = JobKind(1, (0.0,) * len(RESOURCES), kind.partition, "")
        return plain.allowed(self._nodes).astype(np.uint8)

    def _amounts(self, kind: JobKind, nodes: int, mask: NDArray[np.uint8]) -> Floats:
        need, types = kind.need, set(self._nodes.gpu_type[mask == 1].tolist())
        amounts = {"jobs": 1.0, "cpu": need[CPU], "mem": need[MEM], "node": float(nodes), "gres/gpu": need[GPU]}
        for column in self._columns[len(LIMITED) :]:
            only = {name.lower() for name in types} == {column.split(":")[1]}
            amounts[column] = need[GPU] if only else 0.0
        return np.array([amounts[column] for column in self._columns])

    def _add_job(self, jobs: Workload, row: int, kind: int, record: Any) -> None:
        """Fill in user, association, priorities and limits of a row."""
        user, account = _text(jobs.user, row), _text(jobs.group, row)
        qos_name = _text(jobs.job_class, row)
        qos = self._qos.get(qos_name)
        names = [name for name in partition_names(self._facts.kinds[kind].partition) if name in self._partitions]
        partitions = sorted((self._partitions[name] for name in names), key=lambda one: -one.PriorityTier)
        record["user"] = self._number("user", user)
        record["qos"] = self._qos_number.get(qos_name, 0)
        record["assoc"] = leaf = self._assocs.of(user, account, names)
        record["tier"] = partitions[0].PriorityTier if partitions else 1
        record["billing"] = self._billing(kind, partitions) * (1.0 if qos is None else qos.UsageFactor)
        nice = 0.0 if jobs.nice is None or math.isnan(jobs.nice[row]) else float(jobs.nice[row])
        record["weighted"] = self._weighted(kind, float(record["limit_s"]), partitions, qos) - nice
        allowed = tuple(_may_use(one.users, one.accounts, user, account) for one in self.setup.reservations)
        record["keeper"] = keeper = self._number("keeper", allowed)
        if keeper == len(self._core.reserved_for):
            self._core = self._core._replace(
                reserved_for=_with_row(self._core.reserved_for, keeper, np.array(allowed, dtype=np.uint8))
            )
        limits = self._limits(kind, user, account, leaf, qos, partitions)
        record["first_limit"], record["num_limits"] = len(self._limits_of), len(limits)
        self._limits_of += limits
        self.most_shares += min(int(self._core.kinds[kind]["units"]), len(self._core.up))

    def _weighted(self, kind: int, limit_s: float, partitions: list[SlurmPartition], qos: SlurmQos | None) -> float:
        held, record = self.settings, self._core.kinds[kind]
        small = held.favors_small
        if "SMALL_RELATIVE_TO_TIME" in held.flags:
            mode = SMALL_TO_TIME if small else TO_TIME
        else:
            mode = SMALL if small else LARGE
        cpus, nodes = self._counted(kind), float(record["num_nodes"])
        size = size_factor(mode, nodes, cpus, limit_s, float(len(self._core.up)), self._cpus)
        most = max((one.PriorityJobFactor for one in self.setup.partitions), default=0) or 1
        part = partitions[0].PriorityJobFactor if partitions else most
        top = max((one.Priority for one in self.setup.qos), default=0)
        quality = qos.Priority / top if qos is not None and top else 0.0
        sums = held.weight_size * size + held.weight_partition * part / most + held.weight_qos * quality
        for name, weight in held.weight_tres.items():
            column = self._columns.index(name.lower()) if name.lower() in self._columns else -1
            total = self._total(name.lower())
            sums += weight * self._core.amounts[kind, column] / total if column > 0 and total > 0 else 0.0
        return float(sums)

    def _total(self, name: str) -> float:
        resource = {"cpu": CPU, "mem": MEM, "gres/gpu": GPU}.get(name)
        total = 0.0 if resource is None else float(self._core.capacity[:, resource].sum())
        return total if math.isfinite(total) else 0.0

    def _counted(self, kind: int) -> float:
        """Return what stands for the CPUs of a job: its cores where nodes state theirs, else its GPUs."""
        amounts = self._core.amounts[kind]
        return float(amounts[1 if self._counts_cpus else 4])

    def _billing(self, kind: int, partitions: list[SlurmPartition]) -> float:
        """Return the use per second: TRESBillingWeights, else cores; GPUs or workers where jobs state no cores."""
        amounts: dict[str, float] = dict(zip(self._columns, self._core.amounts[kind].tolist(), strict=True))
        weights = next((one.TRESBillingWeights for one in partitions if one.TRESBillingWeights), None)
        if weights:
            return sum(weight * amounts.get(name.lower(), 0.0) for name, weight in weights.items())
        return amounts["cpu"] or amounts["gres/gpu"] or float(self._core.kinds[kind]["units"])

    # ---- limits -----------------------------------------------------------------------------------------------

    def _limits(
        self, kind: int, user: str, account: str, leaf: int, qos: SlurmQos | None, partitions: list[SlurmPartition]
    ) -> list[int]:
        """Return the numbers of the limits that a job counts against.

        A job that asks for more than a limit of the scenario's Slurm never starts, as in Slurm: it counts against a
        limit of no jobs too. Limits among the parameters may be learned from a log in which such jobs ran.
        """
        given = self._params
        found: list[tuple[tuple[Any, ...], int | None, dict[str, float]]] = []
        own = SlurmLimits(
            MaxJobsPU=given.MaxJobsPerUser,
            MaxTRESPU={
                name: amount
                for name, amount in (("cpu", given.MaxCPUsPerUser), ("gres/gpu", given.MaxGPUsPerUser))
                if amount is not None
            },
        )
        found.append((("user", user), own.MaxJobsPU, own.MaxTRESPU))
        chain = self._assocs.chain(leaf)
        per_user = next((one.limits for one in chain if one and one.limits.MaxJobsPU is not None), SlurmLimits())
        tres = next((one.limits for one in chain if one and one.limits.MaxTRESPU), SlurmLimits())
        found.append((("association", leaf), per_user.MaxJobsPU, tres.MaxTRESPU))
        number = leaf
        for one in chain:
            if one is not None:
                found.append((("group", number), one.limits.GrpJobs, one.limits.GrpTRES))
            number = self._assocs.parent[number]
        names = [one.QOS for one in partitions[:1]]
        kinds = [qos, *(self._qos.get(name) for name in names)]
        named = {one.name: one.limits for one in kinds if one is not None}
        for quality, limits in named.items():
            found.append((("qos", quality), limits.GrpJobs, limits.GrpTRES))
            found.append((("qos", quality, "user", user), limits.MaxJobsPU, limits.MaxTRESPU))
            found.append((("qos", quality, "account", account), limits.MaxJobsPA, limits.MaxTRESPA))
        of_job = next((one.limits for one in chain if one and one.limits.MaxTRESPJ), SlurmLimits())
        own_most = {  # of one job: the partition's QOS goes before the job's, and that before its user and account
            name.lower(): most for limits in (of_job, *named.values()) for name, most in limits.MaxTRESPJ.items()
        }
        most = [*(tres for _, _, tres in found[1:]), own_most]
        amounts = dict(zip(self._columns, self._core.amounts[kind].tolist(), strict=True))
        if any(amounts.get(name.lower(), 0.0) > most_of + ROOM for tres in most for name, most_of in tres.items()):
            found.append((("nothing",), 0, {}))
        return [self._limit(key, jobs, tres) for key, jobs, tres in found if jobs is not None or tres]

    def _limit(self, key: tuple[Any, ...], jobs: int | None, tres: dict[str, float]) -> int:
        number = self._limit_number.setdefault(key, len(self._limit_number))
        if number == len(self._core.caps):
            amounts = {name.lower(): amount for name, amount in tres.items()}
            if jobs is not None:
                amounts["jobs"] = jobs
            caps = np.array([amounts.get(column, np.inf) for column in self._columns])
            caps_of, used = (
                _with_row(self._core.caps, number, caps),
                _with_row(self._core.used, number, 0 * np.sign(caps)),
            )
            self._core = self._core._replace(caps=caps_of, used=used)
        return number

    # ---- arrays -------------------------------------------------------------------------------------------------

    def _number(self, kind: str, key: Any) -> int:
        numbers = self._numbers[kind]
        return numbers.setdefault(key, len(numbers))

    def _grown(self, rows: int) -> Core:
        """Return the core with room for so many rows."""
        core = self._core
        if rows > len(core.jobs):
            names = ("jobs", "queue", "running", "started", "stopped", "told")
            self._core = core._replace(**{name: grown(getattr(core, name), rows) for name in names})
        return self._core

    def adopt(self, state: State, rows: Ints) -> None:
        """Take over rows that run already, where a run is joined in the middle: what is left of their limits holds."""
        core, counts = self._core, self._core.counts
        held = {row: state.held(row) for row in rows.tolist()}
        needed = int(counts[Count.SHARES]) + sum(map(len, held.values()))
        if needed > len(core.share_node):
            share_node, share_units = grown(core.share_node, needed), grown(core.share_units, needed)
            core = self._core = core._replace(share_node=share_node, share_units=share_units)
        core.free[:] = state.nodes.free
        for row, shares in held.items():
            job, first = core.jobs[row], int(counts[Count.SHARES])
            workers, servers = self.per_unit[job["kind"]]
            for place, share in enumerate(shares, first):
                units = share.workers // workers if workers else share.servers // servers
                core.share_node[place], core.share_units[place] = share.node, units
                if core.kinds[job["kind"]]["exclusive"]:
                    core.free[share.node] = 0.0
            counts[Count.SHARES] += len(shares)
            job["first_share"], job["num_shares"], job["state"] = first, len(shares), tables.State.RUNNING
            job["start_s"], job["used_to_s"] = state.started_s(np.array([row]))[0], state.now_s
            job["end_s"] = state.now_s + job["limit_s"]
            limits = core.limits_of[job["first_limit"] : job["first_limit"] + job["num_limits"]]
            core.used[limits] += core.amounts[job["kind"]]
            one = int(job["assoc"])
            while one > 0 and not core.assocs[one]["active"]:
                core.assocs[one]["active"] = 1
                one = int(core.assocs[one]["parent"])
        core.running[: len(rows)] = rows[np.argsort(core.jobs["end_s"][rows], kind="stable")]
        counts[Count.RUNNING] = len(rows)
        counts[Count.FREE] += 1
        counts[Count.FAIR_STALE] = 1

    def make_room(self) -> None:
        """Make room for the shares of all that may start in one decision."""
        needed = int(self._core.counts[Count.SHARES]) + self.most_shares
        if needed > len(self._core.share_node):
            share_node, share_units = grown(self._core.share_node, needed), grown(self._core.share_units, needed)
            self._core = self._core._replace(share_node=share_node, share_units=share_units)


def grown(values: NDArray[_T], count: int) -> NDArray[_T]:
    """Return the array with room for at least ``count`` entries, twice as many as before."""
    larger = np.zeros(max(count, 2 * len(values)), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


def _with_row(table: NDArray[_T], number: int, values: NDArray[_T]) -> NDArray[_T]:
    """Return a table with this row added, unless it has it already."""
    return table if number < len(table) else np.vstack([table, values]).astype(table.dtype)


def _text(column: Any, row: int) -> str:
    return "" if column is None else str(column[row])


def _may_use(users: tuple[str, ...], accounts: tuple[str, ...], user: str, account: str) -> bool:
    return (user != "" and user in users) or (account != "" and account in accounts)


def _limited_columns(setup: SlurmSetup) -> tuple[str, ...]:
    limits = [*(one.limits for one in setup.qos), *(one.limits for one in setup.associations)]
    amounts = [tres for one in limits for tres in (one.GrpTRES, one.MaxTRESPU, one.MaxTRESPA, one.MaxTRESPJ)]
    named = {name.lower() for tres in amounts for name in tres}
    return (*LIMITED, *sorted(name for name in named if name.startswith("gres/gpu:")))


def _cpus_of(nodes: Nodes) -> tuple[float, bool]:
    """Return the cores of the cluster and True; its GPUs, or nodes, and False where some node does not state cores."""
    cores, gpus = float(nodes.capacity[:, CPU].sum()), float(nodes.capacity[:, GPU].sum())
    if 0 < cores < np.inf:
        return cores, True
    return gpus or float(len(nodes.up)), False


def _node_order(setup: SlurmSetup, nodes: Nodes) -> Ints:
    """Return the nodes by weight, then by name (numbers in names count as numbers), then by number."""
    weight = np.ones(len(nodes.up))
    for hosts, value in setup.node_weights.items():
        weight[nodes.named(hosts)] = value
    parts = [_DIGITS.split(name) for name in nodes.names]  # text, digits, text, ...
    keys = [[part if n % 2 == 0 else int(part) for n, part in enumerate(name)] for name in parts]
    return np.array(sorted(range(len(keys)), key=lambda node: (weight[node], keys[node], node)), dtype=np.int64)


def _leaves(setup: SlurmSetup, nodes: Nodes) -> Ints:
    """Return the number of the leaf switch of each node; 0 for all without switches."""
    leaf = np.zeros(len(nodes.up), dtype=np.int64)
    if setup.switches:
        leaf[:] = len(setup.switches)
        for number, hosts in enumerate(setup.switches.values()):
            leaf[nodes.named(hosts)] = number
    return leaf


def _hours_table(classes: Classes) -> NDArray[np.uint8]:
    return np.array([closed for _, _, closed in classes], dtype=np.uint8).reshape(-1, tables.HOURS_A_WEEK)


def _may_stop(setup: SlurmSetup, number: dict[str, int]) -> NDArray[np.uint8]:
    may = np.zeros((len(number) + 1, len(number) + 1), dtype=np.uint8)
    for one in setup.qos:
        for other in one.Preempt:
            if other in number:
                may[number[one.name], number[other]] = 1
    return may


class _Associations:
    """The tree of accounts and users as arrays; users and accounts that are not configured are added when seen."""

    def __init__(self, setup: SlurmSetup) -> None:
        self.parent: list[int] = [0]
        self._given: list[SlurmAssociation | None] = [None]
        self._is_user, self._active, self._shares, self._usage = [0], [1], [1.0], [0.0]
        self._account: dict[str, int] = {ROOT: 0, "": 0}
        self._user: dict[tuple[str, str, str], int] = {}
        self._accounts_of: dict[str, str] = {}
        accounts = {one.account: one for one in setup.associations if not one.user}
        for one in setup.associations:
            if not one.user:
                self._add_account(one.account, accounts, frozenset())
        for one in setup.associations:
            if one.user:
                above = self._add_account(one.account, accounts, frozenset())
                self._user[one.account, one.user, one.partition] = self._append(above, one, is_user=True)
                self._accounts_of.setdefault(one.user, one.account)
        for number in range(len(self.parent) - 1, 0, -1):  # an account has used at least what its users have
            below = sum(self._usage[k] for k in range(len(self.parent)) if k and self.parent[k] == number)
            self._usage[number] = max(self._usage[number], below)
        self._usage[0] = sum(self._usage[k] for k in range(1, len(self.parent)) if self.parent[k] == 0)

    def _add_account(self, name: str, known: dict[str, SlurmAssociation], below: frozenset[str]) -> int:
        if name in self._account:
            return self._account[name]
        given = known.get(name)
        above = ROOT if given is None or given.parent in below or given.parent == name else given.parent or ROOT
        number = self._append(self._add_account(above, known, below | {name}), given, is_user=False)
        self._account[name] = number
        return number

    def _append(self, parent: int, given: SlurmAssociation | None, *, is_user: bool) -> int:
        self.parent.append(parent)
        self._given.append(given)
        self._is_user.append(int(is_user))
        self._active.append(int(given is not None))
        shares = 1 if given is None else given.shares
        self._shares.append(-1.0 if shares is None else float(shares))
        self._usage.append(0.0 if given is None else given.raw_usage)
        return len(self.parent) - 1

    def of(self, user: str, account: str, partitions: list[str]) -> int:
        """Return the association of a job, added if there is none: a user of the account that the job names."""
        account = account or self._accounts_of.get(user, "")
        for partition in (*partitions, ""):
            if (account, user, partition) in self._user:
                return self._user[account, user, partition]
        number = self._append(self._add_account(account, {}, frozenset()), None, is_user=True)
        self._user[account, user, ""] = number
        return number

    def chain(self, leaf: int) -> list[SlurmAssociation | None]:
        """Return what is configured of an association and of all above it, the root left out."""
        found = []
        while leaf > 0:
            found.append(self._given[leaf])
            leaf = self.parent[leaf]
        return found

    def table(self, known: Any) -> NDArray[np.void]:
        """Return the table; those that are in it already keep what has become of them."""
        table = np.zeros(len(self.parent), dtype=tables.ASSOC)
        table["parent"], table["is_user"], table["active"] = self.parent, self._is_user, self._active
        table["shares"], table["usage"], table["seen"] = self._shares, self._usage, self._usage
        table[: len(known)] = known
        return table
