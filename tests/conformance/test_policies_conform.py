"""What every policy of the registry must hold, by being listed there: the suite of :mod:`dlsched.testing`."""

from __future__ import annotations

import pytest

from dlsched.domain.policy import PolicySpec
from dlsched.policies.registry import POLICIES
from dlsched.testing import CHECKS, Check, run_check
from dlsched.testing.subject import Subject


@pytest.mark.parametrize("spec", POLICIES, ids=lambda spec: spec.key)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.key)
def test_every_policy_passes(spec: PolicySpec, check: Check):
    outcome = run_check(Subject(spec), check)
    if outcome.status == "skipped":
        pytest.skip(outcome.why)
    assert outcome.status == "passed", str(outcome)
