"""What is drawn for a job depends on the seed and the job alone."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.truth import realise
from tests.support.sim_fakes import jobs, nodes

OPTIONS = SimulationRules(estimate_error=0.5, bug_share=0.3, cancel_share=0.3)
COLUMNS = ("work", "believed_work", "is_bug", "cancel_s")


def draws(workload, seed=3):
    truth = realise(Scenario(workload, nodes(), OPTIONS), seed)
    return {name: getattr(truth, name) for name in COLUMNS}


@pytest.mark.parametrize("kept", [np.arange(0, 60, 7), np.arange(20)])
def test_jobs_that_are_left_out_change_nothing_for_the_others(kept):
    workload = jobs(*((float(at_s), 100.0 + at_s, 1) for at_s in range(60)))
    mask = np.isin(np.arange(60), kept)
    everybody, some = draws(workload), draws(workload.select(mask))
    for name in COLUMNS:
        assert everybody[name][mask].tolist() == some[name].tolist()


def test_another_seed_draws_other_values():
    workload = jobs(*((float(at_s), 100.0, 1) for at_s in range(60)))
    assert not np.array_equal(draws(workload, 1)["believed_work"], draws(workload, 2)["believed_work"])
    assert np.array_equal(draws(workload, 1)["is_bug"], draws(workload, 1)["is_bug"])


def test_a_job_that_its_user_takes_back_leaves_then_or_when_it_is_drawn_to_if_that_is_earlier():
    workload = jobs(*((float(at_s), 100.0, 1) for at_s in range(60)), cancel_after_s=[7.0, *[np.nan] * 58, 30.0])
    drawn, given = draws(workload.with_columns(cancel_after_s=None)), draws(workload)
    assert given["cancel_s"][0] == min(7, drawn["cancel_s"][0])
    assert given["cancel_s"][59] == min(59 + 30, drawn["cancel_s"][59])
    assert given["cancel_s"][1:59].tolist() == drawn["cancel_s"][1:59].tolist()
