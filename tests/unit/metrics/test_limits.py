"""What bounds leave to gain, in words and over draws: by hand."""

from __future__ import annotations

import pytest

from dlsched.metrics.kpi import KPIS
from dlsched.metrics.limits import COST, LIMITS, all_limited, common_bound, limited, limited_runs
from dlsched.testing.bounds import LOWER, UPPER

TIME, LATE, UTILITY = LIMITS[:3]


def test_every_limit_has_a_number_and_a_bound_that_are_shown_alike():
    for limit in LIMITS:
        assert KPIS[limit.bound_key].kind == limit.kpi.kind
        assert limit.kpi.better == ("higher" if limit.most else "lower")
    assert {limit.key for limit in LIMITS} == {*LOWER, *UPPER}
    assert {limit.key for limit in LIMITS if limit.most} == set(UPPER)


@pytest.mark.parametrize(
    ("key", "value", "bound", "words"),
    [
        pytest.param("jct_mean", 7200.0, 5400.0, "could be up to 25% lower: no policy can complete these jobs in less "
                     "than 1 h 30 min on average", id="time"),
        pytest.param("tardiness_total", 36_000.0, 3_600.0, "could be up to 90% lower: no policy can end these jobs "
                     "with less than 1 h of lateness in all", id="lateness"),
        pytest.param("utility_total", 80.0, 100.0, "could be up to 25% higher: no policy can get more than 100 from "
                     "all jobs", id="utility, as a share of what there is"),
        pytest.param("utility_total", 10.0, 60.0, "could be up to 500% higher: no policy can get more than 60 from all "
                     "jobs", id="several times more"),
        pytest.param("total_cost", 200.0, 176.0, "could be up to 12% lower: no policy can do it for less than $176",
                     id="cost"),
        pytest.param("total_cost", 1000.0, 905.6, "could be up to 9.5% lower: no policy can do it for less than $906",
                     id="9.44% is more than 9.4%"),
        pytest.param("jct_mean", 60.0, 60.0 + 1e-9, "cannot be lower: no policy can complete these jobs in less "
                     "than 1 min on average", id="rounding is no gain"),
    ],
)  # fmt: skip
def test_words(key: str, value: float, bound: float, words: str):
    limit = next(limit for limit in LIMITS if limit.key == key)
    found = limited(limit, {key: value, f"{key}_bound": bound})
    assert found is not None
    assert found.words == words
    assert found.short == f"{found.room} (proven limit)"
    assert found.left >= 0


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        pytest.param(None, 5.0, id="no number"),
        pytest.param(5.0, None, id="no bound"),
        pytest.param(5.0, 0.0, id="a bound of 0 says nothing"),
        pytest.param(0.0, 0.0, id="nobody was late"),
    ],
)
def test_no_words_where_nothing_is_said(value: float | None, bound: float | None):
    assert limited(LATE, {"tardiness_total": value, "tardiness_total_bound": bound}) is None


def test_numbers_of_older_runs_have_no_bound():
    metrics = {"jct_mean": 10.0, "total_cost": 5.0, "total_cost_bound": 4.0}
    assert [found.limit for found in all_limited(metrics)] == [COST]


def test_runs_over_draws():
    def draw(value: float | None, bound: float | None) -> dict[str, float | None]:
        return {"jct_mean": value, "jct_mean_bound": bound}

    runs = limited_runs(
        TIME,
        [
            ("A", [draw(100, 50), draw(140, 70)]),
            ("B", [draw(90, 50), draw(110, None)]),
            ("C", [draw(1, 1), draw(None, 1)]),
        ],
    )
    assert [(run.name, run.value.mean, run.value.n, run.bound) for run in runs] == [
        ("A", 120, 2, 60),
        ("B", 100, 2, None),
    ]
    assert [run.left(TIME) for run in runs] == [0.5, None]
    assert limited_runs(TIME, [("A", [draw(5, 4)])], exact=True)[0].value.half_width == 0
    assert limited_runs(TIME, [("A", [draw(5, 4)])])[0].value.half_width is None
    assert limited_runs(TIME, [("A", [])]) == []


def test_a_line_for_all_only_where_all_have_the_same_bound():
    def bound_of(*bounds: float | None) -> float | None:
        draws = [(str(n), [{"jct_mean": 9.0, "jct_mean_bound": bound}]) for n, bound in enumerate(bounds)]
        return common_bound(limited_runs(TIME, draws))

    assert bound_of(5.0, 5.0 * (1 + 1e-12)) == 5.0
    assert bound_of(5.0, 5.1) is bound_of(5.0, None) is bound_of(None, 5.0) is bound_of() is None
