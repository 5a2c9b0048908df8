"""Compiled loop for the policy queue-tree on trees with one flavor of one resource; the engine's log, much sooner."""

from __future__ import annotations

from dlsched.sim.kernels.drive import Progress, finished
from dlsched.sim.kernels.queue_tree.start import eligible, grown, new_run
from dlsched.sim.kernels.queue_tree.tables import Count, Run
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared

__all__ = ["eligible", "run_queue_tree"]

INSTANTS_A_CALL = 5_000


def run_queue_tree(prepared: Prepared, progress: Progress | None = None) -> RunLog:
    """Return the log of the policy on a prepared scenario for which :func:`eligible` holds.

    ``progress`` is called every few thousand instants with the share of jobs that have ended; what it raises stops the
    run.
    """
    from dlsched.sim.kernels.queue_tree.finish import run_log
    from dlsched.sim.kernels.queue_tree.loop import advance  # loads numba

    run = finished(new_run(prepared), advance, grown, _ended, INSTANTS_A_CALL, progress)
    return run_log(run, prepared)


def _ended(run: Run) -> tuple[int, int]:
    return int(run.counts[Count.ENDED]), len(run.jobs)
