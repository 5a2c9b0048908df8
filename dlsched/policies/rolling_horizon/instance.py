"""``solve elastic``: one decision given as plain values, solved by a method of choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.policies.rolling_horizon import solver
from dlsched.policies.rolling_horizon.problem import Problem, of

Nodes = Annotated[int, Field(ge=1, le=1_000_000)]

MOST_CHOICES = 1_000_000
"""Jobs x widths x steps."""


class ElasticInput(FrozenModel):
    """The fields of an instance: node-hours left and limits of each job, the pool, the steps looked ahead."""

    model_config = ConfigDict(strict=True)

    remaining: list[Annotated[float, Field(gt=0, le=1e9)]] = Field(max_length=10_000)
    nodes: int = Field(ge=0, le=10_000_000)
    widths: list[Nodes] = Field(min_length=1, max_length=64)
    steps: int = Field(5, ge=1, le=1_000)
    step_hours: float = Field(1 / 12, gt=0, le=1e6)
    min_nodes: list[Nodes] | None = None
    max_nodes: list[Nodes] | None = None
    method: solver.Method = "auto"
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ElasticTask:
    """An instance that was read, and how to solve it."""

    problem: Problem
    method: solver.Method


def read(given: Mapping[str, Any]) -> ElasticTask:
    """Return the task that plain values describe. Without limits a job may have any width; ``seed`` changes nothing.

    Raises
    ------
    InputError
        If a field is unknown, missing, of another size than the others, or outside its range; names the place.
    """
    fields = validated(ElasticInput, given, "instance")
    jobs = len(fields.remaining)
    low, high = fields.min_nodes or [1] * jobs, fields.max_nodes or [max(fields.widths)] * jobs
    for name, limits in (("min_nodes", fields.min_nodes), ("max_nodes", fields.max_nodes)):
        if limits is not None and len(limits) != jobs:
            raise InputError(
                f"instance, {name}", f"must have {jobs} entries, as many jobs as remaining, got {len(limits)}"
            )
    for job, (least, most) in enumerate(zip(low, high, strict=True)):
        if fields.min_nodes and fields.max_nodes and least > most:
            raise InputError(
                f"instance, min_nodes.{job}",
                f"must be at most max_nodes, {most}, got {least}",
                "Correct one of the two",
            )
    choices = jobs * len(fields.widths) * fields.steps
    if choices > MOST_CHOICES:
        why = f"jobs x widths x steps must be at most {MOST_CHOICES:,}, got {choices:,}"
        raise InputError("instance", why, "Plan fewer steps ahead")
    problem = of(fields.remaining, fields.nodes, fields.widths, fields.steps, fields.step_hours, low, high)
    return ElasticTask(problem, fields.method)


def solve(task: ElasticTask) -> dict[str, Any]:
    """Return nodes now and at every step, objective, proven bound, status, method; where infeasible, the reason."""
    solution = solver.solve(task.problem, task.method)
    if solution.status == "infeasible":
        answer: dict[str, Any] = {
            "nodes_now": [],
            "plan": [],
            "objective": None,
            "bound": None,
            "reason": solution.reason,
        }
    else:
        plan = {"nodes_now": solution.nodes_now.tolist(), "plan": solution.plan.tolist()}
        answer = plan | {"objective": solution.objective, "bound": solution.bound}
    return answer | {"status": solution.status, "method": solution.method, "cpu_s": solution.cpu_s}
