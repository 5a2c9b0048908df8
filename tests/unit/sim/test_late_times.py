"""Traces may count seconds from 1970: what happens a second apart stays a second apart."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.metrics.summary import summarise
from dlsched.policies import registry
from dlsched.sim.audit import audit
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from tests.support.sim_fakes import jobs, scenario

EPOCH_S = 1_500_000_000.0
ROWS = ((0, 3, 8), (1, 5, 8), (2, 1, 1), (2, 5, 8))


@pytest.mark.parametrize("use_kernel", [True, False])
@pytest.mark.parametrize("key", ["fifo", "srtf", "easy-backfill", "las"])
def test_a_late_start_of_the_clock_changes_nothing(key: str, use_kernel: bool):
    spec, ends_s = registry.find(key), []
    for zero_s in (0.0, EPOCH_S):
        given = scenario(jobs(*((zero_s + at_s, work, width) for at_s, work, width in ROWS)))
        prepared = prepare(given)
        log = run_policy(prepared, spec.build(spec.parse({})), use_kernel=use_kernel)
        assert audit(prepared.scenario, prepared.truth, log) == []
        ends_s.append(log.job_end_s - zero_s)
    np.testing.assert_allclose(ends_s[1], ends_s[0], atol=1e-5)


def test_half_a_second_late_is_late_at_any_time():
    given = scenario(jobs((EPOCH_S, 3, 8), due_s=[EPOCH_S + 2.5]))
    prepared, spec = prepare(given), registry.find("fifo")
    log = run_policy(prepared, spec.build(spec.parse({})))
    assert summarise(prepared.scenario, prepared.truth, log)["tardiness_total"] == pytest.approx(0.5, abs=1e-5)
