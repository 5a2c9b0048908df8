"""More or fewer jobs of the same kind over the same time."""

from __future__ import annotations

import numpy as np

from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import Floats, Ints, Workload

GOLDEN = (np.sqrt(5.0) - 1) / 2
MOST_JITTER_S, JITTER_SHARE = HOUR_S, 0.1
"""How far an added job of a trace without other days is moved at most, each way: of time, and of the trace's span."""


def scale_demand(workload: Workload, factor: float, seed: int) -> Workload:
    """Return ``factor`` times as many jobs, to the nearest job, between the same first and last submission.

    Below 1, jobs are left out; the first and the last stay. Above 1, copies of jobs of the trace are added. Copy k of a
    job is called ``ID+k``: it has the job's own width, work, user and time to its due date, and is submitted at the
    same time of another day. Days with more jobs get more of them; a job for which there is no other day is moved by
    an hour at most. Where all jobs arrive at once, copies do too.

    At one seed the jobs of a smaller factor are among those of a larger one. The jobs left out or copied are spread
    evenly over small and large jobs, so GPU-time asked for scales by the factor up to about the largest job.
    Recorded starts and ends are dropped: they are of another load.
    """
    jobs, most = len(workload), max(1, round(factor * len(workload)))
    if not jobs or most == jobs:
        return workload
    turn = _turns(workload, seed)
    columns = {name: values for name, values in workload.columns().items() if not name.startswith("recorded_")}
    if most < jobs:
        turn[[0, -1]] = -1.0
        rows = np.sort(np.argsort(turn, kind="stable")[:most])
        kept = {name: values[rows] for name, values in columns.items()}
        return Workload.from_columns({**kept, "order": workload.order[rows]}, workload.meta)
    copy, left = divmod(most - jobs, jobs)
    by_turn = np.argsort(turn, kind="stable")
    rows = np.concatenate([np.tile(by_turn, copy), by_turn[:left]])
    number = np.arange(len(rows)) // jobs + 1
    shift_s = _shifts_s(workload, rows, number, seed)
    added = {name: values[rows] for name, values in columns.items()}
    added |= {name: added[name] + shift_s for name in ("submit_s", "due_s") if name in added}
    mark = "+"
    while any(mark in name for name in workload.job_id):  # "a+1" may be a job of the trace
        mark += "+"
    names = [f"{name}{mark}{k}" for name, k in zip(added["job_id"], number.tolist(), strict=True)]
    added["job_id"] = np.array(names, dtype=object)
    columns["order"], added["order"] = workload.order, workload.order[rows] + number * (workload.order.max() + 1)
    return Workload.from_columns(
        {name: np.concatenate([values, added[name]]) for name, values in columns.items()}, workload.meta
    )


def _turns(workload: Workload, seed: int) -> Floats:
    """Return when each job's turn comes to stay or to be copied, shape (jobs,), in [0, 1).

    Multiples of the golden ratio over the jobs by size: the jobs whose turn is below any share are that share of all,
    and of the small and the large ones, up to a few jobs (Kronecker sequence with a random start).
    """
    by_size = np.lexsort((workload.work, workload.work * workload.gpus))
    turn = np.empty(len(workload))
    turn[by_size] = (stream(seed, "workload").random() + GOLDEN * np.arange(len(workload))) % 1.0
    return turn


def _shifts_s(workload: Workload, rows: Ints, number: Ints, seed: int) -> Floats:
    """Return by how much copy ``number`` of each of the rows is moved in time, shape (rows,), seconds."""
    ids = [f"demand/{k}/{name}" for k, name in zip(number.tolist(), workload.job_id[rows], strict=True)]
    uniform = job_uniforms(seed, "workload", ids)[:, 0]
    submit_s = workload.submit_s
    day, of_day_s = submit_s // DAY_S, submit_s % DAY_S
    own, at_s = day[rows], submit_s[rows]
    # The days on which this time of day is within the trace, and the jobs that were submitted on them.
    first_day, last_day = day[0] + (of_day_s[rows] < of_day_s[0]), day[-1] - (of_day_s[rows] > of_day_s[-1])
    begin, end = np.searchsorted(day, first_day, "left"), np.searchsorted(day, last_day, "right")
    own_begin, own_end = np.searchsorted(day, own, "left"), np.searchsorted(day, own, "right")
    others = (end - begin) - (own_end - own_begin)
    drawn = begin + np.floor(uniform * others).astype(np.int64)
    drawn = np.where(drawn >= own_begin, drawn + (own_end - own_begin), drawn)
    other_day = day[np.minimum(drawn, len(day) - 1)]
    first_s, last_s = submit_s[0], submit_s[-1]
    reach_s = min(MOST_JITTER_S, JITTER_SHARE * (last_s - first_s))
    jittered_s = at_s + (2 * uniform - 1) * reach_s
    jittered_s = last_s - np.abs(last_s - (first_s + np.abs(jittered_s - first_s)))
    moved_s = np.where(others > 0, at_s + (other_day - own) * DAY_S, jittered_s)
    return np.asarray(np.clip(moved_s, first_s, last_s) - at_s)
