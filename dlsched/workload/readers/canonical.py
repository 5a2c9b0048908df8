"""The rules every format shares: from a reader's draft columns to a checked workload and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.columns import GANG_COLUMNS
from dlsched.domain.errors import InputError
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import COLUMN, CPU, GPU, LARGEST_NUMBER, MEM, RESOURCES, Floats, Ints, Texts, Workload
from dlsched.workload.cluster_from_log import ClusterFound, Held, cluster_of_log
from dlsched.workload.import_report import Bools, Ledger, Report
from dlsched.workload.readers.background import from_first_complete_instant
from dlsched.workload.readers.convert import MAX_TEXT, Read, clean_texts, numbers
from dlsched.workload.readers.kubernetes.queue_objects import QueuesFound
from dlsched.workload.readers.options import ReadOptions

YEAR_S = 365 * DAY_S
LARGEST_GPUS = 100_000
MAX_GPU_TYPE = 60
LONGEST_NODE_LIST = 200_000


@dataclass
class Draft:
    """What a reader hands over: one entry a table row, NaN where a required number is missing.

    ``submit_s`` and the times in ``floats`` count from one zero: seconds since 1970 when ``absolute``, else the
    trace's own. ``texts`` are Arrow string columns; both are keyed by workload column.

    ``cluster`` is what the file itself says of it; without it, it is inferred where jobs name their nodes, with
    ``gpu_types_used`` (an Arrow string column) where the log tells what was allocated. ``is_window``: rows may have
    been selected by a window of time, see :func:`from_first_complete_instant`. ``queues``: the tree of quotas that the
    file itself holds.
    """

    ledger: Ledger
    submit_s: Floats
    run_s: Floats
    workers: Floats
    gpus_per_worker: Floats
    texts: dict[str, Any] = field(default_factory=dict)
    floats: dict[str, Floats] = field(default_factory=dict)
    absolute: bool = False
    meta: dict[str, str] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    cluster: ClusterFound | None = None
    gpu_types_used: Any = None
    is_window: bool = False
    queues: QueuesFound | None = None


def required(ledger: Ledger, read: Read, what: str, column: Any = None) -> Floats:
    """Return the values of a column; rows without a readable one are dropped."""
    ledger.drop(read.missing, f"no {what}", "Dropped: a job needs it", column)
    ledger.drop(read.bad, f"{what} cannot be read", "Dropped: it must be a finite number or an ISO time", column)
    return read.values


def optional(ledger: Ledger, read: Read, what: str, column: Any = None) -> Floats:
    """Return the values of a column; unreadable ones become empty and are counted."""
    ledger.repair(read.bad, f"{what} cannot be read", "Left empty", column)
    return read.values


def number(ledger: Ledger, column: Any, what: str) -> Floats:
    """Return a required numeric column."""
    return required(ledger, numbers(column), what, column)


def finish(draft: Draft, options: ReadOptions) -> tuple[Workload, Report]:
    """Apply the shared rules and return the workload with its report.

    Raises
    ------
    InputError
        When no row is left, or more than half could not be understood.
    """
    ledger = draft.ledger
    _check_times(draft, options)
    _check_demand(draft, options)
    _check_servers(draft)
    _check_recorded(draft)
    _check_widths(draft)
    _check_limits(draft)
    cleaned = {name: _clean(ledger, name, column) for name, column in draft.texts.items()}
    cleaned["job_id"] = _unique_ids(draft, cleaned.get("job_id"), options)
    _flag_outliers(draft)
    if draft.cluster is None:
        draft.cluster = _cluster_of_log(draft, cleaned)
    if draft.is_window:
        from_first_complete_instant(draft)
    report = ledger.report(f"file {draft.meta.get('source', '')}".strip())
    return _workload(draft, cleaned), report


# ---- rules on rows -------------------------------------------------------------------------------


def _check_times(draft: Draft, options: ReadOptions) -> None:
    ledger, submit_s, run_s = draft.ledger, draft.submit_s, draft.run_s
    ledger.drop(np.isnan(submit_s), "no submission time", "Dropped: a job needs it")
    if not draft.absolute:
        ledger.drop(submit_s < 0, "submitted before time zero", "Dropped: negative submission time", submit_s)
    ledger.drop(np.abs(submit_s) > LARGEST_NUMBER, "submission time out of range", "Dropped: above 1e15 s", submit_s)
    ledger.drop(np.isnan(run_s), "no run time", "Dropped: the run time is unknown", unreadable=False)
    ledger.drop(run_s < 0, "run time is negative", "Dropped: it ends before it starts", run_s)
    ledger.drop(run_s > LARGEST_NUMBER, "run time out of range", "Dropped: above 1e15 s", run_s)
    if options.zero_run == "drop":
        ledger.drop(run_s == 0, "run time is 0 s", "Dropped: nothing to schedule", unreadable=False)
    else:
        ledger.repair(run_s == 0, "run time is 0 s", "Set to 1 s")
        draft.run_s = np.where(run_s == 0, 1.0, run_s)


def _check_demand(draft: Draft, options: ReadOptions) -> None:
    ledger = draft.ledger
    for name in ("cpus_per_worker", "mem_gib_per_worker"):
        if name in draft.floats:
            values = draft.floats[name]
            ledger.drop(values < 0, f"{name} is negative", "Dropped: a demand must not be negative", values)
            ledger.flag(np.isnan(values), f"no {name}", "Counted as 0")
            draft.floats[name] = np.nan_to_num(values, nan=0.0)
    gpus = draft.workers * draft.gpus_per_worker
    ledger.drop(np.isnan(gpus), "no GPU count", "Dropped: a job needs it")
    ledger.drop(
        (gpus < 0) | (draft.workers < 1), "GPU count is negative", "Dropped: a demand must not be negative", gpus
    )
    whole = draft.workers == np.floor(draft.workers)
    ledger.drop(~whole, "workers are not a whole number", "Dropped: counts are never rounded", draft.workers)
    rule = f"Dropped: the largest job that can be modelled has {LARGEST_GPUS:,} workers or GPUs"
    huge = (gpus > LARGEST_GPUS) | (draft.workers > LARGEST_GPUS)
    ledger.drop(huge, "requests too many GPUs or workers", rule, gpus)
    no_gpu = gpus == 0
    others = sum(draft.floats.get(name, 0.0) for name in ("cpus_per_worker", "mem_gib_per_worker"))
    rule = "Dropped: it needs no GPUs, CPUs or memory, so there is nothing to schedule"
    ledger.drop(no_gpu & ~(np.asarray(others) > 0), "requests no resources", rule, unreadable=False)
    if options.cpu_jobs == "drop":
        ledger.drop(no_gpu, "job without GPUs", "Dropped as asked: cpu_jobs = drop", unreadable=False)
    else:
        ledger.flag(no_gpu, "job without GPUs", "Kept as a CPU job")
    shared = (draft.gpus_per_worker > 0) & (draft.gpus_per_worker != np.floor(draft.gpus_per_worker))
    rule = "GPU shares are counted per node; the device and interference between jobs are not modelled"
    ledger.not_modelled(shared, "shares of a GPU", rule, gpus)


def _check_servers(draft: Draft) -> None:
    """Demands, times and numbers of servers below 0 drop a row, limits that are no limits are left empty."""
    ledger = draft.ledger
    for name in (column.name for column in GANG_COLUMNS if column.name in draft.floats):
        values = draft.floats[name]
        if name.startswith("limit_") or name == "workers_per_server":
            ledger.repair(values <= 0, f"{name} is not above 0", "Left empty: no limit", values)
            draft.floats[name] = np.where(values <= 0, np.nan, values)
            continue
        ledger.drop(values < 0, f"{name} is negative", "Dropped: it must not be negative", values)
        ledger.flag(np.isnan(values), f"no {name}", "Counted as 0")
        values = np.nan_to_num(values, nan=0.0)
        if name == "servers":
            odd = (values != np.floor(values)) | (values > LARGEST_GPUS)
            ledger.drop(odd, "servers are not a whole number", "Dropped: counts are never rounded", values)
        draft.floats[name] = values


def _check_recorded(draft: Draft) -> None:
    start_s, ledger = draft.floats.get("recorded_start_s"), draft.ledger
    if start_s is None:
        return
    early = start_s < draft.submit_s
    ledger.repair(early, "started before it was submitted", "Recorded start left empty", start_s - draft.submit_s)
    draft.floats["recorded_start_s"] = np.where(early, np.nan, start_s)


def _check_widths(draft: Draft) -> None:
    """Widths that contradict the request are replaced by it."""
    for name in ("min_workers", "max_workers"):
        if name not in draft.floats:
            continue
        values = draft.floats[name]
        if name == "min_workers":
            wrong = ~((values >= 1) & (values <= draft.workers))
        else:
            wrong = ~((values >= draft.workers) & (values <= LARGEST_GPUS))
        wrong |= values != np.floor(values)
        draft.ledger.repair(wrong & ~np.isnan(values), f"{name} contradicts the request", "Set to the request", values)
        draft.floats[name] = np.where(wrong, draft.workers, values)
    if "weight_usd_per_s" in draft.floats:
        values = draft.floats["weight_usd_per_s"]
        draft.ledger.repair(values < 0, "weight is negative", "Left empty", values)
        draft.floats["weight_usd_per_s"] = np.where(values < 0, np.nan, values)


def _check_limits(draft: Draft) -> None:
    """A time limit of 0 or less is none; what is believed of an unlimited job is a year. No hold is shorter than 0."""
    ledger = draft.ledger
    if (limit_s := draft.floats.get("limit_s")) is not None:
        ledger.repair(limit_s <= 0, "time limit is not above 0", "Left empty", limit_s)
        ledger.flag(limit_s > YEAR_S, "time limit over 1 year, or unlimited", "Counted as 365 days", limit_s)
        draft.floats["limit_s"] = np.where(limit_s > 0, np.minimum(limit_s, YEAR_S), np.nan)
    if (held_s := draft.floats.get("held_s")) is not None:
        draft.floats["held_s"] = np.maximum(np.nan_to_num(held_s), 0.0)


def _flag_outliers(draft: Draft) -> None:
    ledger = draft.ledger
    ledger.flag(draft.run_s > YEAR_S, "run time over 1 year", "Kept unchanged; check the unit", draft.run_s)
    alive = np.flatnonzero(ledger.alive)
    if alive.size > 1:
        in_time = alive[np.argsort(draft.submit_s[alive], kind="stable")]
        gap = np.diff(draft.submit_s[in_time]) > YEAR_S
        after = np.zeros(len(draft.submit_s), dtype=bool)
        after[in_time[1:][gap]] = True
        reason = "submitted more than 1 year after the job before it"
        values = None if draft.absolute else draft.submit_s  # seconds since 1970 say little to a reader
        ledger.flag(after, reason, "Kept unchanged; check the unit", values)


# ---- texts and ids -------------------------------------------------------------------------------


def _clean(ledger: Ledger, name: str, column: Any) -> Texts:
    cleaned = clean_texts(column, LONGEST_NODE_LIST if name == "recorded_nodes" else MAX_TEXT)
    what = COLUMN[name].name
    rule = f"Control characters removed and text cut to {MAX_TEXT} characters"
    ledger.repair(cleaned.changed, f"{what} is not plain text", rule, column)
    ledger.flag(
        cleaned.suspicious, f"{what} looks like a formula or markup", "Kept as plain text, never executed", column
    )
    if name == "gpu_types":
        return _gpu_types(cleaned.values)
    return cleaned.values


def _gpu_types(values: Texts) -> Texts:
    """Return constraints as names joined by '|', sorted and without blanks, so that equal ones look equal."""

    def tidy(text: str) -> str:
        return "|".join(sorted({part.strip()[:MAX_GPU_TYPE] for part in text.split("|")} - {""}))

    tidied = {text: tidy(text) for text in set(values)}
    return np.array([tidied[text] for text in values], dtype=object)


def _unique_ids(draft: Draft, ids: Texts | None, options: ReadOptions) -> Texts:
    """Return unique ids: rows without one get their row number, repeated ids are numbered or dropped."""
    ledger = draft.ledger
    if ids is None:
        draft.assumptions.append("No job ID column: jobs are named after their row")
        return np.array([f"row-{number}" for number in range(1, len(ledger.alive) + 1)], dtype=object)
    empty = ids == ""
    if empty.any():
        ledger.repair(empty, "no job ID", "Named after the row")
        ids = ids.copy()
        ids[empty] = [f"row-{row + 1}" for row in np.flatnonzero(empty)]
    alive = np.flatnonzero(ledger.alive)
    if len(set(ids[alive])) == alive.size:
        return ids
    again = pd.Series(ids[alive], dtype=object).duplicated().to_numpy()
    first = alive[~again]
    first_of = dict(zip(ids[first], first, strict=True))
    origin = np.array([first_of[name] for name in ids[alive[again]]])
    repeated = alive[again]
    same = np.ones(len(repeated), dtype=bool)
    for values in (draft.submit_s, draft.run_s, draft.workers, draft.gpus_per_worker):
        same &= values[repeated] == values[origin]
    ledger.drop(
        _mask(ledger, repeated[same]),
        "repeated row",
        "Dropped: same ID, times and GPUs",
        ids,
        unreadable=False,
    )
    others = repeated[~same]
    if options.duplicates == "drop":
        ledger.drop(
            _mask(ledger, others),
            "job ID used more than once",
            "Dropped as asked: duplicates = drop",
            ids,
            unreadable=False,
        )
        return ids
    ledger.repair(_mask(ledger, others), "job ID used more than once", "Later jobs numbered #2, #3, …", ids)
    return _numbered(ids, others, set(first_of))


def _mask(ledger: Ledger, rows: Ints) -> Bools:
    mask = np.zeros(len(ledger.alive), dtype=bool)
    mask[rows] = True
    return mask


def _numbered(ids: Texts, rows: Ints, used: set[Any]) -> Texts:
    result, next_number = ids.copy(), dict[str, int]()
    for row in rows:
        name = ids[row]
        count = next_number.get(name, 2)
        while (candidate := f"{name}#{count}") in used:
            count += 1
        next_number[name] = count + 1
        used.add(candidate)
        result[row] = candidate
    return result


# ---- the cluster ---------------------------------------------------------------------------------


def _cluster_of_log(draft: Draft, cleaned: Mapping[str, Texts]) -> ClusterFound | None:
    """Return the cluster that the started jobs held, None if they name no nodes."""
    nodes, start_s = cleaned.get("recorded_nodes"), draft.floats.get("recorded_start_s")
    if nodes is None or start_s is None:
        return None
    blank = np.full(len(nodes), "", dtype=object)
    end_s = draft.floats.get("recorded_end_s", np.full(len(nodes), np.nan))
    start_s = np.where(np.isnan(start_s), end_s - draft.run_s, start_s)  # of what ran before the log, the rest
    rows = np.flatnonzero(draft.ledger.alive & np.isfinite(start_s) & (nodes != ""))
    asked = cleaned.get("gpu_types", blank)
    used = blank if draft.gpu_types_used is None else _gpu_types(clean_texts(draft.gpu_types_used, MAX_TEXT).values)
    demand = np.zeros((len(rows), len(RESOURCES)))
    demand[:, GPU] = draft.gpus_per_worker[rows]
    for resource, name in ((CPU, "cpus_per_worker"), (MEM, "mem_gib_per_worker")):
        if name in draft.floats:
            demand[:, resource] = draft.floats[name][rows]
    held = Held(
        nodes[rows], start_s[rows], np.where(np.isnan(end_s), start_s + draft.run_s, end_s)[rows],
        draft.workers[rows].astype(np.int64), demand, cleaned.get("partition", blank)[rows],
        np.where(used != "", used, asked)[rows],
    )  # fmt: skip
    try:
        return cluster_of_log(held)
    except InputError as error:
        draft.ledger.notes.append(f"The cluster cannot be read from the log: {error.what}: {error.why}")
        return None


# ---- the workload --------------------------------------------------------------------------------

_FROM_ZERO = ("due_s", "recorded_start_s", "recorded_end_s")


def _workload(draft: Draft, cleaned: Mapping[str, Texts]) -> Workload:
    alive = draft.ledger.alive
    submit_s = draft.submit_s[alive]
    zero = float(np.floor(submit_s.min())) if draft.absolute else 0.0
    floats = {name: values[alive] - (zero if name in _FROM_ZERO else 0.0) for name, values in draft.floats.items()}
    columns: dict[str, Any] = {
        "submit_s": submit_s - zero,
        "work": draft.run_s[alive],
        "workers": draft.workers[alive],
        "gpus_per_worker": draft.gpus_per_worker[alive],
        "order": np.flatnonzero(alive),
        **{name: values for name, values in floats.items() if np.isfinite(values).any()},
        **{name: values[alive] for name, values in cleaned.items() if name == "job_id" or (values[alive] != "").any()},
    }
    meta = dict(draft.meta)
    if draft.absolute:
        meta.setdefault("time_zone", "as recorded")
        meta["time_zero"] = iso_time(zero)
    return Workload.from_columns(columns, meta)


def iso_time(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601 without zone; the number itself outside the calendar."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    except OverflowError:
        return f"{seconds:g} s after 1970"
