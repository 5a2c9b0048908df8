"""The compiled kernel and the engine with the Python policy write the same log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from dlsched.domain.policy import ListRule, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import POLICIES
from dlsched.sim.kernels import eligible, run_kernel
from dlsched.sim.prepare import prepare
from dlsched.testing.logs import first_difference
from dlsched.testing.scenarios import scenario
from tests.support.conformance_scenarios import built, engine_log, kernel_scenarios

PARAMS: dict[str, dict[str, Any]] = {"las": {"quantum_s": 7.0}, "dlas": {"thresholds_gpu_s": (5.0, 20.0)}}
LISTED = [
    spec
    for spec in POLICIES
    if isinstance(rule := spec.build(spec.parse(None)).kernel_rule, ListRule) and rule.backfill != "conservative"
]
every_listed = pytest.mark.parametrize("spec", LISTED, ids=lambda spec: spec.key)


def check_equal(spec: PolicySpec, drawn: Scenario) -> None:
    prepared = prepare(drawn)
    policy = built(spec, prepared, PARAMS.get(spec.key))
    assert eligible(prepared, policy)
    assert policy.kernel_rule is not None
    by_engine = engine_log(spec, prepared, PARAMS.get(spec.key))
    by_kernel = run_kernel(prepared, policy.kernel_rule)
    assert first_difference(by_engine, by_kernel) == ""
    assert (by_engine.start_s, by_engine.end_s) == pytest.approx((by_kernel.start_s, by_kernel.end_s))


@every_listed
@settings(max_examples=25)
@given(drawn=kernel_scenarios())
def test_small_workloads_with_many_ties(spec: PolicySpec, drawn: Scenario):
    check_equal(spec, drawn)


@every_listed
@pytest.mark.parametrize("feature", ["estimates", "bugs"])
def test_standard_scenario(spec: PolicySpec, feature: str):
    check_equal(spec, scenario(feature))
