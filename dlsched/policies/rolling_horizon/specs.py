"""The ModelArts allocators, see docs/papers/modelarts.md."""

from __future__ import annotations

from dlsched.domain.policy import Need, PolicySpec
from dlsched.policies.rolling_horizon.params import GreedyParams, OptimalParams
from dlsched.policies.shared.built_later import BuiltLater
from dlsched.policies.shared.remarks import where_widths_are_fixed

FAMILY = "ModelArts"
CODE = "dlsched.policies.rolling_horizon.policy"
PAPER = "Hu et al., An optimal resource allocator of elastic training for deep learning jobs on cloud, 2021"


_only_starts = where_widths_are_fixed("choose when jobs start")

MODELARTS: tuple[PolicySpec, ...] = (
    PolicySpec(
        "modelarts-optimal",
        "ModelArts, optimal",
        FAMILY,
        "Every few minutes, plans the GPU counts of all jobs several steps ahead for the most progress and carries "
        "out the first step; in between, jobs start in order of submission.",
        BuiltLater(CODE, "optimal_policy"),
        OptimalParams,
        frozenset({Need.ALWAYS_THERE}),
        knows="run-time estimates and speed-up",
        paper=PAPER,
        group="elastic",
        uses_run_times=True,
        remark=_only_starts,
        spoken="optimal ModelArts",
    ),
    PolicySpec(
        "modelarts-greedy",
        "ModelArts, greedy",
        FAMILY,
        "Keeps every node busy: the first job in the queue gets all it can use, otherwise the youngest job grows; "
        "while jobs wait, the oldest job is halved every few minutes.",
        BuiltLater(CODE, "greedy_policy"),
        GreedyParams,
        frozenset({Need.ALWAYS_THERE}),
        knows="time run so far and the GPU counts at which each job runs faster",
        paper=PAPER,
        group="elastic",
        remark=_only_starts,
        spoken="greedy ModelArts",
    ),
)
