"""What the counted resource of a scenario is called: GPUs, cores or memory (:mod:`dlsched.domain.counted`).

Texts are written for GPUs, the usual case; :meth:`Counted.say` tells them of another resource.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dlsched.domain.cluster import Cluster
from dlsched.domain.counted import counted_capacity, counted_resource
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import CPU, GPU, MEM, Workload
from dlsched.wording.formats import Kind, amount, count

OF_GPUS = re.compile(r"(?P<start>^|[.:] )?\bGPU(?P<rest>s\b| time\b| count\b|-hours?\b|-h\b|-s\b|\b)")

WAITS = {
    "not enough GPUs free": "not enough cores or memory free",
    "too few GPUs were free": "too few cores or too little memory were free",
    "GPUs free, but": "cores and memory free, but",
    "GPUs were free, but": "cores and memory were free, but",
    "the free GPUs are reserved": "the free cores are reserved",
}
"""Why jobs wait where no GPU counts: a job may lack one resource or the other."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Names of a resource: its column in tables, one and several units, the word before "time", a price of an hour."""

    index: int
    column: str
    one: str
    many: str
    name: str
    price_kind: Kind

    def say(self, text: str) -> str:
        """Return a text about GPUs as one about this resource: "Useful GPU time" becomes "Useful core time"."""
        if self.index == GPU:
            return text
        for of_gpus, other in WAITS.items():
            text = text.replace(of_gpus, other)
        return OF_GPUS.sub(self._said, text)

    def _said(self, found: re.Match[str]) -> str:
        rest = found["rest"]
        word = self.many if rest == "s" else f"{self.name}{rest}" if rest == " time" else f"{self.one}{rest}"
        start = found["start"]
        return word if start is None else f"{start}{word[0].upper()}{word[1:]}"

    def amount(self, of: float) -> str:
        """Return "1 GPU", "12 cores", "64 GiB"."""
        return amount(of, self.one, self.many)


COUNTED: dict[int, Counted] = {
    GPU: Counted(GPU, "gpus", "GPU", "GPUs", "GPU", "usd_per_gpu_h"),
    CPU: Counted(CPU, "cpus", "core", "cores", "core", "usd_per_core_h"),
    MEM: Counted(MEM, "mem_gib", "GiB", "GiB", "memory", "usd_per_gib_h"),
}
GPUS = COUNTED[GPU]


def room_words(cluster: Cluster, counted: Counted) -> str:
    """Return what the owned nodes have: "64 GPUs", "480 cores"; "" where nothing is there that counts."""
    room = float(counted_capacity(cluster, counted.index)[cluster.nodes.vm].sum()) if cluster.pools else 0.0
    return f"{count(room)} {counted.one if room == 1 else counted.many}" if room else ""


def counted_on(jobs: Workload, cluster: Cluster) -> Counted:
    """Return how the resource that counts for these jobs on a cluster is called."""
    return COUNTED[counted_resource(jobs, cluster)]


def counted_of(scenario: Scenario) -> Counted:
    """Return how the resource that counts for a scenario is called."""
    return COUNTED[scenario.counted]
