"""Alibaba openb 2023: pod list, and the node list as a cluster. Seconds from the start of the trace."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Texts
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.canonical import Draft, number, optional
from dlsched.workload.readers.convert import Read, from_python, numbers, strings, texts, words
from dlsched.workload.readers.formats import TraceFormat, of_columns
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import need_columns, read_table, sniff

POD_COLUMNS = (
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase", "creation_time",
    "deletion_time", "scheduled_time",
)  # fmt: skip
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
STATUS = {"succeeded": "completed", "failed": "failed", "running": "running", "pending": "pending"}


def read_openb(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of an openb pod list.

    A pod is one worker, because it sits on one node: gpus_per_worker = num_gpu x gpu_milli / 1000. Run time =
    deletion - scheduling. Pending pods never ran and are dropped; Running pods are cut off by the end of the
    trace and keep the time seen so far, or are dropped (``censored``).
    """
    dialect = sniff(text.data)
    need_columns(dialect.header, POD_COLUMNS, f"openb pod list {text.name}")
    table = read_table(text, dialect, POD_COLUMNS)
    ledger, columns = table.ledger("name"), table.columns
    phase = words(columns["pod_phase"])
    submit_s = number(ledger, columns["creation_time"], "creation time")
    _drop_never_ran(ledger, phase, columns, options)
    end_s = number(ledger, columns["deletion_time"], "deletion time")
    start_s = numbers(columns["scheduled_time"]).values
    ledger.drop(np.isnan(start_s), "no scheduled time", "Dropped: the pod never ran", unreadable=False)
    gpus, milli = (
        number(ledger, columns["num_gpu"], "GPU count"),
        np.nan_to_num(_optional(ledger, columns, "gpu_milli")),
    )
    share = np.where(gpus == 1, np.where(milli > 0, milli / 1000, 1.0), 1.0)
    ledger.drop((gpus == 1) & (milli > 1000), "gpu_milli above 1000", "Dropped: more than one whole GPU", milli)
    assumptions = ["Each pod is one worker: all its GPUs are on one node"]
    if options.censored == "keep" and (phase == "running").any():
        assumptions.append("Pods still running when the trace ended keep the run time observed so far")
    return Draft(
        ledger, submit_s, end_s - start_s, np.ones(table.rows), gpus * share,
        texts={"job_id": columns["name"], "job_class": columns["qos"], "gpu_types": columns["gpu_spec"],
               "recorded_status": from_python([STATUS.get(name, name) for name in phase])},
        floats={
            "cpus_per_worker": _optional(ledger, columns, "cpu_milli") / 1000,
            "mem_gib_per_worker": _optional(ledger, columns, "memory_mib") / 1024,
            "recorded_start_s": start_s, "recorded_end_s": end_s,
        },
        assumptions=assumptions,
    )  # fmt: skip


def _drop_never_ran(ledger: Ledger, phase: Texts, columns: dict[str, Any], options: ReadOptions) -> None:
    rule = "Dropped: it never ran, so its run time is unknown"
    ledger.drop(phase == "pending", "pod was still pending", rule, columns["name"], unreadable=False)
    running = phase == "running"
    if options.censored == "drop":
        ledger.drop(
            running, "pod was still running", "Dropped as asked: censored = drop", columns["name"], unreadable=False
        )
    else:
        rule = "Kept with the run time observed so far, which is a lower bound"
        ledger.flag(running, "pod was still running when the trace ended", rule, columns["deletion_time"])


def _optional(ledger: Ledger, columns: dict[str, Any], name: str) -> Floats:
    return optional(ledger, numbers(columns[name]), name, columns[name])


def read_openb_nodes(text: TraceText) -> Cluster:
    """Return the cluster of an openb node list: one pool for each distinct (GPUs, model, CPUs, memory).

    Raises
    ------
    InputError
        Not a node list, or a row that is not a machine.
    """
    dialect = sniff(text.data)
    what = f"openb node list {text.name}"
    need_columns(dialect.header, NODE_COLUMNS, what)
    columns = read_table(text, dialect, NODE_COLUMNS).columns
    gpus = machine_counts(numbers(columns["gpu"]), "gpu", what, gpus=True)
    cpu_milli, mem_mib = (machine_counts(numbers(columns[name]), name, what) for name in ("cpu_milli", "memory_mib"))
    models = texts(strings(columns["model"]))
    return cluster_of_machines(what, gpus, models, cpu_milli / 1000, mem_mib / 1024)


def cluster_of_machines(what: str, gpus: Floats, models: Texts, cpus: Floats, mem_gib: Floats | None) -> Cluster:
    """Return one pool for each distinct (GPUs, model, CPUs, memory in GiB) of a list with one entry a machine.

    ``what`` names the list for the InputError of an empty one.
    """
    memory = [None] * len(gpus) if mem_gib is None else mem_gib.tolist()
    kinds = Counter(zip(gpus.tolist(), cpus.tolist(), memory, models.tolist(), strict=True))
    if not kinds:
        raise InputError(what, "it has no machines", "Export it again")
    pools = []
    for number_of_kind, ((num_gpus, cores, mem, model), count) in enumerate(sorted(kinds.items()), 1):
        kind = f"{int(num_gpus)} x {model[:40]}" if num_gpus else "CPU node"
        vm = VmType(
            name=f"{kind}, type {number_of_kind}", gpu_type=model[:60] if num_gpus else "", gpus=int(num_gpus),
            cpus=cores, mem_gib=mem,
        )  # fmt: skip
        pools.append(Pool(vm=vm, count=count))
    return Cluster(pools=tuple(pools))


def machine_counts(read: Read, name: str, what: str, *, gpus: bool = False) -> Floats:
    """Return a column of a node list; InputError that names the first row without a count."""
    wrong = ~np.isfinite(read.values) | (read.values < 0) | (read.values > 1e12)
    if gpus:
        wrong |= (read.values > 1024) | (read.values != np.floor(read.values))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0]) + 1
        raise InputError(f"{what}, row {row}, column {name}", "it must be a count", "Correct the row")
    return read.values


OPENB = TraceFormat(
    "openb",
    "Alibaba openb pod list",
    of_columns("cpu_milli", "gpu_milli", "gpu_spec", "pod_phase", "creation_time", "scheduled_time", "deletion_time"),
    read_openb,
    choices=("censored",),
    source="github.com/alibaba/clusterdata, cluster-trace-gpu-v2023",
)
OPENB_NODES = TraceFormat(
    "openb-nodes",
    "Alibaba openb node list",
    of_columns("sn", "cpu_milli", "memory_mib", "gpu", "model"),
    why="it is an openb node list, which describes machines, not jobs",
    do="Give the pod list; the node list is only for the cluster",
    source="github.com/alibaba/clusterdata, cluster-trace-gpu-v2023",
)
