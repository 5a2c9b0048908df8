"""A scenario: everything a run depends on besides the policy and the run's seed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer, model_validator

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Cluster
from dlsched.domain.counted import counted_resource
from dlsched.domain.energy import EnergySetup
from dlsched.domain.model import FrozenModel, Key
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.slurm import SlurmSetup
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload

FORMAT_VERSION = 1
SpeedKind = Literal["rigid", "scaling", "table", "parameter-server"]
"""Our own speed models."""
KIND_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,79}$"
PlacementRule = Literal["pool", "best-fit", "pack", "spread"]


class SpeedSpec(FrozenModel):
    """How the rate of a job follows from its width.

    rigid: only the requested width, rate 1. scaling: every doubling of the workers is worth a factor
    2 x ``efficiency``, so speed-up(w) = w * efficiency**log2(w), relative to the requested width. table: run times by
    GPU type and number of GPUs, looked up by the job's ``profile``. parameter-server: steps per second from the columns
    ``batch_s`` to ``spread_s`` of the jobs (:mod:`dlsched.speed.parameter_server`). Any other kind is the key of a
    speed model that an installed plug-in brings, with ``params`` of its own.
    """

    kind: SpeedKind | Annotated[str, Field(pattern=KIND_PATTERN)] = Field(
        "rigid",
        description="Fixed GPU count (rigid), a scaling law, a table of run times by GPU type and number of GPUs, or "
        "training-step times with parameter servers; or the key of a speed model of an installed plug-in.",
    )
    efficiency: float = Field(
        0.8, gt=0.5, le=1, description="Share of the ideal speed-up that each doubling of the workers achieves."
    )
    max_factor: float = Field(
        4.0, ge=1, le=64, description="Most workers as a multiple of the request, for jobs that state no maximum."
    )
    updates: Literal["sync", "async"] = Field(
        "sync",
        description="Parameter servers: all workers make each step together (sync), or each worker on its own (async).",
    )
    times: TimeTable | None = Field(None, description="Run times by profile, GPU type and number of GPUs.")
    params: dict[Key, JsonValue] = Field(
        default_factory=dict, max_length=40, description="Parameters of the speed model of a plug-in."
    )

    @property
    def is_ours(self) -> bool:
        """Whether it is one of our own models: a plug-in's need not follow any law that is known."""
        return self.kind in get_args(SpeedKind)

    @model_serializer(mode="wrap")
    def _without_updates(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what only some kinds have: hashes of older scenarios stay what they were."""
        plain: dict[str, Any] = handler(self)
        left_out = {"updates"} if self.kind != "parameter-server" else set()
        left_out |= set() if self.params else {"params"}
        return {name: value for name, value in plain.items() if name not in left_out}

    @model_validator(mode="after")
    def _has_times(self) -> Self:
        if self.kind == "table" and self.times is None:
            raise ValueError("the speed model table needs run times")
        if self.params and self.is_ours:
            raise ValueError(f"the speed model {self.kind} has no params")
        return self


class SimulationRules(FrozenModel):
    """Rules of the simulation; each is shown as an assumption when it is not neutral."""

    placement: PlacementRule = Field(
        "best-fit", title="Placement on nodes", description="How the GPUs of a job are spread over nodes."
    )
    oversize: Literal["refuse", "drop", "cap"] = Field(
        "refuse",
        title="Jobs too large for the cluster",
        description="Jobs that can never fit: refuse the run, drop them, or reduce their GPUs (cap).",
    )
    restart_s: float = Field(
        0.0,
        ge=0,
        le=86_400,
        title="Time lost at each start or change",
        json_schema_extra={"unit": "s"},
        description="Time without progress after a start, a move or a change of the GPU count.",
    )
    restart_mode: Literal["pause", "delayed"] = Field(
        "pause",
        title="During that time",
        description="pause: no progress; delayed: the job goes on with its old GPUs, at starts and scale-ups only.",
    )
    checkpoint_s: float = Field(
        0.0,
        ge=0,
        le=604_800,
        title="Time between checkpoints",
        json_schema_extra={"unit": "s"},
        description="Time between checkpoints; a node failure loses the work since the last one. 0 = nothing is lost.",
    )
    estimate_error: float = Field(
        0.0,
        ge=0,
        lt=1,
        title="Run-time estimates wrong by up to",
        description="Policies are told run times that are wrong by up to this share; 0 = true run times.",
    )
    limits: Literal["believe", "ignore", "kill"] = Field(
        "believe",
        title="Time limits of jobs",
        description="believe: policies take a job's time limit for its run time; kill: the same, and a job that "
        "reaches its limit and Slurm's OverTimeLimit, if any, is ended as failed; ignore: limits play no part.",
    )
    bug_share: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Share of jobs that crash",
        description="Share of jobs that crash soon after their start.",
    )
    bug_within_s: float = Field(
        300.0,
        gt=0,
        le=86_400,
        title="They crash within",
        json_schema_extra={"unit": "s"},
        description="A job that crashes does so within this run time.",
    )
    cancel_share: float = Field(
        0.0,
        ge=0,
        le=1,
        title="Share of jobs that are cancelled",
        description="Share of jobs cancelled at a random time up to twice the run time after submission.",
    )
    billing: Literal["second", "hour"] = Field(
        "second", title="Billed by the", description="What rented time is rounded up to; owned nodes follow it too."
    )
    rejection_usd: float = Field(
        0.0,
        ge=0,
        title="Cost of each rejected job",
        json_schema_extra={"unit": "$"},
        description="Cost of a rejected job.",
    )
    utility_unit_s: float = Field(
        3600.0,
        gt=0,
        title="Value decays per",
        json_schema_extra={"unit": "s"},
        description="Time unit of the utility function.",
    )
    utility_clock: Literal["elapsed", "slots"] = Field(
        "elapsed", title="Value decays with", description="Elapsed time, or last slot used minus arrival slot."
    )
    slot_s: float = Field(
        3600.0,
        gt=0,
        title="Length of a reservation slot",
        json_schema_extra={"unit": "s"},
        description="Length of a slot on the reservation grid.",
    )
    horizon_s: float | None = Field(
        None,
        gt=0,
        title="Stop the simulation after",
        json_schema_extra={"unit": "s"},
        description="Stop the run at this time; empty = run until all jobs are done.",
    )

    @model_serializer(mode="wrap")
    def _without_limits(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what older versions did not know and is not set: hashes of their scenarios stay what they were."""
        plain: dict[str, Any] = handler(self)
        return plain if self.limits != "believe" else {k: v for k, v in plain.items() if k != "limits"}


@dataclass(frozen=True, eq=False)
class Scenario:
    """Workload, cluster, options, speed model and seed. Frozen: an edit makes a new scenario.

    ``generator`` is the specification the workload was drawn from (None for a trace); a run with seed s draws the
    workload of ``seed + s``. ``read`` counts what a reader kept: rows, kept, repaired, dropped.
    ``assumptions`` are the rules that filled what the data did not say. ``copy_number`` tells a copy in a store from
    what it was copied from; all their numbers are the same until one of them is changed.
    ``queues`` are quotas of queues and ``slurm`` the settings of a Slurm, where the cluster has them: policies that
    follow such rules read them, others do not. ``energy`` says what electricity is drawn, costs and emits; no policy
    reads it. ``schema_ref`` is what its file names as its JSON Schema.
    """

    workload: Workload
    cluster: Cluster
    options: SimulationRules = field(default_factory=SimulationRules)
    speed: SpeedSpec = field(default_factory=SpeedSpec)
    seed: int = 0
    name: str = "scenario"
    data_kind: Literal["example", "generated", "trace"] = "trace"
    generator: Mapping[str, Any] | None = None
    read: Mapping[str, int] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    copy_number: int = 0
    queues: QueueTree | None = None
    slurm: SlurmSetup | None = None
    energy: EnergySetup | None = None
    schema_ref: str = ""

    def replace(self, **changes: Any) -> Scenario:
        """Return a copy with these fields changed."""
        return dataclasses.replace(self, **changes)

    @cached_property
    def counted(self) -> int:
        """Index in RESOURCES of the resource that counts; see :func:`dlsched.domain.counted.counted_resource`."""
        return counted_resource(self.workload, self.cluster)

    @cached_property
    def content_hash(self) -> str:
        """Hash of all that a run depends on: not of the name, the counts or the wording of assumptions."""
        parts = {
            "version": FORMAT_VERSION,
            "workload": self.workload.content_hash,
            "cluster": self.cluster.model_dump(mode="json"),
            "options": self.options.model_dump(mode="json"),
            "speed": self.speed.model_dump(mode="json"),
            "seed": self.seed,
            "generator": self.generator,
        }
        if self.copy_number:
            parts["copy"] = self.copy_number
        if self.queues is not None:
            parts["queues"] = self.queues.model_dump_json()  # as text: the order of queues breaks ties
        if self.slurm is not None:
            parts["slurm"] = self.slurm.model_dump(mode="json")
        if self.energy is not None:
            parts["energy"] = self.energy.model_dump(mode="json")
        return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()

    def __repr__(self) -> str:
        size = f"{self.cluster.slots:,} rented" if self.cluster.free_slots else f"{self.cluster.num_nodes:,}"
        return f"<Scenario {self.name!r}: jobs {len(self.workload):,}, nodes {size}>"

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
