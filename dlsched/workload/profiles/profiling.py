"""Profiling rows from a table: measured training times by network, GPU type, GPUs and batch size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Texts
from dlsched.speed.regression import Runs
from dlsched.speed.terms import BATCH, DISK, FEATURES, GFLOPS, GPUS, ITERATIONS
from dlsched.workload.import_report import Bools, Report
from dlsched.workload.profiles.gpu_types import gflops_of
from dlsched.workload.profiles.measured_rows import MeasuredRows, find_columns, measured_table, stem_of
from dlsched.workload.readers.convert import clean_texts
from dlsched.workload.readers.source import guarded, open_trace
from dlsched.workload.readers.table import Table
from dlsched.workload.readers.tabular import table_head

MOST_NETWORKS, MOST_GPUS = 200, 1024
ONE_TYPE = "GPU"
STEP_SAMPLES = 1000
"""A file of step times becomes the time for so many samples, which more GPUs make shorter."""
TOO_GOOD = 1.2
"""Times this much shorter than with perfect scaling deserve a look."""
NAMES: Mapping[str, tuple[str, ...]] = {
    "network": ("network", "application", "app", "model", "modelname", "net"),
    "gpu_type": ("gputype", "gpu", "gpumodel", "accelerator", "device", "devicetype"),
    "gpus": ("gpus", "gpunumber", "numgpus", "numgpu", "ngpus", "gpucount", "numreplicas", "replicas", "workers"),
    "nodes": ("nodes", "numnodes", "nnodes"),
    "placement": ("placement",),
    "seconds": (
        "seconds", "executiontime", "executiontimes", "times", "time", "trainingtime", "trainingtimes", "duration",
        "durations", "runtime", "runtimes", "elapsed", "elapseds",
    ),
    "hours": ("hours", "timeh", "executiontimeh", "trainingtimeh", "runtimeh", "durationh"),
    "step_s": ("steptime", "steptimes", "secondsperstep"),
    "iterations": ("iterations", "iteration", "iters", "numiterations", "steps", "numsteps"),
    "epochs": ("epochs", "numepochs", "epoch"),
    "samples": ("images", "samples", "numimages", "numsamples", "datasetsize"),
    "batch": ("batchsize", "batch", "bs", "localbsz", "globalbatchsize", "bsz"),
    "gflops": ("gflops", "gflopsfp32", "gflopspergpu"),
    "tflops": ("tflops", "tflopsfp32", "tflopspergpu"),
    "disk": ("disk", "disks", "diskseconds", "disktime", "disktimes"),
}  # fmt: skip
"""What a column can be -> the names it goes by, without signs and capitals."""
TEMPLATE = "network,gpu_type,gpus,batch_size,iterations,seconds,gflops,disk_s\n"


@dataclass(frozen=True, slots=True)
class ProfileRead:
    """Profiling rows, and what became of each line of the file; its notes say what was filled or assumed."""

    runs: Runs
    report: Report
    lacks: tuple[str, ...] = ()
    """Which of "network" and "gpu_type" the file has no column for: all its rows are of one."""


def template_csv() -> bytes:
    """Return a small file with every column, to start from."""
    rows = [f"my-net,V100,{gpus},64,10000,{round(9000 * (0.1 + 0.9 / gpus))},," for gpus in (1, 2, 4, 8)]
    return (TEMPLATE + "\n".join(rows) + "\n").encode()


@guarded
def read_profiling(source: Path | bytes, name: str = "", network: str = "", gpu_type: str = "") -> ProfileRead:
    """Return the profiling rows of a CSV or Parquet table.

    Needed are a time and the number of GPUs. Without a column for the network all rows are of ``network``, else of the
    file's name (for a path its folder's); without one for the GPU type all are of ``gpu_type``. Iterations are epochs x
    samples / batch size where only those are given; GFLOPS that are missing come from the bundled table. Step times
    (column step_time) become seconds for STEP_SAMPLES samples.

    Raises
    ------
    InputError
        Unreadable or too large a file, missing columns, no usable row.
    """
    text = open_trace(source, name)
    header, _ = table_head(text)
    column_of = find_columns(header, NAMES)
    _check_columns(text.name, header, column_of)
    table = measured_table(text, column_of.values())
    given = network or stem_of(source, text)
    names = {"network": given or "network", "gpu_type": gpu_type or ONE_TYPE}
    return _Reading(table, column_of, names, list(text.notes)).result()


def _check_columns(file: str, header: tuple[str, ...], found: Mapping[str, str]) -> None:
    lacks = []
    if not {"seconds", "hours", "step_s"} & set(found):
        lacks.append("the training time (seconds)")
    if not {"gpus", "placement"} & set(found):
        lacks.append("the number of GPUs (gpus)")
    if "step_s" in found and "batch" not in found and not {"seconds", "hours"} & set(found):
        lacks.append("the batch size that step times need (batch_size)")
    if lacks:
        why = f"no column was recognised for {' and '.join(lacks)}; its columns are: {first_of(header)}"
        raise InputError(
            f"file {file}", why, "Name the columns network, gpu_type, gpus, batch_size, iterations, seconds"
        )


class _Reading(MeasuredRows):
    """One pass over a table of profiling rows."""

    def __init__(self, table: Table, found: Mapping[str, str], names: Mapping[str, str], notes: list[str]) -> None:
        super().__init__(table, found, notes, found.get("network", ""))
        self.names = names

    def result(self) -> ProfileRead:
        gpus = self._gpus()
        batch = self.positive("batch", "batch size")
        seconds = self._seconds(gpus, batch)
        features = np.full((self.table.rows, len(FEATURES)), np.nan)
        features[:, BATCH], features[:, GPUS] = batch, gpus
        features[:, ITERATIONS] = self._iterations(batch)
        features[:, DISK] = self.positive("disk", "disk seconds")
        network, gpu_type = self._text("network"), self._text("gpu_type")
        features[:, GFLOPS] = self._gflops(gpu_type)
        self._drop_half_known(network, features)
        runs = Runs(network, gpu_type, features, seconds)
        self._look_twice(runs)
        report = self.ledger.report()
        runs = runs.where(self.ledger.alive)
        if len(runs.networks) > MOST_NETWORKS:
            why = f"the column has {len(runs.networks):,} different names; the limit is {MOST_NETWORKS}"
            raise InputError(f"column {self.found['network']}", why, "Check that it names networks, not jobs")
        return ProfileRead(runs, report, tuple(key for key in self.names if key not in self.found))

    def _gpus(self) -> Floats:
        if "placement" in self.found:
            gpus, nodes = self.placed()
        else:
            gpus = self.positive("gpus", "number of GPUs", needed=True)
            nodes = self.positive("nodes", "number of nodes")
        odd = (gpus != np.floor(gpus)) | (gpus > MOST_GPUS)
        self.ledger.drop(odd, "number of GPUs is not usable", f"Dropped: whole numbers from 1 to {MOST_GPUS:,}", gpus)
        rule = "Dropped: a time table is for the GPUs of one node"
        shown = self.column("placement") if "placement" in self.found else nodes
        self.ledger.drop(nodes > 1, "spread over several nodes", rule, shown, unreadable=False)
        return gpus

    def _seconds(self, gpus: Floats, batch: Floats) -> Floats:
        if "seconds" in self.found:
            return self.positive("seconds", "training time", needed=True)
        if "hours" in self.found:
            return self.positive("hours", "training time", needed=True) * HOUR_S
        step_s = self.positive("step_s", "step time", needed=True)
        self.notes.append(
            f"Step times were turned into seconds for {STEP_SAMPLES:,} samples: "
            f"{STEP_SAMPLES:,} x step time / (batch size of a GPU x GPUs)"
        )
        self.ledger.drop(np.isnan(batch), "no batch size", "Dropped: a step time is useless without it")
        return STEP_SAMPLES * step_s / (batch * gpus)

    def _iterations(self, batch: Floats) -> Floats:
        if "iterations" in self.found:
            return self.positive("iterations", "iterations")
        if "epochs" not in self.found:
            return np.full(self.table.rows, np.nan)
        epochs = self.positive("epochs", "epochs")
        if "samples" not in self.found or "batch" not in self.found:
            self.notes.append("Iterations are counted in epochs: the file does not say how many steps an epoch has")
            return epochs
        self.notes.append("Iterations = epochs x samples / batch size")
        return epochs * self.positive("samples", "samples") / batch

    def _text(self, key: str) -> Texts:
        if key not in self.found:
            what = {"network": "network", "gpu_type": "GPU type"}[key]
            self.notes.append(f"The file names no {what}: all rows count as {self.names[key]}")
            return np.full(self.table.rows, self.names[key], dtype=object)
        cleaned = clean_texts(self.column(key))
        values = np.array([text[:80] for text in cleaned.values], dtype=object)
        empty = values == ""
        self.ledger.drop(empty, f"no {key.replace('_', ' ')}", "Dropped: a profiling row needs it")
        self.ledger.flag(cleaned.suspicious, "text that looks like a formula or markup", "Kept as plain text", values)
        return values

    def _gflops(self, gpu_type: Texts) -> Floats:
        given = self.positive("gflops", "GFLOPS")
        if "gflops" not in self.found:
            given = 1000.0 * self.positive("tflops", "TFLOPS")
        types = sorted(set(gpu_type[np.isnan(given) & self.ledger.alive]))
        nominal = {name: value for name in types if (value := gflops_of(name)) is not None}
        if nominal:
            listed = ", ".join(f"{name} {value:,.0f}" for name, value in list(nominal.items())[:8])
            self.notes.append(f"Missing GFLOPS were filled in from nominal vendor figures: {listed}")
        unknown = [name for name in types if name not in nominal and name != ONE_TYPE]
        if unknown:
            self.notes.append(f"GFLOPS not known: {', '.join(unknown[:8])}; give a column gflops")
        filled = np.array([nominal.get(name, np.nan) for name in gpu_type], dtype=np.float64)
        return np.where(np.isnan(given), filled, given)

    def _drop_half_known(self, network: Texts, features: Floats) -> None:
        """Drop rows that lack a feature which other rows of their network have."""
        for place, feature in enumerate(FEATURES):
            missing = np.isnan(features[:, place]) & self.ledger.alive
            others = set(network[~np.isnan(features[:, place]) & self.ledger.alive])
            half: Bools = missing & np.array([name in others for name in network], dtype=bool)
            self.ledger.drop(
                half, f"no {feature.word}", "Dropped: other rows of the same network have it", unreadable=False
            )

    def _look_twice(self, runs: Runs) -> None:
        """Flag times that more GPUs cannot explain, and equal times on different GPU types."""
        alive = self.ledger.alive
        if not alive.any():
            return
        too_good = np.zeros(len(runs), dtype=bool)
        too_good[alive] = faster_than_perfect(runs.where(alive))
        rule = f"Kept, but check the file: over {TOO_GOOD:g} times as fast as perfect scaling from fewer GPUs"
        self.ledger.flag(too_good, "faster than perfect scaling", rule, runs.seconds)
        copied = np.zeros(len(runs), dtype=bool)
        copied[alive] = copied_times(runs.where(alive))
        rule = "Kept, but check the file: equal to the last digit, perhaps copied rather than measured"
        self.ledger.flag(copied, "same time as on another GPU type", rule, runs.seconds)


def faster_than_perfect(runs: Runs) -> Bools:
    """Return which runs are more than TOO_GOOD times as fast as the same run with the fewest GPUs would allow."""
    place = _groups(runs, without=GPUS, by_type=True)
    work = runs.seconds * runs.features[:, GPUS]  # GPU-seconds; constant under perfect scaling
    order = np.lexsort((work, runs.features[:, GPUS], place))
    first = np.empty(len(runs), dtype=np.int64)
    heads = order[np.r_[True, np.diff(place[order]) > 0]]
    first[place[heads]] = heads  # groups are numbered from 0 without gaps
    return np.asarray(work[first[place]] > TOO_GOOD * work, dtype=bool)


def copied_times(runs: Runs) -> Bools:
    """Return which runs have exactly the time of the same run on another GPU type; whole tenths of seconds never."""
    place = _groups(runs, without=GFLOPS, by_type=False)
    codes = np.unique(runs.gpu_type.astype(str), return_inverse=True)[1]
    pairs = np.unique(np.column_stack([place, runs.seconds, codes]), axis=0)
    same, count = np.unique(pairs[:, :2], axis=0, return_counts=True)
    several = {tuple(row) for row in same[count > 1]}
    measured = runs.seconds * 10 != np.round(runs.seconds * 10)
    alike = [(group, seconds) in several for group, seconds in zip(place, runs.seconds, strict=True)]
    return np.asarray(measured & np.array(alike, dtype=bool))


def _groups(runs: Runs, *, without: int, by_type: bool) -> np.ndarray:
    """Return a number for each run, equal for runs that differ in one feature only."""
    names = np.unique(runs.network.astype(str), return_inverse=True)[1]
    types = np.unique(runs.gpu_type.astype(str), return_inverse=True)[1] if by_type else np.zeros(len(runs))
    rest = np.delete(np.nan_to_num(runs.features), without, axis=1)
    keys = np.column_stack([names, types, rest])
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1]).ravel()
