"""Replays of a recorded log that differ by a second: which job meets which pass of a scheduler is chance.

Tsafrir, Ouaknine and Feitelson, Reducing performance evaluation sensitivity and variability by input shaking: a second
decides which job meets which pass, so that one replay says little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmSetup
from dlsched.policies import registry

SLURM = "slurm"
SHAKING = "shaking"
"""Key of the change that makes futures of nothing but such replays."""
SHAKEN_S = 1.0
SHAKEN_INTERVAL_S = 0.4
"""Run times and the phase of the passes get up to this much, the time between backfill passes the second."""


def shaken_scenario(scenario: Scenario, number: int) -> Scenario:
    """Return a scenario with each run time up to 1 s longer, drawn by ``number``; what was recorded stays."""
    jobs = scenario.workload
    work = jobs.work + job_uniforms(number, "shake", jobs.job_id)[:, 0] * SHAKEN_S
    work.flags.writeable = False
    return scenario.replace(workload=replace(jobs, work=work))


def shaken_params(scenario: Scenario, policy: str, params: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return parameters with Slurm's passes moved a little; those of other policies, which have no clock, as given."""
    if policy != SLURM:
        return dict(params)
    now: Any = registry.find(SLURM).parse(dict(params))
    interval_s = now.over((scenario.slurm or SlurmSetup()).options).bf_interval
    draws = stream(number, "shake").random(2)
    moved = {"bf_interval": interval_s + SHAKEN_INTERVAL_S * draws[0], "phase": now.phase + SHAKEN_S * draws[1]}
    return dict(params) | moved
