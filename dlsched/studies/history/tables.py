"""Waits, hours and cost by user, group, partition, class and month: one pass over columns for each table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import Floats, Ints, Texts
from dlsched.studies.history.answer import NAMELESS, OTHERS, GroupRow, Times, Used
from dlsched.studies.history.record import Bools, Record
from dlsched.wording.clock import Clock

MOST_GROUPS = 5_000
"""Names with the most jobs that have a row; the rest share one."""
MOST_MONTHS = 2_400
MONTH_S = 30 * DAY_S
"""A month of a log without dates."""
LONG_S, VERY_LONG_S = 600.0, 3600.0


@dataclass(frozen=True, eq=False)
class Groups:
    """Which row each job belongs to, ``code``, shape (jobs,), and the names of the rows."""

    code: Ints
    names: tuple[str, ...]


def groups_of(values: Texts | None, jobs: int) -> Groups:
    """Return the groups of a column, all jobs in one without it; the names with the fewest jobs are put together."""
    if values is None:
        return Groups(np.zeros(jobs, dtype=np.int64), ("",))
    code, names = pd.factorize(values)
    many = np.bincount(code, minlength=len(names))
    if len(names) > MOST_GROUPS:
        kept = np.sort(np.argsort(-many, kind="stable")[: MOST_GROUPS - 1])
        place = np.full(len(names), len(kept))
        place[kept] = np.arange(len(kept))
        return Groups(place[code], (*(str(name) or NAMELESS for name in names[kept]), OTHERS))
    return Groups(np.asarray(code, dtype=np.int64), tuple(str(name) or NAMELESS for name in names))


def rows_of(
    record: Record, groups: Groups, usd: Floats | None, sums: dict[str, Floats] | None = None
) -> list[GroupRow]:
    """Return a row for each group, in the order of their names.

    Parameters
    ----------
    usd
        Cost of each job, shape (jobs,); None without prices.
    sums
        Hours and cost of the rows where they are not those of the jobs of a row: as :func:`by_month`.
    """
    code, count = groups.code, len(groups.names)
    started = record.started

    def total(amount: Floats | Bools) -> Floats:
        return np.asarray(np.bincount(code, amount, minlength=count), dtype=float)

    num_started = total(started)
    with np.errstate(invalid="ignore"):
        over = {limit: total(started & (record.wait_s > limit)) / num_started for limit in (LONG_S, VERY_LONG_S)}
    waits = _times(record.wait_s[started], code[started], count)
    felt = _times((record.wait_s + record.held_s)[started], code[started], count)
    held, jobs = total(started & (record.held_s > 0)), total(np.ones(len(code)))
    if sums is None:
        sums = {name: total(amount) for name, amount in amounts(record, usd).items()}
    return [
        GroupRow(
            name=name,
            jobs=int(jobs[i]),
            started=int(num_started[i]),
            wait=waits[i],
            felt=felt[i],
            over_10min=float(over[LONG_S][i]) if num_started[i] else None,
            over_1h=float(over[VERY_LONG_S][i]) if num_started[i] else None,
            held=int(held[i]),
            used=Used(**{key: float(values[i]) for key, values in sums.items()}),
        )
        for i, name in enumerate(groups.names)
    ]


def amounts(record: Record, usd: Floats | None) -> dict[str, Floats]:
    """Return what each job adds to the fields of ``Used``, shape (jobs,)."""
    run_h, lost = record.run_h, record.lost
    gpu_h, core_h = record.gpus * run_h, record.cores * run_h
    found = {"gpu_h": gpu_h, "core_h": core_h, "lost_gpu_h": gpu_h * lost, "lost_core_h": core_h * lost}
    return found if usd is None else found | {"usd": usd}


def _times(values: Floats, code: Ints, count: int) -> list[Times | None]:
    """Return mean, median and p95 of the values of each group, None for an empty one; quantiles are interpolated."""
    values, code = values[order := np.lexsort((values, code))], code[order]
    first = np.searchsorted(code, np.arange(count))
    many = np.bincount(code, minlength=count)
    mean = np.bincount(code, values, minlength=count) / np.maximum(many, 1)

    def quantile(share: float) -> Floats:
        place = first + share * np.maximum(many - 1, 0)
        low = np.minimum(np.floor(place).astype(np.int64), max(len(values) - 1, 0))
        high = np.minimum(low + 1, np.maximum(first + many - 1, 0))
        if not len(values):
            return np.zeros(count)
        return np.asarray(values[low] + (place - low) * (values[np.maximum(high, low)] - values[low]))

    median, p95 = quantile(0.5), quantile(0.95)
    return [
        Times(mean_s=float(mean[i]), median_s=float(median[i]), p95_s=float(p95[i])) if many[i] else None
        for i in range(count)
    ]


# ---- months ------------------------------------------------------------------------------------------


def month_edges(first_s: float, last_s: float, clock: Clock) -> tuple[Floats, tuple[str, ...]]:
    """Return the starts of the months of a log with the end of the last, and their names; none for one of 200 years.

    Months are those of the calendar where the log has dates, else 30 days each.
    """
    if last_s - first_s > MOST_MONTHS * MONTH_S or abs(last_s) > MOST_MONTHS * MONTH_S:
        return np.zeros(1), ()
    if clock.zero is None:
        low, high = int(first_s // MONTH_S), int(last_s // MONTH_S)
        names = tuple(f"days {30 * month:,}–{30 * month + 29:,}" for month in range(low, high + 1))
        return np.asarray(np.arange(low, high + 2) * MONTH_S, dtype=np.float64), names
    low_month, high_month = clock.at([first_s, last_s]).astype("datetime64[M]")
    months = np.arange(low_month, high_month + 2)
    edges = (months.astype("datetime64[ms]") - np.datetime64(clock.zero, "ms")) / np.timedelta64(1, "s")
    return np.asarray(edges, dtype=float), tuple(str(month) for month in months[:-1])


def by_month(record: Record, edges: Floats, usd: Floats | None) -> dict[str, Floats]:
    """Return the hours and cost of each month: a job that runs over its end counts in both, by its time in each."""
    rows = np.flatnonzero(record.ran)
    whole = {name: amount[rows] for name, amount in amounts(record, usd).items()}
    found = {name: np.zeros(len(edges) - 1) for name in whole}
    start_s, end_s = record.start_s[rows], record.end_s[rows]
    first = np.clip(np.searchsorted(edges, start_s, side="right") - 1, 0, len(edges) - 2)
    last = np.clip(np.searchsorted(edges, end_s, side="left") - 1, first, len(edges) - 2)
    whole_h = np.maximum(record.run_h[rows], 1e-300)
    for ahead in range(int((last - first).max(initial=0)) + 1):
        reach = np.flatnonzero(first + ahead <= last)
        month = (first + ahead)[reach]
        inside_s = np.minimum(end_s[reach], edges[month + 1]) - np.maximum(start_s[reach], edges[month])
        part = np.where(first[reach] == last[reach], 1.0, inside_s / HOUR_S / whole_h[reach])
        for name, amount in whole.items():
            found[name] += np.bincount(month, amount[reach] * part, minlength=len(edges) - 1)
    return found
