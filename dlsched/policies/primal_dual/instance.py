"""``solve reservation``: jobs given as plain values, and in which slots, on which machines each of them trains.

Slots are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import stream
from dlsched.policies.primal_dual import dorm, drf, fifo, oasis, offline
from dlsched.policies.primal_dual.exact_slot import exact
from dlsched.policies.primal_dual.online import BoundsFrom, PdOrs, bounds_of_all, plan, schedules
from dlsched.policies.primal_dual.prices import LEAST_WORTH, Bounds
from dlsched.policies.primal_dual.problem import Instance, Job, Schedule, utility_of
from dlsched.policies.primal_dual.reach import why_never
from dlsched.policies.primal_dual.rounded_slot import Rounding
from dlsched.policies.primal_dual.slot_cost import CHUNKS, Spread, greedy, one_or_several

Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]

MOST_CELLS = 10_000_000
"""Slots x machines x chunks of a job."""


class JobInput(FrozenModel):
    """One job; times in slots, sizes in MB."""

    model_config = ConfigDict(strict=True)

    arrival: int = Field(ge=0, le=1_000_000_000)
    epochs: Positive
    samples: Positive
    batch: int = Field(ge=1, le=1_000_000)
    time_per_sample: Amount
    model_mb: Amount
    ratio: float = Field(ge=1e-3, le=1e6, description="most workers for each server")
    external_mb_per_slot: Positive
    internal_mb_per_slot: Positive
    worker_demand: list[Amount]
    server_demand: list[Amount]
    utility: tuple[Amount, Amount, Annotated[float, Field(ge=-1e12, le=1e12)]] = Field(strict=False)


class ReservationInput(FrozenModel):
    """The fields of an instance: slots, capacity of each machine, jobs, and how to decide."""

    model_config = ConfigDict(strict=True)

    slots: int = Field(ge=1, le=10_000)
    capacity: list[list[Amount]] = Field(min_length=1, max_length=10_000)
    jobs: list[JobInput] = Field(max_length=10_000)
    method: Literal["offline", "pd-ors", "oasis", "fifo", "drf", "dorm"] = "pd-ors"
    slot_method: Literal["greedy", "rounded", "exact"] = "greedy"
    chunks: int = Field(CHUNKS, ge=1, le=1_000)
    bounds: BoundsFrom = "all"
    price_upper: list[Positive] | None = None
    price_lower: Positive | None = None
    least_worth: float = Field(LEAST_WORTH, gt=0, le=1)
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ReservationTask:
    """An instance that was read, its jobs in order of arrival; ``order``: the place of each in what was given."""

    instance: Instance
    order: tuple[int, ...]
    fields: ReservationInput


def read(given: Mapping[str, Any]) -> ReservationTask:
    """Return the task that plain values describe.

    Raises
    ------
    InputError
        If a field is unknown, missing, of another size than the others, or outside its range; names the place.
    """
    fields = validated(ReservationInput, given, "instance")
    resources = len(fields.capacity[0])
    for machine, row in enumerate(fields.capacity):
        _check_length(f"capacity.{machine}", row, resources, "as many as that of machine 0")
    _check_size(fields)
    jobs = tuple(_job(number, job, resources) for number, job in enumerate(fields.jobs))
    order = tuple(sorted(range(len(jobs)), key=lambda number: jobs[number].arrival))
    capacity = np.array(fields.capacity, dtype=np.float64)
    names = tuple(f"resource {number}" for number in range(resources))
    _check_bounds(fields, resources)
    return ReservationTask(
        Instance(fields.slots, capacity, tuple(jobs[number] for number in order), names), order, fields
    )


def solve(task: ReservationTask) -> dict[str, Any]:
    """Return utility, last slot with workers of each job (None = rejected), reasons, bookings and the status.

    ``schedule`` has a row [job, slot, machine, workers, servers] for each machine a job has in a slot. The status is
    optimal only where that is proven, by the method offline, which answers with its bound too.
    """
    instance = task.instance
    found = SOLVERS[task.fields.method](task)
    last: list[int | None] = [None] * len(task.order)
    why: list[str | None] = [None] * len(task.order)
    rows = []
    for place, number in enumerate(task.order):
        schedule = found.schedules[place]
        if schedule:
            last[number] = max(schedule)
            rows += [[number, *row] for row in _rows(schedule)]
        else:
            why[number] = found.why[place]
    return {
        "utility": utility_of(instance.jobs, found.schedules),
        "completion_slot": last,
        "reasons": why,
        "schedule": sorted(rows),
        "status": found.status,
        **({} if found.bound is None else {"bound": found.bound}),
    }


@dataclass(frozen=True, eq=False)
class Answer:
    """Schedules and why there is none, by job of the instance; a proven bound where there is one."""

    schedules: list[Schedule | None]
    why: list[str]
    status: str = "feasible"
    bound: float | None = None


def _pd_ors(task: ReservationTask) -> Answer:
    fields, instance = task.fields, task.instance
    bounds = None
    if fields.bounds == "all":
        bounds = bounds_of_all(instance, fields.least_worth)
    elif fields.price_upper and fields.price_lower:
        bounds = Bounds(np.maximum(fields.price_upper, fields.price_lower), fields.price_lower)
    spread: dict[str, Spread] = {"greedy": greedy, "exact": exact, "rounded": Rounding(stream(fields.seed, "policy"))}
    method = one_or_several(spread[fields.slot_method])
    scheduler = PdOrs(instance.capacity, instance.slots, bounds, method, fields.chunks, fields.least_worth)
    decisions = plan(instance, scheduler)
    return Answer(schedules(decisions), [decision.why for decision in decisions])


def _offline(task: ReservationTask) -> Answer:
    best = offline.solve(task.instance)
    return Answer(
        best.schedules, _why(task.instance, "the other jobs are worth more without it"), best.status, best.bound
    )


def _rival(
    solver: Callable[[Instance, np.random.Generator], list[Schedule | None]], why: str
) -> Callable[[ReservationTask], Answer]:
    def answer(task: ReservationTask) -> Answer:
        found = solver(task.instance, stream(task.fields.seed, "policy"))
        return Answer(found, _why(task.instance, why))

    return answer


SOLVERS: dict[str, Callable[[ReservationTask], Answer]] = {
    "pd-ors": _pd_ors,
    "offline": _offline,
    "oasis": _rival(oasis.solve, "rejected on arrival"),
    "fifo": _rival(fifo.solve, "does not complete by the last slot"),
    "drf": _rival(drf.solve, "does not complete by the last slot"),
    "dorm": _rival(dorm.solve, "does not complete by the last slot"),
}


def _why(instance: Instance, otherwise: str) -> list[str]:
    return [why_never(job, instance.capacity, instance.slots) or otherwise for job in instance.jobs]


def _rows(schedule: Schedule) -> list[list[int]]:
    return [
        [slot, *row]
        for slot, booking in schedule.items()
        for row in np.stack([booking.machine, booking.workers, booking.servers], axis=1).tolist()
    ]


def _job(number: int, given: JobInput, resources: int) -> Job:
    where = f"jobs.{number}"
    for name in ("worker_demand", "server_demand"):
        _check_length(f"{where}.{name}", getattr(given, name), resources, "as many as each machine's capacity")
    internal, external = given.internal_mb_per_slot, given.external_mb_per_slot
    if internal < external:
        why = f"must be at least external_mb_per_slot, {external:g}, got {internal:g}"
        raise InputError(
            f"instance, {where}.internal_mb_per_slot", why, "Within a machine, data must not move more slowly"
        )
    transfer = 2 * given.model_mb * given.ratio / given.batch
    near, far = (given.time_per_sample + transfer / speed for speed in (internal, external))
    if near <= 0:
        raise InputError(
            f"instance, {where}.time_per_sample", "is 0 and so is model_mb: its work takes no time", "Give one of them"
        )
    return Job(
        name=str(number),
        arrival=given.arrival,
        first=given.arrival,
        work=given.epochs * given.samples,
        near=near,
        far=far,
        batch=given.batch,
        ratio=given.ratio,
        worker_demand=np.array(given.worker_demand, dtype=np.float64),
        server_demand=np.array(given.server_demand, dtype=np.float64),
        utility=given.utility,
    )


def _check_length(where: str, values: list[float], resources: int, why: str) -> None:
    if len(values) != resources:
        raise InputError(f"instance, {where}", f"must have {resources} entries, {why}, got {len(values)}")


def _check_size(fields: ReservationInput) -> None:
    cells = fields.slots * len(fields.capacity) * max(fields.slots, fields.chunks)
    if cells > MOST_CELLS:
        why = f"slots x machines x chunks must be at most {MOST_CELLS:,}, got {cells:,}"
        raise InputError("instance, slots", why, "Make the slots longer, so that there are fewer of them")


def _check_bounds(fields: ReservationInput, resources: int) -> None:
    given = fields.price_upper is not None, fields.price_lower is not None
    if fields.bounds == "given" and not all(given):
        raise InputError(
            "instance, bounds", "given needs price_upper and price_lower", "Give both, or set bounds to all or seen"
        )
    if fields.bounds != "given" and any(given):
        raise InputError(
            "instance, price_upper and price_lower", "have an effect only if bounds = given", "Leave them out"
        )
    if fields.price_upper is not None:
        _check_length("price_upper", fields.price_upper, resources, "as many as each machine's capacity")
