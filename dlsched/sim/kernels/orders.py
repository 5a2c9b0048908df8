"""What queues are sorted by when a job comes, as in ``dlsched.policies.baselines.orders``."""

from __future__ import annotations

import numpy as np

from dlsched.domain.policy import ListRule
from dlsched.domain.workload import Floats
from dlsched.sim.prepare import Prepared

TICKS_PER_UNIT = 1e6
EARLY_S = 1e-6


def first_keys(prepared: Prepared, rule: ListRule) -> Floats:
    """Return the keys at submission."""
    jobs = prepared.scenario.workload
    missing = np.full(len(jobs), np.inf)
    if rule.order in ("work", "remaining"):
        return np.asarray(np.rint(prepared.truth.believed_work * TICKS_PER_UNIT))
    if rule.order == "due":
        return missing if jobs.due_s is None else np.nan_to_num(jobs.due_s, nan=np.inf)
    if rule.order == "priority":
        return missing if jobs.priority is None else np.nan_to_num(-jobs.priority, nan=np.inf)
    if rule.order == "attained" and rule.thresholds_gpu_s:
        return np.searchsorted(rule.thresholds_gpu_s, jobs.workers * EARLY_S, side="right").astype(np.float64)
    return np.zeros(len(jobs))
