"""Compiled code is loaded before a run's own time begins, for every policy that has some."""

from __future__ import annotations

import pytest

from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.runner import worker
from dlsched.sim.kernels import eligible
from dlsched.sim.prepare import prepare
from tests.support.runs_for_store import small_scenario

COMPILED = {"gpuaas-market", "gpuaas-greedy", "gpuaas-randomized-greedy", "gpuaas-path-relinking"}
COMPILED |= {spec.key for spec in POLICIES if spec.family == "elastic"}


@pytest.fixture
def warmed(monkeypatch):
    found: dict[str, list[Scenario]] = {}
    monkeypatch.setattr(worker, "simulate", lambda scenario, policy: found.setdefault(policy, []).append(scenario))
    worker._warm_up.cache_clear()
    yield found
    worker._warm_up.cache_clear()


def test_a_worker_gets_ready_for_all_compiled_code(warmed):
    assert {spec.key for spec in POLICIES if spec.compiled} == COMPILED
    worker.get_ready()
    assert set(warmed) == {"fifo", "srtf"} | COMPILED


def test_what_warms_up_is_a_run_that_the_policy_can_do(warmed):
    worker.get_ready()
    for key, scenarios in warmed.items():
        assert all(unmet_needs(registry.find(key), scenario) == () for scenario in scenarios)
        on_slots = [scenario.cluster.free_slots for scenario in scenarios]
        assert on_slots == ([False, True] if key in COMPILED else [False])


def test_what_warms_up_an_elastic_policy_runs_in_its_loop(warmed):
    worker.get_ready()
    spec = registry.find("hell-malleable")
    assert eligible(prepare(warmed[spec.key][0]), spec.build(spec.parse(None)))


def test_the_reader_is_told_where_code_is_compiled():
    given = small_scenario(jobs=3)
    assert worker._takes_fast_code(given, "gpuaas-market", {})
    assert worker._takes_fast_code(given, "fifo", {}) == eligible(prepare(given, 0), registry.find("fifo").build(
        registry.find("fifo").parse({})))  # fmt: skip
    assert not worker._takes_fast_code(given, "gpuaas-edf", {})
