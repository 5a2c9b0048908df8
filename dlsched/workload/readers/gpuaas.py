"""Instances of the GPU-as-a-service study: three tables with jobs, their times by machine type, and nodes.

All of an instance is read or nothing: a job without its times, or a machine type without its price, has no cost.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import ValidationError

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.errors import DAMAGED, InputError, from_validation
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.timetable import MOST_GPUS, Row, TimeTable
from dlsched.domain.workload import LARGEST_NUMBER, Floats, Ints, Texts, Workload
from dlsched.workload.import_report import Report
from dlsched.workload.profiles.profile import Profile, profile_of
from dlsched.workload.readers.convert import clean_texts, numbers
from dlsched.workload.readers.source import MAX_BYTES, guarded, open_trace
from dlsched.workload.readers.table import Table, need_columns, read_table, sniff

JOBS, TIMES, NODES = FILES = ("Lof_Selectjobs.csv", "SelectJobs_times.csv", "tNodes.csv")
MOST_SLOTS = 100_000
_JOB_COLUMNS = ("UniqueJobsID", "SubmissionTime", "Deadline", "Tardinessweight")
_JOB_LABELS = ("Application", "Jobs")
_TIME_COLUMNS = ("UniqueJobsID", "VMtype", "GPUtype", "nGPUs", "max_nGPUs", "cost", "ExecutionTime")


@dataclass(frozen=True)
class InstanceRead:
    """An instance as a scenario with rented slots, and the import report of its jobs."""

    scenario: Scenario
    report: Report


def read_instance(files: Mapping[str, Path | bytes], name: str) -> InstanceRead:
    """Return the scenario of an instance; ``files`` holds the three tables by name.

    Slots = nodes of the list; catalogue = machine types of the times in order of appearance; jobs with the same
    times share a profile, named by their label; requested width = GPUs of the fastest configuration.

    Raises
    ------
    InputError
        Naming file, line or job, the rule and the value.
    """
    for needed in FILES:
        if needed not in files:
            raise InputError(f"instance {name[:80]!r}", f"lacks the file {needed}", f"It needs {', '.join(FILES)}")
    notes: list[str] = []
    jobs = _File.of(files, JOBS, _JOB_COLUMNS, _JOB_LABELS, notes)
    times = _File.of(files, TIMES, _TIME_COLUMNS, (), notes)
    slots = _slots(_File.of(files, NODES, ("Nodes",), (), notes))
    job_id = jobs.distinct_names("UniqueJobsID")
    fleet = _Fleet.of(times)
    profiles, profile = _profiles(_times_of(times, fleet, job_id, notes), fleet, job_id, jobs.labels("Jobs"))
    scenario = Scenario(
        workload=_workload(jobs, job_id, [profiles[key] for key in profile], profile, name),
        cluster=Cluster(slots=slots, catalogue=fleet.catalogue),
        speed=SpeedSpec(kind="table", times=_table(profiles)),
        name=name,
        read=(report := Report(len(job_id), len(job_id), 0, 0, notes=tuple(notes))).counts,
    )
    return InstanceRead(scenario, report)


@dataclass(frozen=True)
class _File:
    """One of the tables; every complaint names its line."""

    name: str
    table: Table

    @classmethod
    def of(
        cls,
        files: Mapping[str, Path | bytes],
        name: str,
        needed: tuple[str, ...],
        more: tuple[str, ...],
        notes: list[str],
    ) -> _File:
        text = open_trace(files[name], name)
        if text.is_parquet:
            raise InputError(f"file {name}", "it is a Parquet file", "Save it as CSV")
        notes.extend(f"{name}: {note}" for note in text.notes)
        dialect = sniff(text.data)
        need_columns(dialect.header, needed, f"file {name}")
        table = read_table(text, dialect, (*needed, *more))
        if table.ragged:
            line = table.ragged_examples[0].line
            why = f"must have {len(table.header)} fields, like the header"
            raise InputError(f"{name}, line {line}", why, "Correct the line")
        if not table.rows:
            raise InputError(f"file {name}", "it has only a header and no data rows", "Export the instance again")
        return cls(name, table)

    def refusal(self, row: int, column: str, why: str, do: str = "Correct the line") -> InputError:
        line = int(self.table.line_of(np.array([row]))[0]) if self.table.line_of else row + 1
        return InputError(f"{self.name}, line {line}, column {column}", why, do)

    def names(self, column: str) -> Texts:
        """Return texts, none of them empty."""
        found = clean_texts(self.table.columns[column]).values
        empty = np.flatnonzero(found == "")
        if empty.size:
            raise self.refusal(int(empty[0]), column, "must not be empty")
        return found

    def distinct_names(self, column: str) -> Texts:
        """Return texts that are all different."""
        names = self.names(column)
        again = np.flatnonzero(pd.Series(names, dtype=object).duplicated().to_numpy())
        if again.size:
            row = int(again[0])
            raise self.refusal(
                row, column, f"must be unique, but {names[row][:60]!r} appears twice", "Drop one of them"
            )
        return names

    def labels(self, column: str) -> Texts | None:
        """Return the texts of a column that may be missing."""
        given = self.table.columns.get(column)
        return None if given is None else clean_texts(given).values

    def floats(
        self, column: str, *, above_zero: bool = False, whole: bool = False, most: float = LARGEST_NUMBER
    ) -> Floats:
        """Return numbers from 0, or above it, to ``most``."""
        values = numbers(self.table.columns[column]).values
        good = (values > 0 if above_zero else values >= 0) & (values <= most)
        bad = np.flatnonzero(~(good & (values == np.floor(values)) if whole else good))
        if bad.size:
            row = int(bad[0])
            kind = "a whole number" if whole else "a number"
            rule = f"must be {kind} {'above' if above_zero else 'of at least'} 0 and at most {most:g}"
            raise self.refusal(row, column, f"{rule}, got {str(self.table.columns[column][row])[:60]!r}")
        return values


def _slots(file: _File) -> int:
    slots = len(file.distinct_names("Nodes"))
    if slots > MOST_SLOTS:
        raise InputError(NODES, f"has {slots:,} nodes; the limit is {MOST_SLOTS:,}", "Keep fewer nodes")
    return slots


# ---- machine types and times ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Fleet:
    """Machine types in order of appearance; ``first`` (types,) the cell of each with one GPU, ``cells`` of all.

    A cell is a configuration: a machine type with 1, 2, ... GPUs given to the job.
    """

    catalogue: tuple[VmType, ...]
    first: Ints
    cells: int
    vm_of_row: Ints

    @classmethod
    def of(cls, times: _File) -> _Fleet:
        """Return the machine types; every line of one must give it the same GPU type, GPUs and price."""
        which, names = pd.factorize(times.names("VMtype"))
        columns: dict[str, NDArray[np.generic]] = {
            "GPUtype": times.names("GPUtype"),
            "max_nGPUs": times.floats("max_nGPUs", above_zero=True, whole=True, most=MOST_GPUS),
            "cost": times.floats("cost", above_zero=True),
        }
        row_of = np.unique(which, return_index=True)[1]
        for column, values in columns.items():
            differ = np.flatnonzero(values != values[row_of][which])
            if differ.size:
                row = int(differ[0])
                name, before = names[which[row]], values[row_of][which[row]]
                why = f"machine type {str(name)[:60]!r} has {values[row]} here and {before} before"
                raise times.refusal(row, column, why, "Give each machine type one GPU type, number of GPUs and price")
        gpu_type, gpus, price = (values[row_of].tolist() for values in columns.values())
        try:
            catalogue = tuple(
                VmType(name=name, gpu_type=kind, gpus=int(most), usd_per_h=usd)
                for name, kind, most, usd in zip(names, gpu_type, gpus, price, strict=True)
            )
        except ValidationError as error:
            raise from_validation(f"{TIMES}, machine type", error) from error
        ends = np.cumsum(np.array(gpus, dtype=np.int64))
        return cls(catalogue, np.append(0, ends[:-1]), int(ends[-1]), which.astype(np.int64))

    def cell_in_words(self, cell: int) -> str:
        vm = int(np.searchsorted(self.first, cell, side="right")) - 1
        return f"{self.catalogue[vm].name!r} with nGPUs = {cell - int(self.first[vm]) + 1}"


def _times_of(times: _File, fleet: _Fleet, job_id: Texts, notes: list[str]) -> Floats:
    """Return run times in seconds, shape (jobs, cells); InputError where one is missing or given twice."""
    seconds = times.floats("ExecutionTime", above_zero=True)
    gpus = times.floats("nGPUs", above_zero=True, whole=True, most=MOST_GPUS).astype(np.int64)
    most = np.array([vm.gpus for vm in fleet.catalogue])[fleet.vm_of_row]
    beyond = np.flatnonzero(gpus > most)
    if beyond.size:
        row = int(beyond[0])
        raise times.refusal(row, "nGPUs", f"must be at most max_nGPUs = {most[row]}, got {gpus[row]}")
    job = pd.Index(job_id).get_indexer(pd.Index(times.names("UniqueJobsID")))
    used = np.flatnonzero(job >= 0)
    if len(used) < len(job):
        notes.append(f"{TIMES}: {len(job) - len(used):,} lines belong to jobs that are not in {JOBS}")
    cell = fleet.first[fleet.vm_of_row] + gpus - 1
    place = (job * fleet.cells + cell)[used]
    by_place = np.argsort(place, kind="stable")
    twice = np.flatnonzero(np.diff(place[by_place]) == 0)
    if twice.size:
        row = int(used[by_place[twice[0] + 1]])
        why = f"job {job_id[job[row]][:60]!r} has the time on {fleet.cell_in_words(int(cell[row]))} twice"
        raise times.refusal(row, "ExecutionTime", why, "Drop one of the lines")
    counts = np.bincount(job[used], minlength=len(job_id))
    lacking = np.flatnonzero(counts < fleet.cells)
    if lacking.size:
        one = int(lacking[0])
        absent = np.setdiff1d(np.arange(fleet.cells), cell[job == one])
        why = f"job {job_id[one][:60]!r} has no time on {fleet.cell_in_words(int(absent[0]))}"
        raise InputError(f"file {TIMES}", why, "Give the times of every job on every machine type in the file")
    return seconds[used][by_place].reshape(len(job_id), fleet.cells)


def _by_gpu_type(times: Floats, fleet: _Fleet, job_id: Texts) -> dict[str, Floats]:
    """Return GPU type -> times with 1, 2, ... GPUs, shape (jobs, GPUs); they may not differ by machine type."""
    by_type: dict[str, Floats] = {}
    for vm, start in zip(fleet.catalogue, fleet.first.tolist(), strict=True):
        here = times[:, start : start + vm.gpus]
        earlier = by_type.setdefault(vm.gpu_type, here)
        both = min(earlier.shape[1], vm.gpus)
        differ = np.argwhere(earlier[:, :both] != here[:, :both])
        if len(differ):
            job, column = differ[0]
            why = (
                f"with {column + 1} of the GPUs of {vm.name!r} it takes {here[job, column]:.12g} s, with as many on "
                f"another machine type {earlier[job, column]:.12g} s"
            )
            what = f"{TIMES}, job {job_id[job][:60]!r} on {vm.gpu_type!r}"
            raise InputError(what, why, "Give one time for each GPU type and number of GPUs")
        if vm.gpus > earlier.shape[1]:
            by_type[vm.gpu_type] = here
    return by_type


def _profiles(
    times: Floats, fleet: _Fleet, job_id: Texts, labels: Texts | None
) -> tuple[dict[str, Profile], list[str]]:
    """Return the profiles by name and the name of each job's."""
    by_type = _by_gpu_type(times, fleet, job_id)
    keys = [row.tobytes() for row in np.hstack(list(by_type.values()))]
    number = pd.factorize(np.array(keys, dtype=object))[0]
    first = np.unique(number, return_index=True)[1]
    names = _profile_names(number, first, job_id, job_id if labels is None else labels)
    made = (profile_of({kind: rows[row].tolist() for kind, rows in by_type.items()}) for row in first.tolist())
    return dict(zip(names, made, strict=True)), [names[which] for which in number.tolist()]


def _profile_names(number: Ints, first: Ints, job_id: Texts, labels: Texts) -> list[str]:
    """Return a name for each set of times: the label of its jobs where that says it, else with a job's id."""
    pairs = pd.DataFrame({"label": labels, "number": number}).drop_duplicates()
    sets = pairs["label"].value_counts()
    names: list[str] = []
    for row in first.tolist():
        label = labels[row]
        name = label if label and sets[label] == 1 else f"{label} {job_id[row]}".strip()
        while name in names:
            name += "'"
        names.append(name)
    return names


def _table(profiles: Mapping[str, Profile]) -> TimeTable:
    rows: dict[str, Mapping[str, Row]] = {name: profile.rows for name, profile in profiles.items()}
    try:
        return TimeTable(rows=rows)
    except ValidationError as error:
        raise from_validation(TIMES, error) from error


# ---- jobs ----------------------------------------------------------------------------------------


def _workload(jobs: _File, job_id: Texts, profiles: list[Profile], profile: list[str], name: str) -> Workload:
    """Return the jobs in the order of the file; a job may not be due before it is submitted."""
    submit_s, due_s = jobs.floats("SubmissionTime"), jobs.floats("Deadline")
    early = np.flatnonzero(due_s < submit_s)
    if early.size:
        row = int(early[0])
        more = f", as in {len(early) - 1:,} more lines" if len(early) > 1 else ""
        why = f"job {job_id[row][:60]!r}: due {due_s[row]:.12g} s is before submission {submit_s[row]:.12g} s{more}"
        raise jobs.refusal(row, "Deadline", why, "Correct or delete the job in the file")
    columns = {
        "job_id": job_id,
        "submit_s": submit_s,
        "work": [one.fastest_s for one in profiles],
        "workers": [one.gpus for one in profiles],
        "model": jobs.labels("Application"),
        "profile": profile,
        "due_s": due_s,
        "weight_usd_per_s": jobs.floats("Tardinessweight"),
    }
    return Workload.from_columns(columns, {"source": name, "format": "gpuaas"})


# ---- a folder, or a zip of one -------------------------------------------------------------------------


def is_instance_folder(folder: Path) -> bool:
    """Whether a folder holds any of the tables."""
    return any((folder / name).is_file() for name in FILES)


@guarded
def read_instance_folder(folder: Path) -> InstanceRead:
    """Return the instance of a folder, named after it; InputError naming what is wrong."""
    files: dict[str, Path | bytes] = {name: folder / name for name in FILES if (folder / name).is_file()}
    return read_instance(files, folder.resolve().name or "instance")


def is_instance_zip(source: Path | bytes) -> bool:
    """Whether a file or bytes are a zip archive that holds any of the tables."""
    try:
        with _opened(source) as archive:
            return any(_base(member.filename) in FILES for member in archive.infolist())
    except DAMAGED:
        return False


@guarded
def read_instance_zip(source: Path | bytes, name: str) -> InstanceRead:
    """Return the instance of a zip archive. Only the three tables are unfolded, in memory, each up to the limit.

    Raises
    ------
    InputError
        A table is missing, there twice, too large, damaged or behind a password; else as :func:`read_instance`.
    """
    files: dict[str, Path | bytes] = {}
    try:
        with _opened(source) as archive:
            for member in archive.infolist():
                base = _base(member.filename)
                if base in files:
                    raise InputError(f"file {name}", f"the archive contains {base} twice", "Pack one instance")
                if base in FILES:
                    files[base] = _content(archive, member, name)
    except DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"file {name}", "its zip compression is damaged", "Pack it again") from error
    return read_instance(files, PurePosixPath(name).stem or "instance")


def _opened(source: Path | bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)


def _base(path: str) -> str:
    """Return the last part of a member's path, nothing for side files of macOS: paths are never followed."""
    return "" if path.startswith("__MACOSX/") else PurePosixPath(path.replace("\\", "/")).name


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    if member.flag_bits & 1:
        raise InputError(f"file {name}", "the archive is password-protected", "Unpack it first")
    with archive.open(member) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        limit = f"files are limited to {MAX_BYTES // 1024**2} MiB"
        raise InputError(
            f"file {name}", f"{_base(member.filename)} is too large when decompressed: {limit}", "Split it"
        )
    return content
