"""What can be learned of a scheduler, in parts that build on EASY backfill, and the policy that a setting stands for.

A part is a few coordinates with a grid each. The grids are fixed shares of what the log shows before the cut: the most
that one user ever ran at once, the most that was in use at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dlsched.domain.cluster import Cluster
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmLimits
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import CPU, GPU, Workload
from dlsched.metrics.idle_and_wanted import held_from_s
from dlsched.placement import can_ever_fit
from dlsched.studies.calibration.record import left_without_start
from dlsched.studies.design.shaking import SLURM
from dlsched.studies.fitting.hours import closed_text, monday_s, start_rates
from dlsched.studies.fitting.period import backfill_period_s
from dlsched.studies.fitting.replay import without_nodes
from dlsched.workload.cluster_from_log import most_at_once

Part = Literal["capacity", "limits", "order", "hours"]
PARTS: tuple[Part, ...] = ("capacity", "limits", "order", "hours")
PART_WORDS: Mapping[str, str] = {
    "capacity": "effective capacity",
    "limits": "limits per user",
    "order": "fair share, age and job size",
    "hours": "hours closed to long jobs",
}
CAPACITY_SHARES = (0.93, 0.87, 0.8, 0.73, 0.67, 0.6)
WIDTH_SHARES = (1.0, 0.75, 0.5, 1 / 3)
COUNT_SHARES = (1.0, 0.5, 0.25)
HALF_LIVES_S = (7 * DAY_S, DAY_S, 6 * HOUR_S)
AGES = (0.0, 0.3, 1.0)
SIZES = (0.0, 0.3, -0.3)
UNIT_WEIGHT = 100_000
"""Priority weight in Slurm's numbers that stands for 1."""
EASY = "easy-backfill"


class Setting(FrozenModel):
    """One point of the search; the defaults are EASY backfill, or Slurm as it is where Slurm wrote the log.

    ``capacity``: share of the nodes of each type that jobs could use. ``user_width`` in the resource that counts and
    ``user_jobs``: most that a user may run at once. Weights are relative to fair share; ``half_life_s`` of past use.
    ``closed``: for each class of requested time, over so many seconds, the closed hours: 0 to 23 of a weekday, 24 to 47
    of a day of the weekend.
    """

    capacity: float = 1.0
    user_width: float | None = None
    user_jobs: int | None = None
    fair_share: float = 0.0
    half_life_s: float = 7 * DAY_S
    age: float = 0.0
    size: float = 0.0
    closed: tuple[tuple[float, tuple[int, ...]], ...] = ()

    def simplest(self) -> Setting:
        """Return the setting without values that have no effect beside the others.

        Without fair share there is no half-life, and without anything else age orders jobs as submission does.
        """
        changes: dict[str, float] = {}
        if not self.fair_share:
            changes["half_life_s"] = HALF_LIVES_S[0]
            if not self.size:
                changes["age"] = 0.0
        return self.model_copy(update=changes)

    @property
    def needs_slurm(self) -> bool:
        """Whether EASY backfill cannot follow it."""
        return self.model_copy(update={"capacity": 1.0}) != Setting()


@dataclass(frozen=True, eq=False)
class Ground:
    """What every setting starts from, learned before the same cut.

    ``policy`` and ``params`` of the plain setting; ``period_s`` between backfill passes, None if it is not known;
    ``resource``: index of the resource that counts.
    """

    scenario: Scenario
    policy: str
    params: Mapping[str, Any]
    period_s: float | None
    resource: int


def ground_of(known: Scenario) -> Ground:
    """Return what the search starts from; ``known``: jobs and nodes as they are known at a cut.

    Where Slurm wrote the log, its settings are there, or starts show the period of passes, that is Slurm as it is
    configured, with that period; else EASY backfill.
    """
    period_s = backfill_period_s(known.workload)
    is_slurm = known.slurm is not None or known.workload.meta.get("format") == "sacct" or period_s is not None
    if not is_slurm:
        return Ground(known, EASY, {}, period_s, known.counted)
    return Ground(known, SLURM, _passes(known, period_s), period_s, known.counted)


def _passes(known: Scenario, period_s: float | None) -> dict[str, Any]:
    given = known.slurm is not None and known.slurm.options.bf_interval is not None
    return {} if given or period_s is None else {"bf_interval": round(period_s, 2)}


def given_in(scenario: Scenario) -> tuple[str, ...]:
    """Return which settings of the scheduler were described, so that they are not learned: period, limits, order."""
    if scenario.slurm is None:
        return ()
    options, nothing = scenario.slurm.options, SlurmLimits()
    weights = [value for name, value in options if name.startswith("PriorityWeight") or name == "PriorityType"]
    limits = [one.limits for one in scenario.slurm.qos] + [one.limits for one in scenario.slurm.associations]
    found = {
        "period": options.bf_interval is not None,
        "limits": bool(scenario.slurm.qos) or any(one != nothing for one in limits),
        "order": any(weights),
    }
    return tuple(name for name, is_given in found.items() if is_given)


def coordinates(part: Part, ground: Ground) -> dict[str, tuple[Any, ...]]:
    """Return the values to try for each field of a setting that a part adds, the one without effect first.

    Empty where the log gives nothing to learn the part from, or no policy here can follow it.
    """
    jobs, cluster = ground.scenario.workload, ground.scenario.cluster
    if part == "capacity":
        return _capacities(jobs, cluster, ground.resource)
    if part in given_in(ground.scenario):
        return {}
    if part == "limits":
        return _limits(jobs, ground.resource)
    if part == "order":
        # fair share last, so that a start with it has found the age and size that go with it
        fair = {"half_life_s": HALF_LIVES_S, "fair_share": (0.0, 1.0)} if jobs.user is not None else {}
        return {"age": AGES, "size": SIZES, **fair}
    closed = _closed(ground)
    return {"closed": ((), closed)} if closed else {}


def _capacities(jobs: Workload, cluster: Cluster, resource: int) -> dict[str, tuple[Any, ...]]:
    there = float(cluster.nodes.capacity[:, resource].sum())
    start_s, end_s = held_times(jobs)
    used = most_at_once(start_s, end_s, jobs.requested[:, resource]) / there if np.isfinite(there) and there else 1.0
    needed = can_ever_fit(jobs, cluster, "pool") & ~left_without_start(jobs)
    shares = [1.0]
    for share in sorted({used, *CAPACITY_SHARES}, reverse=True):
        smaller = without_nodes(cluster, share) if 0 < share < 1 else cluster
        if smaller is not cluster and bool(can_ever_fit(jobs, smaller, "pool")[needed].all()):
            shares.append(share)
    return {"capacity": tuple(shares)} if len(shares) > 1 else {}


def _limits(jobs: Workload, resource: int) -> dict[str, tuple[Any, ...]]:
    if jobs.user is None or resource not in (GPU, CPU):
        return {}
    start_s, end_s = held_times(jobs)
    of_user = pd.Series(np.arange(len(jobs))).groupby(jobs.user).indices
    rows = [found for name, found in of_user.items() if name]
    width = jobs.requested[:, resource]
    widest = max((most_at_once(start_s[one], end_s[one], width[one]) for one in rows), default=0.0)
    most = max((most_at_once(start_s[one], end_s[one], np.ones(len(one))) for one in rows), default=0.0)
    widths = dict.fromkeys(float(max(np.ceil(share * widest), 1)) for share in WIDTH_SHARES)
    counts = dict.fromkeys(int(max(np.ceil(share * most), 1)) for share in COUNT_SHARES)
    return {"user_width": (None, *widths), "user_jobs": (None, *counts)}


def _closed(ground: Ground) -> tuple[tuple[float, tuple[int, ...]], ...]:
    capacity = float(ground.scenario.cluster.nodes.capacity[:, ground.resource].sum())
    rates = start_rates(ground.scenario.workload, capacity, ground.resource)
    return tuple(
        (float(over_s), tuple(np.flatnonzero(cells).tolist()))
        for over_s, cells in zip(rates.over_s, rates.closed, strict=True)
        if cells.any()
    )


def held_times(jobs: Workload) -> tuple[Any, Any]:
    """Return when jobs held their nodes by the record; NaN for those that never did."""
    start_s = held_from_s(jobs)
    end_s = start_s + jobs.work if jobs.recorded_end_s is None else jobs.recorded_end_s
    return start_s, np.where(np.isfinite(end_s), end_s, start_s + jobs.work)


def scenario_of(ground: Ground, setting: Setting) -> Scenario:
    """Return what is replayed: the scenario with the nodes that jobs could use."""
    if setting.capacity >= 1:
        return ground.scenario
    return ground.scenario.replace(cluster=without_nodes(ground.scenario.cluster, setting.capacity))


def policy_of(ground: Ground, setting: Setting) -> tuple[str, dict[str, Any]]:
    """Return key and parameters of the policy that follows a setting."""
    if not setting.needs_slurm:
        return ground.policy, dict(ground.params)
    jobs = ground.scenario.workload
    params = dict(ground.params) or _passes(ground.scenario, ground.period_s)
    if setting.user_width is not None:
        params["MaxGPUsPerUser" if ground.resource == GPU else "MaxCPUsPerUser"] = setting.user_width
    if setting.user_jobs is not None:
        params["MaxJobsPerUser"] = setting.user_jobs
    if setting.fair_share:
        params["PriorityWeightFairshare"] = UNIT_WEIGHT * setting.fair_share
        params["PriorityDecayHalfLife_s"] = setting.half_life_s
    if setting.age:
        params["PriorityWeightAge"] = UNIT_WEIGHT * setting.age
    if setting.size:
        params["PriorityWeightJobSize"] = UNIT_WEIGHT * abs(setting.size)
        params["PriorityFavorSmall"] = "YES" if setting.size < 0 else "NO"
    if setting.closed:
        params |= {"closed_hours": closed_text(setting.closed), "monday": monday_s(jobs)}
    return SLURM, params
