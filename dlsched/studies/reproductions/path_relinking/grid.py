"""Policies x sizes x rates x seeds of GPU as a service: the runs behind Figs 3, 4 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.domain.errors import DlschedError
from dlsched.metrics.savings import saved_shares
from dlsched.metrics.summary import Metrics
from dlsched.studies.design import Futures, Variant, run_variants
from dlsched.studies.reproductions.paired import PairedStudy, by_cell
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


QUICK = Plan((5, 10), (0, 1), jobs_per_node=5, most_for_hierarchical=5)
FULL = Plan((10, 20, 50), (0, 1, 2), jobs_per_node=10, most_for_hierarchical=20)

Cell = tuple[str, int, str]
"""Rate, nodes, policy."""
GridStudy = PairedStudy[Cell, Metrics]


def plan_of(setting: Setting) -> Plan:
    """Return the sizes of a quick or a full reproduction."""
    return QUICK if setting.quick else FULL


def run_grid(setting: Setting, rates: Sequence[str], wanted: Sequence[str]) -> GridStudy:
    """Return the metrics of every cell; a run that failed raises its error."""
    plan = plan_of(setting)
    todo = [(rate, nodes) for rate in rates for nodes in plan.nodes]
    results: list[tuple[Cell, Metrics]] = []
    for number, (rate, nodes) in enumerate(todo):
        spec = GpuaasSpec.model_validate({"nodes": nodes, "rate": rate, "jobs": plan.jobs_per_node * nodes})
        scenario = gpuaas_scenario(spec, name=f"{rate}, {nodes} nodes")
        policies = [key for key in wanted if key != HIERARCHICAL or nodes <= plan.most_for_hierarchical]
        variants = [Variant(policy=key) for key in policies]

        def tell(share: float, text: str, number: int = number, name: str = scenario.name) -> None:
            if setting.progress is not None:
                setting.progress((number + share) / len(todo), f"{name}: {text}")

        batch = run_variants(scenario, variants, Futures(seeds=plan.seeds), setting.executor, progress=tell)
        for policy, by_seed in zip(policies, batch.results, strict=True):
            for result in by_seed:
                if result.metrics is None or result.audit:
                    raise DlschedError(f"{policy} on {scenario.name}: {result.error or result.audit[0]}")
                results.append(((rate, nodes, policy), result.metrics))
    return GridStudy(by_cell(results))


def total_cost(metrics: Metrics) -> float:
    """Return the total cost of a run, $."""
    return float(metrics["total_cost"] or 0.0)


def savings(study: GridStudy, cell: Cell, other: Cell) -> list[float]:
    """Return by how much a method is cheaper than another one at each seed, as a share of the other's cost.

    Eq. (3) of the paper, the percentage cost reduction.
    """
    ours, theirs = study.pair(cell, other, total_cost)
    return saved_shares(ours.tolist(), theirs.tolist())
