"""Several runs against a baseline: differences with intervals, who is best, what differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.metrics.summary import Metrics
from dlsched.wording.certainty import ROUGH, certainty, interval_note
from dlsched.wording.formats import MISSING, Number, count, half_words, show, show_delta, show_interval, show_size

Verdict = Literal["baseline", "better", "worse", "changed", "same", "not distinguishable", "rough", "missing"]
Numbers = Mapping[str, Number]
"""Metrics by key, as summarise gives them."""
SAME_SHARE = 5e-4
"""A difference below this share of the values is called the same; counts are compared exactly."""
COMPARED = (
    "completed", "rejected", "unfinished", "wait_p95", "wait_p50", "wait_mean", "not_running_mean", "jct_mean",
    "jct_p95", "slowdown_mean", "late_share", "tardiness_total", "tardiness_cost", "utility_total", "vm_cost",
    "cost_month", "total_cost", "idle_cost", "usd_per_useful_gpu_h", "allocation_ratio", "goodput", "other_width_share",
    "preemptions", "resizes", "restarts",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeltaWords:
    """A difference in words, in its parts: "−41 min", "± 15 min", "better"; a part that is not there is ""."""

    size: str
    half: str = ""
    verdict: str = ""

    @property
    def change(self) -> str:
        """The size with its interval: "−41 min ± 15 min"."""
        return " ".join(filter(None, (self.size, self.half)))

    @property
    def text(self) -> str:
        """All of it: "−41 min ± 15 min, better"."""
        return ", ".join(filter(None, (self.change, self.verdict)))


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one run: its value, and its difference from the baseline (None for the baseline itself)."""

    name: str
    value: Interval | None
    delta: Interval | None
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
    """All compared metrics.

    ``exact``: nothing is random, one draw says all. ``draws``: the smallest number. ``of_days``: draws are whole days
    of one trace, drawn with replacement, so that ± does not tell how other days would differ (decision 027).
    """

    baseline: str
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    draws: int
    exact: bool
    of_days: bool = False

    def row(self, key: str) -> Row | None:
        """Return the row of a metric, if any run has it."""
        return next((row for row in self.rows if row.kpi.key == key), None)

    def certainty(self, *, paired: bool = True) -> str:
        """Return how sure the numbers are, in words; not ``paired``: of one run by itself."""
        return certainty(self.draws, exact=self.exact, paired=paired, of_days=self.of_days)

    @property
    def interval_note(self) -> str:
        """What the ± beside the numbers is, or why there is none."""
        return interval_note(self.draws, exact=self.exact, of_days=self.of_days)


def compare(
    runs: Sequence[tuple[str, Numbers | Sequence[Numbers]]],
    baseline: str,
    *,
    exact: bool = False,
    of_days: bool = False,
    keys: Sequence[str] = COMPARED,
) -> Comparison:
    """Return the comparison of runs on the same workload.

    Parameters
    ----------
    runs
        Name and metrics of each run, or the metrics of each of its draws; draw i of all runs saw the same jobs.
    baseline
        Name of the run that the others are compared with.
    exact
        Whether nothing is random in these runs, so that a single draw has no uncertainty.
    of_days
        Whether the draws are resampled days of one trace.
    keys
        Metrics to compare, in this order; those no run has are left out.

    Raises
    ------
    InputError
        If the baseline is not among the runs, two runs share a name, or numbers of draws differ.
    """
    draws = {name: [given] if isinstance(given, Mapping) else list(given) for name, given in runs}
    _check(runs, baseline, {name: len(each) for name, each in draws.items()})
    there = []
    for kpi in (KPIS[key] for key in keys):
        values = {name: _values(each, kpi.key) for name, each in draws.items()}
        best = _best(kpi, values, exact=exact)
        cells = tuple(_cell(kpi, name, values, baseline, best, exact=exact) for name in draws)
        there += [Row(kpi, cells)] if any(cell.value is not None for cell in cells) else []
    return Comparison(baseline, tuple(draws), tuple(there), len(draws[baseline]), exact, of_days)


def comparison_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row for each metric and run.

    Columns: key, label, name, value, low, high, delta, delta_low, delta_high, change (share of the baseline),
    verdict, best, text, delta_text, draws. NaN where undefined.
    """
    return pd.DataFrame([_record(row, cell) for row in comparison.rows for cell in row.cells])


def common_jobs(tables: Mapping[str, pd.DataFrame]) -> tuple[int, dict[str, Metrics]]:
    """Return how many jobs all runs completed, and the metrics of each run over those jobs only.

    ``tables`` are jobs tables by run. Only metrics that are sums or means over jobs are given; machine cost is not,
    a machine is not up for some of the jobs only.
    """
    done = [set(table.loc[table["status"] == "completed", "job_id"]) for table in tables.values()]
    common = set.intersection(*done) if done else set()
    return len(common), {name: _metrics_of(table[table["job_id"].isin(common)]) for name, table in tables.items()}


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


def _check(runs: Sequence[tuple[str, Any]], baseline: str, draws: Mapping[str, int]) -> None:
    names = [name for name, _ in runs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"run {twice!r}", "is named twice in the comparison", "Give each run its own name")
    if baseline not in draws:
        raise InputError(f"baseline {baseline!r}", "is not among the compared runs", f"Pick one of {', '.join(names)}")
    for name, number_of in draws.items():
        if number_of != draws[baseline] or number_of == 0:
            raise InputError(
                f"run {name!r}",
                f"has {count(number_of)} draws, the baseline {baseline!r} has {count(draws[baseline])}",
                "Run both with the same draws",
            )


def _values(draws: Sequence[Numbers], key: str) -> list[float] | None:
    """Return the metric of every draw; None if a draw has none."""
    values = [draw.get(key) for draw in draws]
    return None if any(value is None for value in values) else [float(value or 0.0) for value in values]


def _sure(interval: Interval, *, exact: bool) -> Interval:
    """Return the interval; a single draw of something that is not random has no uncertainty."""
    return Interval(interval.mean, 0.0, 1) if exact and interval.n == 1 else interval


def _cell(
    kpi: KPI, name: str, values: Mapping[str, list[float] | None], baseline: str, best: set[str], *, exact: bool
) -> Cell:
    ours, theirs = values[name], values[baseline]
    if ours is None:
        return Cell(name, None, None, "missing", False, MISSING, DeltaWords(MISSING))
    value = _sure(mean_interval(ours), exact=exact)
    text = show_interval(kpi.kind, value.mean, value.half_width)
    if name == baseline:
        return Cell(name, value, None, "baseline", name in best, text, DeltaWords(""))
    if theirs is None:
        return Cell(name, value, None, "missing", name in best, text, DeltaWords(MISSING))
    delta = _sure(paired_difference(ours, theirs), exact=exact)
    verdict = judge(kpi, delta, scale=max(abs(value.mean), abs(float(np.mean(theirs)))))
    return Cell(name, value, delta, verdict, name in best, text, delta_parts(kpi, delta, verdict))


def judge(kpi: KPI, delta: Interval, scale: float) -> Verdict:
    """Return what a difference of value - baseline means; ``scale`` is the size of the two values."""
    small = 0.0 if kpi.kind == "count" else SAME_SHARE * scale
    if delta.half_width is None:
        return "same" if delta.mean == 0 else "rough"
    if abs(delta.mean) <= small and delta.half_width <= small:
        return "same"
    if not delta.tells_apart():
        return "not distinguishable"
    if kpi.better == "neutral":
        return "changed"
    return "better" if (delta.mean < 0) == (kpi.better == "lower") else "worse"


def delta_words(kpi: KPI, delta: Interval, verdict: Verdict) -> str:
    """Return a difference in words: "−41 min ± 15 min, better"; "same"; "−1 min ± 3 min, not distinguishable"."""
    return delta_parts(kpi, delta, verdict).text


def delta_parts(kpi: KPI, delta: Interval, verdict: Verdict) -> DeltaWords:
    """Return a difference in words, in its parts."""
    if verdict == "same":
        return DeltaWords("same")
    is_zero = show_delta(kpi.kind, delta.mean) == show_size(kpi.kind, 0.0)
    size = show(kpi.kind, 0.0) if is_zero and delta.half_width else show_delta(kpi.kind, delta.mean)
    words = ({"changed": "", "rough": ROUGH}.get(verdict, verdict), "exact" if delta.exact and delta.n > 1 else "")
    return DeltaWords(size, half_words(kpi.kind, delta.mean, delta.half_width), ", ".join(filter(None, words)))


def _best(kpi: KPI, values: Mapping[str, list[float] | None], *, exact: bool) -> set[str]:
    """Return the best run and those not distinguishable from it; nobody where all tie or nothing can be told."""
    there = {name: each for name, each in values.items() if each is not None}
    single = all(len(each) == 1 for each in there.values()) and not exact
    if kpi.better == "neutral" or len(there) < 2 or single:
        return set()
    sign = 1.0 if kpi.better == "lower" else -1.0
    first = min(there, key=lambda name: sign * float(np.mean(there[name])))
    scale = max(abs(float(np.mean(each))) for each in there.values())
    tied = {
        name
        for name, each in there.items()
        if judge(kpi, _sure(paired_difference(each, there[first]), exact=exact), scale)
        in ("same", "not distinguishable")
    }
    return set() if len(tied) == len(there) else tied


def _record(row: Row, cell: Cell) -> dict[str, Any]:
    value, delta = cell.value, cell.delta
    base_mean = next((c.value.mean for c in row.cells if c.verdict == "baseline" and c.value is not None), np.nan)
    return {
        "key": row.kpi.key,
        "label": row.kpi.label,
        "name": cell.name,
        "value": np.nan if value is None else value.mean,
        "low": np.nan if value is None or value.low is None else value.low,
        "high": np.nan if value is None or value.high is None else value.high,
        "delta": np.nan if delta is None else delta.mean,
        "delta_low": np.nan if delta is None or delta.low is None else delta.low,
        "delta_high": np.nan if delta is None or delta.high is None else delta.high,
        "change": delta.mean / abs(base_mean) if delta is not None and base_mean else np.nan,
        "verdict": cell.verdict,
        "best": cell.best,
        "text": cell.text,
        "delta_text": cell.delta_text,
        "draws": 0 if value is None else value.n,
    }


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
