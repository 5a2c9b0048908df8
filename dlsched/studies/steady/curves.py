"""From the log of a run to the curves of a point: early results, nodes of a job, jobs in the system."""

from __future__ import annotations

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.step_functions import accrued, count_after, thin
from dlsched.sim.log import RunLog
from dlsched.studies.steady.answer import Curve

BINS = 100
MOST_POINTS = 400


def fraction_times_s(log: RunLog, submit_s: Floats, work: Floats, fraction: float) -> Floats:
    """Return when each job has this share of its work done, seconds from its submission, shape (jobs,).

    For runs without restarts, in which no work is lost: every piece progresses at its rate from start to end. Every
    job completes. ``submit_s`` and ``work`` have shape (jobs,); ``fraction`` is in (0, 1].
    """
    if fraction == 1:
        return np.asarray(log.job_end_s - submit_s)
    order = np.lexsort((log.piece_start_s, log.piece_row))
    row, rate = log.piece_row[order], log.piece_rate[order]
    done = rate * (log.piece_end_s - log.piece_start_s)[order]
    # Shares of the work of all jobs in a row: job j covers j to j + 1.
    share = np.add.accumulate(done / work[row])
    first = np.searchsorted(row, np.arange(len(submit_s)))
    before = np.concatenate([[0.0], share])[first]
    piece = np.searchsorted(share, before + fraction)
    last = np.append(first[1:], len(row)) - 1
    piece = np.minimum(piece, last)  # rounding of the sum
    missing = (before + fraction - np.concatenate([[0.0], share])[piece]) * work
    return np.asarray(log.piece_start_s[order][piece] + missing / rate[piece] - submit_s)


def nodes_per_job(log: RunLog, submit_s: Floats, bins: int = BINS) -> Curve:
    """Return the mean nodes of a running job in equal bins between first and last submission; 0 where no job ran."""
    edge_s = np.linspace(submit_s[0], submit_s[-1], bins + 1)
    run_s = log.piece_end_s - log.piece_start_s
    nodes = np.diff(log.share_first)
    held_s = np.diff(accrued(log.piece_start_s, log.piece_end_s, nodes * run_s, edge_s))
    ran_s = np.diff(accrued(log.piece_start_s, log.piece_end_s, run_s, edge_s))
    is_idle = ran_s <= 1e-9 * np.diff(edge_s)
    mean = np.divide(held_s, ran_s, out=np.zeros(bins), where=~is_idle)
    return _curve(edge_s[:-1] - submit_s[0], mean)


def in_system(log: RunLog, submit_s: Floats, most: int = MOST_POINTS) -> Curve:
    """Return how many jobs were in the system from first to last submission, at most ``most`` points."""
    at_s = np.unique(np.concatenate([submit_s, log.job_end_s]))
    at_s = at_s[at_s <= submit_s[-1]]
    jobs = count_after(submit_s, at_s) - count_after(log.job_end_s, at_s)
    keep = thin(at_s, [jobs], most)
    return _curve(at_s[keep] - submit_s[0], jobs[keep])


def _curve(at_s: Floats, value: Floats | Ints) -> Curve:
    return Curve(at_h=tuple((at_s / HOUR_S).tolist()), value=tuple(value.astype(float).tolist()))
