"""GPUs in a resource requirement of LSF: ``rusage[mem=4G,ngpus_physical=2/host]``, or ``bsub -gpu "num=2/task"``."""

from __future__ import annotations

import re
from typing import NamedTuple

from dlsched.workload.readers.accounting.rows import number

GPU_RESOURCES = ("ngpus_physical", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared", "ngpus")
_RUSAGE = re.compile(r"\brusage\[([^\[\]]*)\]")
_TERM = re.compile(r"(?:(\d{1,9})\s*\*\s*)?\{([^{}]*)\}", re.ASCII)
_NUM = re.compile(r"num=(\d{1,6})(?:/(task|host))?", re.ASCII)
_CORES = re.compile(r"\baffinity\[\s*core\((\d{1,4})[^()]*\)(?:\s*\*\s*(\d{1,4}))?", re.ASCII)
_MODEL = re.compile(r"gmodel=([\w.+-]+)")


class GpuRequest(NamedTuple):
    """GPUs of a job and their types; ``remarks`` where the count is not clear."""

    gpus: float = 0.0
    gpu_types: str = ""
    remarks: tuple[str, ...] = ()


class _Count(NamedTuple):
    """GPUs asked for, counted by "host", "task" or "job"; ``per`` is empty where the text does not say."""

    gpus: float
    per: str


_UNCLEAR = GpuRequest(remarks=("gpus-unclear",))


def gpus_of(requirement: str, option: str, hosts: int, tasks: int) -> GpuRequest:
    """Return the GPUs of a job on so many hosts with so many tasks; ValueError where a count cannot be read.

    ``requirement`` is the effective one, ``option`` what ``bsub -gpu`` was given, where the log has it. ``-gpu``
    counts by host unless it says ``/task``. In ``rusage`` the words ``/host``, ``/task`` and ``/job`` say by what is
    counted; without one LSF reserves for the job as a whole, unless its site configures another rule.
    """
    asked = _of_option(option)
    if "{" in requirement:
        return _of_compound(requirement, hosts)
    counts = _of_rusage(requirement)
    if len(counts) > 1:
        return _UNCLEAR
    count = next(iter(counts), None)
    if count is None or (asked and not count.per):
        count = asked
    if count is None:
        return GpuRequest()
    total = count.gpus * {"host": hosts, "task": tasks}.get(count.per, 1)
    types = "|".join(sorted(set(_MODEL.findall(f"{requirement}:{option}"))))
    return GpuRequest(total, types, ("gpus-per-job",) if total and not count.per and hosts > 1 else ())


def cores_per_slot(requirement: str) -> int:
    """Return the cores that ``affinity[core(4)*2]`` binds to each task; 1 without it."""
    found = _CORES.search(requirement)
    return max(1, int(found[1]) * int(found[2] or 1)) if found else 1


def _of_option(option: str) -> _Count | None:
    for part in option.strip('"').split(":"):
        if found := _NUM.fullmatch(part.strip()):
            return _Count(number(found[1]), found[2] or "host")
    return None


def _of_rusage(requirement: str) -> set[_Count]:
    """Return the different counts of the alternatives (``||``) in the rusage sections; empty without GPUs."""
    counts = set()
    for section in _RUSAGE.findall(requirement):
        for alternative in section.split("||"):
            asked = dict(item.strip().partition("=")[::2] for item in alternative.replace(":", ",").split(","))
            name = next((name for name in GPU_RESOURCES if name in asked), None)
            if name is not None:
                gpus, _, per = asked[name].partition("/")
                counts.add(_Count(number(gpus), per.strip().lower()))
            elif "||" in section:
                counts.add(_Count(0.0, ""))
    return counts if any(count.gpus for count in counts) else set()


def _of_compound(requirement: str, hosts: int) -> GpuRequest:
    """Return the GPUs of ``1*{...} + 8*{...}``: clear where they are counted by task, or on one host."""
    total = 0.0
    for tasks, term in _TERM.findall(requirement):
        counts = _of_rusage(term)
        for count in counts:
            if len(counts) > 1 or (count.per != "task" and hosts > 1):
                return _UNCLEAR
            total += count.gpus * (int(tasks or 1) if count.per == "task" else 1)
    return _UNCLEAR if total and "||" in _TERM.sub("", requirement) else GpuRequest(total)
