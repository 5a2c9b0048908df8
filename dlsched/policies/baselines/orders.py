"""What queues are sorted by: numbers per row, lowest first; equal numbers go by source order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints

Order = Callable[[State, Ints], Floats]

TICKS_PER_UNIT = 1e6
"""Sums of times differ in their last bits; keys that are equal to a millionth are a tie."""
EARLY_S = 1e-6
"""An alarm may come this much too early through rounding; what it was set for counts as reached."""


def in_ticks(values: Floats) -> Floats:
    """Return values as whole millionths."""
    return np.rint(values * TICKS_PER_UNIT)


def by_submission(state: State, rows: Ints) -> Floats:
    """First come, first served: rows are in submission order already."""
    return np.zeros(len(rows))


def remaining_s(state: State, rows: Ints) -> Floats:
    """Return the believed run time left at the requested width on nodes of speed 1, seconds."""
    return state.remaining(rows) / state.rate(rows, state.requested(rows))


def by_remaining(state: State, rows: Ints) -> Floats:
    """Shortest believed remaining run time first."""
    return in_ticks(remaining_s(state, rows))


def by_due(state: State, rows: Ints) -> Floats:
    """Earliest due date first; a job without one goes last."""
    due_s = state.jobs.due_s
    return np.full(len(rows), np.inf) if due_s is None else np.nan_to_num(due_s[rows], nan=np.inf)


def by_priority(state: State, rows: Ints) -> Floats:
    """Highest number first; a job without one goes last."""
    priority = state.jobs.priority
    return np.full(len(rows), np.inf) if priority is None else np.nan_to_num(-priority[rows], nan=np.inf)


def by_attained(state: State, rows: Ints) -> Floats:
    """Fewest GPU-seconds held first."""
    return in_ticks(state.attained_gpu_s(rows))


def queue_number(state: State, rows: Ints, thresholds_gpu_s: tuple[float, ...]) -> Floats:
    """Return the queue of each job by thresholds of GPU-seconds held, 0 = first.

    A job is over a threshold ``EARLY_S`` early, so that an alarm at the crossing finds it crossed.
    """
    attained = state.attained_gpu_s(rows) + gpus(state, rows) * EARLY_S
    return np.searchsorted(np.asarray(thresholds_gpu_s), attained, side="right").astype(np.float64)


def gpus(state: State, rows: Ints) -> Floats:
    """Return the GPUs of each row at its request."""
    return state.requested(rows) * state.jobs.gpus_per_worker[rows]


def next_multiple_s(now_s: float, every_s: float) -> float:
    """Return the next whole multiple of ``every_s`` after now."""
    return float((np.floor((now_s + EARLY_S) / every_s) + 1) * every_s)


def next_setback_s(
    state: State, running: Ints, order: Order, ranks: Ints, thresholds_gpu_s: tuple[float, ...]
) -> float | None:
    """Return when the first running job falls behind its rank, to one as low as some waiting job's or lower.

    None when none will. Until then no job that waits gets ahead of another, so there is nothing to decide.

    Parameters
    ----------
    order
        The rank of each job now.
    ranks
        The rank of each running job in each of its queues by thresholds, shape (jobs or 1, queues).
    """
    waiting = state.active[~np.isin(state.active, running)]
    later = np.arange(ranks.shape[1]) > queue_number(state, running, thresholds_gpu_s)[:, None]
    behind = later & (ranks > order(state, running)[:, None]) & (ranks >= order(state, waiting).min())
    from_gpu_s = np.asarray(thresholds_gpu_s)[behind.argmax(axis=1) - 1]
    return first_reached_s(state, running, np.where(behind.any(axis=1), from_gpu_s, np.inf))


def first_reached_s(state: State, running: Ints, held_gpu_s: Floats) -> float | None:
    """Return when the first running job has held its so many GPU-seconds; None when none will."""
    ahead, width = held_gpu_s - state.attained_gpu_s(running), gpus(state, running)
    due_s = state.now_s + (ahead / np.where(width > 0, width, np.nan))
    due_s = due_s[np.isfinite(due_s)]
    return float(due_s.min()) if due_s.size else None


def sorted_rows(rows: Ints, keys: Floats) -> Ints:
    """Return rows by key, then by row number, which is submission and source order."""
    return rows[np.lexsort((rows, keys))]
