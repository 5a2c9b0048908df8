"""``solve split``: workers and servers of one job given as plain values, by a method of choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.policies.smd.problem import Mode, Split
from dlsched.policies.smd.ratios import Relaxed, Terms, approximate
from dlsched.policies.smd.rounding import round_up_or_down
from dlsched.policies.smd.rules import equal, optimus
from dlsched.policies.smd.split import exact

Method = Literal["exact", "algorithm-1", "esw", "optimus"]

Amounts = Annotated[list[float], Field(max_length=100)]
Limit = Annotated[float, Field(allow_inf_nan=True), BeforeValidator(lambda value: np.inf if value is None else value)]


class SplitInput(FrozenModel):
    """The fields of an instance; a limit of null, or infinite, is none."""

    model_config = ConfigDict(strict=True)

    mode: Mode
    theta: Amounts
    worker_demand: Amounts
    server_demand: Amounts
    limit: Annotated[list[Limit], Field(max_length=100)]
    most_workers: int | None = None
    most_servers: int | None = None
    method: Method = "exact"
    epsilon: float = Field(0.1, gt=0, lt=1)
    terms: Terms = "merged"
    seed: int = Field(0, ge=0)


@dataclass(frozen=True, slots=True)
class SplitTask:
    """An instance that was read, and how to solve it."""

    problem: Split
    method: Method
    epsilon: float
    terms: Terms
    seed: int


def read(given: Mapping[str, Any]) -> SplitTask:
    """Return the task that plain values describe. ``seed`` is of the rounding, epsilon and terms are of algorithm-1.

    Raises
    ------
    InputError
        If a field is unknown, missing, of another size than the others or outside its range, or one worker and one
        server exceed the limit; names the place.
    """
    fields = validated(SplitInput, given, "instance")
    try:
        problem = Split(
            fields.mode, fields.theta, fields.worker_demand, fields.server_demand, fields.limit,
            fields.most_workers, fields.most_servers,
        )  # fmt: skip
    except InputError as error:
        raise InputError(f"instance, {error.what}", error.why, error.do) from error
    return SplitTask(problem, fields.method, fields.epsilon, fields.terms, fields.seed)


def solve(task: SplitTask) -> dict[str, Any]:
    """Return workers, servers and time; a proven bound where there is one, and what was assumed.

    Algorithm-1 is followed by the rounding of Algorithm 2 and also tells its real numbers of workers and servers.
    """
    problem = task.problem
    bound: float | None = None
    relaxed: Relaxed | None = None
    if task.method == "exact":
        choice = exact(problem)
        bound = choice.time
    elif task.method == "algorithm-1":
        relaxed = approximate(problem, task.epsilon, task.terms)
        choice = round_up_or_down(problem, relaxed, np.random.default_rng(task.seed))
        bound = relaxed.bound
    else:
        choice = equal(problem) if task.method == "esw" else optimus(problem)
    answer: dict[str, Any] = {"workers": choice.workers, "servers": choice.servers, "time": choice.time, "bound": bound}
    if relaxed:
        answer |= {"relaxed": {"workers": relaxed.workers, "servers": relaxed.servers, "time": relaxed.value}}
    status = "optimal" if task.method == "exact" else "feasible"
    return answer | {"status": status, "method": task.method, "assumed": list(problem.assumed)}
