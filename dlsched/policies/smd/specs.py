"""SMD and the policies it is compared with (decision 019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.domain.utility import utility_at
from dlsched.policies.shared.built_later import BuiltLater
from dlsched.policies.smd.params import RivalParams, SmdParams
from dlsched.speed import build_speed

FAMILY = "SMD"
CODE = "dlsched.policies.smd.policy"
PAPER = "Yu et al., A sum-of-ratios multi-dimensional-knapsack decomposition for DNN resource scheduling, 2021"
NEEDS = frozenset({Need.ALWAYS_THERE, Need.SERVERS, Need.UTILITY, Need.POOL})
NOTHING = 1e-9
KNOWS = "training-step times, steps and utility functions"


def _worthless(params: Any, scenario: Scenario) -> str:
    """Return a warning where no job is worth NOTHING of its best when it completes; else "".

    Each alone, with the workers and servers it asks for.
    """
    jobs, rows = scenario.workload, np.arange(len(scenario.workload))
    rate = build_speed(scenario.speed, jobs, scenario.cluster.vm_types).rates(rows, jobs.workers)
    with np.errstate(divide="ignore"):
        worth = utility_at(jobs, scenario.options, rows, jobs.submit_s + jobs.work / rate)
    if jobs.utility_1 is None or np.isnan(worth).all() or np.nanmax(worth / jobs.utility_1) > NOTHING:
        return ""
    return "Every job is worth almost nothing when it completes: choose a longer time unit for the utility."


def _beside_smd(params: RivalParams, scenario: Scenario) -> str:
    """Return what Optimus' distance to SMD comes from; measured with :mod:`benchmarks.admission`."""
    remark = _worthless(params, scenario)
    if remark or params.admission != "first-come":
        return remark
    return (
        "Nearly all of its gap to SMD comes from admission control: with the same admission rule, Optimus is within "
        "0.5% of SMD in total utility (at most 0.1% in 60 batches of 50 jobs as in the study)."
    )


SMD: tuple[PolicySpec, ...] = (
    PolicySpec(
        "smd",
        "SMD",
        FAMILY,
        "At each interval, finds the fastest mix of workers and servers for each job and admits the set of jobs worth "
        "most together.",
        BuiltLater(CODE, "smd"),
        SmdParams,
        NEEDS,
        knows=KNOWS,
        paper=PAPER,
        group="admission",
        uses_run_times=True,
        draws=True,
        remark=_worthless,
    ),
    PolicySpec(
        "esw",
        "ESW",
        FAMILY,
        "At each interval, gives each job as many servers as workers, up to its limit; admits in order of submission.",
        BuiltLater(CODE, "esw"),
        RivalParams,
        NEEDS,
        knows=KNOWS,
        paper=PAPER,
        group="admission",
        uses_run_times=True,
        remark=_worthless,
    ),
    PolicySpec(
        "optimus",
        "Optimus",
        FAMILY,
        "At each interval, adds workers or servers to each job as long as that saves time; admits in order of "
        "submission.",
        BuiltLater(CODE, "optimus_policy"),
        RivalParams,
        NEEDS,
        knows=KNOWS,
        paper=PAPER,
        group="admission",
        uses_run_times=True,
        remark=_beside_smd,
    ),
)
