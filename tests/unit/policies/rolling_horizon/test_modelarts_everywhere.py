"""Whatever the cluster, the options and the jobs: the audit is clean, and nobody waits who could run alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.rolling_horizon.specs import MODELARTS
from dlsched.sim.prepare import prepare
from tests.support.conformance_scenarios import engine_log
from tests.support.elastic_scenarios import elastic_scenarios
from tests.support.endings import check_ending
from tests.support.scenarios import scenarios

both = pytest.mark.parametrize("spec", MODELARTS, ids=lambda spec: spec.key)
OFTEN = {"every_s": 10.0}
"""Jobs of these scenarios take seconds."""


@both
@settings(max_examples=60)
@given(drawn=scenarios())
def test_any_scenario_ends_with_clean_books(spec: PolicySpec, drawn: Scenario):
    prepared = prepare(drawn)
    check_ending(prepared, engine_log(spec, prepared, OFTEN))


@both
@settings(max_examples=40)
@given(drawn=elastic_scenarios())
def test_on_equal_nodes_nobody_overtakes_in_the_queue(spec: PolicySpec, drawn: Scenario):
    prepared = prepare(drawn)
    starts_s = engine_log(spec, prepared, OFTEN).job_first_start_s
    assert starts_s.tolist() == sorted(starts_s.tolist())
