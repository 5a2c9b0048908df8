"""Workers, GPUs, cores and memory of the jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from dlsched.domain.workload import Floats, Texts
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.canonical import optional
from dlsched.workload.readers.convert import bools, numbers, split_gpus, strings
from dlsched.workload.readers.slurm.tables import Columns
from dlsched.workload.readers.slurm.tres import req_mem_mib, tres_columns

MEM_0 = r"(?:^|,)mem=0[KMGTP]?(?:,|$)"


@dataclass(frozen=True)
class Demand:
    """Workers, GPUs per worker, cores and GiB of the whole job, GPU types asked for and allocated; one entry a row."""

    workers: Floats
    gpus_per_worker: Floats
    cpus: Floats
    mem_gib: Floats
    gpu_types: Texts
    gpu_types_used: Texts


def demand_of(ledger: Ledger, columns: Columns) -> Demand:
    """Return what the jobs hold: AllocTRES, else what they asked for; of old versions AllocGRES, ReqGRES, ReqMem.

    A GPU type that was asked for is a constraint; one that was merely given is not. ReqGRES is per node.
    """
    given, asked = tres_columns(columns["alloctres"]), tres_columns(columns["reqtres"])
    given_gres, asked_gres = (tres_columns(columns[name], gres=True) for name in ("allocgres", "reqgres"))
    nodes = _first_positive(_count(ledger, columns, "nnodes"), _count(ledger, columns, "allocnodes"),
                            given.nodes, asked.nodes, np.ones(len(given.nodes)))  # fmt: skip
    tres_gpus = np.where(bools(pc.equal(strings(columns["alloctres"]), "")), asked.gpus, given.gpus)
    gpus = _first_positive(tres_gpus, given_gres.gpus, asked_gres.gpus * nodes)
    cpus = _first_positive(given.cpus, _count(ledger, columns, "ncpus"), _count(ledger, columns, "alloccpus"),
                           asked.cpus, _count(ledger, columns, "reqcpus"))  # fmt: skip
    mem_mib = _first_positive(given.mem_mib, asked.mem_mib, req_mem_mib(columns["reqmem"], cpus, nodes))
    all_memory = bools(pc.match_substring_regex(strings(columns["alloctres"]), MEM_0)) & (mem_mib == 0)
    rule = "Counted as no memory: how much its nodes have is not in the log"
    ledger.not_modelled(all_memory, "holds all memory of its nodes (mem=0)", rule, columns["alloctres"])
    workers, per_worker = split_gpus(gpus)
    types = np.where(asked.gpu_types != "", asked.gpu_types, asked_gres.gpu_types)
    ledger.flag((given.gpu_types != "") & (types == ""), "GPU type allocated but not requested",
                "Not a constraint: the job may run on any type", given.gpu_types)  # fmt: skip
    return Demand(np.where(gpus == 0, nodes, workers), per_worker, cpus, mem_mib / 1024, types, given.gpu_types)


def _count(ledger: Ledger, columns: Columns, name: str) -> Floats:
    return optional(ledger, numbers(columns[name]), name, columns[name])


def _first_positive(*columns: Floats) -> Floats:
    """Return for each row the first value above 0, else 0."""
    result = np.zeros(len(columns[0]))
    for values in reversed(columns):
        result = np.where(values > 0, values, result)
    return result
