"""Compiled loop for the elastic policies on equal nodes that hold one worker each; the same log as the engine."""

from __future__ import annotations

from dlsched.domain.policy import ElasticRule
from dlsched.sim.kernels.drive import Progress, finished
from dlsched.sim.kernels.elastic.finish import run_log
from dlsched.sim.kernels.elastic.start import eligible, grown, new_run
from dlsched.sim.kernels.elastic.tables import Count, Run
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared

__all__ = ["eligible", "run_elastic"]

INSTANTS_A_CALL = 1_000
"""Few: a decision about a long queue takes a while, and a run is to be stopped at once."""


def run_elastic(prepared: Prepared, rule: ElasticRule, progress: Progress | None = None) -> RunLog:
    """Return the log of an elastic rule on a prepared scenario for which :func:`eligible` holds.

    ``progress`` is called every thousand instants with the share of jobs that have ended; what it raises stops the
    run.
    """
    from dlsched.sim.kernels.elastic.loop import advance  # loads numba

    return run_log(finished(new_run(prepared, rule), advance, grown, _ended, INSTANTS_A_CALL, progress))


def _ended(run: Run) -> tuple[int, int]:
    return int(run.counts[Count.ENDED]), len(run.jobs)
