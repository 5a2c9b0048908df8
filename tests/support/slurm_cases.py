"""Cases for the policy slurm: trees of associations, and the vectors beside the project folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmAssociation, SlurmOptions, SlurmSetup
from dlsched.domain.workload import Floats, Ints, Workload


def slurm_vectors(folder: Path, name: str) -> dict[str, Any]:
    """Return one file of vectors of the folder of public data."""
    path = folder / "slurm" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"vectors not found: expected shared/data/slurm/{name}.json beside the project folder")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@dataclass
class Tree:
    """Associations as the policy holds them; ``number`` of each name."""

    parent: Ints
    shares: Floats
    usage: Floats
    active: Ints
    is_user: Ints
    number: dict[str, int]

    @classmethod
    def of(cls, root: dict[str, Any]) -> Self:
        """Return the tree of nested {name, shares, usage, user, children}; shares None = parent."""
        rows: list[tuple[int, float, float, bool]] = []
        number: dict[str, int] = {}

        def add(node: dict[str, Any], parent: int) -> None:
            number[node["name"]] = own = len(rows)
            shares = node.get("shares", 1)
            rows.append((parent, -1.0 if shares is None else float(shares), float(node["usage"]), "user" in node))
            for child in node.get("children", ()):
                add(child, own)

        add(root, 0)
        parent, shares, usage, is_user = zip(*rows, strict=True)
        ints = np.array(parent, dtype=np.int64), np.array(is_user, dtype=np.int64)
        return cls(ints[0], np.array(shares), np.array(usage), np.ones(len(rows), dtype=np.int64), ints[1], number)


UB_OPTIONS: dict[str, Any] = {
    "PriorityWeightAge": 50_000, "PriorityWeightFairshare": 50_000, "PriorityWeightJobSize": 200_000,
    "PriorityWeightPartition": 1_000_000, "PriorityWeightQOS": 20_000, "PriorityMaxAge_s": 18_000.0,
    "PriorityDecayHalfLife_s": 14_400.0, "PriorityFlags": ("NO_FAIR_TREE",), "FairShareDampeningFactor": 5.0,
    "bf_max_job_user": 200, "bf_max_job_test": 1200, "default_queue_depth": 1200,
}  # fmt: skip
UB_ACCOUNTS = {
    "root": ("root",),
    "account0": ("admin",),
    "account1": ("user1", "user2", "user3"),
    "account2": ("user4", "user5"),
}
"""As the cluster was set up: three accounts of 100 shares, one of them idle; root is a user of the root account."""
DEFAULT_MIB_PER_CPU = 2800


def ub_scenario(case: dict[str, Any]) -> Scenario:
    """Return the 500 jobs on the ten nodes of the run: a worker is what a job holds of one node."""
    jobs = case["jobs"]
    per_node = [job["tasks_per_node"] for job in jobs]
    mem_mib = [job["mem_mib_per_node"] or DEFAULT_MIB_PER_CPU * job["tasks_per_node"] for job in jobs]
    columns = {
        "job_id": [str(job["id"]) for job in jobs],
        "submit_s": [job["submit"] for job in jobs],
        "work": [max(1.0, job["run"]) for job in jobs],
        "limit_s": [job["limit"] for job in jobs],
        "workers": [job["tasks"] // job["tasks_per_node"] for job in jobs],
        "gpus_per_worker": [float(job["gpus_per_node"]) for job in jobs],
        "cpus_per_worker": [float(cpus) for cpus in per_node],
        "mem_gib_per_worker": [mib / 1024 for mib in mem_mib],
        "features": [job["features"] or "" for job in jobs],
        "user": [job["user"] for job in jobs],
        "group": [job["account"] for job in jobs],
        "recorded_start_s": [job["start"] for job in jobs],
    }

    def pool(names: str, count: int, features: str, gpus: int = 0, mem_mib: int = 48_000) -> Pool:
        vm = VmType(name=names, gpus=gpus, cpus=12, mem_gib=mem_mib / 1024)
        return Pool(vm=vm, count=count, nodes=names, features=features)

    pools = (
        pool("n[1-4]", 4, "IB|CPU-N"),
        pool("m[1-4]", 4, "IB|CPU-M"),
        pool("g1", 1, "IB|CPU-G", gpus=2),
        pool("b1", 1, "IB|CPU-G|BigMem", mem_mib=512_000),
    )
    setup = SlurmSetup(
        options=SlurmOptions(**UB_OPTIONS),
        switches={"IBN": "n[1-4]", "IBM": "m[1-4]", "IBG": "g1,b1"},
        associations=(
            *(SlurmAssociation(account=name, parent="root", shares=100) for name in UB_ACCOUNTS if name != "root"),
            *(SlurmAssociation(account=name, user=user) for name, users in UB_ACCOUNTS.items() for user in users),
        ),
    )
    return Scenario(Workload.from_columns(columns), Cluster(pools=pools), slurm=setup)
