"""LSF accounting, ``lsb.acct``: JOB_FINISH records of blank-separated fields, strings in doubled quotes."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import lru_cache

from dlsched.workload.readers.accounting.hosts import Hosts, counted_hosts, whole
from dlsched.workload.readers.accounting.lsf_requests import cores_per_slot, gpus_of
from dlsched.workload.readers.accounting.rows import (
    CUT_OFF,
    REPEATED,
    Gathered,
    Record,
    Remark,
    draft_of,
    lines_of,
    number,
    told_s,
)
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText

FINISHED = "JOB_FINISH"
# Fields from the start of a record ...
EVENT_TIME, JOB, TASKS, SUBMIT, BEGIN, START, USER, QUEUE, REQUIREMENT, DEPENDS = 2, 3, 6, 7, 8, 10, 11, 12, 13, 14
ASKED_HOSTS = 22
# ... from the status on, which follows the execution hosts ...
PROJECT, ARRAY_INDEX, EXIT_INFO, APPLICATION, EXTENSIONS = 24, 29, 38, 43, 53
# ... and from the run limit on, which follows the usage by host.
EFFECTIVE, NETWORKS, ALLOCATED_SLOTS = 3, 15, 22
DONE, EXIT = 0x40, 0x20
WITH_EFFECTIVE = 9.1  # LSF version from which records have the effective requirement
EXIT_INFO_STATUS = {1: "preempted", 5: "timeout", 6: "timeout", 8: "cancelled", 9: "cancelled", 14: "cancelled",
                    15: "cancelled", 16: "out_of_memory"}  # fmt: skip
REMARKS = {
    "gpus-per-job": Remark("flag", "GPUs on several hosts without /host or /task",
                           "Counted once for the job, as LSF reserves by default; a site can configure otherwise"),
    "no-requirement": Remark("flag", "record ends before the effective requirement",
                             "GPUs are those of the submitted requirement; no time limit"),
    "depends": Remark("not modelled", "job had a dependency", "How long it waited for it is not told: it counts as "
                      "eligible from its submission"),
    "memory": Remark("not modelled", "job reserves memory (rusage[mem])",
                     "Its unit, and whether it is by job, host or task, is a setting of the site"),
}  # fmt: skip
ACCOUNTED = {FINISHED, "JOB_RESIZE", "EVENT_ADRSV_FINISH"}
_RECORD = re.compile(r'"?([A-Z][A-Z_0-9]{2,30})"? +"?\d{1,3}(?:\.\d{1,6})?"? +\d{9,12} ', re.ASCII)
_MEMORY = re.compile(r"\brusage\[[^\[\]]*\bmem=")


def read_lsf(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of ``lsb.acct``: its JOB_FINISH records, of LSF 6 to 10.1.

    Cores are the slots of the execution hosts, times the cores bound to each (affinity). Seconds in which a job was
    not eligible (LSF 10.1), or waited for the time it was not to start before, are held. ``runLimit`` is the limit.
    """
    gathered, hosts_of = Gathered(), lru_cache(REPEATED)(counted_hosts)
    for line, content in lines_of(text, gathered):
        if not content.startswith(('"JOB_FINISH"', "JOB_FINISH")):
            kind = content.split(" ", 1)[0].strip('"')
            gathered.set_aside(f"record {kind}" if _RECORD.match(content) else CUT_OFF, line, content)
            continue
        try:
            fields = next(csv.reader((content,), delimiter=" ", skipinitialspace=True))
            first = ASKED_HOSTS + 1 + whole(fields[ASKED_HOSTS])
            count = whole(fields[first])
            status = first + 1 + count
            hosts = hosts_of(tuple(fields[first + 1 : status]))
            gathered.records.append(_record(line, fields, hosts, fields[status:]))
        except (ValueError, IndexError, csv.Error):
            gathered.set_aside(CUT_OFF, line, content)
    return draft_of(text.name, gathered, options, REMARKS)


def _record(line: int, fields: Sequence[str], hosts: Hosts, rest: Sequence[str]) -> Record:
    """Return a record; ValueError or IndexError where it ends before the index of a job array."""
    asked_s, start_s, end_s = told_s(fields[SUBMIT]), told_s(fields[START]), told_s(fields[EVENT_TIME])
    index = int(rest[ARRAY_INDEX])
    option, tail = _tail(rest)
    remarks = ["renamed"] if hosts.renamed else []
    if tail:
        requirement, limit_s = tail[EFFECTIVE], told_s(tail[0])
    else:
        requirement, limit_s = fields[REQUIREMENT], told_s("")
        if number(fields[1]) >= WITH_EFFECTIVE:
            remarks.append("no-requirement")
    held_s = told_s(fields[BEGIN]) - asked_s
    if (ineligible := _ineligible_s(tail)) is not None:
        held_s = max(ineligible, held_s) if held_s > 0 else ineligible
    elif fields[DEPENDS]:
        remarks.append("depends")
    gpu = gpus_of(requirement or fields[REQUIREMENT], option, max(1, hosts.nodes), max(1, whole(fields[TASKS])))
    cores = float(hosts.cores * cores_per_slot(requirement))
    if not hosts.even and not gpu.gpus:
        remarks.append("uneven")
    if _MEMORY.search(requirement):
        remarks.append("memory")
    return Record(
        line, f"{fields[JOB]}[{index}]" if index > 0 else fields[JOB],
        fields[USER], rest[PROJECT], fields[QUEUE], rest[APPLICATION] if len(rest) > APPLICATION else "",
        _status(int(rest[0]), rest[EXIT_INFO] if len(rest) > EXIT_INFO else ""), gpu.gpu_types, hosts.names,
        asked_s, asked_s + held_s, start_s, end_s, limit_s,
        gpu.gpus, max(1, hosts.nodes), cores, remarks=(*gpu.remarks, *remarks),
    )  # fmt: skip


def _tail(rest: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return what ``bsub -gpu`` was given, and the fields from the run limit on; empty where the record ends before.

    Between them and the status are lists: extensions of the submission (key, value), and the usage by host, of five
    fields or, since LSF 9.1, six and as many pairs as the sixth says.
    """
    if len(rest) <= EXTENSIONS:
        return "", ()
    try:
        at = EXTENSIONS + 1 + 2 * whole(rest[EXTENSIONS])
        values = rest[EXTENSIONS + 2 : at : 2]
        option = next((value for value in values if value.startswith("num=") or ":num=" in value), "")
        count = whole(rest[at])
    except (ValueError, IndexError):
        return "", ()
    for has_pairs in (True, False):
        end = at + 1
        try:
            for _ in range(count):
                end += 6 + 2 * whole(rest[end + 5]) if has_pairs else 5
        except (ValueError, IndexError):
            continue
        if len(rest) > end + EFFECTIVE and all(_is_whole(field) for field in rest[end : end + EFFECTIVE]):
            return option, rest[end:]
    return option, ()


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def _ineligible_s(tail: Sequence[str]) -> float | None:
    """Return the seconds a job was not eligible, which follow the allocated slots (LSF 10.1); None if not told."""
    try:
        slots = ALLOCATED_SLOTS + 2 * whole(tail[NETWORKS])
        seconds = int(tail[slots + 1 + whole(tail[slots])])
    except (ValueError, IndexError):
        return None
    return float(seconds) if seconds >= 0 else None


def _status(status: int, exit_info: str) -> str:
    if status & DONE:
        return "completed"
    reason = EXIT_INFO_STATUS.get(int(exit_info), "") if _is_whole(exit_info) else ""
    return reason or ("failed" if status & EXIT else "")


# ---- signs -----------------------------------------------------------------------------------------


def _records(head: Head) -> list[str]:
    """Return the kinds of the first records; none unless most lines are records."""
    kinds = [found[1] for line in head.lines if (found := _RECORD.match(line))]
    return kinds if 2 * len(kinds) >= sum(not line.startswith("#") for line in head.lines) else []


def _signs(head: Head) -> Signs | None:
    return Signs(2, 2) if set(_records(head)) & ACCOUNTED else None


def _signs_of_events(head: Head) -> Signs | None:
    kinds = set(_records(head))
    return Signs(2, 2) if kinds and not kinds & ACCOUNTED else None


SOURCE = "IBM Spectrum LSF 10.1 Configuration Reference, lsb.acct and lsb.events"
LSF = TraceFormat(
    "lsf",
    "LSF accounting (lsb.acct)",
    _signs,
    read_lsf,
    choices=("cancelled", "arrival", "absent_times"),
    source=SOURCE,
)
LSF_EVENTS = TraceFormat(
    "lsf-events",
    "LSF events (lsb.events)",
    _signs_of_events,
    why="it is LSF's log of events (lsb.events), whose jobs are spread over many records",
    do="Give lsb.acct of the same folder, which has one record for each finished job",
    source=SOURCE,
)
