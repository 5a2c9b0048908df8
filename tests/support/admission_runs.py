"""Small scenarios of jobs with parameter servers and their runs, for what looks into admissions."""

from __future__ import annotations

from functools import cache
from typing import Any

from dlsched.domain.scenario import Scenario
from dlsched.studies.inspect.admissions import AdmissionsSpec, run_admissions
from dlsched.studies.inspect.admissions.answer import Admission, RuleOutcome
from dlsched.studies.simulation import Run, simulate
from dlsched.workload.studies.smd import ServerJobsSpec, server_jobs_scenario

POLICIES = AdmissionsSpec.policies


@cache
def batches(jobs: int = 24, units: int = 1, seed: int = 2) -> Scenario:
    """Return jobs of the study, more than there is room for, that arrive in three intervals."""
    return server_jobs_scenario(ServerJobsSpec(jobs=jobs, units=units, intervals=3), seed, "batches")


@cache
def batch_run(policy: str) -> Run:
    """Return the run of the small scenario."""
    return simulate(batches(), policy)


def small_interval() -> Admission:
    """Return an interval made by hand, on 10 GPUs and 40 GiB: <b>a</b> runs, b gets in, c is carried over, d rejected.

    a holds 2 GPUs of 4 and 4 GiB of 8; b 1 of 2, and all of its 20 GiB.
    """
    besides = tuple(
        RuleOutcome(rule=rule, admission=admission, rows=(1,) if admission == "knapsack" else (2,), worth=worth,
               status=status, bound=bound)
        for rule, worths in (("smd", (20.0, 30.0)), ("esw", (10.0, 28.0)), ("optimus", (20.0, 29.97)))
        for admission, worth, status, bound in (
            ("first-come", worths[0], "", None), ("knapsack", worths[1], "optimal", worths[1]),
        )
    )  # fmt: skip
    return Admission(
        number=2, time_s=3600.0, rule="smd", admission="knapsack", resources=("gpus", "mem_gib"),
        capacity=(10.0, 40.0), used=(2.0, 4.0), reserved=(4.0, 8.0), price=(0.0, 0.5),
        jobs=("b", "c", "d", "<b>a</b>"), row=(1, 2, 3, 0), fate=("in", "carried over", "rejected", "running"),
        workers=(1, 2, 0, 2), servers=(1, 3, 0, 1), time_s_of=(3600.0, 1800.0, None, 7200.0),
        worth=(30.0, 60.0, None, 5.0), blocks=((2.0, 20.0), (1.0, 32.0), (0.0, 0.0), (4.0, 8.0)),
        holds=((1.0, 20.0), (1.0, 10.0), (0.0, 0.0), (2.0, 4.0)),
        reason=("admitted", "not enough memory left", "its smallest gang exceeds its limit or all nodes", "ran before"),
        value=30.0, bound=30.0, status="optimal", besides=besides, worthless=False,
    )  # fmt: skip


def window(scenario: Scenario, policy: str, params: dict[str, Any], first: int, last: int) -> list[Admission]:
    """Return some intervals of a run, worked out again."""
    spec = AdmissionsSpec(scenario=scenario.content_hash, policy=policy, params=params, first=first, last=last)
    return list(run_admissions(spec, scenario).decisions)


def at(scenario: Scenario, policy: str, params: dict[str, Any], number: int) -> Admission:
    """Return one interval of a run, worked out again."""
    (one,) = window(scenario, policy, params, number, number)
    return one
