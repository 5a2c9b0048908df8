"""Policies x sizes x rates x seeds of GPU as a service: the runs behind Figs 3, 4 and 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.domain.errors import DlschedError
from dlsched.metrics.savings import saved_shares
from dlsched.metrics.stats.intervals import Interval, mean_interval
from dlsched.runner.executor import open_pool
from dlsched.studies.batch import Draw, run_batch
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.workload.studies.gpu_as_a_service import GpuaasSpec, gpuaas_scenario

DYNAMIC = ("gpuaas-dp-wct", "gpuaas-dp-fastwct", "gpuaas-dp-fastb", "gpuaas-dp-adjwct")
STATIC = ("gpuaas-fifo", "gpuaas-edf", "gpuaas-priority")
SEARCHES = ("gpuaas-greedy", "gpuaas-randomized-greedy", "gpuaas-path-relinking")
HIERARCHICAL, RELINKING, EDF, MARKET = "gpuaas-hierarchical", "gpuaas-path-relinking", "gpuaas-edf", "gpuaas-market"
OF_THE_PAPER = (*STATIC, *SEARCHES, *DYNAMIC, HIERARCHICAL)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: numbers of nodes, seeds, jobs a node, most nodes for the slow Hierarchical method."""

    nodes: tuple[int, ...]
    seeds: tuple[int, ...]
    jobs_per_node: int
    most_for_hierarchical: int

    def policies(self, nodes: int, wanted: Sequence[str]) -> list[str]:
        """Return the policies run at a size."""
        return [key for key in wanted if key != HIERARCHICAL or nodes <= self.most_for_hierarchical]


QUICK = Plan((5, 10), (0, 1), jobs_per_node=5, most_for_hierarchical=5)
FULL = Plan((10, 20, 50), (0, 1, 2), jobs_per_node=10, most_for_hierarchical=20)

Cell = tuple[str, int, str]
"""Rate, nodes, policy."""


def plan_of(setting: Setting) -> Plan:
    """Return the sizes of a quick or a full reproduction."""
    return QUICK if setting.quick else FULL


def run_grid(setting: Setting, rates: Sequence[str], wanted: Sequence[str]) -> dict[Cell, list[Draw]]:
    """Return the draws of every cell, in the order of the seeds; a failed draw raises its error."""
    plan = plan_of(setting)
    todo = [(rate, nodes) for rate in rates for nodes in plan.nodes]
    found: dict[Cell, list[Draw]] = {}
    with open_pool().executor as executor:
        for number, (rate, nodes) in enumerate(todo):
            scenario = gpuaas_scenario(
                GpuaasSpec.model_validate({"nodes": nodes, "rate": rate, "jobs": plan.jobs_per_node * nodes}),
                name=f"{rate}, {nodes} nodes",
            )
            choices: list[tuple[str, Mapping[str, Any]]] = [(key, {}) for key in plan.policies(nodes, wanted)]

            def tell(share: float, text: str, number: int = number, name: str = scenario.name) -> None:
                if setting.progress is not None:
                    setting.progress((number + share) / len(todo), f"{name}: {text}")

            for draw in run_batch(scenario, choices, plan.seeds, executor, progress=tell):
                if draw.metrics is None or draw.audit:
                    raise DlschedError(f"{draw.policy} on {scenario.name}: {draw.error or draw.audit[0]}")
                found.setdefault((rate, nodes, draw.policy), []).append(draw)
    return found


def column(draws: Sequence[Draw], key: str) -> list[float]:
    """Return a metric over the draws."""
    return [float((draw.metrics or {})[key] or 0.0) for draw in draws]


def as_numbers(interval: Interval) -> dict[str, float | int | None]:
    """Return an interval as plain numbers."""
    return {"mean": interval.mean, "half_width": interval.half_width, "n": interval.n}


def mean_cost(draws: Sequence[Draw]) -> Interval:
    """Return the mean total cost."""
    return mean_interval(column(draws, "total_cost"))


def saving(draws: Sequence[Draw], others: Sequence[Draw]) -> list[float]:
    """Return by how much each draw is cheaper than another method's at the same seed, as a share of the other's cost.

    Eq. (3) of the paper, the percentage cost reduction.
    """
    return saved_shares(column(draws, "total_cost"), column(others, "total_cost"))
