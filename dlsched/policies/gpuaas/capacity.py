"""``solve capacity``: one local problem (P1) given as plain values, solved by a method of choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas.exact import solve_exact
from dlsched.policies.gpuaas.instance import Instance, Schedule, objective, proxy
from dlsched.policies.gpuaas.repair import can_open_enough, open_enough

Method = Literal["exact", "greedy", "randomized-greedy", "path-relinking", "market"]
Amount = Annotated[float, Field(ge=0, le=1e12)]
Positive = Annotated[float, Field(gt=0, le=1e12)]
Search = Callable[[Instance, np.random.Generator], Schedule]

MOST_TIMES = 2_000_000
MARKET_WAIT_PERIODS = 10
"""Market's W of 10 h in periods of one hour, whatever the instance's unit of time."""


class CapacityInput(FrozenModel):
    """The fields of an instance; times and prices in any one unit of time.

    ``times[job][machine type][g-1]``, null = cannot run; ``slack[job]`` time to the due date, null = none.
    """

    model_config = ConfigDict(strict=True)

    nodes: int = Field(ge=1, le=10_000)
    vm_gpus: list[Annotated[int, Field(ge=1, le=64)]] = Field(min_length=1, max_length=200)
    vm_price: list[Positive]
    times: list[list[list[Positive | None]]] = Field(max_length=10_000)
    slack: list[Annotated[float, Field(ge=-1e12, le=1e12)] | None]
    weight: list[Amount]
    period: Positive = 3600.0
    postpone_factor: Amount = 100.0
    idle_penalty: Amount = 1.0
    open: Literal["at-most", "exactly"] = "at-most"
    method: Method = "exact"
    seed: int = Field(0, ge=0, lt=2**64)


@dataclass(frozen=True, eq=False)
class CapacityTask:
    """An instance that was read, and how to solve it."""

    instance: Instance
    method: Method
    seed: int


def read(given: Mapping[str, Any]) -> CapacityTask:
    """Return the task that plain values describe.

    Machine types whose times agree for every job at every number of GPUs both have are one GPU type.

    Raises
    ------
    InputError
        If a field is unknown, missing, of another size than the others, or outside its range; names the place.
    """
    fields = validated(CapacityInput, given, "instance")
    _check_sizes(fields)
    vm_gpus = np.array(fields.vm_gpus)
    per_vm = np.full((len(fields.times), len(vm_gpus), int(vm_gpus.max())), np.inf)
    for job, rows in enumerate(fields.times):
        for vm, row in enumerate(rows):
            per_vm[job, vm, : len(row)] = [np.inf if time is None else time for time in row]
    largest, vm_family = _gpu_types(per_vm, vm_gpus)
    instance = Instance(
        times=np.ascontiguousarray(per_vm[:, largest]),  # compiled code takes no other layout
        slack=np.array([np.inf if slack is None else slack for slack in fields.slack]),
        weight=np.array(fields.weight, dtype=float),
        vm_family=vm_family,
        vm_gpus=vm_gpus,
        vm_price=np.array(fields.vm_price),
        node_vm=np.full(fields.nodes, -1),
        running=np.zeros(len(fields.times), dtype=bool),
        period=fields.period,
        postpone_factor=fields.postpone_factor,
        idle_penalty=fields.idle_penalty,
        exactly=fields.open == "exactly",
    )
    return CapacityTask(instance, fields.method, fields.seed)


def solve(task: CapacityTask) -> dict[str, Any]:
    """Return objective (P1a), proxy (Eq. 1), schedule [[job, node, vm, gpus]], status and, where proven, the bound.

    A search answers ``feasible`` whatever it found; without a solution every method answers ``infeasible``.
    """
    instance, status, bound = task.instance, "feasible", None
    if not can_open_enough(instance):
        return {"status": "infeasible", "objective": None, "proxy": None, "schedule": [], "bound": None}
    if task.method == "exact":
        solved = solve_exact(instance)
        assert solved.schedule is not None  # enough nodes can be open
        schedule, status, bound = solved.schedule, solved.status, solved.bound
    else:
        found = _search(task.method, instance)(instance, np.random.default_rng(task.seed))
        schedule = open_enough(instance, found)
    return {
        "status": status,
        "objective": objective(instance, schedule),
        "proxy": proxy(instance, schedule),
        "schedule": [
            [job, int(schedule.node[job]), int(schedule.vm[schedule.node[job]]), int(schedule.gpus[job])]
            for job in schedule.runs.tolist()
        ],
        "bound": bound,
    }


def _search(method: Method, instance: Instance) -> Search:
    if method == "market":
        from dlsched.policies.gpuaas.market import MarketSettings, market

        settings = MarketSettings(wait=MARKET_WAIT_PERIODS * instance.period)
        return lambda instance, _: market(instance, settings).schedule
    from dlsched.policies.gpuaas import search

    if method == "greedy":
        return lambda instance, _: search.greedy(instance)
    return search.randomized_greedy if method == "randomized-greedy" else search.path_relinking


def _check_sizes(fields: CapacityInput) -> None:
    jobs, vms = len(fields.times), len(fields.vm_gpus)
    for name, length, want, of in (
        ("vm_price", len(fields.vm_price), vms, "machine types as vm_gpus"),
        ("slack", len(fields.slack), jobs, "jobs as times"),
        ("weight", len(fields.weight), jobs, "jobs as times"),
    ):
        if length != want:
            raise InputError(f"instance, {name}", f"must have {want} entries, as many {of}, got {length}")
    for job, rows in enumerate(fields.times):
        if len(rows) != vms:
            raise InputError(
                f"instance, times.{job}", f"must have {vms} lists, one for each machine type, got {len(rows)}"
            )
        for vm, row in enumerate(rows):
            if len(row) != fields.vm_gpus[vm]:
                raise InputError(
                    f"instance, times.{job}.{vm}",
                    f"must have {fields.vm_gpus[vm]} times, one for each number of GPUs of machine type {vm}, "
                    f"got {len(row)}",
                    "Write null where job and machine type do not go together",
                )
    if jobs * sum(fields.vm_gpus) > MOST_TIMES:
        raise InputError("instance, times", f"must be at most {MOST_TIMES:,}, got {jobs * sum(fields.vm_gpus):,}")


def _gpu_types(per_vm: Floats, vm_gpus: Ints) -> tuple[list[int], Ints]:
    """Return the largest machine type of each GPU type, and the GPU type of each machine type."""
    largest: list[int] = []
    family = np.full(len(vm_gpus), -1)
    for vm in np.argsort(-vm_gpus, kind="stable").tolist():
        gpus = int(vm_gpus[vm])
        same = [f for f, first in enumerate(largest) if (per_vm[:, vm, :gpus] == per_vm[:, first, :gpus]).all()]
        family[vm] = same[0] if same else len(largest)
        if not same:
            largest.append(vm)
    return largest, family
