"""Compiled code is loaded before a run's own time begins, for every policy that has some."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest
from numba import typeof

from dlsched.domain.policy import ListRule, Need
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.policies.queue_tree.fast_cycle import FastCycles
from dlsched.policies.queue_tree.tree import Tree
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.runner import worker
from dlsched.sim.kernels import eligible, preemptive, rigid
from dlsched.sim.prepare import prepare
from dlsched.studies.simulation import simulate
from tests.support.eventful_scenarios import eventful, joined_at
from tests.support.runs_for_store import small_scenario

COMPILED = {"gpuaas-market", "gpuaas-greedy", "gpuaas-randomized-greedy", "gpuaas-path-relinking"}
COMPILED |= {"slurm", "queue-tree"} | {spec.key for spec in POLICIES if spec.family == "elastic"}


@pytest.fixture
def warmed(monkeypatch):
    found: dict[str, list[Scenario]] = {}
    monkeypatch.setattr(worker, "simulate", lambda scenario, policy: found.setdefault(policy, []).append(scenario))
    worker._warm_up.cache_clear()
    yield found
    worker._warm_up.cache_clear()


class Here:
    """An executor that computes at once, in this process."""

    def submit(self, work, *args):
        done = Future[object]()
        done.set_result(work(*args))
        return done

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def all_warmed(warmed, monkeypatch):
    monkeypatch.setattr(worker, "open_pool", lambda: SimpleNamespace(executor=Here()))
    worker.compile_all()
    return warmed


def test_a_worker_gets_ready_for_everyday_policies(warmed):
    worker.get_ready()
    assert set(warmed) == {"fifo", "srtf"}


def test_all_fast_code_is_compiled_beforehand(all_warmed):
    assert {spec.key for spec in POLICIES if spec.compiled} == COMPILED
    assert set(all_warmed) == {"fifo", "srtf"} | COMPILED


def test_what_warms_up_is_a_run_that_the_policy_can_do(all_warmed):
    for key, scenarios in all_warmed.items():
        assert all(unmet_needs(registry.find(key), scenario) == () for scenario in scenarios)
        on_slots = [scenario.cluster.free_slots for scenario in scenarios]
        rents = key in COMPILED and Need.FIXED_NODES not in registry.find(key).needs
        assert on_slots == ([False, True] if rents else [False])


@pytest.mark.parametrize("key", ["hell-malleable", "slurm", "queue-tree"])
def test_what_warms_up_a_policy_runs_in_its_loop(key, all_warmed):
    spec = registry.find(key)
    assert eligible(prepare(all_warmed[spec.key][0]), spec.build(spec.parse(None)))


def test_what_warms_up_quota_trees_runs_in_compiled_cycles(all_warmed):
    (given,) = all_warmed["queue-tree"]
    assert given.queues is not None
    assert FastCycles.can_answer(Tree.of(given.queues))
    spec = registry.find("queue-tree")
    assert eligible(prepare(given), spec.build(spec.parse(None)))
    assert np.isfinite(simulate(given, "queue-tree").log.job_end_s).all()


def test_runs_of_any_list_policy_need_no_code_beyond_what_warms_up(all_warmed):
    compiled = {
        key: typeof(loop.new_run(prepare(all_warmed[key][0]), rule_of(registry.find(key))))
        for key, loop in (("fifo", rigid), ("srtf", preemptive))
    }
    listed = [spec for spec in POLICIES if isinstance(rule_of(spec), ListRule)]
    assert {"drf", "conservative", "easy-backfill", "las", "dlas", "gittins"} <= {spec.key for spec in listed}
    for number, spec in enumerate(listed * 3):
        policy, rule = spec.build(spec.parse(None)), rule_of(spec)
        assert isinstance(rule, ListRule)
        pool, lasting = spec.key == "conservative" and number % 2 == 0, spec.key == "drf"
        for prepared in (
            eventful(number, pool=pool, lasting=lasting),
            joined_at(number, pool=pool, lasting=lasting),
        ):
            if prepared is not None and eligible(prepared, policy):
                key, loop = ("srtf", preemptive) if rule.preemptive else ("fifo", rigid)
                assert typeof(loop.new_run(prepared, rule)) == compiled[key], spec.key


def rule_of(spec):
    return spec.build(spec.parse(None)).kernel_rule


def test_the_reader_is_told_where_code_is_compiled():
    given = small_scenario(jobs=3)
    assert worker._takes_fast_code(given, "gpuaas-market", {})
    assert worker._takes_fast_code(given, "fifo", {}) == eligible(prepare(given, 0), registry.find("fifo").build(
        registry.find("fifo").parse({})))  # fmt: skip
    assert not worker._takes_fast_code(given, "gpuaas-edf", {})
