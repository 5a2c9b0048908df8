"""Compiled loop for list policies that never stop a job; the engine's log, in a time near-linear in the jobs."""

from __future__ import annotations

from dlsched.domain.policy import ListRule
from dlsched.sim.kernels.drive import Progress, finished
from dlsched.sim.kernels.rigid.start import eligible, grown, new_run
from dlsched.sim.kernels.rigid.tables import Count, Run
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared

__all__ = ["eligible", "new_run", "run_rigid"]

INSTANTS_A_CALL = 20_000


def run_rigid(prepared: Prepared, rule: ListRule, progress: Progress | None = None) -> RunLog:
    """Return the log of a rule on a prepared scenario for which :func:`eligible` holds.

    ``progress`` is called every few thousand instants with the share of jobs that have ended; what it raises
    stops the run.
    """
    from dlsched.sim.kernels.rigid.finish import run_log
    from dlsched.sim.kernels.rigid.loop import advance  # loads numba

    return run_log(finished(new_run(prepared, rule), advance, grown, _ended, INSTANTS_A_CALL, progress))


def _ended(run: Run) -> tuple[int, int]:
    return int(run.counts[Count.ENDED]), len(run.jobs)
