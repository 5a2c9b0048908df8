"""Jobs of whole nodes for questions about commitments, with hours of use that are counted by hand."""

from __future__ import annotations

from typing import Any

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.units import HOUR_S
from dlsched.studies.commitment import CommitmentSpec, read_spec
from tests.support.sim_fakes import jobs, scenario

WAIT = {"metric": "wait_mean", "limit": 60.0}
STEPS = ((0.0, 10.0), (0.0, 5.0), (0.0, 1.0), (10.0, 1.0))
"""Submission and run time in hours. Over the 10 h in which jobs arrive: 11 h with a node in use, 5 with 2, 1 with 3."""


def whole_node_jobs(*rows: tuple[float, float], usd_per_h: float | None = 1.0, count: int = 3) -> Scenario:
    """Return jobs of one whole node each (submission and run time in hours) on ``count`` owned nodes."""
    work = jobs(*((submit * HOUR_S, run * HOUR_S, 8) for submit, run in rows or STEPS))
    pool = Pool(vm=VmType(name="node", gpus=8, usd_per_h=usd_per_h), count=count)
    return scenario(work, Cluster(pools=(pool,))).replace(name="steps", options=SimulationRules())


def asked(scenario: Scenario, **spec: Any) -> CommitmentSpec:
    """Return a question whose rented nodes cost $4/h, boot at once and go as soon as they are idle."""
    plain = {"scenario": scenario.content_hash, "targets": [WAIT], "rent_usd_per_h": 4.0, "boot_s": 0.0,
             "idle_timeout_s": 0.0}  # fmt: skip
    return read_spec(plain | spec)
