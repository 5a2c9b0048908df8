"""The audit of a run."""

from __future__ import annotations

from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.sim.audit.capacity import check_capacity
from dlsched.sim.audit.columns import check_columns
from dlsched.sim.audit.facts import Facts
from dlsched.sim.audit.findings import Findings
from dlsched.sim.audit.gangs import check_blocked, check_limits, check_servers
from dlsched.sim.audit.outcomes import check_jobs, check_piece_ends, check_run
from dlsched.sim.audit.pieces import check_eligibility, check_shares, check_times, check_widths
from dlsched.sim.audit.progress import check_lost_work, check_rates, check_restarts, check_work
from dlsched.sim.audit.quotas import check_quotas
from dlsched.sim.audit.records import check_answers, check_decisions, check_leases, check_waits
from dlsched.sim.audit.rentals import check_rentals
from dlsched.sim.log import RunLog
from dlsched.speed import build_speed


def audit(scenario: Scenario, truth: Truth, log: RunLog, rows_expected: int | None = None) -> list[str]:
    """Return what is wrong with a run, in time order; empty = clean.

    Everything is recomputed from the log. ``scenario`` is the scenario as it was run (rows of the log = rows of its
    workload); ``rows_expected`` is how many jobs must be accounted for, where the caller knows. At most 20 messages
    and a count of the rest; each names time, job, node, resource, value and rule as far as they apply.
    """
    findings = Findings()
    if not check_columns(scenario, log, rows_expected, findings):
        return findings.messages()
    facts = Facts(scenario, truth, log)
    if len(log.piece_row):
        speed = build_speed(scenario.speed, scenario.workload, facts.vm_types)
        check_times(facts, findings)
        check_shares(facts, findings)
        check_widths(facts, speed, findings)
        check_servers(facts, findings)
        check_limits(facts, findings)
        check_eligibility(facts, findings)
        check_capacity(facts, findings)
        check_blocked(facts, findings)
        check_rates(facts, speed, findings)
        check_restarts(facts, findings)
        check_lost_work(facts, findings)
        check_piece_ends(facts, findings)
    check_work(facts, findings)
    check_jobs(facts, findings)
    check_leases(facts, findings)
    check_rentals(facts, findings)
    check_decisions(facts, findings)
    check_answers(facts, findings)
    check_waits(facts, findings)
    check_quotas(facts, findings)
    check_run(facts, findings)
    return findings.messages()
