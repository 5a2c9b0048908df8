"""Days resampled: a bootstrap of a recorded trace, for a feeling of how much a result owes to chance."""

from __future__ import annotations

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.randomness import stream
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import Ints, Workload

_MOST_DAYS = 100_000
_TIMES = ("submit_s", "due_s", "recorded_start_s", "recorded_end_s")


def resample_days(workload: Workload, seed: int) -> Workload:
    """Return a trace of as many days, each a whole day of the given one drawn with replacement.

    Days are 24-hour blocks from the start of the trace, so hours of the day stay where they are; the last may be a
    part of a day. A job drawn for day k is called ``ID@k``. All its times move along with it.

    Raises
    ------
    InputError
        If the trace spans so many days that it must be a mistake.
    """
    if len(workload) == 0:
        return workload
    day_of = (workload.submit_s // DAY_S).astype(np.int64)
    first_day, last_day = int(day_of[0]), int(day_of[-1])
    num_days = last_day - first_day + 1
    if num_days > _MOST_DAYS:
        raise InputError(
            "days resampled", f"the trace spans {num_days:,} days", "Remove the jobs that are far from the others"
        )
    drawn = first_day + stream(seed, "workload").integers(0, num_days, num_days)
    begins = np.searchsorted(day_of, drawn, side="left")
    ends = np.searchsorted(day_of, drawn, side="right")
    rows: Ints = np.concatenate([np.arange(begin, end) for begin, end in zip(begins, ends, strict=True)])
    day = np.repeat(np.arange(first_day, last_day + 1), ends - begins)
    columns = {name: values[rows] for name, values in workload.columns().items()}
    shift_s = (day - day_of[rows]) * DAY_S
    columns |= {name: columns[name] + shift_s for name in _TIMES if name in columns}
    names = [f"{job_id}@{number}" for job_id, number in zip(columns["job_id"], day - first_day + 1, strict=True)]
    columns["job_id"] = np.array(names, dtype=object)
    columns["order"] = np.lexsort((workload.order[rows], day)).argsort()
    source = workload.meta.get("source", "trace")
    # Put together anew, the days have no dates.
    meta = {key: value for key, value in workload.meta.items() if key not in ("time_zero", "time_zone")}
    meta["source"] = f"{source}; days resampled, seed {seed}"
    return Workload.from_columns(columns, meta)
