"""The cases of ``solve queues`` as plain values, and the trees and jobs made of them.

Fields a case has beyond these are ignored: cases are made from the tables of several schedulers. Amounts are whole
numbers, times seconds around a zero; pairs are written "flavor/resource".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dlsched.domain.errors import InputError
from dlsched.policies.queue_tree.jobs import Group, Job, PodSet, QueueRules, Rules, Running, Strategy
from dlsched.policies.queue_tree.tree import Key, Node, Quota, Tree
from dlsched.policies.queue_tree.usage import PastUse

LARGEST = 10**30
MOST_NODES = 2_000
MOST_JOBS = 20_000

Amount = Annotated[int, Field(ge=0, le=LARGEST)]
Seconds = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Name = Annotated[str, Field(max_length=500)]
Priority = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Amounts = dict[Name, Amount]
Used = dict[Name, Amounts]


class Part(BaseModel):
    """Base of the parts of a case."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Toleration(Part):
    """Which taints are tolerated."""

    key: Name = ""
    operator: Literal["Equal", "Exists", ""] = "Equal"
    value: Name = ""
    effect: Name = ""

    def covers(self, taint: Taint) -> bool:
        """Return whether this toleration tolerates a taint."""
        return (
            self.effect in ("", taint.effect)
            and self.key in ("", taint.key)
            and (self.operator == "Exists" or self.value == taint.value)
        )


class Taint(Part):
    """What keeps pods off the nodes of a flavor."""

    key: Name
    value: Name = ""
    effect: Name = "NoSchedule"


class FlavorIn(Part):
    """A kind of node."""

    name: Name
    labels: dict[Name, Name] = Field({})
    taints: list[Taint] = Field([])
    tolerations: list[Toleration] = Field([])


class Requirement(Part):
    """One expression of an affinity."""

    key: Name
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = "In"
    values: list[Name] = Field([])

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet the requirement."""
        label = labels.get(self.key)
        if self.operator in ("Exists", "DoesNotExist"):
            return (label is not None) is (self.operator == "Exists")
        if self.operator in ("In", "NotIn"):
            return (label in self.values) is (self.operator == "In")
        try:
            number, bound = int(label or ""), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return number > bound if self.operator == "Gt" else number < bound


class PodSetIn(Part):
    """Pods alike; ``requests``: of one pod."""

    name: Name = "main"
    count: int = Field(1, ge=0, le=10_000_000)
    requests: Amounts = Field({})
    min_count: int | None = Field(None, ge=0, le=10_000_000)
    selector: dict[Name, Name] = Field({})
    affinity: list[list[Requirement]] = Field([])
    tolerations: list[Toleration] = Field([])

    def may_use(self, flavor: FlavorIn) -> bool:
        """Return whether pods may run on a flavor; keys its labels do not have are ignored."""
        tolerations = [*self.tolerations, *flavor.tolerations]
        for taint in flavor.taints:
            if taint.effect in ("NoSchedule", "NoExecute") and not any(each.covers(taint) for each in tolerations):
                return False
        if any(flavor.labels.get(key, value) != value for key, value in self.selector.items()):
            return False
        terms = [[each for each in term if each.key in flavor.labels] for term in self.affinity]
        return not all(terms) or not terms or any(all(each.holds(flavor.labels) for each in term) for term in terms)


class JobIn(Part):
    """A waiting job; without ``submit_s`` it is older than all. ``queue_s``: order time after an eviction."""

    name: Name
    queue: Name = ""
    namespace: Name = ""
    local: Name = ""
    uid: Name = ""
    priority: Priority = 0
    submit_s: Seconds | None = None
    queue_s: Seconds | None = None
    podsets: list[PodSetIn] = Field([], max_length=100)
    reclaimable: dict[Name, Annotated[int, Field(ge=0)]] = Field({})

    @property
    def order_s(self) -> float:
        """Return the time by which the job is ordered."""
        submit_s = -inf if self.submit_s is None else self.submit_s
        return submit_s if self.queue_s is None else self.queue_s


class RunningIn(JobIn):
    """A job that holds quota; ``flavors``: set of pods -> resource -> flavor."""

    start_s: Seconds = 0.0
    usage: Amounts = Field({})
    flavors: dict[Name, dict[Name, Name]] = Field({})
    evicted: bool = False
    local_usage: float | None = None


class QuotaIn(Part):
    """Quota of a queue for one resource of a flavor; of a cohort with the flavor."""

    flavor: Name = ""
    resource: Name
    nominal: Amount = 0
    borrow: Amount | None = None
    lend: Amount | None = None

    @property
    def quota(self) -> Quota:
        """Return the quota as the tree has it."""
        return Quota(self.nominal, self.borrow, self.lend)


class FlavorQuotas(Part):
    """The quotas of a queue for one flavor."""

    flavor: Name
    quotas: list[QuotaIn] = Field([], max_length=100)


class GroupIn(Part):
    """Resources that are given the same flavor."""

    resources: list[Name] = Field([], max_length=100)
    flavors: list[FlavorQuotas] = Field([], max_length=1_000)


class NodeIn(Part):
    """What queues and cohorts share."""

    name: Name
    parent: Name | None = None
    weight: float = Field(1.0, ge=0, le=1e12)


class CohortIn(NodeIn):
    """A cohort."""

    quotas: list[QuotaIn] = Field([], max_length=10_000)


class Preemption(Part):
    """Which jobs a job of the queue may stop."""

    within: Literal["never", "lower", "lower-or-newer-equal"] = "never"
    reclaim: Literal["never", "lower", "any", "lower-or-newer-equal"] = "never"
    while_borrowing: Literal["never", "lower"] = "never"
    while_borrowing_max_priority: Priority | None = None


class Fungibility(Part):
    """When the search through the flavors stops."""

    when_can_borrow: Literal["stop", "next"] = "stop"
    when_can_preempt: Literal["stop", "next"] = "next"
    preference: Name | None = None

    @property
    def prefers_preempting(self) -> bool:
        """Return whether stopping jobs is preferred to borrowing."""
        return (self.preference or "").startswith("preempt")


class QueueIn(NodeIn):
    """A queue."""

    strategy: Literal["best-effort", "strict"] = "best-effort"
    preemption: Preemption = Preemption()
    fungibility: Fungibility = Fungibility()
    groups: list[GroupIn] = Field([], max_length=100)
    usage_ordered: bool = False
    namespaces: list[Name] | None = None
    stopped: bool = False

    def rules(self, inactive: bool) -> QueueRules:
        """Return the rules as the tree has them; ``inactive``: it takes no jobs, as if stopped."""
        return QueueRules(
            strict=self.strategy == "strict",
            within=self.preemption.within,
            reclaim=self.preemption.reclaim,
            while_borrowing=self.preemption.while_borrowing == "lower",
            while_borrowing_below=self.preemption.while_borrowing_max_priority,
            borrow_next=self.fungibility.when_can_borrow == "next",
            preempt_next=self.fungibility.when_can_preempt == "next",
            prefer_preempting=self.fungibility.prefers_preempting,
            by_usage=self.usage_ordered,
            groups=tuple(
                Group(tuple(group.resources), tuple(each.flavor for each in group.flavors)) for group in self.groups
            ),
            stopped=self.stopped or inactive,
        )


class LocalQueue(Part):
    """A sub-queue."""

    name: Name
    queue: Name = ""
    weight: float = Field(1.0, ge=0, le=1e12)


class State(Part):
    """Queues, and jobs that run and wait."""

    flavors: list[FlavorIn] = Field([], max_length=MOST_NODES)
    cohorts: list[CohortIn] = Field([], max_length=MOST_NODES)
    queues: list[QueueIn] = Field([], max_length=MOST_NODES)
    local_queues: list[LocalQueue] = Field([], max_length=MOST_NODES)
    running: list[RunningIn] = Field([], max_length=MOST_JOBS)
    pending: list[JobIn] = Field([], max_length=MOST_JOBS)

    def tree(self, more: Sequence[str] = ()) -> Tree:
        """Return the tree with its running jobs; ``more``: pairs that a case names beyond those with quota.

        Raises
        ------
        InputError
            If two nodes have one name, a queue is the parent of a node, cohorts form a circle, or a running job is in
            no queue.
        """
        names = [each.name for each in self.running]
        if len(set(names)) < len(names):
            raise InputError("state, running", "has two jobs of one name", "Give each job a name of its own")
        nodes = self._nodes()
        pairs = [pair(text) for each in self.running for text in each.usage] + [pair(text) for text in more]
        tree = Tree(nodes, pairs)
        for each in self.running:
            tree.start(self.running_job(tree, each))
        return tree

    def _nodes(self) -> list[Node]:
        given: list[NodeIn] = [*self.queues, *self.cohorts]
        names = [each.name for each in given]
        twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
        if twice is not None:
            raise InputError(f"state, node {twice!r}", "is given twice", "Give each queue and cohort a name of its own")
        queues = {each.name for each in self.queues}
        cohorts = {each.name: each for each in self.cohorts}
        for each in given:
            if each.parent in queues:
                why = f"has the queue {each.parent!r} as its parent"
                raise InputError(f"state, node {each.name!r}", why, "Only cohorts have children")
            if each.parent is not None and each.parent not in cohorts:
                cohorts[each.parent] = CohortIn(name=each.parent)
        clear: set[str] = set()
        for name in cohorts:
            path: dict[str, None] = {}
            above: str | None = name
            while above is not None and above not in clear:
                if above in path:
                    why = f"form a circle: {' -> '.join([*path, above])[:500]}"
                    raise InputError("state, cohorts", why, "A cohort has at most one parent, and no circle")
                path[above] = None
                above = cohorts[above].parent
            clear.update(path)
        known = {flavor.name for flavor in self.flavors}
        nodes = []
        for queue in self.queues:
            quotas = {
                (each.flavor, quota.resource): quota.quota
                for group in queue.groups
                for each in group.flavors
                for quota in each.quotas
            }
            inactive = bool(known) and any(each.flavor not in known for g in queue.groups for each in g.flavors)
            nodes.append(Node(queue.name, queue.parent, quotas, queue.rules(inactive), queue.weight))
        for cohort in cohorts.values():
            quotas = {(quota.flavor, quota.resource): quota.quota for quota in cohort.quotas}
            nodes.append(Node(cohort.name, cohort.parent, quotas, None, cohort.weight))
        return nodes

    def job(self, tree: Tree, given: JobIn) -> Job:
        """Return a waiting job; InputError where it is in no queue of the tree."""
        queue = queue_number(tree, given.queue, f"job {given.name!r}")
        podsets = []
        for each in given.podsets:
            flavors = (
                frozenset(flavor.name for flavor in self.flavors if each.may_use(flavor)) if self.flavors else None
            )
            count = max(0, each.count - given.reclaimable.get(each.name, 0))
            fewest = None if each.min_count is None else min(each.min_count, count)
            podsets.append(PodSet(each.name, count, each.requests, fewest, flavors))
        return Job(
            given.name, queue, tuple(podsets), given.priority, given.order_s, given.uid or given.name, given.local
        )

    def running_job(self, tree: Tree, given: RunningIn) -> Running:
        """Return a running job; InputError where it is in no queue of the tree."""
        queue = queue_number(tree, given.queue, f"running job {given.name!r}")
        usage = {tree.index[pair(text)]: amount for text, amount in given.usage.items()}
        return Running(
            given.name,
            queue,
            usage,
            given.priority,
            given.order_s,
            given.start_s,
            given.uid or given.name,
            given.local,
            given.evicted,
            local_usage=given.local_usage,
        )


class Options(Part):
    """The switches of a case; defaults are those of Kueue 0.20."""

    fair_sharing: bool = False
    strategies: list[Strategy] = Field(["final-share", "initial-share"], max_length=2)
    priority_between_queues: bool = True
    retarget: bool = True
    keep_scan: bool = True
    preemptor_first: bool = False
    partial: bool = True
    uncovered: Literal["ignore", "refuse"] = "refuse"
    usage_half_life_s: float = Field(604_800.0, ge=0)
    usage_sampling_s: float = Field(300.0, ge=0)
    usage_weights: dict[Name, float] = Field({})

    @property
    def rules(self) -> Rules:
        """Return the rules as the cores have them."""
        strategies = tuple(self.strategies) or ("final-share", "initial-share")
        return Rules(
            self.fair_sharing,
            strategies,
            self.priority_between_queues,
            self.retarget,
            self.keep_scan,
            self.preemptor_first,
            self.uncovered == "ignore",
            self.partial,
        )

    def past_use(self, local_queues: Sequence[LocalQueue], consumed: Mapping[str, Mapping[str, float]]) -> PastUse:
        """Return the past use of sub-queues."""
        weights = {each.name: each.weight for each in local_queues}
        history = {local: dict(amounts) for local, amounts in consumed.items()}
        return PastUse(self.usage_half_life_s, self.usage_sampling_s, weights, self.usage_weights, history)


def pair(text: str) -> Key:
    """Return (flavor, resource) of "flavor/resource"; the resource may hold slashes."""
    flavor, slash, resource = text.partition("/")
    if not slash:
        raise InputError(f"amount {text!r:.80}", "must be named flavor/resource", "Write both, with a slash between")
    return flavor, resource


def queue_number(tree: Tree, name: str, what: str) -> int:
    """Return the number of a queue; InputError that names ``what`` is in it where there is none."""
    number = tree.number.get(name)
    if number is None or not tree.is_queue[number]:
        raise InputError(f"instance, {what}", f"names the queue {name!r:.80}, which state.queues does not have")
    return number


def amounts_of(tree: Tree, given: Mapping[str, int]) -> dict[int, int]:
    """Return number of the pair -> amount."""
    return {tree.index[pair(text)]: amount for text, amount in given.items()}


def plain_amounts(tree: Tree, usage: Mapping[int, int]) -> dict[str, Any]:
    """Return "flavor/resource" -> amount."""
    return {"/".join(tree.keys[f]): amount for f, amount in usage.items()}
