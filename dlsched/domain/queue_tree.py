"""Quotas of queues, as in Kueue and KAI: who may hold how much, borrow from whom, and stop whose jobs.

A queue holds waiting jobs; a cohort holds queues and cohorts. A quota belongs to a queue or cohort, a flavor (a GPU
type or pool of nodes) and a resource: ``nominal`` is its own, ``borrow`` the most above it, ``lend`` the most that
others may use of it.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dlsched.domain.columns import RESOURCES
from dlsched.domain.model import FrozenModel

Name = Annotated[str, Field(min_length=1, max_length=120)]
ResourceName = Literal["gpus", "cpus", "mem_gib", "disk_gib"]
MapColumn = Literal["group", "user", "partition", "job_class", "model"]
MOST_QUEUES = 2_000
ALL_FLAVORS = "all"
"""The one flavor of a cluster whose nodes are all of one type."""


class Quota(FrozenModel):
    """Amounts in GPUs, cores or GiB. Resources with the same ``group`` are given the same flavor."""

    flavor: Name = Field(ALL_FLAVORS, description="GPU type, pool:NAME, or all.")
    resource: ResourceName = Field("gpus", description="What is counted.")
    nominal: float = Field(ge=0, le=1e12, description="Own quota.")
    borrow: float | None = Field(None, ge=0, le=1e12, description="Most above nominal; empty = no limit.")
    lend: float | None = Field(None, ge=0, le=1e12, description="Most that others may use of it; empty = all.")
    group: int = Field(0, ge=0, le=15, description="Resources of one group are given the same flavor.")


class Cohort(FrozenModel):
    """Queues and cohorts that lend to one another; its quota belongs to no single queue."""

    parent: Name | None = Field(None, description="Cohort above; empty = none.")
    weight: float = Field(1.0, ge=0, le=1e6, description="Weight under fair sharing.")
    level: int = Field(0, description="KAI: queues of a higher level are served first.")
    quota: tuple[Quota, ...] = Field((), max_length=200, description="Quotas, flavors in order of preference.")


class Queue(Cohort):
    """A queue with its quota and its rules for stopping jobs."""

    strategy: Literal["best-effort", "strict"] = Field(
        "best-effort", description="strict: the first job that cannot be admitted blocks all jobs behind it."
    )
    within: Literal["never", "lower", "lower-or-newer-equal"] = Field(
        "never", description="Jobs of this queue that a waiting job of it may stop, by priority."
    )
    reclaim: Literal["never", "lower", "any"] = Field(
        "never", description="Jobs of other queues that use more than their quota which a waiting job may stop."
    )
    while_borrowing: Literal["never", "lower"] = Field(
        "never", description="Whether jobs of other queues may also be stopped for a job that borrows."
    )
    while_borrowing_below: float | None = Field(
        None, description="Highest priority that may be stopped for a job that borrows; empty = no limit."
    )
    when_can_borrow: Literal["stop", "next"] = Field(
        "stop", description="next: look at the next flavor before borrowing in this one."
    )
    when_can_preempt: Literal["stop", "next"] = Field(
        "next", description="next: look at the next flavor before stopping jobs in this one."
    )
    preference: Literal["borrow", "preempt"] = Field(
        "borrow", description="What is preferred where one flavor needs borrowing and another stops jobs."
    )
    order: Literal["priority", "usage"] = Field(
        "priority", description="usage: users (or namespaces) that have used least go first."
    )
    local: dict[Name, float] = Field(default_factory=dict, description="Weights of users under order = usage.")


class QuotaChange(FrozenModel):
    """Quotas that change at a time, or every day between two hours.

    ``set``: "queue.flavor.resource.nominal" (or .borrow, .lend) -> the new amount.
    """

    at_s: float | None = Field(None, ge=0, description="Time in seconds from the start of the trace.")
    days: Literal["all", "weekdays", "weekend"] = Field("all", description="Days on which the hours hold.")
    from_h: float | None = Field(None, ge=0, lt=24, description="From this hour of the day.")
    to_h: float | None = Field(None, gt=0, le=24, description="To this hour of the day.")
    set: dict[Annotated[str, Field(min_length=1, max_length=300)], float] = Field(description="What becomes what.")

    @model_validator(mode="after")
    def _one_clock(self) -> Self:
        hours = self.from_h is not None and self.to_h is not None
        if (self.at_s is not None) == hours:
            raise ValueError("a change of quota needs either at_s, or from_h and to_h")
        if hours and self.from_h == self.to_h:
            raise ValueError("from_h and to_h must differ")
        return self


class QueueTree(FrozenModel):
    """Queues with quotas, and the rules by which jobs are admitted and stopped."""

    rule: Literal["kueue", "kai"] = Field("kueue", description="Whose rules: those of Kueue or of KAI.")
    fair_sharing: bool = Field(False, description="Share what is borrowed by weight, as fairSharing of Kueue.")
    strategies: tuple[Literal["final-share", "initial-share"], ...] = Field(
        ("final-share", "initial-share"), min_length=1, max_length=2,
        description="Fair sharing: what must hold for a job to be stopped, tried in order.",
    )  # fmt: skip
    nodes: Literal["with-quota", "after-quota"] = Field(
        "with-quota", title="Nodes are given",
        description="with-quota: a job is admitted when nodes have room for it too; after-quota: it holds its quota "
        "from admission and waits for nodes.",
    )  # fmt: skip
    stop_s: float = Field(
        30.0, ge=0, le=86_400, title="Time to stop a job", json_schema_extra={"unit": "s"},
        description="Time from the decision to stop a job until its quota and nodes are free.",
    )  # fmt: skip
    ready_timeout_s: float | None = Field(
        None, gt=0, le=31_536_000, title="Wait for nodes at most", json_schema_extra={"unit": "s"},
        description="after-quota: an admitted job without nodes goes back to its queue after this time; empty = never.",
    )  # fmt: skip
    eviction_loses: Literal["checkpoint", "all", "nothing"] = Field(
        "checkpoint",
        title="Stopped jobs lose",
        description="Work a stopped job loses: since its last checkpoint, since its start, or none.",
    )
    uncovered: Literal["ignore", "refuse"] = Field(
        "ignore",
        title="Resources without quota",
        description="Resources of jobs for which a queue has no quota: not counted, or the job is refused.",
    )
    map: MapColumn = Field("group", title="Queue named by", description="Column of the jobs that names their queue.")
    unmapped: Name = Field(
        "error", title="Jobs without a queue", description="Queue of jobs that name none; error = refuse them."
    )
    usage_half_life_s: float = Field(
        604_800.0, gt=0, json_schema_extra={"unit": "s"}, description="Half-life of past use, for order = usage."
    )
    usage_sampling_s: float = Field(
        300.0, gt=0, json_schema_extra={"unit": "s"}, description="Time between samples of use, for order = usage."
    )
    usage_weights: dict[ResourceName, float] = Field(
        {"gpus": 1.0},
        description="Weights of the resources, for order = usage.",
    )
    priority_between_queues: bool = Field(
        True, description="A job that was reclaimed while borrowing keeps its submission time in the order."
    )
    retarget: bool = Field(True, description="A job whose victims were taken by another looks for others at once.")
    keep_scan: bool = Field(True, description="A search through the flavors that was cut goes on where it was.")
    preemptor_first: bool = Field(False, description="A job whose victims are leaving goes first in all queues.")
    aliases: dict[Name, Name] = Field(
        default_factory=dict, description="Name in the column -> queue; exact names first, then patterns with *."
    )
    cohorts: dict[Name, Cohort] = Field(default_factory=dict, description="Cohorts by name.")
    tree: dict[Name, Queue] = Field(min_length=1, max_length=MOST_QUEUES, description="Queues by name.")
    changes: tuple[QuotaChange, ...] = Field((), max_length=1000, description="Quotas that change with time.")

    @model_validator(mode="after")
    def _is_tree(self) -> Self:
        twice = sorted(set(self.tree) & set(self.cohorts))
        if twice:
            raise ValueError(f"{twice[0]!r} is a queue and a cohort; give one of them another name")
        nodes: dict[str, Cohort] = {**self.cohorts, **self.tree}
        for name, node in nodes.items():
            if node.parent in self.tree:
                raise ValueError(f"the parent of {name!r} is the queue {node.parent!r}; only cohorts have children")
            keys = [(quota.flavor, quota.resource) for quota in node.quota]
            if len(set(keys)) < len(keys):
                raise ValueError(f"{name!r} has two quotas for the same flavor and resource")
        reach_root = set[str]()
        for name in self.cohorts:
            path = {name: None}
            while (cohort := self.cohorts.get(name)) is not None and cohort.parent is not None:
                name = cohort.parent
                if name in path:
                    raise ValueError(f"the cohorts {' -> '.join([*path, name][-10:])} form a circle")
                if name in reach_root:
                    break
                path[name] = None
            reach_root.update(path)
        for queue in {*self.aliases.values(), self.unmapped} - {"error"}:
            if queue not in self.tree:
                raise ValueError(f"aliases or unmapped name the queue {queue!r}, which does not exist")
        return self

    @property
    def _quotas(self) -> tuple[Quota, ...]:
        return tuple(quota for node in (*self.tree.values(), *self.cohorts.values()) for quota in node.quota)

    @property
    def flavors(self) -> tuple[str, ...]:
        """Flavors in the order in which they are first named."""
        return tuple(dict.fromkeys(quota.flavor for quota in self._quotas))

    @property
    def resources(self) -> tuple[str, ...]:
        """Resources for which some node has quota, in the order of RESOURCES."""
        named = {quota.resource for quota in self._quotas}
        return tuple(resource for resource in RESOURCES if resource in named)
