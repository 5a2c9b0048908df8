from concurrent.futures import ThreadPoolExecutor

import pytest

from dlsched.domain.scenario import SimulationRules
from dlsched.store import Store
from dlsched.studies.batch import run_batch, to_frame
from dlsched.studies.simulation import simulate
from tests.support.runs_for_store import small_scenario

ENGINE = SimulationRules(restart_s=1.0, estimate_error=0.5)  # restarts: beyond the kernel; errors: draws that differ


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor(1)])
def test_policies_times_seeds_in_the_order_given(pool):
    told = []
    scenario = small_scenario(12, options=ENGINE)
    draws = run_batch(
        scenario, [("sjf", {}), ("fifo", {})], [2, 0], pool, progress=lambda share, text: told.append((share, text))
    )
    assert [(draw.policy, draw.seed) for draw in draws] == [("sjf", 2), ("sjf", 0), ("fifo", 2), ("fifo", 0)]
    expected = simulate(scenario, "sjf", seed=2).metrics
    assert draws[0].metrics is not None
    assert draws[0].metrics["jct_mean"] == expected["jct_mean"]
    assert told[-1] == (1.0, "4 of 4 runs")
    frame = to_frame(draws)
    assert frame["jobs"].tolist() == [12] * 4
    assert frame["violations"].sum() == 0
    if pool is not None:
        pool.shutdown()


def test_a_draw_that_fails_does_not_stop_the_others():
    good, bad = run_batch(small_scenario(options=ENGINE), [("fifo", {}), ("priority", {})], [0])
    assert good.metrics is not None
    assert bad.metrics is None
    assert "needs priorities" in bad.error


def test_what_the_store_knows_is_not_computed_again(tmp_path, monkeypatch):
    scenario = small_scenario(options=ENGINE)
    with Store(tmp_path / "s.duckdb") as store:
        store.save_run(simulate(scenario, "fifo").record())
        monkeypatch.setattr("dlsched.studies.batch.measure", lambda *_: pytest.fail("computed again"))
        (draw,) = run_batch(scenario, [("fifo", {})], [0], store=store)
    assert draw.metrics is not None
    assert draw.metrics["completed"] == 4
