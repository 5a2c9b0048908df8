"""The story of a job with parameter servers, told from a run."""

from __future__ import annotations

from dlsched.domain.plan import Share, run_on
from dlsched.domain.scenario import SpeedSpec
from dlsched.metrics.job_timeline import timeline_of
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.tables import jobs_of, segments_of, waits_of
from dlsched.sim.prepare import prepare
from dlsched.ui.results.jobs import entries_of
from dlsched.wording.clock import Clock
from tests.support.server_scenarios import machines, training, with_servers
from tests.support.sim_fakes import Fake, script, simulate


def told(plans, *more, **columns):
    scenario = with_servers(training((0, 10, 3, 1), *more, **columns), machines(2), placement="pool")
    log = simulate(scenario, Fake(script(plans)))
    prepared = prepare(scenario)
    facts = RunFacts(prepared.scenario, prepared.truth, log)
    return timeline_of("a", jobs_of(facts), segments_of(facts), waits_of(facts), log.end_s)


def test_a_gang_on_two_nodes():
    # 10 steps of 6/3 + 1 + 3/2 = 4.5 s; a server has no GPU, and its node is one of the job's
    timeline = told({0.0: {0: run_on((Share(0, 3, 0), Share(1, 0, 2)))}})
    (span,) = timeline.spans
    assert (span.workers, span.servers, span.gpus, span.nodes) == (3, 2, 3, (0, 1))
    assert timeline.sentence.startswith("started at once; ran 45 s on n0, n1 with 3 workers and 2 servers; cost ")
    entries = entries_of(timeline, Clock(), rented=False)
    assert entries[["Workers", "Servers", "GPUs"]].to_numpy().tolist() == [[3, 2, 3.0]]


def test_numbers_that_change_are_told_as_ranges():
    plans = {0.0: {0: run_on((Share(0, 2, 1),))}, 20.0: {0: run_on((Share(0, 4, 1),)), 1: run_on((Share(1, 1, 1),))}}
    timeline = told(plans, (20, 1, 1, 1), max_workers=[4, 1])
    assert [(span.workers, span.servers) for span in timeline.spans] == [(2, 1), (4, 1)]
    assert " on n0 with 2 to 4 workers and 1 server;" in timeline.sentence


def test_jobs_without_servers_are_told_as_before():
    facts = RunFacts(*run_of_rigid_job())
    timeline = timeline_of("a", jobs_of(facts), segments_of(facts), waits_of(facts), facts.log.end_s)
    assert "with" not in timeline.sentence
    assert {"Workers", "Servers"}.isdisjoint(entries_of(timeline, Clock(), rented=False).columns)


def run_of_rigid_job():
    """Return scenario, truth and log of a job without servers."""
    scenario = with_servers(training((0, 10, 3, 0)), speed=SpeedSpec())
    prepared = prepare(scenario)
    return prepared.scenario, prepared.truth, simulate(scenario, Fake(script({0.0: {0: run_on((Share(0, 3, 0),))}})))
