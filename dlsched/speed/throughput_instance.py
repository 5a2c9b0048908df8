"""``solve throughput``: one queueing network given as plain values, its throughput by number of workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.speed.queueing import LARGEST_S, MOST_WORKERS, Network, StepTimes, throughput
from dlsched.speed.queueing_unequal import MOST_UNEQUAL, unequal_throughput

Seconds = Annotated[float, Field(ge=0, le=LARGEST_S)]
OneOrEach = Annotated[list[Seconds], BeforeValidator(lambda value: value if isinstance(value, list) else [value])]
TIMES = tuple(StepTimes.model_fields)


class ThroughputInput(FrozenModel):
    """The fields of an instance: seconds of a mini-batch at each station, as a list where workers are unequal."""

    model_config = ConfigDict(strict=True)

    worker_s: OneOrEach
    uplink_s: OneOrEach
    server_s: OneOrEach
    downlink_s: OneOrEach
    workers: int = Field(ge=1, le=MOST_WORKERS)
    servers: int = Field(1, ge=1, le=MOST_WORKERS)
    network: Network = "hybrid"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ThroughputTask:
    """An instance that was read; a single entry of ``times`` stands for equal workers."""

    times: tuple[StepTimes, ...]
    workers: int
    network: Network
    servers: int


def read(given: Mapping[str, Any]) -> ThroughputTask:
    """Return the task that plain values describe. A list has one time for each worker; ``seed`` changes nothing.

    Raises
    ------
    InputError
        If a field is unknown, missing or outside its range, a list has not one entry for each worker, or more than
        MOST_UNEQUAL workers are unequal; names the place.
    """
    fields = validated(ThroughputInput, given, "instance")
    seconds: dict[str, list[float]] = {name: getattr(fields, name) for name in TIMES}
    lists = [name for name in TIMES if isinstance(given[name], list)]
    for name in lists:
        if len(seconds[name]) != fields.workers:
            why = f"must have {fields.workers:,} entries, as many as workers, got {len(seconds[name]):,}"
            raise InputError(f"instance, {name}", why, "Give one number where all workers are equal")
    if lists and fields.workers > MOST_UNEQUAL:
        why = f"unequal workers are limited to {MOST_UNEQUAL}, got {fields.workers:,}"
        raise InputError(f"instance, {lists[0]}", why, "Give one number where all workers are equal")
    times = tuple(
        StepTimes(**{name: entries[worker if name in lists else 0] for name, entries in seconds.items()})
        for worker in range(fields.workers if lists else 1)
    )
    return ThroughputTask(times, fields.workers, fields.network, fields.servers)


def solve(task: ThroughputTask) -> dict[str, Any]:
    """Return mini-batches per second with the first 1..workers workers."""
    if len(task.times) == 1:
        rates = throughput(task.times[0], task.workers, task.network, task.servers)
    else:
        rates = unequal_throughput(task.times, task.network, task.servers)
    return {"minibatches_per_s": rates.tolist()}
