"""The policy protocol and what the registry knows of each policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntFlag, StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.names import names_hint
from dlsched.domain.plan import Plan
from dlsched.domain.workload import Ints

if TYPE_CHECKING:
    from dlsched.domain.scenario import Scenario
    from dlsched.domain.state import State


class EventKind(IntFlag):
    """Why a policy is asked; several can hold at one instant."""

    NONE = 0
    COMPLETION = 1
    CAPACITY = 2
    ARRIVAL = 4
    CANCEL = 8
    OVERRUN = 16
    RESERVATION_LOST = 32
    TIMER = 64


@dataclass(frozen=True, slots=True)
class ReviewRule:
    """When a policy is asked: on these events, and/or every ``every_s`` seconds from ``phase_s`` on.

    ``one_by_one``: after each single arrival and end of an instant, arrivals first, rather than once after all.
    """

    events: EventKind = EventKind.ARRIVAL | EventKind.COMPLETION | EventKind.CAPACITY | EventKind.CANCEL
    every_s: float | None = None
    phase_s: float = 0.0
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class ListRule:
    """A rigid list policy in a form that the compiled kernel understands.

    order: what the queue is sorted by, ties by source order. blocking: stop at the first job that does not fit.
    preemptive: re-decide who runs at every event. backfill: what later jobs must not delay: the head (easy) or any job
    ahead of them (conservative). one_by_one: decide after each single event, see :class:`ReviewRule`. fair: the next
    job is always of the user with the lowest dominant share. thresholds_gpu_s: queues by GPU-seconds held. ranks: the
    order of these queues, shape (classes of width, queues), from how many jobs ended in each; lowest first.
    makes_room: jobs that are to run but find no room on single nodes take it from jobs behind them.
    """

    order: Literal["submit", "work", "remaining", "due", "priority", "attained"]
    blocking: bool
    preemptive: bool = False
    backfill: Literal["none", "easy", "conservative"] = "none"
    one_by_one: bool = False
    fair: bool = False
    quantum_s: float | None = None
    thresholds_gpu_s: tuple[float, ...] = ()
    ranks: Callable[[Ints], Ints] | None = None
    makes_room: bool = False


@dataclass(frozen=True, slots=True)
class ElasticRule:
    """A policy that hands out widths, in a form that the compiled kernel understands.

    width: what a job gets of a speed curve, and with it the order: hell by S/E, knee and fastest by the time left,
    smallest by submission. alpha: threshold of the knee. fills: nodes that are left go to the job they make the
    shortest. moldable: the width of the first start stays; blocking: who waits for it holds up all behind.
    gamma: weight of progress for early termination. chunk: above 0, chunks of so many nodes with a queue each.
    """

    width: Literal["hell", "knee", "fastest", "smallest"]
    alpha: float = 0.0
    fills: bool = False
    moldable: bool = False
    blocking: bool = False
    gamma: float = 0.0
    chunk: int = 0


@dataclass(frozen=True, slots=True)
class SlurmRule:
    """The policy slurm with its parameters, for the compiled loop that makes the same passes."""

    params: FrozenModel


@dataclass(frozen=True, slots=True)
class QueueTreeRule:
    """The policy queue-tree, for the compiled loop that runs the same cycles."""


KernelRule = ListRule | ElasticRule | SlurmRule | QueueTreeRule


class Policy(Protocol):
    """A scheduling policy. ``kernel_rule`` is set when a compiled kernel may stand in for :meth:`plan`."""

    @property
    def review(self) -> ReviewRule: ...

    @property
    def kernel_rule(self) -> KernelRule | None: ...

    def plan(self, state: State) -> Plan:
        """Return a patch of the plan for the state."""
        ...


class Need(StrEnum):
    """What a policy must be given; greyed-out choices and error texts come from this."""

    DUE = "due dates"
    WEIGHT = "costs of lateness"
    PRICE = "prices"
    PRIORITY = "priorities"
    USER = "users or groups"
    SPEED = "a speed-up model"
    FREE_SLOTS = "rented machines"
    FIXED_NODES = "owned nodes"
    ALWAYS_THERE = "a cluster without rented nodes"
    SERVERS = "parameter-server demands"
    UTILITY = "utility functions"
    OWN_STEPS = "asynchronous steps that take equally long at any number of workers"
    POOL = "the placement rule pool (all nodes treated as one)"
    ONE_NODE = "jobs with whole GPUs that fit one machine"
    SHORT_RESTARTS = "restarts shorter than a slot"
    QUEUES = "queues with quotas"


PolicyGroup = Literal["everyday", "elastic", "pay less", "admission"]
GROUPS: tuple[PolicyGroup, ...] = get_args(PolicyGroup)
"""What a user may want of a policy."""


class NoParams(FrozenModel):
    """A policy without parameters."""


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A line of the registry.

    ``knows`` is what the policy must know of the jobs, in plain words ("run times"); ``summary`` one line of what
    it does; ``group`` what the user wants. A clairvoyant policy is built with the whole workload as second
    argument of ``build``. ``draws`` says that it decides with random numbers of its own, so that another run seed gives
    another result on the same jobs; ``compiled`` that its core is compiled when it is first used on a machine.
    ``remark`` says what a reader of a result with these parameters on this scenario should know; "" = nothing.
    ``check`` raises InputError where the policy cannot run a scenario that meets its needs. ``by_field`` turns
    parameters in the notation of the system that the policy models into those of ``params``.
    ``spoken`` is the name within a sentence, the label where none is given. ``origin`` and ``fingerprint`` of a policy
    from outside say where it comes from, as in "mypkg 1.0", and change with its version and sources; "" of ours.
    """

    key: str
    label: str
    family: str
    summary: str
    build: Callable[..., Policy]
    params: type[FrozenModel] = NoParams
    needs: frozenset[Need] = frozenset()
    knows: str = "no run-time estimates"
    paper: str = ""
    group: PolicyGroup = "everyday"
    clairvoyant: bool = False
    uses_run_times: bool = False
    draws: bool = False
    compiled: bool = False
    remark: Callable[[Any, Scenario], str] | None = None
    check: Callable[[Scenario], None] | None = None
    by_field: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    spoken: str = ""
    origin: str = ""
    fingerprint: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spoken", self.spoken or self.label)

    def remark_on(self, values: dict[str, Any] | None, scenario: Scenario) -> str:
        """Return the remark on a run with these parameters; "" without one."""
        return "" if self.remark is None else self.remark(self.parse(values), scenario)

    def parse(self, values: Mapping[str, Any] | None) -> FrozenModel:
        """Return validated parameters; raise InputError naming the policy and the parameter."""
        given = self.by_field(values or {})
        self._check_names(given)
        return validated(self.params, given, f"policy {self.key}")

    def _check_names(self, values: dict[str, Any]) -> None:
        known = list(self.params.model_fields)
        for name in values:
            if name not in known:
                what = f"policy {self.key}, {name:.80}"
                raise InputError(what, "no such parameter", names_hint(name, known))
