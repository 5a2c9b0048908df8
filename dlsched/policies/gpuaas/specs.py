"""GPU as a service: the policies of docs/papers/path-relinking.md, and Market."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Ints
from dlsched.policies.gpuaas import lists
from dlsched.policies.gpuaas.dp import Variant, plan_step
from dlsched.policies.gpuaas.instance import Instance, objective
from dlsched.policies.gpuaas.lists import start_waiting
from dlsched.policies.gpuaas.params import (
    DpParams,
    ExactParams,
    HierarchicalParams,
    LocalParams,
    MarketParams,
    PeriodParams,
    RandomizedParams,
    RelinkingParams,
)
from dlsched.policies.gpuaas.policy import Choice, Core, InstancePolicy
from dlsched.policies.gpuaas.state_adapter import StateAdapter

FAMILY = "GPU as a service"
PAPER = "Filippini et al., path relinking for GPU as a service, IEEE TSC 2023"
KNOWS = "run-time estimates, due dates, costs of lateness and prices"
NEEDS = frozenset({Need.DUE, Need.WEIGHT, Need.PRICE, Need.ONE_NODE})


def _greedy(_: LocalParams) -> Core:
    from dlsched.policies.gpuaas.search import greedy  # compiled code is loaded by runs only

    def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        schedule = greedy(instance)
        return Choice(schedule, objective=objective(instance, schedule))

    return core


def _randomized(params: RandomizedParams) -> Core:
    from dlsched.policies.gpuaas.search import SearchSettings, randomized_greedy

    settings = SearchSettings(iterations=params.iterations)

    def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        schedule = randomized_greedy(instance, rng, settings, params.guide)
        return Choice(schedule, objective=objective(instance, schedule))

    return core


def _relinking(params: RelinkingParams) -> Core:
    from dlsched.policies.gpuaas.search import SearchSettings, path_relinking

    settings = SearchSettings(iterations=params.iterations, elite=params.elite)

    def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        schedule = path_relinking(instance, rng, settings)
        return Choice(schedule, objective=objective(instance, schedule))

    return core


def _listed(order: Callable[[Instance], Ints]) -> Callable[[PeriodParams], Core]:
    def make(_: PeriodParams) -> Core:
        def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
            return Choice(start_waiting(instance, order(instance), adapter.held))

        return core

    return make


def _dynamic(variant: Variant) -> Callable[[DpParams], Core]:
    def make(params: DpParams) -> Core:
        def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
            return Choice(plan_step(instance, variant, params.postponed_usd))

        return core

    return make


def _exact(params: ExactParams) -> Core:
    from dlsched.policies.gpuaas.exact import solve_or_open_fewer

    def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        schedule, solved = solve_or_open_fewer(instance, params.gap, params.node_limit)
        return Choice(schedule, None, solved.status, solved.objective, solved.bound)

    return core


def _hierarchical(params: HierarchicalParams) -> Core:
    from dlsched.policies.gpuaas.hierarchical import hierarchical, num_controllers

    def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        controllers = num_controllers(len(adapter.state.nodes.vm), params.controller_nodes)
        schedule = hierarchical(instance, adapter.rows % controllers, controllers, params.gap, params.node_limit)
        return Choice(schedule, objective=objective(instance, schedule))

    return core


def _market(params: MarketParams) -> Core:
    from dlsched.policies.gpuaas.hours import LeaseClock, market_by_the_hour
    from dlsched.policies.gpuaas.market import MarketSettings, market
    from dlsched.policies.gpuaas.portfolio import MARKET, Portfolio

    portfolio = Portfolio(params) if params.look_ahead else None
    clock = LeaseClock()

    def core(instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        by_hour = adapter.state.bills_hours and bool((instance.node_vm < 0).all())
        paid_s = clock.paid_s(adapter) if by_hour else np.zeros(instance.num_nodes)
        if portfolio is not None:
            name, rule = portfolio.decides(instance, adapter, paid_s)
            if name != MARKET:
                schedule, lasts_s = rule(instance, adapter.held, paid_s)
                return Choice(schedule, wake_in_s=lasts_s, note=f"{name} is cheapest for the jobs known")
        mixing = params.mixing and adapter.state.change_s == 0
        settings = MarketSettings(mixing, params.wait_h * HOUR_S, params.later_price)
        if by_hour:
            plan = market_by_the_hour(instance, adapter.held, paid_s, settings)
        else:
            plan = market(instance, settings)
        note = f"while GPUs are scarce, a GPU costs ${plan.price * HOUR_S:.2f}/h more" if plan.price > 0 else ""
        return Choice(plan.schedule, wake_in_s=plan.wake_in, note=note)

    return core


def _spec(key: str, label: str, summary: str, params: Any, make: Callable[[Any], Core], **more: Any) -> PolicySpec:
    def build(given: Any) -> InstancePolicy:
        return InstancePolicy(make(given), given)

    common: dict[str, Any] = {"needs": NEEDS, "knows": KNOWS, "paper": PAPER, "group": "pay less"}
    return PolicySpec(key, label, FAMILY, summary, build, params, uses_run_times=True, **(common | more))


DYNAMIC: tuple[tuple[Variant, str, str], ...] = (
    ("wct", "WCT", "weighs lateness within the step against the worst-case lateness of waiting"),
    ("fastwct", "FastWCT", "weighs the fastest configuration against the worst-case lateness of waiting"),
    ("fastb", "FastB", "uses the fastest configuration; waiting costs a large constant"),
    ("adjwct", "AdjWCT", "chooses the configuration by the lateness of the whole run"),
)

GPUAAS = (
    _spec(
        "gpuaas-market",
        "Market",
        "Sets a price at which GPU demand meets supply; each job takes its cheapest configuration at that price and "
        "may switch midway.",
        MarketParams,
        _market,
        compiled=True,
        paper="our own method, not in the study",
    ),
    _spec(
        "gpuaas-greedy",
        "Greedy",
        "The most urgent job first, each on the cheapest configuration that meets its due date.",
        LocalParams,
        _greedy,
        compiled=True,
    ),
    _spec(
        "gpuaas-randomized-greedy",
        "Random greedy",
        "The best of many randomised greedy schedules.",
        RandomizedParams,
        _randomized,
        compiled=True,
        draws=True,
    ),
    _spec(
        "gpuaas-path-relinking",
        "Path relinking",
        "Searches between good randomised schedules and keeps the best one found.",
        RelinkingParams,
        _relinking,
        compiled=True,
        draws=True,
    ),
    _spec(
        "gpuaas-fifo",
        "FIFO renting",
        "One job per node, in order of submission; never changed once running.",
        PeriodParams,
        _listed(lists.by_submission),
    ),
    _spec(
        "gpuaas-edf",
        "EDF renting",
        "One job per node, earliest due date first; never changed once running.",
        PeriodParams,
        _listed(lists.by_due_date),
    ),
    _spec(
        "gpuaas-priority",
        "Priority renting",
        "One job per node, highest cost of lateness first; never changed once running.",
        PeriodParams,
        _listed(lists.by_weight),
    ),
    *(
        _spec(
            f"gpuaas-dp-{variant}",
            f"DP ({name})",
            f"One job per node, reviewed every 15 min: {words}.",
            DpParams,
            _dynamic(variant),
        )
        for variant, name, words in DYNAMIC
    ),
    _spec(
        "gpuaas-hierarchical",
        "Hierarchical",
        "Each controller solves the local problem for its own five nodes and jobs. Slow: for small clusters only.",
        HierarchicalParams,
        _hierarchical,
    ),
    _spec(
        "gpuaas-exact",
        "Exact (small)",
        "Solves the local problem of every decision exactly. A decision can take minutes: for small clusters only.",
        ExactParams,
        _exact,
    ),
)
