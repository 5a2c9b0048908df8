"""All points of a steady-state experiment and the differences between policies."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import combinations, product

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.steady import LEAST_BATCHES, steady_mean
from dlsched.store.record import CellStore
from dlsched.studies.code_version import code_version
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, resolve_policy
from dlsched.studies.steady.answer import Pair, SteadyAnswer
from dlsched.studies.steady.point import PointTask, Solved, params_at, solve_point
from dlsched.studies.steady.spec import SteadySpec
from dlsched.workload.studies.hell_knee import stream_scenario

POINT_S = 3.0
"""CPU seconds of a point with 64,000 jobs, about."""
AUDITED = "The log of every run was audited; sums of money and tables were not: nothing here comes from them."


def run_steady(
    spec: SteadySpec,
    scenario: None = None,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> SteadyAnswer:
    """Return the answer of an experiment: every policy at every load, on common random numbers.

    Parameters
    ----------
    scenario, store
        Not used: jobs are drawn, and single points are not kept.
    executor
        Where to compute, a task for each point; None = here, one after the other.
    progress
        Told the share done; what it raises stops the experiment and comes through.

    Raises
    ------
    InputError
        A policy that does not exist, has bad parameters or cannot run these jobs; two policies of one name.
    """
    check(spec, scenario)
    tasks = [PointTask(spec, policy, load) for policy, load in product(spec.policies, spec.loads)]
    solved = run_all(tasks, solve_point, executor, progress, noun="point")
    points = tuple(one.point for one in solved)
    return SteadyAnswer(
        spec=spec, points=points, pairs=_pairs(solved, spec), audited=AUDITED, code_version=code_version()
    )


def check(spec: SteadySpec, scenario: None = None) -> None:
    """Raise InputError when a policy cannot be asked, before anything is computed."""
    one_job = stream_scenario(spec.stream_at(spec.loads[0], 1), spec.seed)
    for policy in spec.policies:
        resolve_policy(one_job, policy.key, params_at(policy, spec.loads[0]))
    names = [policy.name for policy in spec.policies]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError("steady-state experiment, policies", f"two are called {twice[0]!r}", "Give them labels")


def estimate_s(spec: SteadySpec, scenario: None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    return POINT_S * len(spec.loads) * len(spec.policies)


def _pairs(solved: Sequence[Solved], spec: SteadySpec) -> tuple[Pair, ...]:
    pairs = []
    for load in spec.loads:
        steady = [one for one in solved if one.point.load == load and one.point.response_h is not None]
        pairs += [pair for one, other in combinations(steady, 2) if (pair := pair_of(one, other)) is not None]
    return tuple(pairs)


def pair_of(one: Solved, other: Solved) -> Pair | None:
    """Return the difference over the jobs measured under both; None if these are too few.

    A job is the same under both, so what makes it long or short in itself cancels.
    """
    first = max(one.first, other.first)
    last = min(one.first + len(one.response_h), other.first + len(other.response_h))
    if last - first < 2 * LEAST_BATCHES:
        return None
    difference_h = one.response_h[first - one.first : last - one.first]
    difference_h = difference_h - other.response_h[first - other.first : last - other.first]
    mean = steady_mean(difference_h)
    return Pair(
        load=one.point.load,
        label=one.point.label,
        other=other.point.label,
        difference_h=mean.interval,
        settled=mean.settled,
    )
