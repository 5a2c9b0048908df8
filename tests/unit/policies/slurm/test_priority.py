"""The factors of the multifactor priority and their sum, by hand and against worked values."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlsched.policies.slurm.kernels.priority import LARGE, SMALL, TO_TIME, age_factor, priority_of, size_factor
from tests.support.slurm_cases import slurm_vectors

MODES = {"PriorityFavorSmall=YES": SMALL, "SMALL_RELATIVE_TO_TIME": TO_TIME, "default": LARGE}


def test_worked_priorities(shared_data: Path):
    case = slurm_vectors(shared_data, "priority")
    weights, nodes, cpus = case["weights"], case["cluster"]["nodes"], case["cluster"]["cpus"]
    for job in case["jobs"]:
        age = age_factor(job["age_s"], case["max_age_s"])
        size = size_factor(LARGE, job["nodes"], job["cpus"], 60.0, nodes, cpus)
        assert (age, size) == pytest.approx((job["factors"]["age"], job["factors"]["jobsize"]))
        factors = {"age": age, "jobsize": size} | {name: job[name] for name in ("fairshare", "partition", "qos")}
        weighted = sum(weights[name] * factor for name, factor in factors.items())
        assert priority_of(weighted, job["nice"]) == job["priority"]


def test_worked_size_factors(shared_data: Path):
    case = slurm_vectors(shared_data, "priority")
    for job in case["jobsize"]:
        limit_s = 60.0 * job.get("limit_min", 1)
        factor = size_factor(MODES[job["mode"]], job["nodes"], job["cpus"], limit_s, 10, 120)
        assert factor == pytest.approx(job["factor"])


def test_size_by_hand():
    """2 of 8 nodes and 6 of 24 CPUs are a quarter of each; 6 CPUs for 30 min are 0.2 a minute."""
    assert size_factor(LARGE, 2, 6, 1800, 8, 24) == pytest.approx(0.25)
    assert size_factor(SMALL, 2, 6, 1800, 8, 24) == pytest.approx(0.75)
    assert size_factor(TO_TIME, 2, 6, 1800, 8, 24) == pytest.approx(0.2 / 24)


def test_age_stops_at_the_maximum_and_priority_at_one():
    assert [age_factor(age_s, 100.0) for age_s in (-5, 0, 50, 100, 1000)] == [0, 0, 0.5, 1, 1]
    assert [priority_of(weighted, nice) for weighted, nice in ((12.9, 0), (12.9, 3), (0, 0), (5, 9))] == [12, 9, 1, 1]
