"""Compiled loop for list policies that stop jobs; the engine's log, in a time near-linear in the jobs."""

from __future__ import annotations

from dlsched.domain.policy import ListRule
from dlsched.sim.kernels.drive import Progress, finished
from dlsched.sim.kernels.preemptive.start import eligible, grown, learnt, new_run
from dlsched.sim.kernels.preemptive.tables import Count, Run
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared

__all__ = ["eligible", "new_run", "run_preemptive"]

INSTANTS_A_CALL = 20_000


def run_preemptive(prepared: Prepared, rule: ListRule, progress: Progress | None = None) -> RunLog:
    """Return the log of a rule on a prepared scenario for which :func:`eligible` holds.

    ``progress`` is called every few thousand instants with the share of jobs that have ended; what it raises
    stops the run.
    """
    from dlsched.sim.kernels.preemptive.finish import run_log
    from dlsched.sim.kernels.preemptive.loop import advance  # loads numba

    def ready(run: Run) -> Run:
        return grown(learnt(run, rule))

    return run_log(finished(new_run(prepared, rule), advance, ready, _ended, INSTANTS_A_CALL, progress))


def _ended(run: Run) -> tuple[int, int]:
    return int(run.counts[Count.ENDED]), len(run.jobs)
