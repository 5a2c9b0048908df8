"""Several runs against a baseline: differences with intervals, which is best, what differs between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.metrics.kpi import KPI, kpi_of
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.intervals import Interval
from dlsched.metrics.stats.statements import SAME_SHARE, Change, Estimate, Verdict, change_of, value_of
from dlsched.metrics.summary import Metrics
from dlsched.wording.certainty import (
    ROUGH,
    certainty,
    count_words,
    interval_note,
    percent_words,
    value_words,
)
from dlsched.wording.counted import GPUS, Counted
from dlsched.wording.formats import MISSING, Number, count, show_delta

Numbers = Mapping[str, Number]
"""Metrics by key, as summarise gives them."""
COMPARED = (
    "completed", "rejected", "unfinished", "wait_p95", "wait_p50", "wait_mean", "not_running_mean", "not_running_p95",
    "jct_mean", "jct_p95", "slowdown_mean", "late_share", "tardiness_total", "tardiness_cost", "utility_total",
    "vm_cost", "cost_month", "usd_per_job", "total_cost", "idle_cost", "usd_per_useful_gpu_h", "energy_kwh",
    "energy_usd", "carbon_kg", "allocation_ratio", "goodput", "other_width_share", "preemptions", "resizes", "restarts",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeltaWords:
    """A difference in words, in its parts: "−41 min", "−62% to −12%", "better"; a part that is not there is ""."""

    size: str
    around: str = ""
    verdict: str = ""

    @property
    def text(self) -> str:
        """All of it: "−41 min (−62% to −12%), better"."""
        size = f"{self.size} ({self.around})" if self.around else self.size
        return ", ".join(filter(None, (size, self.verdict)))

    @property
    def brackets(self) -> str:
        """What stands behind both values in a sentence: "better in 40 of 40", "−62% to −12%", else the size."""
        return self.around or (self.verdict if " in " in self.verdict or "(" in self.verdict else self.size)


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one run: its value, and its difference from the baseline (None for the baseline itself)."""

    name: str
    value: Estimate | None
    delta: Change | None
    verdict: Verdict
    best: bool
    text: str
    told: DeltaWords

    @property
    def delta_text(self) -> str:
        """The difference in words; "" for the baseline."""
        return self.told.text


@dataclass(frozen=True, slots=True)
class Row:
    """One metric over all runs, in the order in which the runs were given."""

    kpi: KPI
    cells: tuple[Cell, ...]

    def of(self, name: str) -> Cell:
        """Return the cell of a run."""
        return next(cell for cell in self.cells if cell.name == name)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All compared metrics; ``futures`` of ``basis.futures`` + 1 are there, future 0 among them.

    ``rents``: the policies rent the machines, which decides how costs compare (:mod:`dlsched.metrics.money`).
    """

    baseline: str
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    futures: int
    basis: Basis
    rents: bool = False

    def row(self, key: str) -> Row | None:
        """Return the row of a metric, if any run has it."""
        return next((row for row in self.rows if row.kpi.key == key), None)

    @property
    def is_rough(self) -> bool:
        """Whether one future of something random is all there is."""
        return self.futures == 1 and self.basis.kind == "drawn"

    @property
    def certainty(self) -> str:
        """How sure the numbers are, in words."""
        return certainty(self.basis, self.futures)

    @property
    def interval_note(self) -> str:
        """What the ranges beside the numbers are, or why there are none."""
        return interval_note(self.basis, self.futures)


def compare(
    runs: Sequence[tuple[str, Numbers | Sequence[Numbers]]],
    baseline: str,
    *,
    basis: Basis,
    rents: bool = False,
    keys: Sequence[str] = COMPARED,
    counted: Counted = GPUS,
) -> Comparison:
    """Return the comparison of runs on the same workload.

    Parameters
    ----------
    runs
        Name and metrics of each run, or the metrics of each of its futures, future 0 first; future i of all runs saw
        the same jobs.
    baseline
        Name of the run that the others are compared with.
    basis
        What the futures are of.
    rents
        Whether the policies rent the machines.
    keys
        Metrics to compare, in this order; those no run has are left out.
    counted
        The resource that counts for the scenario, in which metrics of use are told.

    Raises
    ------
    InputError
        If the baseline is not among the runs, two runs share a name, or numbers of futures differ.
    """
    futures = {name: [given] if isinstance(given, Mapping) else list(given) for name, given in runs}
    _check(runs, baseline, {name: len(each) for name, each in futures.items()})
    there = []
    for kpi in (kpi_of(key, counted) for key in keys):
        values = {name: _values(each, kpi.key) for name, each in futures.items()}
        best = _best(kpi, values, basis)
        cells = tuple(_cell(kpi, name, values, baseline, best, basis) for name in futures)
        there += [Row(kpi, cells)] if any(cell.value is not None for cell in cells) else []
    return Comparison(baseline, tuple(futures), tuple(there), len(futures[baseline]), basis, rents)


def comparison_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row for each metric and run.

    Columns: key, label, name, value, low, high, delta, delta_low, delta_high, change (share of the baseline),
    verdict, better_in, worse_in (futures), best, text, delta_text, futures. NaN where undefined.
    """
    return pd.DataFrame([_record(row, cell, comparison.basis) for row in comparison.rows for cell in row.cells])


def common_jobs(tables: Mapping[str, pd.DataFrame]) -> tuple[int, dict[str, Metrics]]:
    """Return how many jobs all runs completed, and the metrics of each run over those jobs only.

    ``tables`` are jobs tables by run. Only metrics that are sums or means over jobs are given; machine cost is not,
    a machine is not up for some of the jobs only.
    """
    in_all = _completed_in_all([*tables.values()])
    metrics = {name: _metrics_of(table[mask]) for (name, table), mask in zip(tables.items(), in_all, strict=True)}
    return (int(in_all[0].sum()) if in_all else 0), metrics


def count_common_jobs(tables: Mapping[str, pd.DataFrame]) -> int:
    """Return how many jobs all runs completed; ``tables`` are jobs tables by run."""
    return int(_completed_in_all([*tables.values()])[0].sum()) if tables else 0


def _completed_in_all(tables: Sequence[pd.DataFrame]) -> list[np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return for each table which of its jobs all tables have completed."""
    done = [(table["status"] == "completed").to_numpy(bool) for table in tables]
    names = [table["job_id"] for table in tables]
    if all(own.equals(names[0]) for own in names[1:]):  # as runs of one scenario have them
        return [np.logical_and.reduce(done)] * len(tables)
    of_all = set.intersection(*(set(own[mask]) for own, mask in zip(names, done, strict=True)))
    return [np.array([name in of_all for name in own], dtype=bool) for own in names]


def check_same_workload(runs: Sequence[tuple[str, str, int]], common: int | None = None) -> None:
    """Refuse runs of different workloads; ``runs`` = (name, workload hash, number of jobs).

    Raises
    ------
    InputError
        Naming the first run whose workload differs from the first one's.
    """
    for name, workload_hash, jobs in runs[1:]:
        first, first_hash, first_jobs = runs[0]
        if workload_hash != first_hash:
            sizes = f"{first} has {count(first_jobs)} jobs, {name} has {count(jobs)}"
            if jobs == first_jobs:
                sizes += " others"
            way_out = f"Compare the common {count(common)} jobs" if common else "Compare runs of one scenario"
            raise InputError(f"{first} and {name}", f"are runs of different workloads: {sizes}", way_out)


def what_differs(settings: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the settings in which runs differ: ``setting`` (dotted path), and one entry for each run by name.

    A setting that a run does not have is None there.
    """
    flat = {name: _flat(values) for name, values in settings.items()}
    paths = dict.fromkeys(path for values in flat.values() for path in values)
    records = [{"setting": path, **{name: values.get(path) for name, values in flat.items()}} for path in paths]
    return [record for record in records if any(record[name] != record[next(iter(flat))] for name in flat)]


def _check(runs: Sequence[tuple[str, Any]], baseline: str, futures: Mapping[str, int]) -> None:
    names = [name for name, _ in runs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"run {twice!r}", "appears twice in the comparison", "Give each run its own name")
    if baseline not in futures:
        raise InputError(
            f"baseline {baseline!r}", "is not among the compared runs", f"Choose one of {', '.join(names)}"
        )
    for name, number_of in futures.items():
        if number_of != futures[baseline] or number_of == 0:
            raise InputError(
                f"run {name!r}",
                f"has {count(number_of)} futures, the baseline {baseline!r} has {count(futures[baseline])}",
                "Run both with the same futures",
            )


def _values(futures: Sequence[Numbers], key: str) -> list[float] | None:
    """Return the metric of every future; None if a future has none."""
    values = [future.get(key) for future in futures]
    return None if any(value is None for value in values) else [float(value or 0.0) for value in values]


def _cell(
    kpi: KPI, name: str, values: Mapping[str, list[float] | None], baseline: str, best: set[str], basis: Basis
) -> Cell:
    ours, theirs = values[name], values[baseline]
    if ours is None:
        return Cell(name, None, None, "missing", False, MISSING, DeltaWords(MISSING))
    value = value_of(kpi, ours, basis)
    text = value_words(kpi.kind, value.value, value.low, value.high)
    if name == baseline:
        return Cell(name, value, None, "baseline", name in best, text, DeltaWords(""))
    if theirs is None:
        return Cell(name, value, None, "missing", name in best, text, DeltaWords(MISSING))
    change = change_of(kpi, ours, theirs, basis)
    return Cell(name, value, change, change.verdict, name in best, text, told(kpi, change))


def told(kpi: KPI, change: Change) -> DeltaWords:
    """Return a difference in words, in its parts."""
    if change.verdict == "same":
        return DeltaWords("same")
    size = show_delta(kpi.kind, change.value)
    if change.verdict == "rough":
        return DeltaWords(size, "", ROUGH)
    if kpi.better == "neutral" and change.verdict in ("not clear", "mixed"):
        return DeltaWords(size, "", "not clear")
    if change.kind == "recorded" and not change.this_month_only:
        return DeltaWords(size, "", count_words(change.verdict, change.better, change.worse, change.n))
    verdict = "" if change.verdict == "changed" else change.verdict
    if change.kind == "recorded":
        return DeltaWords(size, "", f"{verdict} in this month".lstrip())
    if change.this_month_only:  # replays of one log: the range of their differences
        around = "" if change.low is None or change.high is None else _signed_range(kpi, change.low, change.high)
        return DeltaWords(size, around, f"{verdict} in this log".lstrip())
    return DeltaWords(size, _around(kpi, change), verdict)


def _around(kpi: KPI, change: Change) -> str:
    """Return the interval of a drawn change: in percent where it is stated as a ratio, else in the metric's unit."""
    if change.effect is None or change.effect.low == change.effect.high:
        return ""
    if change.effect.is_ratio:
        return percent_words(change.effect.low, change.effect.high)
    return _signed_range(kpi, change.effect.low, change.effect.high)


def judge(kpi: KPI, delta: Interval, scale: float) -> Verdict:
    """Return what a mean difference of value - baseline means; ``scale`` is the size of the two values."""
    small = 0.0 if kpi.kind == "count" else SAME_SHARE * scale
    if delta.half_width is None:
        return "same" if delta.mean == 0 else "rough"
    if abs(delta.mean) <= small and delta.half_width <= small:
        return "same"
    if not delta.tells_apart():
        return "not clear"
    if kpi.better == "neutral":
        return "changed"
    return "better" if (delta.mean < 0) == (kpi.better == "lower") else "worse"


def delta_words(kpi: KPI, delta: Interval, verdict: Verdict) -> str:
    """Return a mean difference in words: "−41 min (−56 min to −26 min), better"; "same"; "−1 min, not clear"."""
    if verdict == "same":
        return "same"
    size = DeltaWords(show_delta(kpi.kind, delta.mean), _signed_range(kpi, delta.low, delta.high),
                      {"changed": "", "rough": ROUGH}.get(verdict, verdict))  # fmt: skip
    return size.text


def _signed_range(kpi: KPI, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    ends = [show_delta(kpi.kind, end) for end in (low, high)]
    return "" if ends[0] == ends[1] else " to ".join(ends)


def _best(kpi: KPI, values: Mapping[str, list[float] | None], basis: Basis) -> set[str]:
    """Return the best run and those not clearly behind it; none if all tie or nothing can be said."""
    there = {name: each for name, each in values.items() if each is not None}
    if kpi.better == "neutral" or len(there) < 2:
        return set()
    sign = 1.0 if kpi.better == "lower" else -1.0
    first = min(there, key=lambda name: sign * value_of(kpi, there[name], basis).value)
    behind = {
        name
        for name, each in there.items()
        if change_of(kpi, each, there[first], basis).verdict in ("worse", "likely worse")
    }
    return there.keys() - behind if behind else set()


def _record(row: Row, cell: Cell, basis: Basis) -> dict[str, Any]:
    value, delta = cell.value, cell.delta
    base = next((c.value.value for c in row.cells if c.verdict == "baseline" and c.value is not None), np.nan)
    return {
        "key": row.kpi.key,
        "label": row.kpi.label,
        "name": cell.name,
        "value": np.nan if value is None else value.value,
        "low": np.nan if value is None else _end(value.low, value.value, basis),
        "high": np.nan if value is None else _end(value.high, value.value, basis),
        "delta": np.nan if delta is None else delta.value,
        "delta_low": np.nan if delta is None else _end(delta.low, delta.value, basis),
        "delta_high": np.nan if delta is None else _end(delta.high, delta.value, basis),
        "change": delta.value / abs(base) if delta is not None and base else np.nan,
        "verdict": cell.verdict,
        "better_in": np.nan if delta is None else delta.better,
        "worse_in": np.nan if delta is None else delta.worse,
        "best": cell.best,
        "text": cell.text,
        "delta_text": cell.delta_text,
        "futures": 0 if value is None else value.n,
    }


def _end(end: float | None, value: float, basis: Basis) -> float:
    """Return the end of a range; the value itself where nothing is random."""
    return end if end is not None else value if basis.is_exact else math.nan


def _metrics_of(jobs: pd.DataFrame) -> Metrics:
    """Return the metrics over these completed jobs."""
    due = int(jobs["tardiness_s"].notna().sum())
    late = int((jobs["tardiness_s"] > 0).sum())

    def total(column: str) -> float | None:
        known = column in jobs and jobs[column].notna().any()
        return float(jobs[column].sum()) if known else None

    def over(column: str, percent: float | None = None) -> float | None:
        values = jobs[column].dropna()
        if values.empty:
            return None
        return float(values.mean() if percent is None else np.percentile(values, percent))

    return {
        "jobs": len(jobs),
        "completed": len(jobs),
        "wait_mean": over("wait_s"),
        "wait_p50": over("wait_s", 50),
        "wait_p95": over("wait_s", 95),
        "jct_mean": over("jct_s"),
        "jct_median": over("jct_s", 50),
        "jct_p95": over("jct_s", 95),
        "jct_p99": over("jct_s", 99),
        "not_running_mean": over("not_running_s"),
        "not_running_p95": over("not_running_s", 95),
        "slowdown_mean": over("slowdown"),
        "late_jobs": late if due else None,
        "late_share": late / due if due else None,
        "tardiness_total": total("tardiness_s"),
        "tardiness_cost": total("tardiness_usd"),
        "utility_total": total("utility"),
        "preemptions": int(jobs["preemptions"].sum()),
        "resizes": int(jobs["resizes"].sum()),
        "restarts": int(jobs["restarts"].sum()),
    }


def _flat(values: Any, path: str = "") -> dict[str, Any]:
    """Return nested settings as dotted path -> value; lists of records by position."""
    if isinstance(values, Mapping):
        entries = [(f"{path}.{key}" if path else str(key), value) for key, value in values.items()]
    elif isinstance(values, (list, tuple)) and any(isinstance(value, Mapping) for value in values):
        entries = [(f"{path}[{position}]", value) for position, value in enumerate(values)]
    else:
        return {path: values}
    return {leaf: value for name, inner in entries for leaf, value in _flat(inner, name).items()}
