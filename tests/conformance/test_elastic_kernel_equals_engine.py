"""The compiled loop of elastic rules and the engine with the Python policy write the same log."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.policy import ElasticRule, PolicySpec
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.truth import realise
from dlsched.domain.workload import Workload
from dlsched.policies.registry import POLICIES, find
from dlsched.sim.kernels import eligible, run_kernel
from dlsched.sim.prepare import Prepared, prepare
from dlsched.testing.logs import first_difference
from tests.support.conformance_scenarios import built, engine_log
from tests.support.elastic_scenarios import elastic_scenarios, one_gpu_nodes, scattered_scenarios, training_stream
from tests.support.sim_fakes import jobs, nodes

ELASTIC = [spec for spec in POLICIES if isinstance(spec.build(spec.parse(None)).kernel_rule, ElasticRule)]
every_elastic = pytest.mark.parametrize("spec", ELASTIC, ids=lambda spec: spec.key)
CHOICES: dict[str, tuple[Any, ...]] = {
    "gamma": (0.0, 1.05),
    "filling": (True, False),
    "blocking": (True, False),
    "alpha": (0.01, 0.2),
    "chunk": (1, 2, 3, 10),
}


def check_equal(spec: PolicySpec, params: dict[str, Any], drawn: Scenario) -> None:
    prepared = prepare(drawn)
    policy = built(spec, prepared, params)
    assert eligible(prepared, policy)
    assert policy.kernel_rule is not None
    by_engine = engine_log(spec, prepared, params)
    by_kernel = run_kernel(prepared, policy.kernel_rule)
    assert first_difference(by_engine, by_kernel) == ""
    assert (by_engine.start_s, by_engine.end_s) == (by_kernel.start_s, by_kernel.end_s)
    assert by_engine.stalled == by_kernel.stalled
    for name, column in vars(by_engine).items():
        if isinstance(column, np.ndarray):
            assert getattr(by_kernel, name).dtype == column.dtype, name


def drawn_params(data: st.DataObject, spec: PolicySpec) -> dict[str, Any]:
    choices = {name: st.sampled_from(CHOICES[name]) for name in CHOICES if name in spec.params.model_fields}
    return data.draw(st.fixed_dictionaries(choices))


def test_all_seven_are_here():
    assert len(ELASTIC) == 7


@every_elastic
@settings(max_examples=150)
@given(drawn=elastic_scenarios(), data=st.data())
def test_small_workloads_with_many_ties(spec: PolicySpec, drawn: Scenario, data: st.DataObject):
    check_equal(spec, drawn_params(data, spec), drawn)


@every_elastic
@settings(max_examples=60)
@given(drawn=scattered_scenarios(), data=st.data())
def test_nodes_that_hold_several_workers(spec: PolicySpec, drawn: Scenario, data: st.DataObject):
    if len(prepare(drawn).scenario.workload):
        check_equal(spec, drawn_params(data, spec), drawn)


@every_elastic
@pytest.mark.parametrize("error", [0.0, 0.3])
def test_a_stream_of_training_jobs(spec: PolicySpec, error: float):
    given = training_stream(jobs=150, nodes=12, load=0.8)
    options = given.options.model_copy(update={"estimate_error": error, "bug_share": error, "bug_within_s": 1e5})
    check_equal(spec, {}, given.replace(options=options))


@pytest.mark.parametrize("chunk", [1, 4, 30])
@pytest.mark.parametrize("kind", ["rigid", "scaling"])
def test_a_long_queue_in_chunks_that_come_and_go(kind: Literal["rigid", "scaling"], chunk: int):
    """A wide job now and then makes chunks larger: some go, with jobs that run and wait, and come back after it."""
    dice = np.random.default_rng(chunk)
    widths = np.where(dice.random(300) < 0.05, dice.integers(5, 13, 300), dice.integers(1, 4, 300))
    columns = {
        "job_id": [f"j{row}" for row in range(300)],
        "submit_s": np.sort(dice.integers(0, 400, 300)).astype(float),
        "work": dice.integers(1, 60, 300).astype(float),
        "workers": widths,
    }
    given = Scenario(Workload.from_columns(columns), nodes(4, 8), speed=SpeedSpec(kind=kind))
    check_equal(find("jsq-chunk"), {"chunk": chunk}, given)


@pytest.mark.parametrize(("key", "ends_s"), [("srpt-all-nodes", [5, 7]), ("jsq-chunk", [5, 10])])
def test_a_cluster_that_stands_still_is_told(key: str, ends_s: list[float]):
    """A job without a legal width, as only a caller without :func:`prepare` can have it, waits for ever."""
    given = Scenario(jobs((0, 5, 1), (1, 5, 9), (2, 5, 1)), one_gpu_nodes(2))
    prepared = Prepared(given, realise(given))
    spec = find(key)
    rule = spec.build(spec.parse(None)).kernel_rule
    assert rule is not None
    by_engine, by_kernel = engine_log(spec, prepared), run_kernel(prepared, rule)
    assert first_difference(by_engine, by_kernel) == ""
    assert (by_kernel.stalled, by_kernel.start_s, by_kernel.end_s) == (True, by_engine.start_s, by_engine.end_s)
    assert by_kernel.job_end_s[[0, 2]].tolist() == ends_s
