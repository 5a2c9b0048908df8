"""Small cases of jobs that book machines at prices, for what looks into their decisions."""

from __future__ import annotations

from functools import cache
from typing import Any

from dlsched.domain.scenario import Scenario
from dlsched.studies.inspect.dual_prices import DualPricesSpec, run_dual_prices, run_hindsight
from dlsched.studies.inspect.dual_prices.answer import Hindsight, PricedRun
from dlsched.workload.studies.pd_ors import SlottedJobsSpec, slotted_jobs_scenario
from tests.support.booked_jobs import booked, cluster, in_slots

HORIZON = {"horizon_slots": 4}
POLICIES = DualPricesSpec.policies


def spec_of(scenario: Scenario, policy: str, params: dict[str, Any], seed: int) -> DualPricesSpec:
    """Return the question about a run."""
    return DualPricesSpec(scenario=scenario.content_hash, policy=policy, params=params, seed=seed)


def priced_run(scenario: Scenario, policy: str, params: dict[str, Any], seed: int) -> PricedRun:
    """Return the decisions of a run, worked out again."""
    return run_dual_prices(spec_of(scenario, policy, params, seed), scenario)


def hindsight(scenario: Scenario, policy: str, params: dict[str, Any], seed: int) -> Hindsight:
    """Return the best that a run could have had."""
    return run_hindsight(spec_of(scenario, policy, params, seed), scenario)


@cache
def drawn(jobs: int = 25, machines: int = 8, slots: int = 10, seed: int = 1) -> Scenario:
    """Return jobs of the study; some get in, others have no time, no room, or are not worth their price."""
    return slotted_jobs_scenario(SlottedJobsSpec(jobs=jobs, machines=machines, slots=slots), seed)


@cache
def tiny(seed: int) -> Scenario:
    """Return few jobs on quick links, so that the best in hindsight is a question of seconds."""
    links = {"slowest_mb_per_slot": 4e6, "fastest_mb_per_slot": 2e7}
    given = slotted_jobs_scenario(SlottedJobsSpec(jobs=12, machines=6, slots=3, **links), seed)
    return given.replace(options=given.options.model_copy(update={"oversize": "drop"}))


@cache
def four_jobs() -> Scenario:
    """Return a to d on one machine of 2 GPUs: a and b fill 4 slots, c finds no room, d can never finish in 4."""
    return in_slots(booked((0, 4, 2), (0, 4, 2), (0, 4, 2), (0, 100, 2)), cluster(2))


@cache
def four_priced() -> PricedRun:
    """Return the decisions about the four jobs."""
    return priced_run(four_jobs(), "pd-ors", HORIZON, 0)


@cache
def regret() -> Scenario:
    """Return a job worth 1 that books what a job worth 50 will ask for a slot later."""
    return in_slots(booked((0, 4, 2), (60, 4, 2), utility_1=[2.0, 100.0]), cluster(2))
