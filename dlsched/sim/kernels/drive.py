"""From bite to bite through a compiled run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dlsched.sim.kernels.tables import Outcome

Progress = Callable[[float, str], None]
R = TypeVar("R")


def finished(
    run: R,
    advance: Callable[[R, int], int],
    grown: Callable[[R], R],
    ended: Callable[[R], tuple[int, int]],
    instants_a_call: int,
    progress: Progress | None = None,
) -> R:
    """Return the run at its end: ``advance`` it bite by bite, with more space where its log is full.

    ``progress`` is called after each bite with the share of jobs that have ended, of which ``ended`` gives number and
    total; what it raises stops the run.
    """
    outcome = Outcome.MORE
    while outcome != Outcome.DONE:
        outcome = Outcome(advance(run, instants_a_call))
        if outcome == Outcome.FULL:
            run = grown(run)
        if progress is not None:
            count, total = ended(run)
            progress(count / total, f"{count:,} of {total:,} jobs have ended")
    return run
