"""The policy slurm."""

from __future__ import annotations

from dlsched.domain.policy import Need, PolicySpec
from dlsched.policies.slurm.params import SlurmParams, by_field
from dlsched.policies.slurm.policy import SlurmPolicy

SLURM: tuple[PolicySpec, ...] = (
    PolicySpec(
        "slurm",
        "Slurm",
        "everyday",
        "Slurm's multifactor priority with its main and backfill passes, limits and fair share.",
        SlurmPolicy,
        SlurmParams,
        frozenset({Need.FIXED_NODES}),
        knows="requested time limits, else run-time estimates",
        paper="Yoo, Jette, Grondona, SLURM: simple Linux utility for resource management, JSSPP 2003",
        uses_run_times=True,
        compiled=True,
        by_field=by_field,
    ),
)
