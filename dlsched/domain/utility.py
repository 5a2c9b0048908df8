"""What a job is worth when it is done: a sigmoid of the time since its submission."""

from __future__ import annotations

import numpy as np

from dlsched.domain.scenario import SimulationRules
from dlsched.domain.workload import Floats, Ints, Workload


def has_utility(jobs: Workload) -> bool:
    """Whether the jobs have the columns of a utility function."""
    return jobs.utility_1 is not None and jobs.utility_2 is not None and jobs.utility_3 is not None


def utility_at(
    jobs: Workload, options: SimulationRules, rows: Ints, end_s: Floats, slack_s: Floats | float = 0.0
) -> Floats:
    """Return u = g1 / (1 + exp(g2 (t - g3))) of rows that end at ``end_s``, shape of ``rows``; NaN where it has none.

    t is counted as the scenario says: elapsed, or last slot used minus slot of arrival, in ``utility_unit_s``. Times
    within ``slack_s`` of a slot's border are on it; an end on a border uses the slot before it.
    """
    if jobs.utility_1 is None or jobs.utility_2 is None or jobs.utility_3 is None:
        return np.full(np.shape(rows), np.nan)
    submit_s = jobs.submit_s[rows]
    elapsed_s = np.asarray(end_s) - submit_s
    if options.utility_clock == "slots":
        last_slot = np.ceil((end_s - slack_s) / options.slot_s) - 1
        elapsed_s = (last_slot - np.floor((submit_s + slack_s) / options.slot_s)) * options.slot_s
    late = elapsed_s / options.utility_unit_s - jobs.utility_3[rows]
    with np.errstate(invalid="ignore"):  # NaN stays NaN; the logarithm keeps large exponents from overflowing
        return np.asarray(jobs.utility_1[rows] * np.exp(-np.logaddexp(0.0, jobs.utility_2[rows] * late)))
