"""Workers and servers of waiting jobs, against enumeration; a batch of SMD against all choices of all jobs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.scenario import Scenario
from dlsched.domain.utility import utility_at
from dlsched.domain.workload import Floats
from dlsched.policies.registry import find
from dlsched.policies.smd.choices import Ask, SharedBatch, Widths, best_allowed, near_allowed, smaller
from dlsched.policies.smd.problem import Mode, Split
from dlsched.policies.smd.rules import equal, optimus
from dlsched.policies.smd.split import exact
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import prepare
from dlsched.speed.parameter_server import StepTerms
from dlsched.workload.studies.smd import ServerJobsSpec, server_jobs_scenario
from tests.support.server_scenarios import training

small = st.integers(0, 6)
ratios = st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, math.inf])


@st.composite
def asks(draw: st.DrawFn) -> Ask:
    """Draw a job whose fewest workers, with the servers they need, keep its limit."""
    mode: Mode = draw(st.sampled_from(["sync", "async"]))
    theta = [float(draw(small)) for _ in range(5 if mode == "sync" else 4)]
    theta[0] += 0.5
    worker, server = [1.0, float(draw(small))], [float(draw(small)), 1.0]
    widths = Widths(draw(st.integers(1, 4)), draw(ratios))
    needed = widths.fewest, widths.servers_needed(widths.fewest)
    limit = [needed[0] * w + needed[1] * s + draw(st.integers(0, 20)) for w, s in zip(worker, server, strict=True)]
    most = needed[0] + draw(st.integers(0, 8))
    if mode == "async" and draw(st.booleans()):
        batch_s = min(float(draw(st.integers(1, 6))), theta[2])
        return Ask(SharedBatch(mode, theta, worker, server, limit, most, batch_s=batch_s), widths, 1.0)
    return Ask(Split(mode, theta, worker, server, limit, most), widths, 1.0)


def allowed(ask: Ask) -> list[tuple[int, int]]:
    counts = product(range(1, ask.problem.workers_most + 1), range(1, ask.problem.servers_most + 1))
    per_server = ask.widths.per_server
    return [
        (w, p) for w, p in counts
        if ask.problem.feasible(w, p) and w >= ask.widths.fewest and (per_server == math.inf or w <= per_server * p)
    ]  # fmt: skip


@given(asks())
def test_the_best_of_all_that_is_allowed(ask: Ask):
    found = best_allowed(ask)
    assert found in allowed(ask)
    assert ask.problem.time_of(*found) == pytest.approx(min(ask.problem.time_of(*one) for one in allowed(ask)))


@given(asks())
def test_without_widths_of_its_own_it_is_the_exact_optimum(ask: Ask):
    choice = exact(ask.problem)
    assert best_allowed(ask._replace(widths=Widths())) == (choice.workers, choice.servers)


@given(asks(), st.sampled_from([equal, optimus]))
def test_other_choices_become_allowed(ask: Ask, rule: object):
    choice = equal(ask.problem) if rule is equal else optimus(ask.problem)
    found = near_allowed(ask, choice.workers, choice.servers)
    assert found in allowed(ask)
    if (choice.workers, choice.servers) in allowed(ask):
        assert found == (choice.workers, choice.servers)


def test_near_to_a_choice_servers_are_added_and_then_workers_left_out():
    loose = Split("sync", [1, 0, 0, 0, 1], [1.0], [1.0], [10.0])
    assert near_allowed(Ask(loose, Widths(1, 2.0), 1.0), 6, 1) == (6, 3)
    assert near_allowed(Ask(loose, Widths(1, 1.0), 1.0), 8, 1) == (5, 5)
    assert near_allowed(Ask(loose, Widths(4, 2.0), 1.0), 1, 1) == (4, 2)


@given(asks(), st.integers(0, 10), st.integers(0, 10))
def test_smaller_gangs_end_at_the_smallest_and_stay_allowed(ask: Ask, more_workers: int, more_servers: int):
    widths = ask.widths
    workers = widths.fewest + more_workers
    servers = widths.servers_needed(workers) + more_servers
    before = workers + servers
    last = workers, servers
    for last in smaller(widths, workers, servers):
        assert sum(last) == before - 1
        assert widths.allow(*last)
        before = sum(last)
    assert last == (widths.fewest, widths.servers_needed(widths.fewest))


@given(st.integers(1, 9), st.integers(1, 9), st.lists(st.integers(0, 5), min_size=5, max_size=5))
def test_a_batch_shared_by_asynchronous_workers_follows_the_law_of_a_step(workers: int, servers: int, terms: list[int]):
    step_s, transfer_s, batch_s, per_worker_s, per_server_s = (float(term) for term in terms)
    columns = {"step_s": [step_s + 0.1], "transfer_s": [transfer_s], "batch_s": [batch_s]}
    overheads = {"worker_overhead_s": [per_worker_s], "server_overhead_s": [per_server_s]}
    law = StepTerms.of(training((0, 1, workers, servers), **columns, **overheads))
    step_time_s = law.step_time_s(np.array([0]), np.array([workers]), np.array([servers]))[0]
    theta = (per_worker_s, per_server_s, step_s + 0.1 + batch_s, transfer_s)
    problem = SharedBatch("async", theta, [1.0], [1.0], [20.0], batch_s=batch_s)
    assert problem.time_of(workers, servers) == pytest.approx(step_time_s / workers)


# ---- a batch of jobs ---------------------------------------------------------------------------------------------


def best_values(scenario: Scenario) -> Floats:
    """Return what each job is worth at the fastest of all workers and servers within its limit, shape (jobs,)."""
    jobs, law = scenario.workload, StepTerms.of(scenario.workload)
    times = []
    for row in range(len(jobs)):
        workers, servers = (grid.ravel() for grid in np.meshgrid(np.arange(1, 400), np.arange(1, 400)))
        used = workers[:, None] * jobs.demand[row] + servers[:, None] * jobs.server_demand[row]
        fits = (used <= jobs.limit[row] * (1 + 1e-9)).all(axis=1)
        assert max(workers[fits].max(), servers[fits].max()) < 399  # the grid holds all there is
        rows = np.full(int(fits.sum()), row)
        step_s = law.step_time_s(rows, workers[fits], servers[fits])
        step_s = step_s / (1 if scenario.speed.updates == "sync" else workers[fits])
        times.append(jobs.work[row] * step_s.min())
    return utility_at(jobs, scenario.options, np.arange(len(jobs)), jobs.submit_s + np.array(times))


@settings(max_examples=8)
@given(st.integers(0, 1000), st.sampled_from(["sync", "async"]))
def test_one_batch_is_worth_what_the_best_of_all_subsets_is(seed: int, updates: str):
    scenario = server_jobs_scenario(ServerJobsSpec(jobs=10, units=1, updates=updates), seed)
    jobs, capacity = scenario.workload, scenario.cluster.nodes.capacity.sum(axis=0)
    value = best_values(scenario)
    subsets = np.array(list(product([False, True], repeat=len(jobs))))
    fits = (subsets @ np.minimum(jobs.limit, capacity) <= capacity * (1 + 1e-9)).all(axis=1)
    best = float((subsets[fits] @ value).max())

    log = run_engine(prepare(scenario), find("smd").build(find("smd").parse({})))
    assert log.decision_status[0] == "optimal"
    assert log.decision_objective[0] == pytest.approx(best, rel=1e-9)
    at_once = log.piece_row[log.piece_start_s == 0]
    assert (log.job_status[at_once] == JobStatus.COMPLETED).all()
    worth = utility_at(jobs, scenario.options, at_once, log.job_end_s[at_once])
    assert worth.sum() == pytest.approx(best, rel=1e-6)
