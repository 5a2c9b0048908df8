"""One call for every trace: open, detect, read, check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload
from dlsched.workload.import_report import Report
from dlsched.workload.readers import detection
from dlsched.workload.readers.canonical import Draft, finish
from dlsched.workload.readers.helios import read_helios, refuse_capacity
from dlsched.workload.readers.openb import read_openb, read_openb_nodes
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.philly import read_philly
from dlsched.workload.readers.sacct import read_sacct
from dlsched.workload.readers.source import TraceText, open_trace
from dlsched.workload.readers.swf import read_swf
from dlsched.workload.readers.tabular import read_csv

PREVIEW_ROWS = 5
READERS: dict[str, Callable[[TraceText, ReadOptions], Draft]] = {
    "native": read_csv,
    "philly": read_philly,
    "openb": read_openb,
    "helios": read_helios,
    "swf": read_swf,
    "sacct": read_sacct,
    "csv": read_csv,
}


@dataclass(frozen=True)
class TraceRead:
    """A trace as a workload, its import report, and what was assumed, in words.

    ``cluster_hint`` is the cluster the trace itself describes, where it does.
    """

    workload: Workload
    report: Report
    cluster_hint: Cluster | None
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


def read_trace(source: Path | bytes, name: str = "", options: ReadOptions | None = None) -> TraceRead:
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
        One clear message. FormatUnsure (with ``candidates``) when two formats are about equally likely,
        MappingNeeded (with ``guess``) when the columns of a CSV are not clear.
    """
    chosen = options or ReadOptions()
    text = open_trace(source, name)
    return _read(text, chosen)


def _read(text: TraceText, options: ReadOptions) -> TraceRead:
    key = _format_of(text, options)
    draft = READERS[key](text, options)
    draft.ledger.notes[:0] = text.notes
    draft.meta |= {"source": text.name, "format": key}
    workload, report = finish(draft, options)
    return TraceRead(workload, report, draft.cluster_hint, key, tuple(draft.assumptions))


def _format_of(text: TraceText, options: ReadOptions) -> str:
    if options.format != "auto":
        if text.is_parquet and options.format not in ("native", "csv"):
            raise InputError(f"file {text.name}", "it is a Parquet file", "Choose native table or generic CSV")
        return options.format
    if options.mapping is not None:
        return "csv"
    key = detection.choose(detection.detect(text.data, text.name), text.name)
    if key == "openb-nodes":
        why = "it is an openb node list, which describes machines, not jobs"
        raise InputError(f"file {text.name}", why, "Give the pod list; the node list is only for the cluster")
    if key == "helios-capacity":
        raise refuse_capacity(text.name)
    return key


def read_cluster(source: Path | bytes, name: str = "") -> Cluster:
    """Return the cluster of a node list (openb); InputError for anything else."""
    return read_openb_nodes(open_trace(source, name))


def preview(source: Path | bytes, name: str, format_keys: Sequence[str]) -> tuple[Preview, ...]:
    """Return the first five jobs of a file as each format reads them, so that a user can choose."""
    text = open_trace(source, name)
    return tuple(_preview(text, key) for key in format_keys if key in READERS)


def _preview(text: TraceText, key: str) -> Preview:
    label = detection.LABELS[key]
    try:
        workload = _read(text, ReadOptions.model_validate({"format": key})).workload.head(PREVIEW_ROWS)
    except InputError as error:
        return Preview(key, label, problem=str(error))
    columns = workload.columns()
    cells = [[f"{v:g}" if isinstance(v, float) else str(v) for v in values] for values in columns.values()]
    return Preview(key, label, tuple(columns), tuple(zip(*cells, strict=True)))
