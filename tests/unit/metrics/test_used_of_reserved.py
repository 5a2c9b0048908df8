"""What jobs used of what was kept for them, in the metrics and counted anew by the audit."""

from __future__ import annotations

import pytest

from dlsched.domain.plan import Plan, Share, Step, run_on
from dlsched.metrics.summary import summarise
from dlsched.sim.audit import check_metrics
from dlsched.sim.prepare import prepare
from tests.support.server_scenarios import machines, training, with_servers
from tests.support.sim_fakes import Fake, simulate
from tests.support.tables import jobs_table, nodes_table

GANG = Share(0, 2, 1)
"""Holds 2 GPUs and 5 CPUs."""


def run_of(cpus, *limits):
    """Return scenario, truth, log of jobs of 10, 20, ... steps at 6 s with these limits (None = none), at once."""
    jobs = training(*((0, 10 * (n + 1), 2, 1) for n in range(len(limits))))
    given = with_servers(jobs, machines(1, cpus=cpus), placement="pool")
    steps = {row: run_on((GANG,)) if most is None else (Step(2, (GANG,), None, 1, most),)
             for row, most in enumerate(limits)}  # fmt: skip
    log = simulate(given, Fake(lambda state: Plan(steps) if state.now_s == 0 else Plan()))
    prepared = prepare(given)
    return prepared.scenario, prepared.truth, log


def test_used_of_reserved_by_hand():
    # a, 60 s: uses 2/8 + 5/20 = 0.5 and keeps 4/8 + 9/20 = 0.95; b, 120 s: keeps what it uses
    metrics = summarise(*run_of(20.0, (4.0, 9.0, 0.0, 0.0), None))
    assert metrics["used_of_reserved"] == pytest.approx((0.5 * 60 + 0.5 * 120) / (0.95 * 60 + 0.5 * 120))


def test_a_resource_without_a_stated_total_counts_nothing():
    metrics = summarise(*run_of(None, (4.0, 9.0, 0.0, 0.0)))
    assert metrics["used_of_reserved"] == pytest.approx(2 / 4)


def test_nothing_kept_beyond_use_is_no_number():
    assert summarise(*run_of(20.0, None))["used_of_reserved"] is None


@pytest.mark.parametrize("cpus", [20.0, None], ids=["CPUs stated", "CPUs not stated"])
def test_the_audit_counts_anew(cpus):
    scenario, truth, log = run_of(cpus, (4.0, 9.0, 0.0, 0.0), None)
    jobs, nodes = jobs_table(scenario, truth, log), nodes_table(scenario, truth, log)
    metrics = summarise(scenario, truth, log)
    assert check_metrics(scenario, truth, log, metrics, jobs, nodes) == []
    wrong = metrics | {"used_of_reserved": 0.5}
    told = check_metrics(scenario, truth, log, wrong, jobs, nodes)
    assert ["metric used_of_reserved is 0.5" in line for line in told] == [True]
