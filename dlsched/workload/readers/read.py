"""One call for every trace: open, detect, read, check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from dlsched.domain.errors import DlschedError, InputError, reading
from dlsched.domain.workload import Workload
from dlsched.plugins.loading import told
from dlsched.workload.catalogue import file_of
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.cluster_from_log.absent import with_absences
from dlsched.workload.import_report import Report
from dlsched.workload.readers import detection
from dlsched.workload.readers.canonical import Draft, finish
from dlsched.workload.readers.descriptions import read_cluster
from dlsched.workload.readers.formats import TraceFormat
from dlsched.workload.readers.kubernetes.queue_objects import EXPORT, QueuesFound, collect
from dlsched.workload.readers.kubernetes.quotas import cluster_of_quotas
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.registry import find_format
from dlsched.workload.readers.slurm_settings.found import SlurmFound, settings_of
from dlsched.workload.readers.source import TraceText, guarded, open_trace

PREVIEW_ROWS = 5


@dataclass(frozen=True)
class TraceRead:
    """A trace as a workload, its import report, and what was assumed, in words.

    ``cluster`` is the one that the trace, or a description that came with it, tells of; None if nothing does. So is
    ``queues``, the tree of quotas, and ``slurm``, the settings of a Slurm.
    """

    workload: Workload
    report: Report
    cluster: ClusterFound | None
    format_key: str
    assumptions: tuple[str, ...]
    queues: QueuesFound | None = None
    slurm: SlurmFound | None = None


@dataclass(frozen=True)
class Preview:
    """The first rows of a file read in one format; ``problem`` says why it cannot be read so."""

    format_key: str
    label: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


@guarded
def read_trace(source: Path | str | bytes, name: str = "", options: ReadOptions | None = None) -> TraceRead:
    """Return the workload of a trace file with its report.

    Parameters
    ----------
    source
        Path, a bundled sample ("sample:campus"), or content as uploaded; plain, gzip, bzip2, xz, or a zip with one
        file.
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
    text = open_trace(source if isinstance(source, bytes) else file_of(source), name)
    found = _read(text, options or ReadOptions())
    pa.default_memory_pool().release_unused()  # the columns of the file: 100 MiB for a million jobs
    return found


def _read(text: TraceText, options: ReadOptions) -> TraceRead:
    chosen = _format_of(text, options)
    if chosen.read is None:
        raise chosen.refusal(text.name)
    if text.is_parquet and not chosen.reads_parquet:
        raise InputError(f"file {text.name}", "it is a Parquet file", "Choose dlsched table or generic CSV")
    with _watched(chosen, text.name):
        draft = chosen.read(text, options)
        if chosen.origin:
            _sign(draft, chosen)
        draft.ledger.notes[:0] = text.notes
        draft.meta |= {"source": text.name, "format": chosen.key}
        workload, report = finish(draft, options)
    cluster, queues = draft.cluster, draft.queues
    if options.queues and queues is None:
        queues = read_queues(options.queues)
    if options.cluster is not None:
        flavors = queues.flavors if queues is not None else None
        cluster = read_cluster(options.cluster, "description of the cluster", flavors).completed_by(cluster)
    if cluster is None and queues is not None:
        cluster = cluster_of_quotas(queues.tree)
    if cluster is not None and options.absent_times == "include":
        cluster = with_absences(cluster, workload)
    slurm = settings_of(options.slurm, options.cluster)
    return TraceRead(workload, report, cluster, chosen.key, tuple(draft.assumptions), queues, slurm)


@contextmanager
def _watched(chosen: TraceFormat, name: str) -> Iterator[None]:
    """Turn whatever goes wrong in the reader of a plug-in into an InputError that names it."""
    try:
        yield
    except DlschedError:
        raise
    except Exception as error:
        if not chosen.origin:
            raise
        why = f"the format {chosen.key} from {chosen.origin} raised {told(error)}"
        raise InputError(f"file {name}", why, "Correct the plug-in, or choose another format") from error


def _sign(draft: Draft, chosen: TraceFormat) -> None:
    """Say in the report, the metadata and the assumptions that a plug-in read the trace."""
    draft.ledger.notes.append(f"read by {chosen.origin}")
    draft.meta["reader"] = chosen.fingerprint
    draft.assumptions.append(f"the trace was read by {chosen.origin}, format {chosen.label}")


def read_queues(sources: Sequence[bytes]) -> QueuesFound:
    """Return the tree of quotas of files with queue objects of Kueue or KAI, together; InputError without a queue."""
    with reading("queues"):
        found = collect(open_trace(content, "queues") for content in sources).tree()
    if found is None:
        raise InputError(
            "queues", "there is no ClusterQueue of Kueue and no Queue of KAI in these files", f"Give {EXPORT}"
        )
    return found


def _format_of(text: TraceText, options: ReadOptions) -> TraceFormat:
    if options.format != "auto":
        return find_format(options.format)
    if options.mapping is not None:
        return find_format("csv")
    if options.sacct_fields:
        return find_format("sacct")
    return detection.choose(detection.detect(text.data, text.name), text.name)


@guarded
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
