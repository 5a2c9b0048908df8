"""Compiled loops for rules they understand, on plain scenarios; the same log as the engine, much sooner."""

from __future__ import annotations

from dlsched.domain.policy import ElasticRule, ListRule, Policy
from dlsched.sim.kernels import elastic, start
from dlsched.sim.kernels.drive import Progress, finished
from dlsched.sim.kernels.finish import run_log
from dlsched.sim.kernels.start import grown, new_run
from dlsched.sim.kernels.tables import Count, Run
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared

__all__ = ["eligible", "run_kernel"]

INSTANTS_A_CALL = 20_000


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether one of the loops can stand in for this policy on this scenario."""
    return start.eligible(prepared, policy) or elastic.eligible(prepared, policy)


def run_kernel(prepared: Prepared, rule: ListRule | ElasticRule, progress: Progress | None = None) -> RunLog:
    """Return the log of a rule on a prepared scenario for which :func:`eligible` holds.

    ``progress`` is called every few thousand instants with the share of jobs that have ended; what it raises
    stops the run.
    """
    if isinstance(rule, ElasticRule):
        return elastic.run_elastic(prepared, rule, progress)
    from dlsched.sim.kernels.loop import advance  # loads numba

    return run_log(finished(new_run(prepared, rule), advance, grown, _ended, INSTANTS_A_CALL, progress))


def _ended(run: Run) -> tuple[int, int]:
    return int(run.counts[Count.ENDED]), len(run.jobs)
