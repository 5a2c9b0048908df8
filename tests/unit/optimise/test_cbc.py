import numpy as np
import pytest

from dlsched.optimise.cbc import solve_with_cbc
from dlsched.optimise.milp import Milp
from tests.support.known import known


def test_random_programs_have_the_same_optimum_as_with_highs():
    rng = np.random.default_rng(4)
    for _ in range(10):
        model = Milp()
        whole = model.columns(rng.integers(-9, 9, 5).astype(float), upper=4.0, integer=True)
        part = model.columns(rng.uniform(-3, 3, 3), lower=-2.0, upper=3.0)
        columns = np.concatenate([whole, part])
        for _ in range(3):
            model.rows(np.zeros(8, dtype=int), columns, rng.integers(0, 5, 8), high=rng.integers(5, 30))
        model.rows([0, 0], part[:2], [1.0, -1.0], low=0.5, high=0.5)
        answer, other = solve_with_cbc(model), model.solve()
        assert answer.status == other.status == "optimal"
        assert answer.objective == pytest.approx(other.objective, abs=1e-6)
        assert answer.bound == answer.objective
        assert (known(answer.values)[whole] % 1 == 0).all()


def test_impossible_programs_are_said_to_be():
    model = Milp()
    model.rows([0], model.columns([1.0], upper=1.0, integer=True), 1.0, low=2.0)
    assert solve_with_cbc(model).status == "infeasible"
