"""How far every job has come: columns over rows, so that a policy can ask for many rows at once."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats, Ints


class JobProgress:
    """Work done and GPU-seconds held.

    A running row progresses at ``restart_rate`` from ``start_s`` to ``progress_from_s`` and at ``rate`` after; a
    row that does not run has rates and GPUs 0. ``done`` and ``attained_gpu_s`` are as of ``start_s``.
    """

    def __init__(self, num_jobs: int) -> None:
        self.done = np.zeros(num_jobs)
        self.attained_gpu_s = np.zeros(num_jobs)
        self.start_s = np.zeros(num_jobs)
        self.progress_from_s = np.zeros(num_jobs)
        self.rate = np.zeros(num_jobs)
        self.restart_rate = np.zeros(num_jobs)
        self.gpus = np.zeros(num_jobs)
        self.first_start_s = np.full(num_jobs, np.nan)
        self.first_workers = np.zeros(num_jobs, dtype=np.int64)

    def begin(self, row: int, now_s: float, *, rate: float, restart_rate: float, from_s: float, gpus: float) -> None:
        """A piece begins."""
        self.start_s[row], self.progress_from_s[row] = now_s, from_s
        self.rate[row], self.restart_rate[row], self.gpus[row] = rate, restart_rate, gpus

    def end(self, row: int, at_s: float, lost_work: float = 0.0) -> None:
        """The piece ends; the row holds nothing until the next one begins."""
        start_s = self.start_s[row]
        self.done[row] += self.gained(row, at_s) - lost_work
        self.attained_gpu_s[row] += self.gpus[row] * (at_s - start_s)
        self.rate[row] = self.restart_rate[row] = self.gpus[row] = 0.0

    def gained(self, row: int, at_s: float) -> float:
        """Return the work done in the running piece up to ``at_s``."""
        start_s, from_s = float(self.start_s[row]), float(self.progress_from_s[row])
        early = float(self.restart_rate[row]) * (min(at_s, from_s) - start_s)
        return early + float(self.rate[row]) * max(0.0, at_s - from_s)

    def finish_s(self, row: int, work: float) -> float:
        """Return when the running piece reaches this much work in all."""
        start_s, from_s = float(self.start_s[row]), float(self.progress_from_s[row])
        missing = max(0.0, work - float(self.done[row]))
        slow = float(self.restart_rate[row])
        early = slow * (from_s - start_s)
        if slow > 0 and early >= missing:
            return start_s + missing / slow
        return from_s + (missing - early) / float(self.rate[row])

    def rate_at(self, row: int, now_s: float) -> float:
        """Return the rate at this instant of the running piece."""
        return float(self.restart_rate[row] if now_s < self.progress_from_s[row] else self.rate[row])

    def since_checkpoint(self, row: int, at_s: float, checkpoint_s: float) -> float:
        """Return the work done in the piece since its last checkpoint.

        Checkpoints are at whole multiples of ``checkpoint_s`` of the time in which the piece progresses.
        """
        begin_s = float(self.start_s[row] if self.restart_rate[row] > 0 else self.progress_from_s[row])
        if at_s <= begin_s:
            return 0.0
        saved_s = begin_s + np.floor((at_s - begin_s) / checkpoint_s) * checkpoint_s
        return self.gained(row, at_s) - self.gained(row, min(at_s, saved_s))

    def done_at(self, rows: Ints, now_s: float) -> Floats:
        """Return the work done so far, shape of ``rows``."""
        start_s, from_s = self.start_s[rows], self.progress_from_s[rows]
        early = self.restart_rate[rows] * (np.minimum(now_s, from_s) - start_s)
        return np.asarray(self.done[rows] + early + self.rate[rows] * np.maximum(0.0, now_s - from_s))

    def attained_at(self, rows: Ints, now_s: float) -> Floats:
        """Return the GPU-seconds held so far, shape of ``rows``."""
        return np.asarray(self.attained_gpu_s[rows] + self.gpus[rows] * (now_s - self.start_s[rows]))
