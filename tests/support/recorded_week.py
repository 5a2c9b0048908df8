"""A recorded trace of a week, small enough to be run in dozens of futures."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import Workload
from tests.support.runs_for_store import small_scenario


def recorded_week(days: int = 7, each_day: int = 18, **changes: Any) -> Scenario:
    """Eighteen jobs a day on 4 GPUs, over eight hours, mostly of an hour, some of half a day, due two hours later.

    Orders matter: SJF is better than FIFO on most days, not on all.
    """
    given = np.random.default_rng(7)
    jobs = days * each_day
    submit_s = np.sort(np.repeat(np.arange(days), each_day) * DAY_S + given.uniform(6, 14, jobs) * HOUR_S)
    work_s = np.where(given.random(jobs) < 0.3, given.uniform(6, 14, jobs), given.uniform(0.2, 2, jobs)) * HOUR_S
    workload = Workload.from_columns(
        {
            "job_id": [f"job {number}" for number in range(jobs)],
            "submit_s": submit_s,
            "work": work_s,
            "user": ["ann", "bob"] * (jobs // 2),
            "due_s": submit_s + work_s + 2 * HOUR_S,
        },
        {"source": "by hand", "time_zone": "UTC"},
    )
    # A horizon is beyond the compiled loops, which would take long to compile in a test.
    options = SimulationRules(horizon_s=1e9)
    return small_scenario(options=options).replace(workload=workload, name="recorded week", **changes)
