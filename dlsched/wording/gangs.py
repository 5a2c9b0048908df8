"""Words of jobs with workers and parameter servers."""

from __future__ import annotations

from dlsched.wording.formats import amount

RESOURCE_WORDS = {"gpus": "GPUs", "cpus": "CPUs", "mem_gib": "memory", "disk_gib": "disk"}
RESOURCE_UNITS = {"gpus": "GPUs", "cpus": "CPUs", "mem_gib": "GiB of memory", "disk_gib": "GiB of disk"}
ONE_UNIT = {"gpus": "GPU", "cpus": "CPU", "mem_gib": "GiB", "disk_gib": "GiB"}
"""One unit of a resource, where the resource is named beside it."""
UPDATES_WORDS = {"async": "asynchronous", "sync": "synchronous"}


def gang_words(workers: float, servers: float) -> str:
    """Return "3 workers, 2 servers"; what there is none of is left out."""
    parts = [amount(int(workers), "worker")] if workers else []
    return ", ".join([*parts, *([amount(int(servers), "server")] if servers else [])])


def resource_verb(resource: str, one: str, several: str) -> str:
    """Return the form of a verb that goes with the word of a resource: GPUs are, memory is."""
    return several if resource in ("gpus", "cpus") else one
