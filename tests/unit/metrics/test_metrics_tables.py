"""Tables, series and one job's story, by hand."""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.plan import WaitReason
from dlsched.domain.policy import EventKind
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.metrics.job_timeline import timeline_of
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.step_functions import accrued, count_after, sum_after, thin
from dlsched.metrics.summary import summarise_facts
from dlsched.metrics.tables import decisions_table, jobs_of, nodes_of, segments_of, series_of, waits_of
from dlsched.sim.log import JobStatus, PieceEnd
from tests.support.logs import Ran, facts_inputs

NAN = math.nan
PIECES = (
    Ran(0, 0, 100, {0: 4}),
    Ran(1, 0, 60, {1: 4}, PieceEnd.PREEMPTED),
    Ran(2, 60, 110, {0: 1, 1: 1}),
    Ran(1, 110, 160, {1: 4}, progress_from_s=120),
)
WAITS = (
    (2, 50.0, WaitReason.NO_ROOM),
    (2, 55.0, WaitReason.BEHIND),
    (1, 60.0, WaitReason.PREEMPTED),
    (3, 70.0, WaitReason.HELD_BACK),
    (0, 0.0, WaitReason.NO_ROOM),  # starts at the same instant: no wait
)


@pytest.fixture
def facts() -> RunFacts:
    jobs = Workload.from_columns(
        {
            "job_id": ["a", "b", "c", "d"],
            "submit_s": [0, 0, 50, 70],
            "work": [100, 100, 50, 10],
            "workers": [4, 4, 2, 8],
            "due_s": [150, 90, NAN, 80],
            "weight_usd_per_s": [0.1, 0.5, 0.2, NAN],
            "user": ["ann", "bob", "ann", "cy"],
        }
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=4, usd_per_h=3.6), count=2),))
    ends = {3: (JobStatus.REJECTED, 75.0)}
    decisions = [(0.0, EventKind.ARRIVAL, 0.5), (60.0, EventKind.COMPLETION | EventKind.ARRIVAL, NAN)]
    return RunFacts(*facts_inputs(Scenario(jobs, cluster), PIECES, ends, waits=WAITS, decisions=decisions))


def test_jobs_table(facts):
    table = jobs_of(facts)
    assert list(table.columns[:11]) == [
        "job_id", "submit_s", "first_start_s", "completion_s", "status", "gpus", "wait_s", "jct_s", "tardiness_s",
        "cost", "utility",
    ]  # fmt: skip
    assert list(table["status"]) == ["completed", "completed", "completed", "rejected"]
    expected = {
        "first_start_s": [0, 0, 60, NAN],
        "completion_s": [100, 160, 110, NAN],
        "left_s": [100, 160, 110, 75],
        "tardiness_s": [0, 70, NAN, NAN],
        "tardiness_usd": [0, 35, 0, 0],
        "run_s": [100, 110, 50, 0],
        "not_running_s": [0, 60, 10, 5],
        "slowdown": [1, 1.6, 1.2, NAN],
        "gpu_s": [400, 440, 100, 0],
        "preemptions": [0, 1, 0, 0],
        "restarts": [0, 1, 0, 0],
        # node 0 at $0.001/s: a alone 60 s, then 4 of 5 GPUs for 40 s; c alone 100-110. node 1: b, c alone 60-110, b
        "cost": [0.06 + 0.032, 0.06 + 0.05, 0.008 + 0.01 + 0.05, 0],
    }
    for column, values in expected.items():
        assert list(table[column]) == pytest.approx(values, nan_ok=True), column
    assert list(table["user"]) == ["ann", "bob", "ann", "cy"]
    assert "job_class" not in table


def test_segments_table_has_a_row_for_each_node_of_each_piece(facts):
    table = segments_of(facts)
    shown = table[["job_id", "node", "start_s", "end_s", "gpus", "piece", "end_reason"]].to_numpy().tolist()
    assert shown == [
        ["a", 0, 0, 100, 4, 0, "completed"],
        ["b", 1, 0, 60, 4, 1, "preempted"],
        ["c", 0, 60, 110, 1, 2, "completed"],
        ["c", 1, 60, 110, 1, 2, "completed"],
        ["b", 1, 110, 160, 4, 3, "completed"],
    ]
    assert table["progress_from_s"].iloc[-1] == 120


def test_nodes_table_adds_up_to_the_bill(facts):
    table = nodes_of(facts)
    assert table.to_numpy().tolist() == [[0, "box", 0, 160, 0.16, 3.6], [1, "box", 0, 160, 0.16, 3.6]]


def test_decisions_table_says_causes_in_words(facts):
    table = decisions_table(facts.log)
    assert list(table["cause"]) == ["arrival", "completion + arrival"]
    assert list(table["cpu_s"]) == pytest.approx([0.5, NAN], nan_ok=True)


def test_a_wait_lasts_to_the_next_reason_start_or_end(facts):
    assert waits_of(facts).to_numpy().tolist() == [
        ["b", 1, 60, 110, "preempted"],
        ["c", 2, 50, 55, "no_room"],
        ["c", 2, 55, 60, "behind"],
        ["d", 3, 70, 75, "held_back"],
    ]


def test_a_job_that_still_waits_when_the_run_ends_waits_until_then():
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [5.0]})
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=1), count=1),))
    waits = [(0, 0.0, WaitReason.HELD_BACK), (0, 4.0, WaitReason.RESERVED)]
    facts = RunFacts(*facts_inputs(Scenario(jobs, cluster), [], waits=waits, end_s=9.0))
    assert waits_of(facts)[["from_s", "to_s"]].to_numpy().tolist() == [[0, 4], [4, 9]]


def test_the_later_piece_is_the_restart(facts):
    assert facts.piece_is_restart.tolist() == [False, False, False, True]


def test_tables_of_a_run_in_which_nothing_ran():
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [1.0]})
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=4, usd_per_h=3.6), count=1),))
    empty = RunFacts(*facts_inputs(Scenario(jobs, cluster), [], end_s=0.0, stalled=True))
    assert (len(segments_of(empty)), len(waits_of(empty)), len(decisions_table(empty.log))) == (0, 0, 0)
    assert list(jobs_of(empty)["status"]) == ["unfinished"]
    assert len(series_of(empty)) == 1
    assert summarise_facts(empty)["vm_cost"] == 0


# ---- series ----------------------------------------------------------------------------------------


def test_series(facts):
    table = series_of(facts)
    expected = {
        "time_s": [0, 50, 60, 70, 75, 100, 110, 160],
        "gpus_held": [8, 8, 6, 6, 6, 2, 4, 4],
        "gpus_up": [8] * 8,
        "waiting": [0, 1, 1, 2, 1, 1, 0, 0],
        "running": [2, 2, 2, 2, 2, 1, 1, 1],
        "cost_usd": [0, 0.1, 0.12, 0.14, 0.15, 0.2, 0.22, 0.32],
        "tardiness_usd": [0, 0, 0, 0, 0, 0, 0, 35],
        "utility": [NAN] * 8,
    }
    for column, values in expected.items():
        assert list(table[column]) == pytest.approx(values, nan_ok=True), column


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100), st.floats(0, 9)), max_size=8))
def test_accrued_is_the_sum_of_what_each_has_grown_to(amounts):
    start_s = np.array([min(a, b) for a, b, _ in amounts])
    end_s = np.array([max(a, b) + 0.5 for a, b, _ in amounts])
    usd = np.array([amount for *_, amount in amounts])
    at_s = np.array([-1.0, 0.0, 13.3, 50.0, 99.0, 200.0])
    by_hand = [
        sum(u * min(max((t - a) / (b - a), 0), 1) for a, b, u in zip(start_s, end_s, usd, strict=True)) for t in at_s
    ]
    assert accrued(start_s, end_s, usd, at_s) == pytest.approx(by_hand, abs=1e-9)


def test_counts_and_sums_include_the_instant_and_leave_out_what_never_happens():
    event_s, at_s = np.array([3.0, NAN, 1.0, 3.0]), np.array([0.0, 1.0, 3.0])
    assert list(count_after(event_s, at_s)) == [0, 1, 3]
    assert list(sum_after(event_s, np.array([1.0, 99.0, 10.0, 2.0]), at_s)) == [0, 10, 13]


@given(st.integers(1, 400), st.integers(12, 60), st.integers(0, 10_000))
def test_thinning_keeps_the_ends_and_every_extreme_and_never_more_than_asked(length, most, seed):
    rng = np.random.default_rng(seed)
    at_s = np.sort(rng.exponential(1, length)).cumsum()
    columns = [rng.integers(0, 9, length), rng.normal(size=length)]
    keep = thin(at_s, columns, most)
    assert len(keep) <= max(most, 1)
    assert (np.diff(keep) > 0).all()
    assert {0, length - 1} <= set(keep)
    for values in columns:
        assert values[keep].min() == values.min()
        assert values[keep].max() == values.max()


# ---- one job's story -------------------------------------------------------------------------------


def story_of(facts: RunFacts, job_id: str):
    return timeline_of(job_id, jobs_of(facts), segments_of(facts), waits_of(facts), facts.log.end_s)


def test_story_of_a_job_that_waited(facts):
    timeline = story_of(facts, "c")
    assert [(s.kind, s.from_s, s.to_s, s.nodes) for s in timeline.spans] == [
        ("waited", 50, 55, ()),
        ("waited", 55, 60, ()),
        ("ran", 60, 110, (0, 1)),
    ]
    assert {name for name, _ in timeline.blockers.named} == {"a", "b"}
    assert timeline.sentence == (
        "waited 10 s, mainly because too few GPUs were free: jobs a (4 GPUs) and b (4 GPUs) used n0 and n1; "
        "ran 50 s on n0, n1; "
        "cost $0.07."
    )


def test_story_of_a_job_that_was_stopped_and_late(facts):
    timeline = story_of(facts, "b")
    assert [(s.kind, s.reason) for s in timeline.spans] == [
        ("ran", ""),
        ("paused", "stopped for a job that takes precedence"),
        ("ran", ""),
    ]
    assert (timeline.paused_s, timeline.restarts, timeline.late_s) == (50, 1, 70)
    assert timeline.sentence == (
        "started at once; ran 1 min 50 s on n1; paused 1 time, 50 s in all, for job c (2 GPUs); 1 min 10 s late; "
        "cost $0.11."
    )


def test_story_of_a_rejected_job(facts):
    timeline = story_of(facts, "d")
    assert timeline.first_start_s is None
    assert (
        timeline.sentence
        == "waited 5 s because: held back by the policy; never started; rejected by the policy; cost $0.00."
    )


def test_a_wait_without_record_says_so_and_guesses_nothing(facts):
    silent = waits_of(facts).iloc[:0]
    timeline = timeline_of("c", jobs_of(facts), segments_of(facts), silent, facts.log.end_s)
    assert [s.reason for s in timeline.spans] == ["reason not recorded by this policy", ""]
    assert timeline.sentence.startswith("waited 10 s (reason not recorded by this policy); ran")


def test_of_many_jobs_on_its_gpus_those_are_named_that_had_most():
    jobs = Workload.from_columns({"job_id": [*"abcdef"], "submit_s": [0.0] * 5 + [1.0], "work": [9.0] * 6})
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=5), count=2),))
    pieces = [Ran(row, 0, 9, {0: 1}) for row in range(4)] + [Ran(4, 0, 9, {1: 1}), Ran(5, 9, 18, {0: 1})]
    facts = RunFacts(*facts_inputs(Scenario(jobs, cluster), pieces, waits=[(5, 1.0, WaitReason.NO_ROOM)]))
    sentence = story_of(facts, "f").sentence
    assert sentence == (
        "waited 8 s because too few GPUs were free: jobs a (1 GPU), b (1 GPU) and 2 more used n0; ran 9 s on n0."
    )


def test_jobs_are_named_by_how_long_they_had_the_gpus():
    jobs = Workload.from_columns({"job_id": [*"abc"], "submit_s": [0.0, 0.0, 1.0], "work": [5.0] * 3})
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=1), count=1),))
    pieces = [Ran(0, 0, 5, {0: 1}), Ran(1, 5, 10, {0: 1}), Ran(2, 10, 15, {0: 1})]
    facts = RunFacts(*facts_inputs(Scenario(jobs, cluster), pieces, waits=[(2, 1.0, WaitReason.NO_ROOM)]))
    assert story_of(facts, "c").sentence == (
        "waited 9 s because too few GPUs were free: jobs b (1 GPU) and a (1 GPU) used n0; ran 5 s on n0."
    )


def test_story_of_a_job_that_changes_its_width_says_between_which():
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [30.0]})
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=1), count=5),))
    pieces = [Ran(0, 0, 5, {0: 1, 1: 1}), Ran(0, 5, 9, {2: 1, 3: 1, 4: 1}), Ran(0, 9, 17, {0: 1})]
    facts = RunFacts(*facts_inputs(Scenario(jobs, cluster), pieces))
    assert story_of(facts, "a").sentence == "started at once; ran 17 s on 1 to 3 nodes at a time."


def test_story_of_an_unknown_job(facts):
    with pytest.raises(InputError, match="'nobody': is not in this run"):
        story_of(facts, "nobody")


# ---- size ------------------------------------------------------------------------------------------


def test_a_large_run_is_fast():
    """68,503 jobs, 120,000 pieces: every table and number in 1.5 s of processor time."""
    rng = np.random.default_rng(1)
    count, extra = 68_503, 51_497
    submit_s = np.sort(rng.uniform(0, 1e7, count))
    jobs = Workload.from_columns(
        {
            "job_id": [f"job-{n}" for n in range(count)],
            "submit_s": submit_s,
            "work": rng.uniform(1, 1e5, count),
            "due_s": submit_s + 1e5,
            "weight_usd_per_s": np.ones(count),
            "user": rng.choice(["ann", "bob"], count),
        }
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=8, usd_per_h=3.6), count=75),))
    row = np.concatenate([np.arange(count), rng.integers(0, count, extra)])
    turn = np.concatenate([np.zeros(count), np.ones(extra)])
    start_s = submit_s[row] + turn * 6e4 + 10
    order = np.lexsort((row, start_s))
    row, start_s, turn = row[order], start_s[order], turn[order]
    inputs = facts_inputs(Scenario(jobs, cluster, SimulationRules()), [Ran(0, 0, 1, {0: 1})])
    names = {field: getattr(inputs[2], field) for field in inputs[2].__dataclass_fields__}
    pieces = len(row)
    names |= {
        "piece_row": row, "piece_start_s": start_s, "piece_end_s": start_s + 5e4, "piece_workers": np.ones(pieces, int),
        "piece_servers": np.zeros(pieces, int), "piece_rate": np.ones(pieces), "piece_restart_rate": np.zeros(pieces),
        "piece_progress_from_s": start_s, "piece_end": np.zeros(pieces, np.uint8), "piece_lost_work": np.zeros(pieces),
        "piece_blocked": np.zeros((pieces, 4)),
        "share_first": np.arange(pieces + 1), "share_node": rng.integers(0, 75, pieces),
        "share_workers": np.ones(pieces, int), "share_servers": np.zeros(pieces, int),
        "job_status": np.zeros(count, np.uint8), "job_first_start_s": submit_s + 10, "job_end_s": submit_s + 1.2e5,
        "wait_row": row, "wait_from_s": start_s - 10, "wait_reason": np.ones(pieces, np.uint8), "end_s": 1.2e7,
    }  # fmt: skip
    facts = RunFacts(inputs[0], inputs[1], type(inputs[2])(**names))
    began = time.process_time()
    summarise_facts(facts)
    tables = [jobs_of(facts), segments_of(facts), waits_of(facts), series_of(facts), decisions_table(facts.log)]
    timeline_of("job-500", tables[0], tables[1], tables[2], facts.log.end_s)
    assert time.process_time() - began < 1.5
    assert len(tables[3]) <= 2_000
    assert isinstance(tables[0], pd.DataFrame)


def test_story_of_a_job_on_rented_machines_names_them_and_both_costs():
    jobs = pd.DataFrame(
        {
            "job_id": ["a"], "status": ["completed"], "gpus": [8.0], "submit_s": [0.0], "first_start_s": [0.0],
            "left_s": [7200.0], "wait_s": [0.0], "run_s": [7200.0], "restarts": [0], "due_s": [3600.0],
            "tardiness_s": [3600.0], "tardiness_usd": [25.0], "cost": [9.0], "row": [0],
        }
    )  # fmt: skip
    pieces = pd.DataFrame(
        {
            "row": 0, "job_id": "a", "piece": [0, 1, 2], "start_s": [0.0, 3600.0, 5400.0],
            "end_s": [3600.0, 5400.0, 7200.0], "node": [0, 0, 1], "workers": [8, 4, 4], "gpus": [8.0, 4.0, 4.0],
            "rate": 1.0, "end_reason": ["resized", "moved", "completed"], "gpu_type": ["K80", "M60", "M60"],
        }
    )  # fmt: skip
    waits = pd.DataFrame(columns=["row", "from_s", "to_s", "reason"])
    timeline = timeline_of("a", jobs, pieces, waits, 7200.0, rented=True)
    assert timeline.sentence == (
        "started at once; ran 2 h on n0, n1 with K80 x8, then M60 x4; 1 h late; cost $9.00 and $25.00 for lateness."
    )
    assert timeline.late_usd == 25.0
    often = pd.concat([pieces, pieces.assign(piece=pieces["piece"] + 3, start_s=9e3, end_s=9e3)])
    told = timeline_of("a", jobs, often, waits, 7200.0, rented=True).sentence
    assert "with 2 configurations, changed 3 times" in told
    assert "K80" not in timeline_of("a", jobs, pieces, waits, 7200.0).sentence
