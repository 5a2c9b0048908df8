"""What happened in a log: five jobs on two nodes by hand, sums by group, and hours against a count at every second."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import GPU, Workload
from dlsched.studies.calibration.idle import idle_of_record
from dlsched.studies.calibration.record import complete_from_s
from dlsched.studies.history import STUDY, History, history_of, spec_of
from dlsched.studies.history.words import (
    capacity_rows,
    charge_rows,
    notes_of,
    outlier_words,
    rows_of,
    sentence,
    wait_rows,
)
from dlsched.wording.clock import clock_of

HOUR = 3600.0
NAN = float("nan")


def log(rows: list[dict[str, Any]], cluster: Cluster | None = None, *, zero: str = "", **more: Any) -> Scenario:
    """Return a scenario of recorded jobs; every key of the first row is a column."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    meta = {"time_zero": zero, "time_zone": "local time"} if zero else {}
    return Scenario(Workload.from_columns(columns, meta), cluster or two_nodes(), name="log", **more)


def two_nodes(**changes: Any) -> Cluster:
    """Return two nodes of 4 GPUs and 16 cores at $10/h each."""
    vm = VmType(name="node", **({"gpus": 4, "cpus": 16, "usd_per_h": 10.0} | changes))
    return Cluster(pools=(Pool(vm=vm, count=2),))


def job(name: str, submit_h: float, start_h: float, end_h: float, gpus: int, **more: Any) -> dict[str, Any]:
    """Return a job with times in hours."""
    return {
        "job_id": name, "submit_s": submit_h * HOUR, "work": (end_h - start_h) * HOUR, "workers": 1,
        "gpus_per_worker": gpus, "cpus_per_worker": 2 * gpus, "recorded_start_s": start_h * HOUR,
        "recorded_end_s": end_h * HOUR, "user": "ann", "recorded_status": "COMPLETED", "held_s": 0.0,
    } | more  # fmt: skip


FIVE = [
    job("a", 0, 0, 2, 4),
    job("b", 0, 0.5, 4.5, 2, user="bob", recorded_status="FAILED"),
    job("c", 1, 5, 6, 4, held_s=HOUR),  # waits 4 h, of which from 4.5 h on all 8 GPUs are free, from 2 h on 6
    job("d", 1, 1, 3, 0, cpus_per_worker=8, user="bob"),  # needs no GPU
    job("e", 8, 8, 9, 8, recorded_status="RUNNING"),
]


def answered(scenario: Scenario, **typed: float) -> History:
    """Return what happened, as a page or a command asks it."""
    return STUDY.run(spec_of(scenario, **typed), scenario)


def test_five_jobs_on_two_nodes_by_hand() -> None:
    found = answered(log(FIVE))
    assert (found.jobs, found.started, found.resource) == (5, 5, "gpus")
    # waits 0, 0.5, 4, 0, 0 h
    wait = found.total.wait
    assert wait is not None
    assert [wait.mean_s, wait.median_s, wait.p95_s] == pytest.approx([0.9 * HOUR, 0.0, (0.5 + 0.8 * 3.5) * HOUR])
    assert found.total.felt is not None
    assert found.total.felt.mean_s == pytest.approx(1.1 * HOUR)
    assert (found.total.over_10min, found.total.over_1h, found.total.held) == (0.4, 0.2, 1)
    used = found.total.used
    assert used.gpu_h == 4 * 2 + 2 * 4 + 4 * 1 + 8 * 1
    assert used.core_h == 8 * 2 + 4 * 4 + 8 * 1 + 8 * 2 + 16 * 1
    assert (used.lost_gpu_h, used.lost_core_h) == (8.0, 16.0)
    assert found.prices.gpu_usd == 2.5
    assert used.usd == 2.5 * 28  # the job without GPUs is not charged
    ann, bob = found.groups["user"]
    assert (ann.name, ann.jobs, ann.used.gpu_h) == ("ann", 3, 20.0)
    assert (bob.name, bob.used.gpu_h, bob.used.lost_gpu_h) == ("bob", 8.0, 8.0)
    assert {one.outcome: one.jobs for one in found.outcomes} == {"completed": 3, "failed": 1, "still running": 1}
    assert [one.job_id for one in found.longest] == ["c", "b"]


def test_idle_hours_count_while_the_log_shows_all_jobs() -> None:
    found = answered(log(FIVE))
    assert found.window_s == (2 * HOUR, 8 * HOUR)  # first end, last arrival
    gpus, cores = found.capacity
    assert gpus.available_h == 6 * 8
    assert gpus.used_h == 2 * 2.5 + 4 * 1
    assert gpus.idle_h == 48 - 9
    assert found.idle_usd == 39 * 2.5
    # from the first submission on: b (2 GPUs) waits 0.5 h beside 4 free; c (4) 1 h beside 2 free, 3 h beside 6 or 8
    assert found.idle_wanted == pytest.approx((2 * 0.5 + 0 * 1 + 4 * 3) / 8 / 4.5)
    assert cores.available_h == 6 * 32
    gpu_row, core_row = capacity_rows(found)
    assert (gpu_row["hours available"], gpu_row["hours idle"], gpu_row["idle"]) == (48, 39, 39 / 48)
    assert (core_row["resource"], core_row["in the cluster"]) == ("cores", 32)
    assert cores.used_h == 4 * 2.5 + 8 * 1 + 8 * 1


def test_hours_with_much_idle_and_jobs_that_waited_all_through() -> None:
    found = answered(log(FIVE))
    assert (found.steps, found.idle_steps) == (6, 3)
    assert [(one.from_s / HOUR, one.idle, one.waiting, one.wanted) for one in found.worst] == [
        (2.0, 0.75, 1, 0.5), (3.0, 0.75, 1, 0.5), (4.0, 0.75, 1, 0.5),
    ]  # fmt: skip
    words = outlier_words(found, clock_of(log(FIVE).workload))
    assert words.startswith("In 3 of 6 hours at least 20% stood idle all through")


def test_partitions_have_queues_of_their_own_in_what_stood_idle() -> None:
    """Four idle GPUs of partition p are no use to a job of q, whose four are in use; calibration says the same."""
    vm = VmType(name="four", gpus=4)
    cluster = Cluster(pools=tuple(Pool(vm=vm, count=1, partition=name) for name in "pq"))
    rows = [job("a", 0, 0, 8, 4, partition="q"), job("b", 1, 8, 9, 4, partition="q"),
            job("c", 6, 7, 8, 2, partition="p"), job("d", 9, 9, 10, 1, partition="p")]  # fmt: skip
    scenario = log(rows, cluster)
    found = answered(scenario)
    assert found.idle_wanted == pytest.approx((0 * 7 + 2 * 1 / 4) / (7 + 1))  # c waits an hour beside 4 free GPUs of p
    assert found.idle_wanted == idle_of_record(scenario.workload, scenario.cluster)
    assert [(one.partitions, one.idle, one.waiting, one.wanted) for one in found.worst] == []
    early = answered(
        log([*rows[:3], job("d", 9.5, 9.5, 10, 1, partition="p"), job("e", 0, 0, 1, 1, partition="p")], cluster)
    )
    assert [(one.from_s / HOUR, one.partitions, one.idle, one.wanted) for one in early.worst] == [(6.0, "p", 1.0, 0.5)]


def test_hours_are_full_hours_of_the_clock() -> None:
    found = answered(log(FIVE, zero="2026-03-01T10:15:00"))
    assert [one.from_s for one in found.worst] == [2.75 * HOUR, 3.75 * HOUR]


def test_hours_of_a_month_are_those_used_in_it() -> None:
    rows = [job("a", 0, 0, 48, 4), job("b", 1, 26, 50, 2), job("c", 30, 30, 31, 1)]
    found = answered(log(rows, zero="2026-01-30T23:00:00"))
    january, february = found.groups["month"]
    assert (january.name, february.name) == ("2026-01", "2026-02")
    assert (january.jobs, february.jobs) == (2, 1)
    # January is the first 25 hours: 25 h of a; February has 23 h of a, 24 h of b, 1 h of c
    assert january.used.gpu_h == pytest.approx(4 * 25)
    assert february.used.gpu_h == pytest.approx(4 * 23 + 2 * 24 + 1)


def test_a_running_job_counts_until_the_end_of_the_log() -> None:
    rows = [job("a", 0, 0, 1, 1, recorded_status="RUNNING"), job("b", 0, 0, 5, 1), job("c", 3, 3, 4, 1)]
    assert answered(log(rows)).total.used.gpu_h == 5 + 5 + 1


def test_without_a_recorded_end_a_job_ran_for_its_run_time() -> None:
    rows = [job("a", 0, 1, 3, 2), job("b", 0, 0, 1, 1)]
    rows[0]["recorded_end_s"] = NAN
    assert answered(log(rows)).total.used.gpu_h == 2 * 2 + 1


def test_jobs_that_ran_when_the_log_becomes_complete_hold_their_nodes() -> None:
    # as a reader hands them over: no start, arrived when the log is complete, with what was left of the run
    rows = [job("old", 0, 0, 3, 4), *FIVE]
    rows[0]["recorded_start_s"] = NAN
    found = answered(log(rows))
    assert (found.jobs, found.started) == (6, 5)
    assert found.total.used.gpu_h == 28 + 4 * 3
    assert found.total.wait is not None
    assert found.total.wait.mean_s == 0.9 * HOUR
    assert found.main is not None
    assert found.main.used_h == 9 + 4 * 1
    assert max(found.series.waiting) == 1
    assert found.notes[0].startswith("1 job already ran when the log becomes complete")


def test_jobs_without_a_start_are_counted_and_named() -> None:
    rows = [*FIVE, job("f", 2, 2, 3, 1), job("g", 4, 4, 5, 1)]
    rows[5] |= {"recorded_start_s": NAN, "recorded_end_s": NAN}
    rows[6]["recorded_start_s"] = 3 * HOUR  # before it arrived
    found = answered(log(rows, read={"rows": 10, "dropped": 3}))
    assert (found.jobs, found.started, found.early) == (7, 5, 1)
    assert found.total.used.gpu_h == 28
    assert found.notes[0].startswith("2 jobs without a usable recorded start")
    assert found.notes[1].startswith("3 rows of the file were dropped")
    assert "5 jobs with a recorded start, of 7," in sentence(found)


def test_a_default_cluster_says_nothing_of_idle_hours() -> None:
    default = (Assumption(kind="default-cluster", text="made up"),)
    found = answered(log(FIVE, assumptions=default))
    assert found.capacity == ()
    assert found.idle_usd is None
    assert "default" in found.cluster_words
    assert "idle" not in sentence(found)


def test_absent_nodes_are_not_idle() -> None:
    cluster = two_nodes().model_copy(
        update={"absences": (Absence(node=1, start_s=6 * HOUR), Absence(node=1, start_s=6.5 * HOUR, end_s=7 * HOUR))}
    )
    (gpus, _) = answered(log([*FIVE[:4], job("e", 8, 8, 9, 4)], cluster)).capacity
    assert gpus.available_h == 48 - 4 * 2
    assert gpus.idle_h == 48 - 9 - 8


def test_more_in_use_than_there_is_is_said() -> None:
    found = answered(log(FIVE, two_nodes(gpus=1)))
    assert found.main is not None
    assert found.main.over_h > 0
    assert any("may be too small" in note for note in found.notes)


def test_a_sample_of_jobs_is_called_one() -> None:
    rows = [job(f"j{i}", i, i + 20, i + 20.05, 1) for i in range(40)]
    small = Cluster(pools=(Pool(vm=VmType(name="n", gpus=1), count=1),))
    busy = [row | {"recorded_end_s": row["recorded_start_s"] + HOUR} for row in rows]
    assert not answered(log(busy, small)).is_sample
    quick = [row | {"recorded_start_s": row["submit_s"] + 30, "recorded_end_s": row["submit_s"] + 60} for row in rows]
    assert not answered(log(quick, small)).is_sample  # a cluster with little to do
    found = answered(log(rows, Cluster(pools=(Pool(vm=VmType(name="n", gpus=8), count=100),))))
    assert found.main is not None
    assert found.is_sample
    assert "sample" in sentence(found)
    assert charge_rows(found, "user")[-1]["user"] == "total"


def test_a_log_of_cores() -> None:
    rows = [row | {"gpus_per_worker": 0, "cpus_per_worker": 4.0} for row in FIVE]
    found = answered(log(rows, two_nodes(gpus=0, usd_per_h=None)), core_price=0.1)
    assert found.resource == "cpus"
    assert found.total.used.gpu_h == 0
    assert found.total.used.core_h == 4 * 10
    assert found.total.used.usd == pytest.approx(4.0)
    assert not found.prices.is_example
    assert "core-hours" in sentence(found)
    assert "GPU-hours" not in charge_rows(found, "user")[0]


def test_a_few_gpus_leave_cores_the_main_resource_as_on_every_page() -> None:
    few = [job(f"j{i}", i, i, i + 2, 1 if i == 7 else 0, cpus_per_worker=4.0) for i in range(30)]
    rare = Cluster(pools=(Pool(vm=VmType(name="gpu", gpus=8, cpus=32), count=1),
                          Pool(vm=VmType(name="cpu", gpus=0, cpus=32), count=29)))  # fmt: skip
    for cluster, expected in ((rare, "cpus"), (two_nodes(), "gpus")):
        scenario = log(few, cluster)
        assert answered(scenario).resource == expected
        assert (scenario.counted == GPU) == (expected == "gpus")


def test_prices_are_those_typed_then_of_the_nodes_then_examples() -> None:
    unpriced = two_nodes(usd_per_h=None)
    assert answered(log(FIVE), price=4.0).total.used.usd == 4 * 28
    example = answered(log(FIVE, unpriced))
    assert example.prices.is_example
    assert "example price, not a quote" in example.prices.words
    assert "example price" in sentence(example)
    assert example.total.used.usd == 2.5 * 28 + 0.05 * 16  # and the job without GPUs
    assert "not charged" in answered(log(FIVE)).prices.words


def test_a_job_pays_the_price_of_its_gpu_type() -> None:
    pools = tuple(
        Pool(vm=VmType(name=kind, gpu_type=kind, gpus=4, usd_per_h=usd), count=1)
        for kind, usd in (("A100", 8.0), ("T4", 2.0))
    )
    rows = [job("a", 0, 0, 1, 1, gpu_types="A100"), job("b", 1, 1, 2, 1, gpu_types="T4"),
            job("c", 2, 2, 3, 1, gpu_types="A100|T4")]  # fmt: skip
    assert answered(log(rows, Cluster(pools=pools))).total.used.usd == 2.0 + 0.5 + 1.25


def test_months_with_unusual_use_are_named() -> None:
    days = [(month, day) for month in range(1, 7) for day in range(1, 29)]
    at_h = [(datetime(2025, month, day) - datetime(2025, 1, 1)).total_seconds() / HOUR for month, day in days]
    rows = [job(f"j{i}", h, h, h + (20 if month == 4 else 5), 1)
            for i, (h, (month, _)) in enumerate(zip(at_h, days, strict=True))]  # fmt: skip
    assert answered(log(rows, zero="2025-01-01T00:00:00")).unusual_months == ("2025-04",)


def test_a_log_without_starts_is_refused() -> None:
    rows = [{"job_id": "a", "submit_s": 0.0, "work": 1.0}]
    with pytest.raises(InputError, match="no recorded start"):
        answered(log(rows))
    with pytest.raises(InputError, match="asks about scenario"):
        history_of(spec_of(log(FIVE)), log(rows))


def test_all_at_once_is_too_short_for_idle_hours() -> None:
    found = answered(log([job("a", 0, 0, 1, 1), job("b", 0, 1, 2, 1)]))
    assert found.window_s is None
    assert any("too short" in note for note in notes_of(found, clock_of(log(FIVE).workload)))


def test_times_out_of_any_calendar_do_no_harm() -> None:
    rows = [job("a", 0, 0, 1, 1), job("b", 2e11, 2e11, 2.1e11, 1)]
    found = answered(log(rows, zero="2026-03-01T10:15:00"))
    assert "month" not in found.groups
    assert found.steps <= 200_000


def test_the_answer_comes_back_from_the_store() -> None:
    found = answered(log(FIVE))
    assert History.from_plain(found.to_plain()) == found
    assert len({frozenset(row) for row in rows_of(found, [*found.groups])}) == 1
    assert [row["jobs"] for row in wait_rows(found, "user")] == [3, 2]


# ---- against a count at every step ---------------------------------------------------------------------

TICK = 900.0
"""All times are multiples of it."""
ROW = st.tuples(
    st.integers(0, 40), st.integers(0, 12), st.integers(1, 20), st.sampled_from([0, 1, 2, 3, 5]),
    st.sampled_from(["ann", "bob", ""]), st.sampled_from(["COMPLETED", "FAILED", "CANCELLED by 5", "odd"]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=12), away=st.none() | st.tuples(st.integers(0, 30), st.integers(1, 30)))
def test_it_is_the_count_at_every_tick(rows: list[tuple[Any, ...]], away: tuple[int, int] | None) -> None:
    jobs = [
        job(f"j{i}", a * TICK / HOUR, (a + w) * TICK / HOUR, (a + w + r) * TICK / HOUR, g,
            cpus_per_worker=1.0, user=user, recorded_status=status)
        for i, (a, w, r, g, user, status) in enumerate(rows)
    ]  # fmt: skip
    absences = () if away is None else (Absence(node=0, start_s=away[0] * TICK, end_s=sum(away) * TICK),)
    cluster = two_nodes(cpus=None).model_copy(update={"absences": absences})
    found = answered(log(jobs, cluster))
    used = sum(r * g for _, _, r, g, _, _ in rows) * TICK / HOUR
    assert found.total.used.gpu_h == pytest.approx(used)
    for by, groups in found.groups.items():
        for name in ("gpu_h", "core_h", "lost_gpu_h", "lost_core_h", "usd"):
            total = getattr(found.total.used, name)
            if total is None:  # no job has GPUs, and cores are charged alone
                continue
            assert sum(getattr(row.used, name) for row in groups) == pytest.approx(total), by
        assert sum(row.jobs for row in groups) == found.jobs
        assert sum(row.started for row in groups) == found.started
    for row in found.groups["user"]:
        own = [w * TICK for _, w, _, _, user, _ in rows if (user or "(no name)") == row.name]
        assert row.wait is not None
        assert row.wait.mean_s == pytest.approx(np.mean(own))
        assert row.wait.median_s == pytest.approx(np.median(own))
        assert row.wait.p95_s == pytest.approx(np.percentile(own, 95))
        assert row.over_1h == pytest.approx(np.mean([one > HOUR for one in own]))
    if found.window_s is None or found.main is None or found.resource != "gpus":
        return
    low, high = (round(end / TICK) for end in found.window_s)
    free, waiting = [], []
    for tick in range(low, high):
        held = sum(g for a, w, r, g, _, _ in rows if a + w <= tick < a + w + r)
        gone = 4 if away is not None and away[0] <= tick < sum(away) else 0
        free.append(max(8 - gone - held, 0))
        waiting.append([g for a, w, _, g, _, _ in rows if a <= tick < a + w and g])
    assert found.main.idle_h == pytest.approx(sum(free) * TICK / HOUR)
    queued = []  # as calibration counts: from the first submission on where most jobs come before the first end
    for tick in range(round(complete_from_s(log(jobs, cluster).workload) / TICK), high):
        held = sum(g for a, w, r, g, _, _ in rows if a + w <= tick < a + w + r)
        gone = 4 if away is not None and away[0] <= tick < sum(away) else 0
        waits = [g for a, w, _, g, _, _ in rows if a <= tick < a + w and g]
        room = max(8 - gone - held, 0)
        queued += [min(room, sum(g for g in waits if g <= room))] if waits else []
    assert found.idle_wanted == (pytest.approx(np.mean(queued) / 8) if queued else None)
    steps = range(-(-low // 4), high // 4)
    assert found.steps == len(steps)
    notable = 0
    for step in steps:
        at = range(4 * step - low, 4 * step + 4 - low)
        least = min(free[i] for i in at)
        through = [g for a, w, _, g, _, _ in rows if g and a <= 4 * step and a + w >= 4 * step + 4 and g <= least]
        notable += bool(through) and least / 8 >= 0.2
    assert found.idle_steps == notable


ODD = st.one_of(st.just(NAN), st.floats(0, 1e15), st.sampled_from([0.0, 1.0, 3600.0, 1e-9]))


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.tuples(ODD, ODD, ODD, ODD), min_size=1, max_size=6),
    zero=st.sampled_from(["", "1970-01-01T00:00:00", "9999-12-31T23:59:59", "2026-03-01T00:00:00+05:00", "no date"]),
    rented=st.booleans(),
)
def test_odd_times_end_in_an_answer_or_a_clear_message(rows: list[tuple[float, ...]], zero: str, rented: bool) -> None:
    columns: dict[str, Any] = {
        "job_id": [f"j{i}" for i in range(len(rows))],
        "submit_s": [0.0 if row[0] != row[0] else row[0] for row in rows],
        "work": [1.0 if row[1] != row[1] or row[1] <= 0 else row[1] for row in rows],
        "recorded_start_s": [row[2] for row in rows], "recorded_end_s": [row[3] for row in rows],
        "user": ["\x00<b>"] * len(rows),
    }  # fmt: skip
    cluster = two_nodes()
    if rented:
        cluster = Cluster(slots=3, catalogue=(VmType(name="vm", gpus=1),))
    scenario = Scenario(Workload.from_columns(columns, {"time_zero": zero} if zero else {}), cluster)
    try:
        found = answered(scenario)
    except InputError:
        return
    assert History.from_plain(found.to_plain()) == found  # finite numbers only
    clock = clock_of(scenario.workload)
    assert sentence(found)
    assert notes_of(found, clock)
    outlier_words(found, clock)
    for by in found.groups:
        assert charge_rows(found, by)


def test_a_million_jobs_take_seconds() -> None:
    import time

    rng, n = np.random.default_rng(0), 300_000
    submit_s = np.sort(rng.uniform(0, 3e7, n))
    start_s = submit_s + rng.exponential(3000, n)
    columns = {
        "job_id": np.array([f"j{i}" for i in range(n)], dtype=object), "submit_s": submit_s, "work": np.full(n, 60.0),
        "recorded_start_s": start_s, "gpus_per_worker": rng.integers(1, 300, n).astype(float),
        "user": np.array([f"u{i}" for i in range(8000)], dtype=object)[rng.integers(0, 8000, n)],
    }  # fmt: skip
    scenario = Scenario(Workload.from_columns(columns), two_nodes(gpus=1000))
    spec = spec_of(scenario)
    began = time.process_time()
    found = STUDY.run(spec, scenario)
    assert time.process_time() - began < 8
    assert len(found.groups["user"]) == 5000
    assert found.groups["user"][0].name == "(others)" or any(row.name == "(others)" for row in found.groups["user"])
