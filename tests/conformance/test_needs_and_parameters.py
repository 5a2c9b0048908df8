"""Unsuitable scenarios are refused through needs; parameters are described, bounded and checked."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import SimulationRules, SpeedSpec
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.studies.simulation import simulate
from tests.support.conformance_scenarios import fixed_nodes, free_slots, full_workload, scenario

every_policy = pytest.mark.parametrize("spec", POLICIES, ids=lambda spec: spec.key)
UNPRICED = Cluster(pools=(Pool(vm=VmType(name="n"), count=2),))
WITHOUT: dict[Need, dict[str, Any]] = {
    Need.DUE: {"workload": full_workload().with_columns(due_s=None)},
    Need.WEIGHT: {"workload": full_workload().with_columns(weight_usd_per_s=None)},
    Need.PRICE: {"cluster": UNPRICED},
    Need.PRIORITY: {"workload": full_workload().with_columns(priority=None)},
    Need.USER: {"workload": full_workload().with_columns(user=None)},
    Need.SPEED: {"speed": SpeedSpec()},
    Need.FREE_SLOTS: {"cluster": fixed_nodes(8, 8)},
    Need.FIXED_NODES: {"cluster": free_slots()},
    Need.SERVERS: {},
    Need.UTILITY: {},
    Need.OWN_STEPS: {},
    Need.POOL: {},
    Need.SHORT_RESTARTS: {"options": SimulationRules(restart_s=3600.0)},
    Need.ONE_NODE: {"workload": full_workload().with_columns(gpus_per_worker=np.full(36, 0.5))},
}
NEEDS = [(spec, need) for spec in POLICIES for need in sorted(spec.needs)]


@pytest.mark.parametrize(("spec", "need"), NEEDS, ids=lambda value: getattr(value, "key", value))
def test_an_unsuitable_scenario_is_refused(spec: PolicySpec, need: Need):
    given = scenario().replace(**WITHOUT[need])
    assert need in unmet_needs(spec, given)
    with pytest.raises(InputError, match=re.escape(need.value)):
        simulate(given, spec.key)


@every_policy
def test_unknown_parameters_are_refused(spec: PolicySpec):
    with pytest.raises(InputError, match=f"policy {spec.key}, no_such_parameter"):
        spec.parse({"no_such_parameter": 1})


@every_policy
def test_bounds_are_enforced(spec: PolicySpec):
    for name, rules in spec.params.model_json_schema().get("properties", {}).items():
        beyond = {"minimum": -1e-9, "exclusiveMinimum": 0.0, "maximum": 1e-9, "exclusiveMaximum": 0.0}
        for rule, step in beyond.items():
            if rule in rules:
                with pytest.raises(InputError, match=name):
                    spec.parse({name: rules[rule] * (1 + step) + step})


@every_policy
def test_every_parameter_can_become_a_form_field(spec: PolicySpec):
    for name, field in spec.params.model_fields.items():
        assert field.description, name
        assert not field.is_required(), f"{name} has no default"
        if name.endswith(("_s", "_h", "_usd", "_gib")):
            extra = field.json_schema_extra
            assert isinstance(extra, dict), name
            assert "unit" in extra, name


@every_policy
def test_words_are_there(spec: PolicySpec):
    assert spec.label
    assert spec.summary.endswith(".")
    assert spec.knows


def test_keys_are_unique():
    assert len({spec.key for spec in POLICIES}) == len(POLICIES)
    assert len({spec.label for spec in POLICIES}) == len(POLICIES)
