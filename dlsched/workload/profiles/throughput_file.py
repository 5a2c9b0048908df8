"""Measured throughput from a table: curves by number of workers, or the times of profiled mini-batches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.workload import Floats, Texts
from dlsched.speed.measurements import (
    LEAST_PER_S,
    MOST_MEASURED_WORKERS,
    MOST_PER_S,
    Measurements,
    ProfiledTimes,
    mean_times,
)
from dlsched.speed.queueing import LARGEST_S, STATIONS
from dlsched.workload.import_report import Bools, Report
from dlsched.workload.profiles.measured_rows import MeasuredRows, find_columns, measured_table, stem_of
from dlsched.workload.readers.convert import clean_texts, numbers, strings, texts
from dlsched.workload.readers.source import guarded, open_trace
from dlsched.workload.readers.table import Table
from dlsched.workload.readers.tabular import table_head

MOST_SERIES = 200
LONGEST_NAME = 80
WAY_OUT = "Correct or remove these rows; a curve needs a throughput above 0 for at least 2 numbers of workers"
NAMES: Mapping[str, tuple[str, ...]] = {
    "name": ("name", "series", "model", "modelname", "network", "net", "dnn", "application", "app"),
    "workers": ("workers", "numworkers", "nworkers", "worker", "k"),
    "replicas": ("numreplicas", "replicas", "numgpus", "gpus"),
    "nodes": ("nodes", "numnodes", "nnodes"),
    "placement": ("placement",),
    "batch": ("localbsz", "batchsize", "batch", "bsz"),
    "per_s": (
        "throughput", "batchespers", "minibatchespers", "stepspers", "iterationspers", "throughputbatchespers",
        "throughputpers", "batchespersecond", "minibatchespersecond", "batchess", "minibatchess",
    ),
    "step_s": ("steptime", "steptimes", "secondsperstep"),
    "step_ms": ("steptimems",),
    "sync": ("synctime",),
}  # fmt: skip
"""What a column can be -> the names it goes by, without signs and capitals."""
_STATION_ALSO = {"uplink": ("upload", "up"), "downlink": ("download", "down")}
_UNITS = {"s": 1.0, "ms": 1e-3}
TEMPLATES: Mapping[str, str] = {
    "throughput": "name,workers,throughput\nmy-net,1,5.2\nmy-net,2,9.1\nmy-net,4,12.1\nmy-net,8,12.8\n",
    "times": "name,worker_ms,uplink_ms,server_ms,downlink_ms\nmy-net,29,72,18,72\nmy-net,31,70,17,73\n",
}
"""Small files of both kinds, to start from."""


@dataclass(frozen=True, slots=True)
class MeasurementRead:
    """What was measured, by name of the series, and what became of each line of the file."""

    series: Mapping[str, Measurements | ProfiledTimes]
    report: Report


@guarded
def read_measurements(source: Path | bytes, name: str = "") -> MeasurementRead:
    """Return the curves, or the mean times, in a CSV or Parquet table.

    Curves need workers (or nodes, num_replicas, a placement such as 112) and throughput in mini-batches per second, or
    step_time in seconds: throughput = workers / step_time. Rows are a series by name, batch size and, where replicas
    and nodes are both known, replicas per node; uneven placements are left out. Times need worker, uplink, server and
    downlink, each with _s or _ms. Without a column for the name the file's is taken.

    Raises
    ------
    InputError
        Unreadable or too large a file, missing columns, no usable row, too many series.
    """
    text = open_trace(source, name)
    header, _ = table_head(text)
    stations = _stations(header)
    used = {column for column, _ in stations.values()}
    column_of = find_columns(tuple(column for column in header if column not in used), NAMES)
    profiled = len(stations) == len(STATIONS)
    if not profiled:
        _check_columns(text.name, header, column_of, stations)
    table = measured_table(text, [*column_of.values(), *used])
    default = stem_of(source, text) or "measured"
    reading = _Reading(table, column_of, list(text.notes), default, f"file {text.name}")
    return reading.times(stations) if profiled else reading.curves()


def _stations(header: tuple[str, ...]) -> dict[str, tuple[str, float]]:
    """Return station -> (its column, seconds in its unit), for columns like "worker_s", "Worker (ms)", "upload [s]"."""
    plain = {re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_"): column for column in reversed(header)}
    names = {
        station: f"{word}_{unit}"
        for station in STATIONS
        for unit in reversed(_UNITS)
        for word in reversed((station, *_STATION_ALSO.get(station, ())))
        if f"{word}_{unit}" in plain
    }
    return {station: (plain[column], _UNITS[column.rpartition("_")[2]]) for station, column in names.items()}


def _check_columns(
    file: str, header: tuple[str, ...], found: Mapping[str, str], stations: Mapping[str, object]
) -> None:
    lacks = []
    if not {"workers", "replicas", "nodes", "placement"} & set(found):
        lacks.append("the number of workers (workers)")
    if not {"per_s", "step_s", "step_ms"} & set(found):
        lacks.append("mini-batches per second (throughput)")
    if not lacks:
        return
    if stations:
        lacks = [f"{station} ({station}_s)" for station in STATIONS if station not in stations]
    why = f"no column was recognised for {' and '.join(lacks)}; its columns are: {first_of(header)}"
    way_out = "Name the columns workers, throughput; or worker_s, uplink_s, server_s, downlink_s"
    raise InputError(f"file {file}", why, way_out)


class _Reading(MeasuredRows):
    """One pass over a table of measurements."""

    def __init__(self, table: Table, found: Mapping[str, str], notes: list[str], name: str, file: str) -> None:
        super().__init__(table, found, notes, found.get("name", ""))
        self.default, self.file = name, file

    def curves(self) -> MeasurementRead:
        workers, per_node = self._workers()
        rates = self._rates(workers)
        labels = self._labels(per_node)
        alive = self.ledger.alive
        measured: dict[str, set[float]] = {}
        for label, count in zip(labels[alive].tolist(), workers[alive].tolist(), strict=True):
            measured.setdefault(label, set()).add(count)
        alone = np.array([len(measured.get(label, ())) == 1 for label in labels], dtype=bool)
        rule = "Dropped: a curve needs 2 different numbers of workers"
        self.ledger.drop(alone, "series with one number of workers", rule, labels, unreadable=False)
        report = self.ledger.report(self.file, WAY_OUT)
        synchronous = "sync" in self.found
        series: dict[str, Measurements | ProfiledTimes] = {}
        for label in self._distinct(labels):
            mine = self.ledger.alive & (labels == label)
            series[label] = Measurements(workers[mine].astype(np.int64), rates[mine], synchronous)
        return MeasurementRead(series, report)

    def times(self, stations: Mapping[str, tuple[str, float]]) -> MeasurementRead:
        seconds = np.column_stack([self._seconds(station, *stations[station]) for station in STATIONS])
        labels = self._labels(None)
        nothing = seconds.sum(axis=1) == 0
        self.ledger.drop(nothing, "all four times are 0", "Dropped: a mini-batch must take some time")
        report = self.ledger.report(self.file, WAY_OUT)
        return MeasurementRead(
            {label: mean_times(seconds[self.ledger.alive & (labels == label)]) for label in self._distinct(labels)},
            report,
        )

    def _distinct(self, labels: Texts) -> list[str]:
        """Return the names of the series that are left, in the order of the file."""
        left = list(dict.fromkeys(labels[self.ledger.alive].tolist()))
        if len(left) > MOST_SERIES:
            why = f"it has {len(left):,} series; the limit is {MOST_SERIES}"
            raise InputError("measurements", why, "Check that the name column holds networks, not runs")
        return left

    def _workers(self) -> tuple[Floats, Floats | None]:
        """Return workers, and replicas of each node where that is known."""
        per_node: Floats | None = None
        if "placement" in self.found:
            workers, nodes = self.placed()
            written = texts(strings(self.column("placement")))
            self._drop_uneven(np.array([len(set(text)) > 1 for text in written], dtype=bool), written)
            per_node = workers / nodes
        elif "workers" in self.found:
            workers = self.positive("workers", "number of workers", needed=True)
        elif "replicas" in self.found:
            workers = self.positive("replicas", "number of replicas", needed=True)
            if "nodes" in self.found:
                nodes = self.positive("nodes", "number of nodes", needed=True)
                self._drop_uneven(workers % nodes != 0, workers)
                per_node = workers / nodes
        else:
            workers = self.positive("nodes", "number of nodes", needed=True)
            self.notes.append("Every node counts as one worker: the file has no column for workers")
        odd = (workers != np.floor(workers)) | (workers > MOST_MEASURED_WORKERS)
        rule = f"Dropped: whole numbers from 1 to {MOST_MEASURED_WORKERS:,}"
        self.ledger.drop(odd, "number of workers is not usable", rule, workers)
        return workers, per_node

    def _drop_uneven(self, uneven: Bools, shown: Floats | Texts) -> None:
        rule = "Dropped: a curve needs equal nodes"
        self.ledger.drop(uneven, "nodes with unequal numbers of replicas", rule, shown, unreadable=False)

    def _rates(self, workers: Floats) -> Floats:
        if "per_s" in self.found:
            rates = self.positive("per_s", "throughput", needed=True)
        else:
            key, unit_s = ("step_s", 1.0) if "step_s" in self.found else ("step_ms", 1e-3)
            rates = workers / (unit_s * self.positive(key, "step time", needed=True))
            self.notes.append("Throughput = workers / step time, as each worker processes one mini-batch per step")
        beyond = (rates < LEAST_PER_S) | (rates > MOST_PER_S)
        rule = f"Dropped: from {LEAST_PER_S:g} to {MOST_PER_S:,.0f} mini-batches/s"
        self.ledger.drop(beyond, "throughput is not usable", rule, rates)
        return rates

    def _seconds(self, station: str, column: str, unit_s: float) -> Floats:
        raw = self.table.columns[column]
        read = numbers(raw)
        self.ledger.drop(read.bad, f"{station} time cannot be read", "Dropped: not a number", raw)
        self.ledger.drop(read.missing, f"no {station} time", "Dropped: a row of measurements needs it")
        seconds = unit_s * read.values
        wrong = (seconds < 0) | (seconds > LARGEST_S)
        self.ledger.drop(wrong, f"{station} time out of range", f"Dropped: 0 to {LARGEST_S:g} s", raw)
        return seconds

    def _labels(self, per_node: Floats | None) -> Texts:
        """Return the series of each row: its name, batch size, replicas of each node, as far as the file has them."""
        names = [self.default] * self.table.rows
        if "name" in self.found:
            cleaned = clean_texts(self.column("name"))
            names = [text[:LONGEST_NAME] for text in cleaned.values]
            empty = np.array([not text for text in names], dtype=bool)
            self.ledger.drop(empty, "no name", "Dropped: the file has a column for it")
            rule = "Kept as plain text"
            self.ledger.flag(cleaned.suspicious, "text that looks like a formula or markup", rule, cleaned.values)
        if "batch" in self.found:
            batch = self.positive("batch", "batch size", needed=True)
            names = [f"{text}, batch {size:g}" for text, size in zip(names, batch, strict=True)]
        if per_node is not None:
            names = [f"{text}, {each:g} per node" for text, each in zip(names, per_node, strict=True)]
        return np.array(names, dtype=object)
