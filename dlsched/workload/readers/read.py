"""One call for every trace: open, detect, read, check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.cluster_from_log.absent import with_absences
from dlsched.workload.import_report import Report
from dlsched.workload.readers import detection
from dlsched.workload.readers.canonical import finish
from dlsched.workload.readers.descriptions import read_cluster
from dlsched.workload.readers.formats import TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.registry import find_format
from dlsched.workload.readers.source import TraceText, open_trace

PREVIEW_ROWS = 5


@dataclass(frozen=True)
class TraceRead:
    """A trace as a workload, its import report, and what was assumed, in words.

    ``cluster`` is the one that the trace, or a description that came with it, tells of; None if nothing does.
    """

    workload: Workload
    report: Report
    cluster: ClusterFound | None
    format_key: str
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Preview:
    """The first rows of a file read in one format; ``problem`` says why it cannot be read so."""

    format_key: str
    label: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


def read_trace(source: Path | str | bytes, name: str = "", options: ReadOptions | None = None) -> TraceRead:
    """Return the workload of a trace file with its report.

    Parameters
    ----------
    source
        Path, or content as uploaded; plain, gzip, bzip2, xz, or a zip with one file.
    name
        Name for messages; the path's own by default. It never decides the format.
    options
        Choices; ``format="auto"`` detects by content.

    Raises
    ------
    InputError
        One clear message. NotJobs when the file is known to hold something else, FormatUnsure (with ``candidates``)
        when two formats are about equally likely, MappingNeeded (with ``guess``) when the columns of a table are not
        clear.
    """
    text = open_trace(Path(source) if isinstance(source, str) else source, name)
    return _read(text, options or ReadOptions())


def _read(text: TraceText, options: ReadOptions) -> TraceRead:
    chosen = _format_of(text, options)
    if chosen.read is None:
        raise chosen.refusal(text.name)
    if text.is_parquet and not chosen.reads_parquet:
        raise InputError(f"file {text.name}", "it is a Parquet file", "Choose dlsched table or generic CSV")
    draft = chosen.read(text, options)
    draft.ledger.notes[:0] = text.notes
    draft.meta |= {"source": text.name, "format": chosen.key}
    workload, report = finish(draft, options)
    cluster = draft.cluster
    if options.cluster is not None:
        cluster = read_cluster(options.cluster, "description of the cluster").completed_by(cluster)
    if cluster is not None and options.absent_times == "include":
        cluster = with_absences(cluster, workload)
    return TraceRead(workload, report, cluster, chosen.key, tuple(draft.assumptions))


def _format_of(text: TraceText, options: ReadOptions) -> TraceFormat:
    if options.format != "auto":
        return find_format(options.format)
    if options.mapping is not None:
        return find_format("csv")
    if options.sacct_fields:
        return find_format("sacct")
    return detection.choose(detection.detect(text.data, text.name), text.name)


def preview(source: Path | bytes, name: str, format_keys: Sequence[str]) -> tuple[Preview, ...]:
    """Return the first five jobs of a file as each format reads them, so that a user can choose."""
    text = open_trace(source, name)
    return tuple(_preview(text, find_format(key)) for key in format_keys if find_format(key).read)


def _preview(text: TraceText, chosen: TraceFormat) -> Preview:
    try:
        workload = _read(text, ReadOptions(format=chosen.key)).workload.head(PREVIEW_ROWS)
    except InputError as error:
        return Preview(chosen.key, chosen.label, problem=str(error))
    columns = workload.columns()
    cells = [[f"{v:g}" if isinstance(v, float) else str(v) for v in values] for values in columns.values()]
    return Preview(chosen.key, chosen.label, tuple(columns), tuple(zip(*cells, strict=True)))
