"""Unsuitable scenarios are refused through needs; keys and labels are unique."""

from __future__ import annotations

import re

import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need, PolicySpec
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.studies.simulation import simulate
from dlsched.testing.judges import lacking

NEEDS = [(spec, need) for spec in POLICIES for need in sorted(spec.needs)]


@pytest.mark.parametrize(("spec", "need"), NEEDS, ids=lambda value: getattr(value, "key", value))
def test_an_unsuitable_scenario_is_refused(spec: PolicySpec, need: Need):
    given = lacking(need)
    assert need in unmet_needs(spec, given)
    with pytest.raises(InputError, match=re.escape(need.value)):
        simulate(given, spec.key)


def test_keys_are_unique():
    assert len({spec.key for spec in POLICIES}) == len(POLICIES)
    assert len({spec.label for spec in POLICIES}) == len(POLICIES)
