"""The multifactor priority: its factors, 0 to 1, and how they add up (priority_multifactor of Slurm)."""

from __future__ import annotations

from dlsched.policies.slurm.kernels.compiled import compiled

LEAST = 1
"""The lowest priority of a job that is not held."""
LARGE, SMALL, TO_TIME, SMALL_TO_TIME = 0, 1, 2, 3
"""What the size factor favours: large or small jobs, or size for the time limit (SMALL_RELATIVE_TO_TIME)."""


@compiled
def age_factor(age_s: float, max_age_s: float) -> float:
    """Return the share of PriorityMaxAge that a job has waited since it became eligible, at most 1."""
    return min(1.0, max(0.0, age_s) / max_age_s)


@compiled
def size_factor(mode: int, nodes: float, cpus: float, limit_s: float, all_nodes: float, all_cpus: float) -> float:
    """Return the job size factor of ``nodes`` and ``cpus`` out of those of the cluster.

    Relative to time, ``cpus`` (at least those of the share of nodes) are divided by the limit in minutes first.
    """
    if mode in (TO_TIME, SMALL_TO_TIME):
        per_minute = max(nodes * all_cpus / all_nodes, cpus) / max(1.0, limit_s / 60.0)
        factor = min(1.0, per_minute / all_cpus)
        return 1.0 - factor if mode == SMALL_TO_TIME else factor
    if mode == SMALL:
        return ((all_nodes - nodes) / all_nodes + (all_cpus - cpus) / all_cpus) / 2
    return (nodes / all_nodes + cpus / all_cpus) / 2


@compiled
def priority_of(weighted: float, nice: float) -> float:
    """Return the whole number that the weighted factors add up to, less nice, at least 1."""
    return max(float(LEAST), float(int(weighted - nice)))
