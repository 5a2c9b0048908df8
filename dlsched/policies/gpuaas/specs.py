"""The policies of this family (METHODS, sections 2 and 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dlsched.domain.policy import Need, PolicySpec
from dlsched.policies.gpuaas.desk import SECONDS_PER_H, Desk
from dlsched.policies.gpuaas.instance import Instance, objective
from dlsched.policies.gpuaas.params import LocalParams, MarketParams, RandomizedParams, RelinkingParams
from dlsched.policies.gpuaas.policy import Choice, Core, InstancePolicy

FAMILY = "GPU as a service"
PAPER = "Filippini et al., path relinking for GPU as a service, IEEE TSC 2023"
KNOWS = "run times, due dates, weights, prices"
NEEDS = frozenset({Need.DUE, Need.WEIGHT, Need.PRICE, Need.ONE_NODE})


def _greedy(_: LocalParams) -> Core:
    from dlsched.policies.gpuaas.search import greedy  # compiled code is loaded by runs only

    def core(instance: Instance, desk: Desk, rng: np.random.Generator) -> Choice:
        schedule = greedy(instance)
        return Choice(schedule, objective=objective(instance, schedule))

    return core


def _randomized(params: RandomizedParams) -> Core:
    from dlsched.policies.gpuaas.search import SearchSettings, randomized_greedy

    settings = SearchSettings(iterations=params.iterations)

    def core(instance: Instance, desk: Desk, rng: np.random.Generator) -> Choice:
        schedule = randomized_greedy(instance, rng, settings, params.guide)
        return Choice(schedule, objective=objective(instance, schedule))

    return core


def _relinking(params: RelinkingParams) -> Core:
    from dlsched.policies.gpuaas.search import SearchSettings, path_relinking

    settings = SearchSettings(iterations=params.iterations, elite=params.elite)

    def core(instance: Instance, desk: Desk, rng: np.random.Generator) -> Choice:
        schedule = path_relinking(instance, rng, settings)
        return Choice(schedule, objective=objective(instance, schedule))

    return core


def _market(params: MarketParams) -> Core:
    from dlsched.policies.gpuaas.market import MarketSettings, market

    settings = MarketSettings(mixing=params.mixing, wait=params.wait_h * SECONDS_PER_H, later_price=params.later_price)

    def core(instance: Instance, desk: Desk, rng: np.random.Generator) -> Choice:
        plan = market(instance, settings)
        note = f"a GPU costs ${plan.price * SECONDS_PER_H:.2f}/h more while GPUs are short" if plan.price > 0 else ""
        return Choice(plan.schedule, wake_in_s=plan.wake_in, note=note)

    return core


def _spec(key: str, label: str, summary: str, params: Any, make: Callable[[Any], Core], **more: Any) -> PolicySpec:
    def build(given: Any) -> InstancePolicy:
        return InstancePolicy(make(given), given)

    common: dict[str, Any] = {"needs": NEEDS, "knows": KNOWS, "paper": PAPER, "group": "pay less"}
    return PolicySpec(key, label, FAMILY, summary, build, params, uses_run_times=True, **(common | more))


GPUAAS = (
    _spec(
        "gpuaas-market",
        "Market",
        "Each job takes what is cheapest at the price that clears the GPUs; it may change speed midway.",
        MarketParams,
        _market,
        paper="ours; the study does not have it",
    ),
    _spec(
        "gpuaas-greedy",
        "Greedy renting",
        "Most pressed job first, each on its cheapest configuration that meets the due date.",
        LocalParams,
        _greedy,
    ),
    _spec(
        "gpuaas-randomized-greedy",
        "Randomised greedy renting",
        "The best of many greedy schedules drawn with dice.",
        RandomizedParams,
        _randomized,
    ),
    _spec(
        "gpuaas-path-relinking",
        "Path relinking",
        "Walks between good random schedules and keeps the best on the way.",
        RelinkingParams,
        _relinking,
    ),
)
