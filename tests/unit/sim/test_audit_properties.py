"""Whatever a policy does, the audit finds the engine's log clean, and the books agree with the metrics."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.scenario import Scenario
from dlsched.metrics.summary import summarise
from dlsched.sim.audit import audit, check_metrics
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, prepare
from dlsched.sim.simulate import run_policy
from tests.support.chaos import Chaos
from tests.support.scenarios import scenarios
from tests.support.tables import jobs_table, nodes_table

STALL = "the policy started no job"


def violations(prepared: Prepared, log: RunLog, rows_expected: int | None = None) -> list[str]:
    """Return what the audit found apart from a stall, which is the policy's doing and named as such."""
    found = audit(prepared.scenario, prepared.truth, log, rows_expected)
    return [text for text in found if not (log.stalled and STALL in text)]


def book_errors(prepared: Prepared, log: RunLog) -> list[str]:
    run = (prepared.scenario, prepared.truth, log)
    return check_metrics(*run, summarise(*run), jobs_table(*run), nodes_table(*run))


@settings(max_examples=150)  # rare features meet rarely
@given(scenarios(), st.sampled_from([None, 5.0]))
def test_log_of_a_chaotic_policy_is_clean(scenario: Scenario, every_s: float | None) -> None:
    prepared = prepare(scenario)
    log = run_policy(prepared, Chaos(free_slots=scenario.cluster.free_slots, every_s=every_s))
    assert violations(prepared, log, len(prepared.scenario.workload)) == []
    assert book_errors(prepared, log) == []
