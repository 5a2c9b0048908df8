"""Compiled loops for rules they understand, on plain scenarios; the same log as the engine, much sooner."""

from __future__ import annotations

from dlsched.domain.policy import ElasticRule, KernelRule, Policy, QueueTreeRule, SlurmRule
from dlsched.policies.slurm.params import SlurmParams
from dlsched.sim.kernels import elastic, preemptive, queue_tree, rigid, slurm
from dlsched.sim.kernels.drive import Progress
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared

__all__ = ["eligible", "run_kernel"]


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether one of the loops can stand in for this policy on this scenario; none rents nodes."""
    rents = prepared.scenario.cluster.rents_nodes
    return not rents and any(
        loop.eligible(prepared, policy) for loop in (rigid, preemptive, elastic, slurm, queue_tree)
    )


def run_kernel(prepared: Prepared, rule: KernelRule, progress: Progress | None = None) -> RunLog:
    """Return the log of a rule on a prepared scenario for which :func:`eligible` holds.

    ``progress`` is called every few thousand instants with the share of jobs that have ended; what it raises
    stops the run.
    """
    if isinstance(rule, ElasticRule):
        return elastic.run_elastic(prepared, rule, progress)
    if isinstance(rule, SlurmRule):
        assert isinstance(rule.params, SlurmParams)
        return slurm.run_slurm(prepared, rule.params, progress)
    if isinstance(rule, QueueTreeRule):
        return queue_tree.run_queue_tree(prepared, progress)
    return (preemptive.run_preemptive if rule.preemptive else rigid.run_rigid)(prepared, rule, progress)
