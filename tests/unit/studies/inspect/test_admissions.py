"""Intervals that are worked out again: as they were carried out, and the others beside them checked one by one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Absence
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies import registry
from dlsched.studies.inspect.admissions.answer import Admission, Admissions, busiest, counts_of
from dlsched.studies.inspect.look_ahead.answer import decisions_of
from dlsched.studies.simulation import Run, simulate
from dlsched.testing.scenarios import many
from tests.support.admission_runs import POLICIES, at, batches, window
from tests.support.known import known
from tests.support.server_scenarios import machines, training, with_servers


def interrupted() -> Scenario:
    """Return jobs on three unequal machines, one of which goes away for a while: its jobs come again."""
    given = many(24)
    away = (Absence(node=0, start_s=900.0, end_s=2400.0),)
    cluster = given.cluster.model_copy(update={"absences": away})
    return given.replace(cluster=cluster, options=given.options.model_copy(update={"placement": "pool"}))


CASES: dict[str, tuple[Scenario, str, dict[str, Any]]] = {
    **{policy: (batches(), policy, {}) for policy in POLICIES},
    "smd, rounding": (batches(), "smd", {"inner": "algorithm-1"}),
    "smd, first come": (batches(), "smd", {"admission": "first-come"}),
    "esw, scheme": (batches(), "esw", {"admission": "knapsack", "knapsack": "frieze-clarke"}),
    **{f"{policy}, nodes": (interrupted(), policy, {"interval_s": 300.0}) for policy in POLICIES},
}
each = pytest.mark.parametrize("case", CASES)


def both(case: str) -> tuple[Run, list[Admission]]:
    given, policy, params = CASES[case]
    run = simulate(given, policy, params)
    return run, window(given, policy, params, 1, 10_000)


@each
def test_every_interval_comes_again_as_it_was_carried_out(case):
    run, found = both(case)
    decisions = decisions_of(run.decisions)
    assert [one.number for one in found] == decisions["number"].tolist()
    assert [one.time_s for one in found] == decisions["time_s"].tolist()
    np.testing.assert_array_equal([one.value for one in found], decisions["objective"])
    counts = counts_of(decisions, run.jobs, run.segments, run.waits)
    pieces, jobs = run.segments.groupby("piece").agg("first"), run.jobs.set_index("row")
    gangs = run.segments.groupby("piece")[["workers", "servers"]].sum()
    for one, (_, told) in zip(found, counts.iterrows(), strict=True):
        starts = pieces[np.isclose(pieces["start_s"], one.time_s)]
        stored = {
            int(row): tuple(gangs.loc[piece].tolist()) for piece, row in zip(starts.index, starts["row"], strict=True)
        }
        ours = {
            row: (workers, servers)
            for row, fate, workers, servers in zip(one.row, one.fate, one.workers, one.servers, strict=True)
            if fate == "in"
        }
        assert ours == stored
        left = jobs[(jobs["status"] == "rejected") & np.isclose(jobs["left_s"], one.time_s)]
        assert {row for row, fate in zip(one.row, one.fate, strict=True) if fate == "rejected"} == set(left.index)
        assert [one.count(fate) for fate in ("in", "carried over", "rejected")] == told.iloc[2:].tolist()
        runs = pieces[(pieces["start_s"] < one.time_s - 1e-6) & (pieces["end_s"] > one.time_s + 1e-6)]
        assert {row for row, fate in zip(one.row, one.fate, strict=True) if fate == "running"} == set(runs["row"])


@each
def test_what_is_reserved_and_used_is_what_jobs_block_and_hold_and_never_more_than_there_is(case):
    _, found = both(case)
    for one in found:
        used, reserved = one.after()
        runs = np.array([fate in ("in", "running") for fate in one.fate])
        for ours, given in ((used, one.holds), (reserved, one.blocks)):
            table = np.array(given).reshape(len(one.jobs), len(one.resources))
            np.testing.assert_allclose(ours, table[runs].sum(axis=0), rtol=1e-9, atol=1e-6)
        capacity = np.array(one.capacity)
        assert (used <= reserved + 1e-6).all()
        if "nodes" not in case:  # where a machine goes away, jobs may block more than is left
            assert (reserved <= capacity * (1 + 1e-9) + 1e-6).all()
        share = one.used_of_reserved()
        assert share is None or 0 < share <= 1 + 1e-9


@each
def test_no_choice_beside_is_worth_more_than_the_bound_of_its_rule(case):
    _, found = both(case)
    for one in found:
        assert len(one.besides) == 6
        own = one.beside(one.rule, one.admission)
        admitted = tuple(row for row, fate in zip(one.row, one.fate, strict=True) if fate == "in")
        assert (own.rows, own.worth) == (admitted, one.value)
        for beside in one.besides:
            bound = known(one.beside(beside.rule, "knapsack").bound or 0.0)
            if beside.admission == "knapsack" or "nodes" not in case:
                assert known(beside.worth) <= bound * (1 + 1e-9) + 1e-9
        if one.bound is not None:
            assert known(one.value) <= one.bound


def test_the_two_admissions_by_hand():
    # one machine of 9 GPUs, limits of 5, 5 and 3; a step takes 6 / w + 1 + w / p; worth 1, 10, 100 whenever they end.
    # In order of submission a and then nobody, as b does not fit beside it; the knapsack takes b and c.
    jobs = training(
        (0, 10, 1, 1), (0, 10, 1, 1), (0, 10, 1, 1), limit_gpus=[5.0, 5.0, 3.0], utility_1=[1.0, 10.0, 100.0],
        utility_2=[1.0] * 3, utility_3=[1e4] * 3,
    )  # fmt: skip
    one = at(with_servers(jobs, machines(gpus=9), placement="pool"), "esw", {}, 1)
    assert one.resources == ("gpus", "cpus")
    assert one.capacity == (9.0, 32.0)
    assert one.fate == ("in", "carried over", "carried over")
    assert one.reason == ("admitted", "not enough GPUs left", "behind the first job that does not fit")
    assert one.value == pytest.approx(1)
    assert one.bound == pytest.approx(110)
    assert one.beside("esw", "knapsack").rows == (1, 2)
    # ESW: five workers and five servers hold 5 GPUs and 5 x 2 + 5 CPUs; a step takes 6 / 5 + 1 + 1 s
    assert (one.workers, one.servers) == ((5, 5, 3), (5, 5, 3))
    assert one.holds[0] == (5.0, 15.0)
    assert one.blocks[0] == (5.0, 15.0)
    assert one.time_s_of[0] == pytest.approx(10 * (6 / 5 + 1 + 1))
    # in parts: c and b whole leave one GPU for a fifth of a
    assert one.price == pytest.approx((0.2, 0.0))
    assert one.scarcest() == 0
    share, of = one.largest_share()
    assert share.tolist() == pytest.approx([5 / 9, 5 / 9, 3 / 9])
    assert of.tolist() == [0, 0, 0]
    assert one.worth_per_percent().tolist() == pytest.approx([9 / 500, 90 / 500, 900 / 300])
    assert one.room_prices().tolist() == pytest.approx([1.0, 1.0, 0.6])
    assert not one.worthless


def test_a_unit_of_time_in_which_nothing_is_worth_anything_is_told():
    given = batches()
    seconds = given.replace(options=given.options.model_copy(update={"utility_unit_s": 1.0}))
    one = at(seconds, "smd", {}, 1)
    assert one.worthless
    assert known(one.value) < 1e-9
    assert not at(given, "smd", {}, 1).worthless


def test_jobs_without_a_utility_function_have_no_worth():
    jobs = training((0, 10, 1, 1), (0, 10, 1, 1), limit_gpus=[5.0, 5.0], utility_1=[np.nan, 10.0],
                    utility_2=[np.nan, 1.0], utility_3=[np.nan, 1e4])  # fmt: skip
    one = at(with_servers(jobs, machines(), placement="pool"), "smd", {}, 1)
    assert one.worth[0] is None
    assert known(one.worth[1]) == pytest.approx(10.0)
    assert one.fate == ("carried over", "in")
    assert np.isnan(one.worth_per_percent()[0])


def test_one_interval_is_the_same_alone_and_in_a_stretch():
    for case in ("smd", "smd, rounding"):
        given, policy, params = CASES[case]
        assert at(given, policy, params, 3) == window(given, policy, params, 1, 4)[2]


def test_a_computation_answers_a_stretch_and_tells_how_far_it_is():
    given = batches()
    asked = {"scenario": given.content_hash, "policy": "esw", "params": {}, "first": 2, "last": 3}
    told: list[tuple[float, str]] = []
    record = registry.compute("admissions", asked, lambda share, text: told.append((share, text)), subject=given)
    answer = Admissions.from_plain(json.loads(json.dumps(record.answer)))
    assert list(answer.decisions) == window(given, "esw", {}, 2, 3)
    assert told[-1] == (1.0, "interval 3 of 3")


def test_bad_questions_say_what_is_wrong():
    given = batches()
    asked = {"scenario": given.content_hash, "policy": "smd", "params": {}, "first": 1, "last": 1}
    assert window(given, "esw", {}, 999, 999) == []
    with pytest.raises(InputError, match="policy must be one of smd, esw, optimus"):
        registry.find("admissions").canonical(asked | {"policy": "fifo"})
    with pytest.raises(InputError, match="without its scenario"):
        registry.compute("admissions", asked)
    with pytest.raises(InputError, match="asks about scenario"):
        registry.compute("admissions", asked, subject=batches(jobs=5))


def test_the_busiest_interval_is_the_first_of_equals():
    counts = {"number": [1, 2, 3], "admitted": [1, 2, 3], "carried over": [4, 7, 2], "rejected": [0, 0, 4]}
    assert busiest(pd.DataFrame(counts)) == 2
