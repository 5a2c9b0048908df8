import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.policies.rolling_horizon.problem import LEAST_REMAINING, Problem, objective_of, of, progress, violations


def test_the_published_rate_at_powers_of_two():
    assert of([1.0], 16, [1, 2, 4, 8, 16]).rate[0] == pytest.approx([1, 1.6, 2.56, 4.096, 6.5536])


def test_widths_outside_a_jobs_limits_are_not_legal_and_give_nothing():
    problem = of([1.0, 1.0], 16, [4, 1, 2, 2], min_nodes=[2, 1], max_nodes=[4, 3])
    assert problem.widths.tolist() == [1, 2, 4]
    assert problem.legal.tolist() == [[False, True, True], [True, True, False]]
    assert (problem.rate[~problem.legal] == 0).all()
    assert problem.smallest.tolist() == [1, 0]
    assert problem.fastest.tolist() == [2, 1]


def test_progress_is_cumulative_and_ends_with_the_job():
    # one node does half a node-hour in half an hour; two do 0.8; the job has 1 node-hour left
    problem = of([1.0, 4.0], 4, [1, 2], steps=3, step_h=0.5)
    plan = np.array([[1, 2, 2], [2, 1, 1]])
    assert progress(problem, plan) == pytest.approx(np.array([[0.5, 1.0, 1.0], [0.2, 0.325, 0.45]]))
    assert objective_of(problem, plan) == pytest.approx(2.5 + 0.975)


def test_early_progress_counts_more():
    problem = of([10.0], 4, [1, 4], steps=2, step_h=0.5)
    assert objective_of(problem, np.array([[4, 1]])) > objective_of(problem, np.array([[1, 4]]))


def test_almost_nothing_left_counts_as_the_least():
    assert of([1e-9, 2.0], 2, [1]).remaining.tolist() == [LEAST_REMAINING, 2.0]


def test_what_is_wrong_with_a_plan_is_named():
    problem = of([1.0, 1.0], 3, [1, 2], steps=2, max_nodes=[1, 2])
    assert violations(problem, np.array([[1, 1], [2, 1]])) == []
    assert violations(problem, np.array([[1, 2], [1, 2]])) == [
        "job 0 has 2 nodes at step 1, which is not legal",
        "4 nodes are in use at step 1 of 3",
    ]
    assert violations(problem, np.array([[0, 1], [1, 1]])) == ["job 0 has 0 nodes at step 0, which is not legal"]


@pytest.mark.parametrize("shape", [(2, 1), (2, 3), (1, 2), (3, 2), (2,), (0, 2)])
def test_a_plan_of_another_shape_is_no_plan(shape):
    problem = of([1.0, 1.0], 4, [1, 2], steps=2)
    assert violations(problem, np.ones(shape, dtype=np.int64)) == [f"the plan has the shape {shape}, not (2, 2)"]


@given(
    left=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=5),
    picks=st.lists(st.integers(0, 2), min_size=15, max_size=15),
    more=st.integers(0, 14),
)
def test_more_nodes_never_make_a_plan_worth_less(left, picks, more):
    problem = of(left, 100, [1, 2, 4], steps=3)
    plan = 2 ** np.array(picks)[: 3 * len(left)].reshape(len(left), 3)
    done = progress(problem, plan)
    assert (np.diff(done, axis=1) >= 0).all()
    assert ((done > 0) & (done <= 1)).all()
    wider = plan.copy()
    wider.flat[more % wider.size] = 4
    assert objective_of(problem, wider) >= objective_of(problem, plan)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"remaining": [1.0, 0.0]}, "remaining, job 1: must be a positive number of node-hours, got 0"),
        ({"remaining": [-1.0, 1.0]}, "remaining, job 0"),
        ({"remaining": [np.nan, 1.0]}, "remaining, job 0"),
        ({"widths": []}, "widths: must be ascending numbers of nodes from 1 on"),
        ({"widths": [0, 1]}, "widths"),
        ({"nodes": -1}, "nodes: must be at least 0, got -1"),
        ({"steps": 0}, "steps: must be at least 1, got 0"),
        ({"step_h": 0.0}, "step_h: must be a positive number of hours, got 0"),
        ({"min_nodes": [1, 1, 1]}, "min_nodes: must have 2 entries, one for each job, got 3"),
        ({"max_nodes": [1]}, "max_nodes: must have 2 entries, one for each job, got 1"),
    ],
)
def test_bad_values_are_explained(change, message):
    with pytest.raises(InputError, match=message):
        of(**({"remaining": [1.0, 2.0], "nodes": 4, "widths": [1, 2]} | change))


@pytest.mark.parametrize(
    ("rate", "legal"), [([[1.0]], [[True, True]]), ([[1.0, -1.0]], [[True, True]]), ([[1.0, 2.0]], [[True, False]])]
)
def test_rates_that_do_not_suit_the_widths_are_refused(rate, legal):
    with pytest.raises(InputError, match="rate"):
        Problem(np.ones(1), np.array([1, 2]), np.array(legal), np.array(rate), 4, 5, 1 / 12)


@pytest.mark.parametrize("plan", [np.ones((1, 2), dtype=int), np.full((2, 2), 3)])
def test_plans_of_another_shape_or_with_other_widths_have_no_value(plan):
    with pytest.raises(InputError, match="plan"):
        objective_of(of([1.0, 1.0], 4, [1, 2, 4], steps=2), plan)
