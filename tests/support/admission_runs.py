"""Small scenarios of jobs with parameter servers and their runs, for what looks into admissions."""

from __future__ import annotations

from functools import cache

from dlsched.domain.scenario import Scenario
from dlsched.experiments.run import Run, simulate
from dlsched.workload.generators.server_jobs import ServerJobsSpec
from dlsched.workload.server_jobs import server_jobs_scenario


@cache
def batches(jobs: int = 24, units: int = 1, seed: int = 2) -> Scenario:
    """Return jobs of the study, more than there is room for, that arrive in three intervals."""
    return server_jobs_scenario(ServerJobsSpec(jobs=jobs, units=units, intervals=3), seed, "batches")


@cache
def batch_run(policy: str) -> Run:
    """Return the run of the small scenario."""
    return simulate(batches(), policy)
