
import numpy as np
import pytest

from dlsched.policies.gpuaas.exact import solve_exact
from dlsched.policies.gpuaas.instance import objective, violations
from tests.support.gpuaas_oracle import least_cost, random_instance

SHAPES = [(1, 1), (2, 2), (3, 2), (4, 2), (3, 3), (2, 3), (4, 1)]


@pytest.mark.parametrize("staying", [False, True])
@pytest.mark.parametrize("exactly", [False, True])
def test_the_optimum_is_that_of_enumeration(exactly, staying):
    rng = np.random.default_rng(7)
    for round_ in range(60):
        jobs, nodes = SHAPES[round_ % len(SHAPES)]
        gpus = 2 if jobs * nodes > 8 else 3
        families = int(rng.integers(1, 3))
        instance = random_instance(
            rng, jobs=jobs, nodes=nodes, families=families, gpus=gpus, staying=staying, exactly=exactly
        )
        solved, best = solve_exact(instance), least_cost(instance)
        if not np.isfinite(best):
            assert (solved.status, solved.schedule) == ("infeasible", None)
            continue
        assert solved.schedule is not None
        assert solved.status == "optimal"
        assert violations(instance, solved.schedule) == []
        assert solved.objective == objective(instance, solved.schedule)
        assert solved.objective == pytest.approx(best, rel=1e-6, abs=1e-9), round_
        assert solved.bound <= best + 1e-9
