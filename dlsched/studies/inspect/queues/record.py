"""The waits of a run with quotas against those that the source recorded, queue by queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.domain.workload import Floats, Workload
from dlsched.studies.calibration.measures import Measures, measures
from dlsched.studies.calibration.record import record_of


def by_queue(jobs: Workload, wait_s: Floats, queue: Sequence[str]) -> Mapping[str, tuple[Measures | None, int]]:
    """Return the measures of each queue, and how many of its jobs are not compared; {} without a recorded start.

    ``wait_s``, ``queue``: of each job, the wait NaN where it never starts. Not compared are jobs without a recorded
    start, such as those that were evicted before their last one, and jobs from before the record is complete.
    """
    if not jobs.has_recorded_starts:
        return {}
    record, of_queue = record_of(jobs), np.array(queue, dtype=object)
    is_compared = ~np.isnan(record.wait_s) & (jobs.submit_s >= record.complete_from_s)
    found = {}
    for name in dict.fromkeys(queue):
        mine = is_compared & (of_queue == name)
        both = mine & ~np.isnan(wait_s)
        measured = measures(record.wait_s[both], wait_s[both], int((mine & ~both).sum()))
        found[name] = measured, int((of_queue == name).sum() - mine.sum())
    return found
