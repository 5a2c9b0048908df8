"""What a scenario knows of its Slurm: options of slurm.conf, partitions, QOS, associations, reservations.

Names are Slurm's own where a setting is one of Slurm's; times are in seconds, ``_s``, where Slurm has minutes or days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, Protocol, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import Floats, partition_names

Name = Annotated[str, Field(min_length=1, max_length=120)]
OverTimeLimit = Annotated[float, Field(ge=0)] | Literal["UNLIMITED"]
Tres = dict[Annotated[str, Field(min_length=1, max_length=60)], float]
"""Trackable resources: cpu, mem (GiB), node, gres/gpu, gres/gpu:TYPE, billing -> amount."""
_Key = TypeVar("_Key", str, tuple[str, str, str])
Weight = Annotated[int, Field(ge=0, le=2**32)]


class SlurmOptions(FrozenModel):
    """Settings of slurm.conf; None = not given, so that Slurm's default holds (:data:`DEFAULTS`)."""

    # ---- multifactor priority
    PriorityType: Literal["priority/multifactor", "priority/basic"] | None = Field(
        None, description="multifactor: by the weights below; basic: in order of submission."
    )
    PriorityWeightAge: Weight | None = Field(None, description="Weight of the time that a job has waited.")
    PriorityWeightFairshare: Weight | None = Field(
        None, description="Weight of fair share: users who have used little of their shares go first."
    )
    PriorityWeightJobSize: Weight | None = Field(None, description="Weight of the size of a job.")
    PriorityWeightPartition: Weight | None = Field(None, description="Weight of PriorityJobFactor of the partition.")
    PriorityWeightQOS: Weight | None = Field(None, description="Weight of the priority of the QOS.")
    PriorityWeightAssoc: Weight | None = Field(
        None, description="Not modelled: accounts and users have no priority here. Kept for older scenarios."
    )
    PriorityWeightTRES: Tres | None = Field(
        None, description="Weights of what a job asks for as a share of its partition: CPU=1000,GRES/gpu=3000."
    )
    PriorityMaxAge_s: float | None = Field(
        None, gt=0, description="Time after which waiting adds no more priority: minutes, H:M:S, or D-H."
    )
    PriorityDecayHalfLife_s: float | None = Field(
        None, ge=0, description="Time in which past use counts half; 0 = it never fades. Minutes, H:M:S, or D-H."
    )
    PriorityCalcPeriod_s: float | None = Field(
        None, gt=0, description="Time between two updates of past use and priorities, in minutes."
    )
    PriorityFavorSmall: bool | None = Field(None, description="YES: the job size factor favours small jobs.")
    PriorityFlags: tuple[Name, ...] | None = Field(
        None, max_length=20, description="NO_FAIR_TREE: classic fair share; SMALL_RELATIVE_TO_TIME."
    )
    FairShareDampeningFactor: float | None = Field(
        None, gt=0, description="Classic fair share: higher values weaken it."
    )
    # ---- main and backfill passes
    SchedulerType: Literal["sched/backfill", "sched/builtin"] | None = Field(
        None, description="With backfill, or strictly in order of priority."
    )
    bf_interval: float | None = Field(None, gt=0, description="Seconds between two backfill passes.")
    bf_window_s: float | None = Field(
        None, gt=0, description="How far ahead a backfill pass looks, in minutes; at least the longest time limit."
    )
    bf_window_linear: float | None = Field(
        None,
        ge=0,
        description="Seconds by which a backfill pass looks further ahead at each step; 0 = doubling.",
    )
    bf_resolution: float | None = Field(None, gt=0, description="Seconds to which reserved times are rounded.")
    bf_max_job_test: int | None = Field(None, ge=1, description="Jobs that a backfill pass looks at.")
    bf_max_job_user: int | None = Field(
        None, ge=0, description="Jobs of one user that a backfill pass looks at; 0 = no limit."
    )
    bf_max_job_part: int | None = Field(
        None, ge=0, description="Jobs of one partition that a backfill pass looks at; 0 = no limit."
    )
    bf_max_job_user_part: int | None = Field(
        None, ge=0, description="Jobs of one user in one partition that a backfill pass looks at; 0 = no limit."
    )
    bf_max_job_start: int | None = Field(
        None, ge=0, description="Jobs that a backfill pass starts at most; 0 = no limit."
    )
    batch_sched_delay: float | None = Field(
        None, ge=0, description="Seconds that a main pass may wait for more submissions."
    )
    sched_interval: float | None = Field(
        None, gt=0, description="Seconds between two main passes through the whole queue."
    )
    default_queue_depth: int | None = Field(None, ge=1, description="Jobs that a main pass after an event looks at.")
    partition_job_depth: int | None = Field(
        None, ge=0, description="Jobs of one partition that a main pass looks at; 0 = no limit."
    )
    defer: bool | None = Field(None, description="YES: jobs are not tried one by one when they are submitted.")
    # ---- time limits and preemption
    OverTimeLimit_s: OverTimeLimit | None = Field(
        None,
        description="Minutes that a job may run beyond its time limit before it is ended; UNLIMITED = never ended.",
    )
    KillWait_s: float | None = Field(None, ge=0, description="Not modelled. Kept for older scenarios.")
    PreemptType: Literal["preempt/none", "preempt/partition_prio", "preempt/qos"] | None = Field(
        None,
        description="Jobs that may be stopped for others: of lower partitions, or of the QOS that a QOS lists.",
    )
    PreemptMode: Literal["OFF", "CANCEL", "REQUEUE"] | None = Field(
        None, description="What happens to a stopped job: it is cancelled, or waits again."
    )


NOT_MODELLED = frozenset({"KillWait_s", "PriorityWeightAssoc"})
"""Fields that only older scenarios fill: nothing reads them, and no form shows them."""
OPTIONS = tuple(name for name in SlurmOptions.model_fields if name not in NOT_MODELLED)
"""Fields that count."""

DEFAULTS = SlurmOptions(
    PriorityType="priority/multifactor", PriorityWeightAge=0, PriorityWeightFairshare=0, PriorityWeightJobSize=0,
    PriorityWeightPartition=0, PriorityWeightQOS=0, PriorityWeightAssoc=0, PriorityMaxAge_s=7 * DAY_S,
    PriorityDecayHalfLife_s=7 * DAY_S, PriorityCalcPeriod_s=300, PriorityFavorSmall=False, FairShareDampeningFactor=1,
    SchedulerType="sched/backfill", bf_interval=30, bf_window_s=DAY_S, bf_window_linear=0, bf_resolution=60,
    bf_max_job_test=500, bf_max_job_user=0, bf_max_job_part=0, bf_max_job_user_part=0, bf_max_job_start=0,
    batch_sched_delay=3, sched_interval=60, default_queue_depth=100, partition_job_depth=0, defer=False,
    OverTimeLimit_s=0, KillWait_s=30, PreemptType="preempt/none", PreemptMode="OFF",
)  # fmt: skip
"""Slurm's defaults, of versions since 23.02."""


class SlurmLimits(FrozenModel):
    """Limits of a QOS or association: Grp of all its jobs together, Max of each user (PU), account (PA), or job."""

    GrpJobs: int | None = Field(None, ge=0)
    GrpTRES: Tres = Field(default_factory=dict)
    MaxJobsPU: int | None = Field(None, ge=0)
    MaxTRESPU: Tres = Field(default_factory=dict)
    MaxJobsPA: int | None = Field(None, ge=0)
    MaxTRESPA: Tres = Field(default_factory=dict)
    MaxTRESPJ: Tres = Field(default_factory=dict)
    MaxWall_s: float | None = Field(None, gt=0)


NO_LIMITS = SlurmLimits()


class SlurmPartition(FrozenModel):
    """A partition; which nodes it has is said by the cluster."""

    name: Name
    PriorityTier: int = Field(1, ge=0, le=65_533)
    PriorityJobFactor: int = Field(1, ge=0, le=65_533)
    MaxTime_s: float | None = Field(None, gt=0, description="Longest time limit; None = no limit.")
    DefaultTime_s: float | None = Field(None, gt=0)
    OverTimeLimit_s: OverTimeLimit | None = Field(
        None, description="Minutes that its jobs may run beyond their time limit; None = as the option says."
    )
    QOS: str = Field("", max_length=120, description="Partition QOS, whose limits hold for all its jobs.")
    TRESBillingWeights: Tres = Field(default_factory=dict)
    PreemptMode: Literal["OFF", "CANCEL", "REQUEUE"] | None = None
    exclusive: bool = Field(False, description="OverSubscribe=EXCLUSIVE: jobs hold whole nodes.")


class SlurmQos(FrozenModel):
    """A quality of service; the QOS of a job is its ``job_class``."""

    name: Name
    Priority: int = Field(0, ge=0, le=2**32)
    UsageFactor: float = Field(1.0, ge=0, le=1e6)
    Preempt: tuple[Name, ...] = Field((), max_length=200, description="QOS whose jobs it may stop.")
    PreemptMode: Literal["OFF", "CANCEL", "REQUEUE"] | None = None
    limits: SlurmLimits = Field(default_factory=lambda: NO_LIMITS)


class SlurmAssociation(FrozenModel):
    """An account, or a user in an account (``user`` not empty); the root account has no parent.

    ``shares`` None = parent (FairShare=parent). ``raw_usage``: past use that fair-share starts from.
    """

    account: Name
    user: str = Field("", max_length=120)
    partition: str = Field("", max_length=120)
    parent: str = Field("", max_length=120)
    shares: int | None = Field(1, ge=0, le=2**31)
    raw_usage: float = Field(0.0, ge=0)
    QOS: tuple[Name, ...] = Field((), max_length=200)
    limits: SlurmLimits = Field(default_factory=lambda: NO_LIMITS)


class SlurmReservation(FrozenModel):
    """Nodes kept for the jobs of some users and accounts for a time; for no job at all if none is named."""

    name: Name
    nodes: str = Field(max_length=1_000_000, description="Names of the nodes as a host list; ALL = every node.")
    start_s: float = Field(ge=0)
    end_s: float
    users: tuple[Name, ...] = Field((), max_length=10_000)
    accounts: tuple[Name, ...] = Field((), max_length=10_000)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class SlurmSetup(FrozenModel):
    """All of it. Parameters of the policy ``slurm`` go before ``options``, these before Slurm's defaults."""

    options: SlurmOptions = SlurmOptions()
    partitions: tuple[SlurmPartition, ...] = Field((), max_length=2_000)
    qos: tuple[SlurmQos, ...] = Field((), max_length=2_000)
    associations: tuple[SlurmAssociation, ...] = Field((), max_length=200_000)
    reservations: tuple[SlurmReservation, ...] = Field((), max_length=10_000)
    switches: dict[Name, Annotated[str, Field(max_length=1_000_000)]] = Field(
        default_factory=dict, description="Leaf switch (topology/tree) -> host list of its nodes."
    )
    node_weights: dict[Annotated[str, Field(max_length=10_000)], int] = Field(
        default_factory=dict, description="Host list -> Weight; nodes of a lower weight are used first."
    )

    def over_times_s(self, partitions: Iterable[str]) -> list[float]:
        """Return for how long a job of each partition may run beyond its time limit; infinity = it is never ended.

        Of several partitions the longest, as it is not known before the run in which one it starts.
        """
        given = self.options.OverTimeLimit_s
        plain_s = _over_s(DEFAULTS.OverTimeLimit_s if given is None else given)
        own_s = {one.name: _over_s(one.OverTimeLimit_s) for one in self.partitions if one.OverTimeLimit_s is not None}
        entries = list(partitions)
        names = frozenset[str]().union(*map(partition_names, set(entries)))
        told_s = of_partitions(entries, {name: own_s.get(name, plain_s) for name in names})
        over_s: list[float] = np.where(np.isnan(told_s), plain_s, told_s).tolist()
        return over_s

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        kinds: tuple[tuple[str, Sequence[_Named]], ...] = (
            ("partitions", self.partitions), ("QOS", self.qos), ("reservations", self.reservations),
        )  # fmt: skip
        for what, listed in kinds:
            if (twice := _repeated([one.name for one in listed])) is not None:
                raise ValueError(f"two {what} are called {twice!r}")
        again = _repeated([(one.account, one.user, one.partition) for one in self.associations])
        if again is not None:
            raise ValueError(f"account {again[0]!r} has two rows for user {again[1]!r} and partition {again[2]!r}")
        for one in self.reservations:
            if one.end_s <= one.start_s:
                raise ValueError(f"reservation {one.name!r} must end after it starts")
        parent = {one.account: one.parent for one in self.associations if not one.user and not one.partition}
        right: set[str] = {""}
        for account in parent:
            path: dict[str, None] = {}
            above = account
            while above not in right:
                if above in path:
                    raise ValueError(f"account {above!r} is above itself")
                path[above] = None
                above = parent.get(above, "")
            right.update(path)
        return self


def _repeated(keys: list[_Key]) -> _Key | None:
    """Return the first that comes twice."""
    seen: set[_Key] = set()
    return next((key for key in keys if key in seen or seen.add(key)), None)  # type: ignore[func-returns-value]


def _over_s(given: OverTimeLimit | None) -> float:
    return math.inf if given == "UNLIMITED" else float(given or 0)


def of_partitions(entries: Sequence[str], value: Mapping[str, float]) -> Floats:
    """Return the value of the partition that each entry names, the largest of several; NaN where none has one."""
    largest = {
        entry: max((value[name] for name in partition_names(entry) if name in value), default=math.nan)
        for entry in set(entries)
    }
    return np.array([largest[entry] for entry in entries], dtype=np.float64)
