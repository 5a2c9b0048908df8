"""Compiled loop for the list policies on rigid whole-GPU scenarios; the same log as the engine, much sooner."""

from __future__ import annotations

from collections.abc import Callable

from dlsched.domain.policy import ListRule
from dlsched.sim.kernels.finish import run_log
from dlsched.sim.kernels.start import eligible, grown, new_run
from dlsched.sim.kernels.tables import Count, Outcome
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared

__all__ = ["eligible", "run_kernel"]

INSTANTS_A_CALL = 20_000
Progress = Callable[[float, str], None]


def run_kernel(prepared: Prepared, rule: ListRule, progress: Progress | None = None) -> RunLog:
    """Return the log of a list rule on a prepared scenario for which :func:`eligible` holds.

    ``progress`` is called every few thousand instants with the share of jobs that have ended; what it raises
    stops the run.
    """
    from dlsched.sim.kernels.loop import advance  # loads numba

    run = new_run(prepared, rule)
    outcome = Outcome.MORE
    while outcome != Outcome.DONE:
        outcome = Outcome(advance(run, INSTANTS_A_CALL))
        if outcome == Outcome.FULL:
            run = grown(run)
        if progress is not None:
            ended = int(run.counts[Count.ENDED])
            progress(ended / len(run.jobs), f"{ended:,} of {len(run.jobs):,} jobs have ended")
    return run_log(run)
