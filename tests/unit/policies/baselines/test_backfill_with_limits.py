"""EASY and conservative backfill on requested times, events together or one by one, against hand and other programs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence
from dlsched.domain.plan import WaitReason
from dlsched.domain.policy import EventKind
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from dlsched.testing.logs import first_difference
from dlsched.testing.scenarios import fixed_nodes
from tests.support.sim_fakes import jobs, nodes, scenario

Row = tuple[int, int, int, int]
"""Submission, run time and requested time in seconds, processors."""


def run(
    key: str, rows: list[Row], processors: int, *, use_kernel: bool = False, limits: str = "believe", **params: Any
) -> RunLog:
    spec = find(key)
    workload = Workload.from_columns(
        {
            "job_id": [str(number) for number in range(len(rows))],
            "submit_s": [row[0] for row in rows],
            "work": [row[1] for row in rows],
            "limit_s": [float(row[2]) for row in rows],
            "workers": [row[3] for row in rows],
        }
    )
    prepared = prepare(scenario(workload, nodes(processors, 1), placement="pool", limits=limits))
    log = run_policy(prepared, spec.build(spec.parse(params)), use_kernel=use_kernel)
    assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def starts(log: RunLog) -> list[int]:
    return [round(float(start)) for start in log.job_first_start_s]


# ---- known schedules ----------------------------------------------------------------------------------------

RULES: dict[str, tuple[str, str, dict[str, str]]] = {
    "fcfs": ("fifo", "believe", {}),
    "easy_requested": ("easy-backfill", "believe", {}),
    "easy_real_run_times": ("easy-backfill", "ignore", {}),
    "conservative_requested": ("conservative", "believe", {}),
    "easy_requested_pass_after_each_event": ("easy-backfill", "believe", {"events": "single"}),
}


@pytest.mark.parametrize("use_kernel", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_public_cases(shared_data: Path, rule: str, use_kernel: bool):
    path = shared_data / "slurm" / "easy_cases.json"
    if not path.exists():
        pytest.skip("the public cases of backfill are not there: expected slurm/easy_cases.json in shared/data")
    key, limits, params = RULES[rule]
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        rows = [(job["submit"], job["run"], job["est"], job["procs"]) for job in case["jobs"]]
        log = run(key, rows, case["processors"], use_kernel=use_kernel, limits=limits, **params)
        assert starts(log) == case["start"][rule]


def test_conservative_delays_no_job_ahead_where_easy_does():
    """a (4 of 8) ends at 100, then b (5) runs until 150. d (3, 500 s) leaves b its place, but not c (8) its own."""
    rows = [(0, 100, 100, 4), (1, 50, 50, 5), (2, 100, 100, 8), (3, 500, 500, 3)]
    assert starts(run("easy-backfill", rows, 8)) == [0, 100, 503, 3]
    assert starts(run("conservative", rows, 8)) == [0, 100, 150, 250]


@pytest.mark.parametrize(("placement", "last_s"), [("pool", 2), ("best-fit", 50)])
def test_conservative_books_nodes_where_nodes_count(placement: str, last_s: int):
    """Node 0 is full until 50 and holds 1 of 2 GPUs then, node 1 holds 1 until 50; d (2) is booked there from 50 to 90.

    e (1, 100 s) has no node for all its time before 50, though 1 GPU is free throughout.
    """
    given_jobs = jobs((0, 50, 1), (0, 200, 1), (0, 50, 1), (1, 40, 2), (2, 100, 1))
    prepared = prepare(scenario(given_jobs, fixed_nodes(2, 2), placement=placement))
    log = run_engine(prepared, find("conservative").build(find("conservative").parse({})))
    assert log.job_first_start_s.tolist() == [0, 0, 0, 50, last_s]


def test_a_job_past_its_limit_is_gone_in_what_is_believed_but_holds_its_nodes():
    rows = [(0, 100, 10, 6), (20, 10, 10, 8), (20, 5, 5, 2)]
    for key in ("easy-backfill", "conservative"):
        assert starts(run(key, rows, 8)) == [0, 100, 110]  # the head may start any moment
    assert starts(run("easy-backfill", rows, 8, limits="kill")) == [0, 20, 30]


@pytest.mark.parametrize("events", ["batch", "single"])
@pytest.mark.parametrize("ends", ["early", "early or late", "as believed"])
@pytest.mark.parametrize("widths", [(1, 1, 1, 2, 4, 8), (2, 3, 7), (1, 16), (5, 6)])
def test_conservative_books_as_the_engine_where_the_queue_grows(widths: tuple[int, ...], ends: str, events: str):
    """A queue of some 80 jobs, most of which the compiled pass does not look at; the engine books every one."""
    dice, rows = random.Random(f"{widths} {ends} {events}"), list[Row]()
    for submit in sorted(dice.randrange(2000) for _ in range(110)):
        work = 1 + int(dice.lognormvariate(4, 1.3))
        factor = {"early": dice.uniform(1, 5), "early or late": dice.uniform(0.5, 3), "as believed": 1}[ends]
        rows.append((submit, work, max(1, int(work * factor)), dice.choice(widths)))
    by_engine = run("conservative", rows, 16, events=events)
    assert first_difference(by_engine, run("conservative", rows, 16, use_kernel=True, events=events)) == ""


# ---- events one by one ---------------------------------------------------------------------------------------


def test_a_pass_after_each_event_arrivals_first():
    log = run("easy-backfill", [(0, 10, 20, 4), (10, 5, 5, 4), (10, 5, 5, 4)], 8, events="single")
    assert log.decision_s.tolist() == [0, 10, 10, 10, 15, 15]
    causes = [EventKind(int(cause)) for cause in log.decision_cause]
    assert causes == [EventKind.ARRIVAL] * 3 + [EventKind.COMPLETION] * 3
    assert starts(log) == [0, 10, 10]
    assert len(run("easy-backfill", [(0, 10, 20, 4), (10, 5, 5, 4), (10, 5, 5, 4)], 8).decision_s) == 3


def test_an_arrival_sees_who_ends_as_believed_gone_and_who_ends_early_still_there():
    """At 10 a ends, and b and c come. If a ends as believed, b has room at once; if early, c goes first beside a."""
    late = [(0, 10, 20, 4), (10, 5, 5, 8), (10, 10, 10, 4)]
    assert starts(run("easy-backfill", late, 8, events="batch")) == [0, 10, 15]
    assert starts(run("easy-backfill", late, 8, events="single")) == [0, 20, 10]
    expected = [(0, 10, 10, 4), *late[1:]]
    assert starts(run("easy-backfill", expected, 8, events="single")) == [0, 10, 15]


@pytest.mark.parametrize("use_kernel", [False, True])
def test_after_an_arrival_without_room_nothing_starts(use_kernel: bool):
    """At 10 a (4) ends early and b (4) as believed, and e (8) comes, for which b leaves too little room.

    So a's end is next, and c (8) goes first; a pass for e would have seen a still there and started d (4).
    """
    rows = [(0, 10, 20, 4), (0, 10, 10, 4), (1, 5, 5, 8), (2, 5, 5, 4), (10, 5, 5, 8)]
    assert starts(run("easy-backfill", rows, 8, use_kernel=use_kernel, events="single")) == [0, 0, 10, 15, 20]


def test_a_node_that_comes_back_with_an_arrival_counts_after_it():
    """At 50 node 1 is back and c comes: c is asked about first, without the node."""
    away = (Absence(node=1, start_s=0, end_s=50),)
    given_jobs = jobs((0, 100, 4), (1, 10, 4), (50, 5, 2))
    spec = find("easy-backfill")
    log = run_engine(
        prepare(scenario(given_jobs, fixed_nodes(4, 4, absences=away))), spec.build(spec.parse({"events": "single"}))
    )
    assert log.job_first_start_s.tolist() == [0, 50, 60]


def single_event_easy(rows: list[Row], processors: int) -> list[int]:
    """Return the starts of EASY with a pass after each event, from a profile of what is believed to be free."""
    found: dict[int, int] = {}
    order: list[int] = []
    ended: set[int] = set()
    queue: list[int] = []

    def believed_free(at: int, now: int) -> int:
        held = (rows[row][3] for row, start in found.items() if row not in ended and start + rows[row][2] > at)
        return processors - sum(held)

    def start(row: int, now: int) -> None:
        found[row] = now
        order.append(row)
        queue.remove(row)

    def one_pass(now: int) -> None:
        while queue and rows[queue[0]][3] <= believed_free(now, now):
            start(queue[0], now)
        if not queue:
            return
        need = rows[queue[0]][3]
        ends = sorted(
            {found[row] + rows[row][2] for row in found if row not in ended and found[row] + rows[row][2] > now}
        )
        shadow = next(end for end in ends if believed_free(end, now) >= need)
        for row in queue[1:]:
            width, free = rows[row][3], believed_free(now, now)
            ends_first = now + rows[row][2] <= shadow
            if width <= free and (ends_first or width <= believed_free(shadow, now) - need):
                start(row, now)

    now = 0
    while len(ended) < len(rows):
        times = [row[0] for number, row in enumerate(rows) if number not in found and number not in queue]
        times += [found[row] + rows[row][1] for row in found if row not in ended]
        now = min(times)
        for number, row in enumerate(rows):
            if row[0] == now:
                queue.append(number)
                if row[3] <= believed_free(now, now):
                    one_pass(now)
        for ending in [row for row in order if row not in ended and found[row] + rows[row][1] == now]:
            ended.add(ending)
            one_pass(now)
    return [found[row] for row in range(len(rows))]


@st.composite
def limited(draw: st.DrawFn) -> list[Row]:
    count = draw(st.integers(1, 25))
    triples = [draw(st.tuples(st.integers(0, 12), st.integers(1, 8), st.integers(0, 6))) for _ in range(count)]
    widths = draw(st.lists(st.integers(1, 8), min_size=count, max_size=count))
    rows = [(submit, work, work + more, width) for (submit, work, more), width in zip(triples, widths, strict=True)]
    return sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize("use_kernel", [False, True])
@given(rows=limited())
def test_single_events_equal_a_plain_program(use_kernel: bool, rows: list[Row]):
    log = run("easy-backfill", rows, 8, use_kernel=use_kernel, events="single")
    assert starts(log) == single_event_easy(rows, 8)


# ---- what a long queue is told ---------------------------------------------------------------------------------


@pytest.mark.parametrize("use_kernel", [False, True])
@pytest.mark.parametrize("key", ["fifo-skip", "sjf", "easy-backfill", "conservative"])
def test_behind_the_first_32_jobs_are_behind(key: str, use_kernel: bool):
    rows = [(0, 100, 100, 8)] + [(1, 10, 10, 8)] * 40
    log = run(key, rows, 8, use_kernel=use_kernel)
    first = {
        int(row): WaitReason(int(reason)) for row, reason in zip(log.wait_row[::-1], log.wait_reason[::-1], strict=True)
    }
    assert [first[row] for row in range(1, 41)] == [WaitReason.NO_ROOM] * 32 + [WaitReason.BEHIND] * 8
    assert WaitReason.NO_ROOM in log.wait_reason[log.wait_row == 40]  # by and by
