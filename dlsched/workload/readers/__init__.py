"""Trace readers, one module a format."""

from dlsched.workload.readers.descriptions import read_cluster
from dlsched.workload.readers.detection import FormatCandidate, FormatUnsure, detect
from dlsched.workload.readers.mapping import (
    TARGETS,
    ColumnMapping,
    FieldMap,
    guess_mapping,
    load_mapping,
    save_mapping,
)
from dlsched.workload.readers.native import template_csv, write_native
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.questions import MappingNeeded, Reading
from dlsched.workload.readers.read import Preview, TraceRead, preview, read_queues, read_trace
from dlsched.workload.readers.tabular import file_head, table_head

__all__ = [
    "TARGETS",
    "ColumnMapping",
    "FieldMap",
    "FormatCandidate",
    "FormatUnsure",
    "MappingNeeded",
    "Preview",
    "ReadOptions",
    "Reading",
    "TraceRead",
    "detect",
    "file_head",
    "guess_mapping",
    "load_mapping",
    "preview",
    "read_cluster",
    "read_queues",
    "read_trace",
    "save_mapping",
    "table_head",
    "template_csv",
    "write_native",
]
