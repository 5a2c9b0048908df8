"""Grid Engine accounting (Sun, Oracle, Univa, Altair, Son of): 43 or more fields with colons between them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from dlsched.workload.readers.accounting.hosts import whole
from dlsched.workload.readers.accounting.rows import (
    CUT_OFF,
    NOT_TOLD,
    REPEATED,
    Gathered,
    Record,
    Remark,
    clock_s,
    draft_of,
    lines_of,
    number,
    told_s,
)
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText

QUEUE, HOST, GROUP, OWNER, JOB, ACCOUNT, SUBMIT, START, END, FAILED, EXIT = 0, 1, 2, 3, 5, 6, 8, 9, 10, 11, 12
PROJECT, PARALLEL, SLOTS, TASK, CATEGORY, PARALLEL_TASK = 31, 33, 34, 35, 39, 41
FEWEST_FIELDS = 43
MILLISECONDS_FROM = 1e11
NONE = ("", "NONE")
DEFAULT_ACCOUNT = "sge"
FAILED_BY_LIMIT, RESCHEDULED = 37, (24, 25)
REMARKS = {
    "slots": Remark("flag", "GPUs asked for by a job of several slots",
                    "Whether they count by job or by slot is a setting of the site; taken as chosen (sge_gpus)"),
    "spread": Remark("flag", "nodes of a parallel job are not told",
                     "Each slot is a worker of one core that may run on any node"),
    "rescheduled": Remark("flag", "job was rescheduled after this run", "This run and the next are jobs of their own"),
    "memory": Remark("not modelled", "job asks for memory", "Whether it counts by job or by slot is a setting of the "
                     "site, so it is left out"),
    "bad-gpus": Remark("drop", "GPU request is no number", "Dropped: GPUs are never guessed"),
}  # fmt: skip
_RECORD = re.compile(r"(?:[^:]*:){5}\d{1,12}:[^:]*:[^:]*:(?:\d{1,13}:){3}\d{1,4}:-?\d{1,6}:[\d.]+:", re.ASCII)
_REST = re.compile(r":[\d.eE+-]+:(NONE|\d+\.[A-Za-z][^:\s]*):[\d.eE+-]+(?::|$)")
_OPTION = re.compile(r"(?:^|\s)-([a-z]+)\s+(\S+)")
_GPU = re.compile(r"(n|num_?)?gpus?(_?(num|count|total))?|cuda")
_ONE_NODE = re.compile(r"smp|omp|openmp|thread|shm|shared|serial|make", re.IGNORECASE)
_MEMORY = ("h_vmem", "mem_free", "virtual_free", "m_mem_free", "h_rss", "ram", "mem")


class Asked(NamedTuple):
    """What the category of a job tells: GPUs by job or slot, the run-time limit, GPU types."""

    gpus: float = 0.0
    limit_s: float = NOT_TOLD
    gpu_types: str = ""
    remarks: tuple[str, ...] = ()


def read_sge(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a Grid Engine ``accounting`` file.

    Times are seconds, or milliseconds (Univa 8.2 and later). GPUs and the limit (h_rt, else s_rt) come from the
    category. Records of the tasks of a parallel job only add their hosts to the record of the job itself.
    """
    gathered, hosts_of, asked_of = Gathered(), _hosts_of_tasks(text), lru_cache(REPEATED)(_asked)
    for line, content in lines_of(text, gathered):
        fields = content.split(":")
        try:
            category, parallel_task = _category(fields)
            if parallel_task not in NONE:
                gathered.set_aside("task of a parallel job", line, fields[JOB])
                continue
            hosts = hosts_of.get((fields[JOB], fields[TASK]), ())
            gathered.records.append(_record(line, fields, asked_of(category), hosts, options))
        except (ValueError, IndexError):
            gathered.set_aside(CUT_OFF, line, content)
    return draft_of(text.name, gathered, options, REMARKS)


def _hosts_of_tasks(text: TraceText) -> dict[tuple[str, str], list[tuple[float, str]]]:
    """Return by job and array task the (start, host) of each task of a parallel job that has a record of its own."""
    hosts_of = dict[tuple[str, str], list[tuple[float, str]]]()
    for _, content in lines_of(text, Gathered()):
        fields = content.split(":")
        with suppress(ValueError, IndexError):
            if _category(fields)[1] not in NONE:
                hosts_of.setdefault((fields[JOB], fields[TASK]), []).append((_epoch_s(fields[START]), fields[HOST]))
    return hosts_of


def _record(
    line: int, fields: Sequence[str], asked: Asked, task_hosts: Sequence[tuple[float, str]], options: ReadOptions
) -> Record:
    start_s, end_s = _epoch_s(fields[START]), _epoch_s(fields[END])
    slots = max(1, whole(fields[SLOTS]))
    hosts = dict.fromkeys((fields[HOST], *(host for at_s, host in task_hosts if start_s <= at_s <= end_s)))
    names = [host for host in hosts if host and host not in ("NONE", "UNKNOWN")]
    remarks, nodes, gpus = list(asked.remarks), len(names) or 1, asked.gpus
    one_node = slots == 1 or fields[PARALLEL] in NONE or _ONE_NODE.search(fields[PARALLEL]) is not None
    if nodes == 1 and not one_node:
        nodes = slots
        remarks.append("spread")
    elif slots % nodes:
        remarks.append("uneven")
    if gpus and slots > 1:
        remarks.append("slots")
        gpus *= slots if options.sge_gpus == "slot" else 1
    failed, exit_status, task = whole(fields[FAILED]), int(fields[EXIT]), whole(fields[TASK])
    if failed in RESCHEDULED:
        remarks.append("rescheduled")
    project, account = fields[PROJECT], fields[ACCOUNT]
    group = project if project not in NONE else account if account not in (*NONE, DEFAULT_ACCOUNT) else fields[GROUP]
    return Record(
        line, f"{fields[JOB]}.{task}" if task else fields[JOB], fields[OWNER], group, fields[QUEUE],
        status=_status(failed, exit_status, end_s - start_s, asked.limit_s), gpu_types=asked.gpu_types,
        nodes=",".join(names), asked_s=_epoch_s(fields[SUBMIT]), start_s=start_s, end_s=end_s,
        limit_s=asked.limit_s, gpus=gpus, num_nodes=nodes, cores=float(slots), remarks=tuple(remarks),
    )  # fmt: skip


def _epoch_s(text: str) -> float:
    value = told_s(text)
    return value / 1000 if value >= MILLISECONDS_FROM else value


def _status(failed: int, exit_status: int, run_s: float, limit_s: float) -> str:
    if failed in RESCHEDULED:
        return "requeued"
    if failed == 0 and exit_status == 0:
        return "completed"
    return "timeout" if failed == FAILED_BY_LIMIT or run_s >= limit_s else "failed"


# ---- category --------------------------------------------------------------------------------------


def _category(fields: Sequence[str]) -> tuple[str, str]:
    """Return the category and the task of a parallel job; a time in the category may hold colons itself."""
    if fields[PARALLEL_TASK] == "NONE":
        return fields[CATEGORY], fields[PARALLEL_TASK]
    rest = ":".join(fields[CATEGORY:])
    found = _REST.search(rest)
    return (rest[: found.start()], found[1]) if found else (fields[CATEGORY], "NONE")


def _asked(category: str) -> Asked:
    """Return what ``-l gpu=2,h_rt=3600 -pe mpi 8`` asks for; ValueError where a limit cannot be read."""
    asked = dict[str, str]()
    for option, value in _OPTION.findall(category):
        if option == "l":
            asked |= dict(item.partition("=")[::2] for item in value.split(","))
    limits = [clock_s(asked[name]) for name in ("h_rt", "s_rt")
              if asked.get(name, "INFINITY").upper() != "INFINITY"]  # fmt: skip
    remarks = ["memory"] if any(name in asked for name in _MEMORY) else []
    gpus = 0.0
    for name, value in asked.items():
        if _GPU.fullmatch(name):
            try:
                gpus = max(gpus, number(value))
            except ValueError:
                if value.upper() not in ("FALSE", "F"):
                    remarks.append("bad-gpus")
    types = "|".join(sorted({value for name, value in asked.items() if name in ("gpu_type", "gpu_model", "gputype")}))
    return Asked(gpus, limits[0] if limits else math.nan, types, tuple(remarks))


def _signs(head: Head) -> Signs | None:
    lines = [line for line in head.lines if not line.startswith("#")]
    records = sum(line.count(":") >= FEWEST_FIELDS - 1 and _RECORD.match(line) is not None for line in lines)
    return Signs(2, 2) if records and 2 * records >= len(lines) else None


SGE = TraceFormat(
    "sge",
    "Grid Engine accounting",
    _signs,
    read_sge,
    choices=("sge_gpus", "absent_times"),
    source="accounting(5) of Sun and Univa Grid Engine",
)
