"""Bursts of single users: counted by hand, and told apart from users who work steadily."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.units import DAY_S
from dlsched.studies.sizing.campaigns import campaign_of
from tests.support.known import known
from tests.support.runs_for_store import small_scenario


def test_the_day_on_which_one_user_submitted_most_is_found_by_hand() -> None:
    """Six jobs of 1 h over three days: ann's second day has 2 + 4 of 12 GPU-hours, half of three days' work."""
    scenario = small_scenario(6)
    jobs = scenario.workload.with_columns(
        submit_s=np.array([0.0, 1.0, DAY_S, DAY_S + 1, 2 * DAY_S, 2 * DAY_S + 1]),
        work=np.full(6, 3600.0),
        workers=np.ones(6),
        gpus_per_worker=np.array([1.0, 1.0, 2.0, 4.0, 2.0, 2.0]),
        user=np.array(["ann", "bob", "ann", "ann", "bob", "ann"], dtype=object),
    )
    found = known(campaign_of(scenario.replace(workload=jobs)))
    assert (found.user, found.days) == ("ann", 3)
    assert found.share == pytest.approx(0.5)
    assert found.is_burst  # as much as everybody on 1.5 average days
    steady = jobs.with_columns(gpus_per_worker=np.full(6, 2.0))
    assert not known(campaign_of(scenario.replace(workload=steady))).is_burst
    alone = jobs.with_columns(user=np.array(["ann"] * 6, dtype=object))
    assert campaign_of(scenario.replace(workload=alone)) is None
    assert campaign_of(scenario.replace(workload=jobs.with_columns(user=None))) is None
