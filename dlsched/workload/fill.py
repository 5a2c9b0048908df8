"""Fill what a scenario lacks by a stated rule. Nothing is filled unasked; the rule's words become an assumption.

Where the workload comes from a generator, the rule becomes part of its specification, so that other draws of the
scenario are filled alike.
"""

from __future__ import annotations

from typing import Any

from dlsched.domain.assumptions import EXAMPLE_PRICE, Assumption, stated
from dlsched.domain.cluster import VmType
from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.speed import build_speed
from dlsched.workload.generators.drawing import plain
from dlsched.workload.generators.fill_rules import (
    DueRule,
    FillRule,
    apply_rule,
    is_missing,
    usd_text,
)
from dlsched.workload.studies.registry import FilledSpec, canonical, parse

EXAMPLE_USD_PER_GPU_H = 2.50
EXAMPLE_USD_PER_CORE_H = 0.05
"""About what a data-centre GPU and a CPU core are rented for; shown as example prices wherever they are used."""

STEP_TIMES = SpeedSpec(kind="parameter-server")
STEP_TIMES_RULE = "work counts training steps, shared by all workers of a job; the step times are those of the jobs"


def missing(scenario: Scenario) -> list[Need]:
    """Return what no job (for prices: not every node type) of the scenario has and a rule could fill."""
    jobs = scenario.workload
    lacks = {
        Need.DUE: is_missing(jobs, "due_s").all(),
        Need.WEIGHT: is_missing(jobs, "weight_usd_per_s").all(),
        Need.PRICE: any(vm.usd_per_h is None for vm in scenario.cluster.vm_types),
        Need.PRIORITY: is_missing(jobs, "priority").all(),
        Need.USER: is_missing(jobs, "user").all() and is_missing(jobs, "group").all(),
    }
    return [need for need, lacking in lacks.items() if lacking]


def fill(scenario: Scenario, rule: FillRule) -> Scenario:
    """Return the scenario with what a rule fills, and its words among the assumptions.

    Due times follow the scenario's speed model. The same object comes back where nothing is missing.
    """
    if isinstance(rule, DueRule):
        rule = rule.model_copy(update={"speed": scenario.speed})
    workload = apply_rule(rule, scenario.workload, scenario.seed)
    if workload is scenario.workload:
        return scenario
    changes: dict[str, Any] = {"workload": workload, "assumptions": _with(scenario, *stated(rule.words))}
    if scenario.generator is not None:
        spec = parse(scenario.generator)
        base, earlier = (spec.base, spec.rules) if isinstance(spec, FilledSpec) else (canonical(scenario.generator), ())
        changes["generator"] = plain(FilledSpec(base=base, rules=(*earlier, rule)))
    return scenario.replace(**changes)


def fill_prices(scenario: Scenario, usd_per_gpu_h: float = EXAMPLE_USD_PER_GPU_H) -> Scenario:
    """Return the scenario with a price for every node type without one: GPUs (at least 1) x ``usd_per_gpu_h``.

    A node without GPUs that states its cores costs :data:`EXAMPLE_USD_PER_CORE_H` for each of them.

    Raises
    ------
    InputError
        If the price is negative or out of range.
    """
    if not 0 <= usd_per_gpu_h <= 1e6:
        raise InputError("price", f"must be from 0 to 1,000,000 $ per GPU-hour, got {usd_per_gpu_h:g}")
    cluster = scenario.cluster
    if all(vm.usd_per_h is not None for vm in cluster.vm_types):
        return scenario

    def priced(vm: VmType) -> VmType:
        if vm.usd_per_h is not None:
            return vm
        usd = vm.cpus * EXAMPLE_USD_PER_CORE_H if vm.cpus and not vm.gpus else max(vm.gpus, 1) * usd_per_gpu_h
        return vm.model_copy(update={"usd_per_h": usd})

    pools = tuple(pool.model_copy(update={"vm": priced(pool.vm)}) for pool in cluster.pools)
    catalogue = tuple(priced(vm) for vm in cluster.catalogue)
    lacking = [vm for vm in cluster.vm_types if vm.usd_per_h is None]
    of_cores = [bool(vm.cpus and not vm.gpus) for vm in lacking]
    rates = [] if all(of_cores) else [f"{usd_text(usd_per_gpu_h)} per GPU-hour"]
    rates += [f"{usd_text(EXAMPLE_USD_PER_CORE_H)} per core-hour of nodes without GPUs"] if any(of_cores) else []
    note = Assumption(kind="example-price", text=f"{' and '.join(rates)} ({EXAMPLE_PRICE})")
    filled = cluster.model_copy(update={"pools": pools, "catalogue": catalogue})
    return scenario.replace(cluster=filled, assumptions=_with(scenario, note))


def has_step_times(workload: Workload) -> bool:
    """Whether every job has parameter servers, and times of its training steps that are above 0."""
    try:
        build_speed(STEP_TIMES, workload)
    except InputError:
        return False
    return True


def use_step_times(scenario: Scenario) -> Scenario:
    """Return the scenario with the times of training steps as its speed model; work then counts steps.

    Raises
    ------
    InputError
        If a job has no parameter servers or no times.
    """
    build_speed(STEP_TIMES, scenario.workload)
    notes = [one for one in scenario.assumptions if not one.is_about_speed]
    return scenario.replace(speed=STEP_TIMES, assumptions=stated(*notes, STEP_TIMES_RULE))


def _with(scenario: Scenario, one: Assumption) -> tuple[Assumption, ...]:
    return scenario.assumptions if one in scenario.assumptions else (*scenario.assumptions, one)
