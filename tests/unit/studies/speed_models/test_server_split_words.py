"""What is said of a job's workers and servers: numbers by hand and by enumeration, words from the numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import SimulationRules
from dlsched.policies.smd.choices import Widths
from dlsched.policies.smd.problem import Split
from dlsched.studies.speed_models import server_split
from dlsched.studies.speed_models.server_split import (
    MOST_CELLS,
    ServerSplit,
    enough_servers,
    one_more,
    split_of,
    split_sentence,
    split_table,
    unlimited_words,
    width_times,
    worth_at,
    worthless_words,
)
from tests.support.server_scenarios import machines, training
from tests.support.split_problems import real_problems, whole_problems

HOUR = 3600.0
NAMES = server_split.RESOURCE_NAMES


def problem(theta: tuple[float, ...], limit: tuple[float, float] = (6, 100), mode: Any = "sync", **more: Any) -> Split:
    """A worker holds 1 GPU and 2 CPUs, a server 1 CPU."""
    limits = (*limit, math.inf, math.inf)
    return Split(mode, theta, (1, 2, 0, 0), (0, 1, 0, 0), limits, resources=NAMES, **more)


def test_sentence_says_what_limits_and_what_buys_nothing():
    # sync: 36 h / w alone, 6 GPUs: 6 workers, one server; a 7th worker would take 36 / 7 h = 5 h 9 min
    found = ServerSplit(problem((0, 0, 0, 0, 36 * HOUR)))
    assert split_sentence(found) == (
        "6 workers and 1 server finish in 6 h; equal numbers take as long; one more worker would take 5 h 9 min, but "
        "the limit on GPUs forbids it; one more server does not help."
    )


def test_sentence_where_the_best_lies_within_the_limit():
    # w + 36 / w hours: 6 workers; servers cost 1 h each: one; ESW takes all 40 GPUs: 40 + 40 + 0.9 = 80.9 h
    found = ServerSplit(problem((HOUR, HOUR, 0, 0, 36 * HOUR), (40, 200)))
    assert split_sentence(found) == (
        "6 workers and 1 server finish in 13 h; equal numbers take 3 d 9 h; one more of either does not help."
    )
    assert ServerSplit(problem((HOUR, HOUR, 0, 0, 36 * HOUR), (1, 200), most_servers=1)).best.workers == 1


def test_equal_numbers_may_be_best_and_both_kinds_may_be_forbidden():
    # one CPU each for 2 in all: 1 + 1; async 1 h / w + 1 h / p
    tight = Split("async", (0, 0, HOUR, HOUR), (0, 1, 0, 0), (0, 1, 0, 0), (9, 2, 9, 9), resources=NAMES)
    assert split_sentence(ServerSplit(tight)) == (
        "1 worker and 1 server finish in 2 h; equal numbers are the best here; one more of either would save up to "
        "30 min, but the limit on CPUs forbids it."
    )


def test_a_difference_that_is_not_seen_in_the_time_buys_nothing():
    # 59 min 0 s with one worker, 58.6 min with two: both are written 59 min
    almost = problem((0, 0, 58.2 * 60, 0, 0.8 * 60), (1, 9))
    assert one_more(ServerSplit(almost)) == "one more of either does not help"


@given(whole_problems())
@settings(max_examples=100, deadline=None)
def test_choices_are_allowed_and_the_best_is_no_longer_than_the_others(drawn):
    found = ServerSplit(drawn)
    for choice in found.choices.values():
        assert found.why_not(choice.workers, choice.servers) == ""
        assert choice.time >= found.best.time * (1 - 1e-9)
    table = split_table(found)
    fits = table[table["forbidden by"] == ""]
    if not found.is_cut:
        assert fits["time (s)"].min() == pytest.approx(found.best.time)
    assert sum(found.parts) == pytest.approx(found.best.time)
    assert min(found.parts) >= -1e-9 * found.best.time
    assert split_sentence(found).endswith(".")


@given(real_problems())
@settings(max_examples=60, deadline=None)
def test_times_by_workers_are_the_least_over_servers(drawn):
    found = ServerSplit(drawn)
    workers, servers, times_s = width_times(found)
    assert times_s.min() >= found.best.time * (1 - 1e-9)
    for place in range(0, len(workers), max(1, len(workers) // 5)):
        width = int(workers[place])
        beside = [p for p in range(1, drawn.servers_most + 1) if drawn.feasible(width, p)]
        assert times_s[place] == pytest.approx(min(drawn.time_of(width, p) for p in beside))
        assert servers[place] in beside


def test_window_is_all_of_a_small_table_and_holds_the_marks_of_a_large_one():
    small = ServerSplit(problem((0, 0, 0, 0, HOUR), (6, 20)))
    workers, servers = small.window
    assert (workers.tolist(), servers.tolist()) == (list(range(1, 7)), list(range(1, 19)))
    assert not small.is_cut
    # w + 3600 / w: 60 workers; servers bring nothing: one. ESW takes 100 of each, far away
    large = ServerSplit(problem((1, 1, 0, 0, 3600), (200, 300)))
    workers, servers = large.window
    assert (len(workers), len(servers)) == (MOST_CELLS, MOST_CELLS)
    assert large.in_window(large.best)
    assert not large.in_window(large.equal)
    assert large.is_cut


def test_window_at_the_end_of_the_numbers_is_as_large_as_elsewhere():
    # every worker helps: 36, the last one; ESW 30 of each
    found = ServerSplit(problem((0, 1, 0, 0, 36 * HOUR), (36, 90)))
    assert (found.best.workers, found.equal.workers) == (36, 30)
    assert found.window[0].tolist() == list(range(17, 37))


def test_widths_of_the_job_forbid_cells_and_move_the_rules():
    # 36 / w with at most 2 workers to a server and at least 3 workers; 6 GPUs: 6 + 3
    found = ServerSplit(problem((0, 1, 0, 0, 36 * HOUR)), Widths(3, 2.0))
    assert (found.best.workers, found.best.servers) == (6, 3)
    assert found.why_not(2, 5) == "at least 3 workers"
    assert found.why_not(6, 2) == "at most 2 workers for each server"
    assert found.why_not(7, 4) == "limit on GPUs"
    assert width_times(found)[0].tolist() == [3, 4, 5, 6]
    assert width_times(found)[1].tolist() == [2, 2, 3, 3]
    with pytest.raises(InputError, match="7 workers and 4 servers, the fewest the job may have, exceed its limit"):
        ServerSplit(problem((0, 1, 0, 0, 1)), Widths(7, 2.0))


def test_used_share_names_the_resource_that_is_nearest_to_its_limit():
    found = ServerSplit(problem((0, 1, 0, 0, 36 * HOUR), (8, 20)))  # 8 workers, 1 server: 8 of 8 GPUs, 17 of 20 CPUs
    assert found.used == (1.0, "GPUs")
    assert ServerSplit(problem((1, 1, 0, 0, 1), (math.inf, math.inf))).used == (0.0, "")


def test_servers_that_can_be_spared_are_told():
    # 10 h of computing with one worker and 0.01 h / p of transfers: one server is 0.1% longer than ten
    found = ServerSplit(problem((0, 0, 10 * HOUR, 0.01 * HOUR, 0), (1, 12)))
    assert found.best.servers == 10
    assert enough_servers(found) == "1 server beside as many workers takes less than 0.5% longer."
    assert enough_servers(ServerSplit(problem((0, 0, 0, HOUR, 0), (1, 12)))) == ""


JOBS = training((0, 10, 2, 1), (0, 10, 2, 1))


@pytest.mark.parametrize("updates", ["sync", "async"])
def test_a_row_becomes_its_problem(updates):
    # a step takes 6 / w + 1 + w / p: 10 steps of sync with 2 + 1: 10 (3 + 1 + 2); async over w
    found = split_of(JOBS, updates, 0, machines(1, gpus=4, cpus=32.0))
    assert found.problem.time_of(2, 1) == pytest.approx(60.0 if updates == "sync" else 30.0)
    assert found.problem.time_of(3, 2) == pytest.approx(10 * (2 + 1 + 1.5) / (1 if updates == "sync" else 3))
    assert found.problem.workers_most == 4  # what the cluster has
    assert sum(found.parts) == pytest.approx(found.best.time)


def test_rows_without_servers_or_times_say_so():
    with pytest.raises(InputError, match="has no times of a training step"):
        split_of(training((0, 10, 2, 1), batch_s=[0.0], step_s=[0.0], transfer_s=[0.0]), "sync", 0)
    alone = training((0, 10, 2, 1)).with_columns(servers=[0])
    with pytest.raises(InputError, match="has no parameter servers"):
        split_of(alone, "sync", 0)
    with pytest.raises(InputError, match=r"GPUs: one worker and one server need 1 together; the limit is 0\.5"):
        split_of(training((0, 10, 2, 1), limit_gpus=[0.5]), "sync", 0)


WORTH = {"utility_1": [10.0, 10.0], "utility_2": [5.0, 5.0], "utility_3": [2.0, 2.0]}


def test_worth_by_hand_and_units_in_which_it_is_gone():
    jobs = training((0, 1000, 2, 1), (0, 1000, 2, 1), **WORTH)
    hours, seconds = SimulationRules(utility_unit_s=HOUR), SimulationRules(utility_unit_s=1.0)
    assert worth_at(jobs, hours, 0, 2 * HOUR) == pytest.approx(5.0)
    assert worthless_words(jobs, hours, "sync", 0, HOUR) == ""
    time_s = split_of(jobs, "sync", 0).best.time
    assert time_s > 1000
    assert worthless_words(jobs, seconds, "sync", 0, time_s) == (
        "Every job is worth 0 in this time unit (seconds): use hours."
    )
    long = training((0, 200_000, 2, 1), (0, 200_000, 2, 1), **WORTH)
    time_s = split_of(long, "sync", 0).best.time
    assert worthless_words(long, hours, "sync", 0, time_s).endswith("(hours): use days.")
    endless = training((0, 1e9, 2, 1), (0, 1e9, 2, 1), **WORTH)
    time_s = split_of(endless, "sync", 0).best.time
    assert "and in days too" in worthless_words(endless, hours, "sync", 0, time_s)


def test_one_worthless_job_among_others_is_called_one():
    jobs = training((0, 1_000_000, 2, 1), (0, 10, 2, 1), **WORTH)
    time_s = split_of(jobs, "sync", 0).best.time
    assert worthless_words(jobs, SimulationRules(), "sync", 0, time_s) == (
        "This job is worth 0 when it is done, in hours; others of the scenario are worth more."
    )
    assert worthless_words(training((0, 10, 2, 1)), SimulationRules(), "sync", 0, 1e9) == ""


def test_no_limit_is_told():
    free = problem((1, 1, 0, 0, 1), (math.inf, math.inf))
    assert unlimited_words(free) == (
        "Nothing limits the workers and servers of this job: up to 1,000 were tried. Set a limit."
    )
    half = Split("sync", (1, 1, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (4, np.inf, np.inf, np.inf), resources=NAMES)
    assert unlimited_words(half).startswith("Nothing limits the servers of")
    assert unlimited_words(problem((1, 1, 0, 0, 1))) == ""
