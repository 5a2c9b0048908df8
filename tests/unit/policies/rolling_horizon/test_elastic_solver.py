import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.policies.rolling_horizon import columns
from dlsched.policies.rolling_horizon.enumeration import enumerate_plans
from dlsched.policies.rolling_horizon.problem import PROVEN, Problem, objective_of, of, violations
from dlsched.policies.rolling_horizon.solver import COLUMNS_FROM, METHODS, infeasible_because, solve
from tests.support.elastic_states import drawn_state

EXACT = tuple(method for method in METHODS if method != "enumerate")


def check(problem, solution):
    """A plan that fits, worth what it says, and a bound that is not below."""
    assert violations(problem, solution.plan) == []
    assert solution.objective == objective_of(problem, solution.plan)
    assert solution.bound >= solution.objective
    assert solution.nodes_now.tolist() == solution.plan[:, 0].tolist()
    assert solution.status == "optimal"
    assert solution.bound - solution.objective <= PROVEN * max(1.0, abs(solution.bound))


def test_all_methods_find_what_enumeration_finds():
    rng = np.random.default_rng(5)
    feasible = 0
    for case in range(60):
        jobs, widths, steps = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        problem = drawn_state(rng, jobs, int(rng.integers(jobs, 6 * jobs + 1)), widths, steps)
        if infeasible_because(problem):
            continue
        feasible += 1
        best = solve(problem, "enumerate")
        check(problem, best)
        for method in EXACT:
            found = solve(problem, method)
            check(problem, found)
            assert found.objective == pytest.approx(best.objective, abs=1e-9), (case, method)
    assert feasible >= 40


def test_enumeration_by_hand():
    # 3 nodes, one step: 2 + 1 nodes; 0.8 of 1 and 0.5 of 2 beat 0.5 of 1 and 0.8 of 2
    plan, value = enumerate_plans(of([1.0, 2.0], 3, [1, 2], steps=1, step_h=0.5))
    assert plan.tolist() == [[2], [1]]
    assert value == pytest.approx(0.8 + 0.25)


def test_prices_and_x_model_agree_on_hundreds_of_states():
    rng = np.random.default_rng(11)
    used = {"optimal": 0, "infeasible": 0}
    for case in range(200):
        jobs = int(rng.integers(1, 10))
        problem = drawn_state(rng, jobs, int(rng.integers(jobs, 5 * jobs + 1)), steps=int(rng.integers(2, 6)))
        one, other = solve(problem, "columns"), solve(problem, "x-model")
        used[one.status] += 1
        assert one.status == other.status, case
        if one.status == "optimal":
            check(problem, one)
            check(problem, other)
            assert one.objective == pytest.approx(other.objective, abs=1e-6), case
    assert used["optimal"] >= 130
    assert used["infeasible"] >= 5


@pytest.mark.parametrize(("jobs", "nodes"), [(15, 40), (30, 70), (60, 190)])
def test_larger_states_are_proven_and_equal_the_x_model(jobs, nodes):
    problem = drawn_state(np.random.default_rng(jobs), jobs, nodes)
    found = solve(problem)
    check(problem, found)
    assert found.method == "columns"
    assert found.objective == pytest.approx(solve(problem, "x-model").objective, abs=1e-6)


def test_the_printed_form_agrees_on_ten_jobs():
    problem = drawn_state(np.random.default_rng(2), 8, 20, widths=4, steps=3)
    check(problem, printed := solve(problem, "printed"))
    assert printed.objective == pytest.approx(solve(problem).objective, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_jobs_are_proven(seed):
    problem = drawn_state(np.random.default_rng(seed), 1_000, 2_500)
    check(problem, solve(problem))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), jobs=st.integers(1, 20), extra=st.integers(1, 8))
def test_more_nodes_are_never_worth_less_and_the_order_of_jobs_does_not_matter(seed, jobs, extra):
    left = np.exp(np.random.default_rng(seed).normal(0, 1.5, jobs))
    few, more = (solve(of(left, jobs + n, [1, 2, 4, 8])) for n in (extra, extra + 1))
    assert more.objective >= few.objective - PROVEN * max(1.0, few.bound)
    turned = solve(of(left[::-1], jobs + extra, [1, 2, 4, 8]))
    assert turned.objective == pytest.approx(few.objective, rel=PROVEN, abs=PROVEN)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_problem_has_the_same_answer(method):
    problem = of([0.2, 3.0, 1.0], 8, [1, 2, 4], steps=3)
    assert solve(problem, method).plan.tolist() == solve(problem, method).plan.tolist()


def test_equal_jobs_in_numbers_are_proven():
    found = solve(problem := of(np.full(40, 2.0), 100, [1, 2, 4, 8, 16]))
    check(problem, found)


def test_equal_jobs_with_limits_of_their_own_are_proven():
    # twelve kinds of five jobs each, in turns: choosing for every job by itself takes minutes and proves nothing
    low = np.tile([1, 2, 4], 20)
    high = low * np.tile(np.repeat([1, 2, 4, 8], 3), 5)
    found = solve(problem := of(np.ones(60), 255, [1, 2, 4, 8, 16, 32], min_nodes=low, max_nodes=high))
    check(problem, found)
    assert found.method == "columns"


@settings(max_examples=40, deadline=None)
@given(
    kinds=st.lists(st.tuples(st.sampled_from([0.05, 0.2, 1.0, 3.0]), st.sampled_from([1, 2])), min_size=1, max_size=2),
    each=st.integers(1, 3),
    spare=st.integers(0, 6),
    data=st.data(),
)
def test_equal_jobs_together_are_worth_what_enumeration_finds(kinds, each, spare, data):
    order = data.draw(st.permutations([kind for kind in kinds for _ in range(each)]))
    left, low = zip(*order, strict=True)
    problem = of(left, sum(low) + spare, [1, 2, 4], steps=2 if len(order) < 5 else 1, min_nodes=low)
    found = solve(problem, "columns")
    check(problem, found)
    assert found.objective == pytest.approx(solve(problem, "enumerate").objective, abs=1e-9)


def test_of_equal_jobs_the_first_gets_the_most_nodes():
    # 10 nodes for three jobs that never end here: 4, 4 and 2 of them do the most
    assert solve(of([50.0] * 3, 10, [1, 2, 4]), "columns").nodes_now.tolist() == [4, 4, 2]


def test_rates_need_not_be_the_published_ones():
    # job 0 is slower with 4 nodes than with 2, job 1 cannot run on 1
    legal = np.array([[True, True, True], [False, True, True]])
    rate = np.array([[1.0, 1.9, 1.2], [0.0, 1.0, 1.1]])
    problem = Problem(np.array([5.0, 5.0]), np.array([1, 2, 4]), legal, rate, 6, 2, 0.5)
    assert solve(problem).plan.tolist() == [[2, 2], [4, 4]]
    assert solve(problem).method == "direct"
    tight = Problem(problem.remaining, problem.widths, legal, rate, 5, 2, 0.5)
    best = solve(tight, "enumerate").objective
    assert [solve(tight, method).objective for method in EXACT] == pytest.approx([best] * len(EXACT))


@pytest.mark.parametrize(
    ("nodes", "plan"),
    [(3, [[1, 1], [2, 2]]), (8, [[4, 4], [4, 4]]), (9, [[4, 4], [4, 4]])],
)
def test_no_solver_is_needed_where_the_answer_is_plain(nodes, plan):
    problem = of([5.0, 5.0], nodes, [1, 2, 4], steps=2, min_nodes=[1, 2])
    found = solve(problem)
    check(problem, found)
    assert (found.method, found.plan.tolist()) == ("direct", plan)
    assert found.objective == pytest.approx(solve(problem, "enumerate").objective)


def test_nobody_is_nothing():
    for method in METHODS:
        found = solve(of([], 4, [1, 2]), method)
        assert (found.status, found.objective, found.bound, found.plan.shape) == ("optimal", 0.0, 0.0, (0, 5))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"min_nodes": [1, 3], "max_nodes": [4, 3]}, r"job 1 has no legal number of nodes: none of \[1, 2, 4\]"),
        ({"min_nodes": [4, 2]}, "the smallest legal numbers of nodes of all jobs sum to 6, but the pool has 5"),
        ({"nodes": 0}, "sum to 2, but the pool has 0"),
    ],
)
def test_infeasible_says_which_job_or_which_limit(method, change, reason):
    given = {"remaining": [1.0, 1.0], "nodes": 5, "widths": [1, 2, 4]} | change
    found = solve(of(**given), method)
    assert (found.status, found.objective, found.bound) == ("infeasible", -np.inf, -np.inf)
    assert not found.plan.any()
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(found.reason)


def test_methods_that_cannot_do_it_say_so():
    with pytest.raises(InputError, match="method 'magic': is not known; known: auto, x-model"):
        solve(of([1.0], 4, [1]), "magic")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="checks at most 2,000,000 plans"):
        solve(of(np.ones(12), 40, [1, 2, 4, 8]), "enumerate")
    with pytest.raises(InputError, match="checks at most 2,000,000 plans"):
        solve(of(np.ones(4), 40, [1, 2, 4, 8]), "enumerate")
    with pytest.raises(InputError, match="too many combinations of jobs, widths and steps"):
        solve(of(np.ones(30), 40, [1, 2, 4, 8], steps=60), "columns")


def test_where_prices_stop_short_the_x_model_takes_over(monkeypatch):
    monkeypatch.setattr(columns, "MOST_PLANS", 1)
    problem = drawn_state(np.random.default_rng(3), COLUMNS_FROM + 2, 40)
    found = solve(problem)
    check(problem, found)
    assert found.method == "columns, then x-model"


def test_many_steps_go_to_the_x_model():
    problem = of(np.full(COLUMNS_FROM, 0.2), 17, [1, 2, 4, 8, 16], steps=40)
    found = solve(problem)
    assert found.method == "x-model"
    check(problem, found)


def test_a_bound_is_a_bound_and_feasible_is_not_called_optimal(monkeypatch):
    best = solve(problem := drawn_state(np.random.default_rng(3), 40, 110))
    check(problem, best)
    monkeypatch.setattr(columns, "MOST_PLANS", 1)
    short = solve(problem, "columns")
    assert short.status == "feasible"
    assert short.objective < best.objective <= best.bound < short.bound
