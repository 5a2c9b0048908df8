"""Fairness of two runs: by hand, over draws, and unchanged where the runs are equal."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.metrics.fairness_change import MEASURES, Fairness, fairness_change
from dlsched.metrics.stats.compare import Numbers
from tests.support.known import known

USERS = ["ann", "ann", "bob", "cat"]
METRICS: Numbers = {"fairness_p95": 1.5, "fairness_max": 4.0}


def table(wait_s: list[float], slowdown: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"user": USERS, "wait_s": wait_s, "slowdown": slowdown})


BEFORE = table([0, 2, 1, 4], [1, 3, 2, 5])  # users' mean waits 1, 1, 4; slowdowns 2, 2, 5
EVEN = table([2, 2, 2, 2], [3, 3, 3, 3])


def test_by_hand() -> None:
    found = fairness_change([(BEFORE, EVEN)], [(METRICS, {"fairness_p95": 1.2, "fairness_max": 4.0})], exact=True)
    jain, gini, worst = (found.of(key) for key in ("fairness_users_jain", "wait_gini", "wait_worst_to_median"))
    assert [known(one.baseline) for one in (jain, gini)] == pytest.approx([81 / 99, 1 / 3])
    assert (jain.other, jain.verdict) == (1, "better")
    assert (gini.other, gini.verdict) == (0, "better")
    assert (worst.baseline, worst.other, worst.change, worst.half_width) == (4, 1, -3, 0)
    assert known(found.of("fairness_p95").change) == pytest.approx(-0.3)
    assert found.of("fairness_max").verdict == "same"
    assert (jain.users_baseline, found.of("fairness_max").users_baseline) == (3, None)


def test_users_are_counted_in_each_run() -> None:
    without = BEFORE.assign(wait_s=[0, 2, np.nan, np.nan])
    found = fairness_change([(BEFORE, without)], [(METRICS, METRICS)])
    gini = found.of("wait_gini")
    assert (gini.users_baseline, gini.users_other) == (3, 1)
    assert (gini.other, gini.change, gini.verdict) == (None, None, "missing")
    assert found.of("fairness_users_jain").verdict == "same"


def test_draws_give_an_interval_and_one_without_a_number_none() -> None:
    pairs = [(BEFORE, BEFORE), (BEFORE, EVEN)]
    metrics: list[tuple[Numbers, Numbers]] = [(METRICS, METRICS), (METRICS, {"fairness_p95": None})]
    found = fairness_change(pairs, metrics)
    worst = found.of("wait_worst_to_median")
    assert (worst.other, worst.change, worst.verdict) == (2.5, -1.5, "not clear")
    assert known(worst.half_width) == pytest.approx(12.7062 * 1.5, rel=1e-5)
    assert found.of("fairness_p95").verdict == "missing"
    assert fairness_change(pairs[1:], metrics[:1]).of("wait_gini").verdict == "rough"


def test_jobs_without_users_leave_measures_over_jobs() -> None:
    bare = BEFORE.drop(columns="user")
    found = fairness_change([(bare, bare)], [(METRICS, METRICS)], exact=True)
    assert [one.verdict for one in found.measures] == ["missing"] * 3 + ["same"] * 2


@given(st.lists(st.lists(st.floats(0, 1e5), min_size=4, max_size=4), min_size=1, max_size=4))
def test_equal_runs_are_equally_fair(waits: list[list[float]]) -> None:
    pairs = [(run, run) for run in (table(wait_s, [1 + value for value in wait_s]) for wait_s in waits)]
    found = fairness_change(pairs, [(METRICS, METRICS)] * len(pairs), exact=len(pairs) == 1)
    assert [one.key for one in found.measures] == list(MEASURES)
    for one in found.measures:
        assert one.verdict == ("missing" if one.baseline is None else "same")
        assert one.change in (None, 0)


def test_an_answer_survives_json_and_draws_must_match() -> None:
    found = fairness_change([(BEFORE, EVEN)] * 2, [(METRICS, METRICS)] * 2, names=("A", "B"))
    assert Fairness.from_plain(json.loads(json.dumps(found.to_plain()))) == found
    with pytest.raises(InputError, match="got 1 and 2"):
        fairness_change([(BEFORE, EVEN)] * 2, [(METRICS, METRICS)])
    with pytest.raises(InputError, match="got 0 and 0"):
        fairness_change([], [])
