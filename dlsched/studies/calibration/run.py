"""Every policy replays the recorded jobs; what comes out is set against the record."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Texts
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.calibration.answer import Calibration, ReplayedTimes, calibrate
from dlsched.studies.calibration.idle import MOST_IDLE, idle_beside_long_waits, idle_of_record, idle_wanted_share
from dlsched.studies.calibration.record import closed_loop, record_of
from dlsched.studies.calibration.spec import CalibrationSpec
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, Run, resolve_policy, simulate
from dlsched.studies.study import require_scenario
from dlsched.wording.formats import share

USUAL = ("fifo", "fifo-skip", "easy-backfill", "sjf", "priority")
"""Rules that schedulers of shared clusters are close to; those whose needs are met are replayed when none is named."""


@dataclass(frozen=True, eq=False)
class ReplayTask:
    """One policy to replay."""

    scenario: Scenario
    policy: str
    params: Mapping[str, Any]
    seed: int


def offered_policies(scenario: Scenario) -> tuple[str, ...]:
    """Return the policies that can replay the jobs; none that knows the future."""
    able = (spec for spec in registry.policies() if not spec.clairvoyant and not registry.unmet_needs(spec, scenario))
    return tuple(spec.key for spec in able)


def default_policies(scenario: Scenario) -> tuple[str, ...]:
    """Return the usual policies whose needs the scenario meets."""
    offered = offered_policies(scenario)
    return tuple(key for key in USUAL if key in offered)


def estimate_s(spec: CalibrationSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the replays take."""
    return sum(LIST_RUN_S if scenario is None else estimate_run(scenario, key).seconds for key in spec.policies)


def check(spec: CalibrationSpec, scenario: Scenario) -> None:
    """Raise InputError when the calibration cannot be run, before anything is computed."""
    require_scenario("calibration", spec.scenario, scenario)
    record_of(scenario.workload)
    for policy in spec.policies:
        resolve_policy(scenario, policy, spec.params.get(policy))


def refuse_sample(what: str, scenario: Scenario) -> None:
    """Raise InputError where a file holds a sample of jobs instead of a log: waits come from jobs that it lacks."""
    free = idle_beside_long_waits(scenario.workload, scenario.cluster)
    if free is not None and free > MOST_IDLE:
        raise InputError(
            what,
            f"{share(free)} of the cluster stood idle while recorded jobs waited: the file is a sample of the jobs, "
            "not the whole log, so that a replay says nothing about waits",
            "Export all jobs of all users, such as sacct -a, or describe the cluster on which they ran",
        )


def run_calibration(
    spec: CalibrationSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Return how near each policy's replay comes to the record, on the scenario's cluster with its options.

    Parameters
    ----------
    executor
        Where to compute, a task for each policy; None = here, one after the other.
    store
        Not used: single replays are not kept.
    progress
        Told the share done; what it raises stops the replays and comes through.

    Raises
    ------
    InputError
        Another scenario than the question names, no recorded start, a sample of jobs instead of a log, a policy that
        cannot run the jobs, or jobs that can never fit when the option oversize is "refuse".
    """
    check(spec, scenario)
    jobs = scenario.workload
    refuse_sample("calibration", scenario)
    tasks = [ReplayTask(scenario, policy, spec.params.get(policy, {}), spec.seed) for policy in spec.policies]
    replays = run_all(tasks, replayed, executor, progress, noun="replay")
    return calibrate(
        record_of(jobs), replays, scenario=spec.scenario, scenario_name=scenario.name, seed=spec.seed,
        idle_wanted=idle_of_record(jobs, scenario.cluster), loop=closed_loop(jobs),
    )  # fmt: skip


def replayed(task: ReplayTask, progress: Progress | None = None) -> ReplayedTimes:
    """Run one policy and return its waits in the order of the scenario's jobs; NaN for jobs that were left out."""
    run = simulate(task.scenario, task.policy, task.params, task.seed, progress)
    ids, start_s, left_s = task.scenario.workload.job_id, run.jobs["first_start_s"], run.jobs["left_s"]
    return ReplayedTimes(
        policy=run.policy,
        label=registry.find(run.policy).label,
        params=run.params,
        wait_s=_in_order(run, "wait_s", ids),
        jct_s=_in_order(run, "jct_s", ids),
        audit=tuple(run.audit()),
        idle_wanted=idle_wanted_share(
            run.prepared.scenario.workload,
            run.prepared.scenario.cluster,
            start_s.to_numpy(float),
            left_s.to_numpy(float),
        ),
    )


def _in_order(run: Run, name: str, ids: Texts) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    by_id = pd.Series(run.jobs[name].to_numpy(float), index=run.jobs["job_id"].to_numpy(object))
    return np.asarray(by_id.reindex(ids), dtype=np.float64)
