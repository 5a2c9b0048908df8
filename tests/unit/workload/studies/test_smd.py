"""Jobs with parameter servers as in the SMD study: ranges, terms of a step, independence of the jobs."""

from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.workload import STEP_TERMS
from dlsched.sim.prepare import prepare
from dlsched.speed.pipeline import pipeline
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.registry import canonical, draw, drawn_scenario
from dlsched.workload.studies.smd import ServerJobsSpec, layers_of, sample_server_jobs, server_jobs_scenario


def spec(**changes: Any) -> dict[str, Any]:
    return {"kind": "server-jobs", **changes}


def made(seed: int, **changes: Any) -> Any:
    """Return the jobs; any column may be there."""
    return draw(spec(**changes), seed)


MANY = made(5, jobs=2000)


@pytest.mark.parametrize(
    ("column", "low", "high", "whole"),
    [
        ("work", 50, 200, True),
        ("gpus_per_worker", 0, 4, True),
        ("cpus_per_worker", 1, 10, True),
        ("mem_gib_per_worker", 2, 32, True),
        ("disk_gib_per_worker", 5, 10, True),
        ("cpus_per_server", 1, 10, True),
        ("mem_gib_per_server", 2, 32, True),
        ("disk_gib_per_server", 5, 10, True),
        ("worker_overhead_s", 3, 4, False),
        ("server_overhead_s", 0, 0.01, False),
        ("utility_1", 1, 100, False),
        ("utility_2", 4, 6, False),
        ("utility_3", 1, 15, False),
    ],
)
def test_ranges_of_section_v(column, low, high, whole):
    values = getattr(MANY, column)
    assert low <= values.min() <= low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) <= values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=0.05 * (high - low))
    assert ((values == np.floor(values)).all()) == whole


def test_limits_are_instances_and_hold_one_worker_and_one_server():
    pair = MANY.demand + MANY.server_demand
    assert (MANY.limit >= pair).all()
    instances = MANY.limit_cpus / 36
    held_by_instances = (instances == np.floor(instances)) & (instances >= 1) & (instances <= 20)
    assert held_by_instances.mean() > 0.99
    assert (MANY.workers == MANY.servers).all()
    assert (pair * MANY.workers[:, None] <= MANY.limit + 1e-9).all()
    assert ((pair * (MANY.workers[:, None] + 1)) > MANY.limit + 1e-9).any(axis=1).all()


@pytest.mark.parametrize("overlap", ["sequential", "wait-free", "priority"])
def test_terms_of_a_step_are_those_of_equations_4_and_5(overlap):
    asked: dict[str, Any] = {"jobs": 6, "overlap": overlap}
    layers = layers_of(ServerJobsSpec(**asked), 3)
    sync, lone = made(3, updates="sync", **asked), made(3, updates="async", **asked)
    for row, (name, one) in enumerate(layers.items()):
        eta = pipeline(one, overlap).eta
        assert sync.job_id[row] == name
        assert 10 <= len(one) <= 100
        assert sync.step_s[row] == pytest.approx(eta[1] * one.backward_s.sum())
        samples = sync.batch_s[row] / (eta[0] * one.forward_s.sum())
        mini_batch = (lone.step_s[row] - sync.step_s[row]) / (eta[0] * one.forward_s.sum())
        assert mini_batch == pytest.approx(round(mini_batch))
        assert 10 <= mini_batch < 100.5
        assert 1 - 1e-9 <= samples / mini_batch <= 100 + 1e-9
        # 30 to 575 MB over 5 to 20 Gbit/s, there and back
        assert 2 * eta[2] * 30 / 2500 <= sync.transfer_s[row] <= 2 * eta[2] * 575 / 625
        assert 0 <= lone.transfer_s[row] <= sync.transfer_s[row]
        assert lone.batch_s[row] == 0


def test_forward_times_of_a_mini_batch_make_a_batch_of_mini_batches():
    one, other = (made(1, jobs=5, updates="sync", forward_per=per) for per in ("sample", "mini-batch"))
    ratio = one.batch_s / other.batch_s
    assert (ratio >= 10 - 1e-9).all()
    assert (ratio <= 100 + 1e-9).all()
    assert (made(1, jobs=5, forward_per="mini-batch").step_s < made(1, jobs=5).step_s).all()


def test_jobs_do_not_depend_on_how_many_there_are():
    few, many = made(4, jobs=10), made(4, jobs=40)
    for name, values in few.columns().items():
        assert (values == getattr(many, name)[:10]).all(), name
    assert made(4, jobs=10) == few != made(5, jobs=10)


def test_a_batch_comes_at_once_and_a_stream_over_its_intervals():
    assert made(1, jobs=10).submit_s.tolist() == [0] * 10
    submit_s = made(1, jobs=2000, intervals=8, interval_s=600.0).submit_s
    assert (submit_s == np.floor(submit_s)).all()
    assert np.histogram(submit_s, 8, (0, 4800))[0] == pytest.approx([250] * 8, abs=60)


@pytest.mark.parametrize(("updates", "unit_s"), [("async", 3600), ("sync", 86_400)])
def test_scenarios_have_their_speed_unit_and_capacity(updates, unit_s):
    given = server_jobs_scenario(ServerJobsSpec(updates=updates, units=5), 2)
    assert (given.options.utility_unit_s, given.options.placement) == (unit_s, "pool")
    assert given.cluster.nodes.capacity.sum(axis=0).tolist() == [3000, 17_000, 7000, 6000]
    assert drawn_scenario(given.generator or {}, 2).content_hash == given.content_hash
    assert prepare(given, 3).scenario.workload == draw(given.generator or {}, 5)


def test_the_sample_runs_clean_and_is_worth_something():
    done = simulate(sample_server_jobs(), "fifo")
    assert done.audit() == []
    worth = done.metrics["utility_total"]
    assert worth is not None
    assert 0 < worth <= 50 * 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobs": 0}, "generator, jobs"),
        ({"updates": "often"}, "generator, updates"),
        ({"instance_mem_gib": 0}, "generator, instance_mem_gib"),
        ({"interval_s": 0}, "generator, interval_s"),
        ({"bandwidth": 0}, "generator, bandwidth"),
    ],
)
def test_bad_specifications(changes, message):
    with pytest.raises(InputError, match=message):
        canonical(spec(**changes))


def test_columns_are_those_of_the_law():
    assert set(STEP_TERMS) - {"spread_s"} <= set(MANY.columns())
