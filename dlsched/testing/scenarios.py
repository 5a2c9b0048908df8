"""Small scenarios that put policies to the test: many ties, many sizes, everything a policy may need."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dlsched.domain.cluster import Absence, Cluster, Pool, Scaling, Terms, VmType
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload


def full_workload(num_jobs: int = 36, seed: int = 0, widths: tuple[int, ...] = (1, 1, 1, 2, 4, 8, 12)) -> Workload:
    """Return jobs with every column a policy may need, whole seconds, many ties."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.integers(0, 24, num_jobs) * 50.0)
    work = rng.integers(1, 40, num_jobs) * 20.0
    return Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(num_jobs)],
            "submit_s": submit_s,
            "work": work,
            "workers": rng.choice(widths, num_jobs),
            "user": rng.choice(["ann", "bob", "cai"], num_jobs),
            "priority": rng.integers(0, 3, num_jobs).astype(float),
            "due_s": submit_s + work * rng.integers(1, 4, num_jobs),
            "weight_usd_per_s": rng.integers(1, 4, num_jobs) / 100,
        }
    )


def fixed_nodes(*gpus: int, absences: tuple[Absence, ...] = ()) -> Cluster:
    """Return one node of each of these sizes, priced by the GPU."""
    pools = tuple(Pool(vm=VmType(name=f"node-{g}", gpus=g, usd_per_h=float(g)), count=1) for g in gpus)
    return Cluster(pools=pools, absences=absences)


def free_slots(count: int = 4) -> Cluster:
    """Return rented machines of three sizes; the middle one is the cheapest per GPU."""
    sizes = {"small": (1, 1.0), "middle": (4, 3.0), "large": (8, 9.0)}
    catalogue = tuple(VmType(name=name, gpus=gpus, usd_per_h=usd) for name, (gpus, usd) in sizes.items())
    return Cluster(slots=count, catalogue=catalogue)


def scaling_nodes(idle_timeout_s: float = 300.0, **rule: Any) -> Cluster:
    """Return an owned node, a reserved one, and up to four that are rented as jobs need them, two of them spot."""

    def pool(name: str, usd: float, count: int, terms: Terms | None) -> Pool:
        return Pool(vm=VmType(name=name, gpus=4, usd_per_h=usd), count=count, terms=terms)

    kept = {"idle_timeout_s": idle_timeout_s}
    return Cluster(
        pools=(
            pool("own", 3.0, 1, None),
            pool("committed", 4.0, 1, Terms(kind="reserved")),
            pool("on demand", 8.0, 2, Terms(kind="on-demand", boot_s=60.0, **kept)),
            pool("spot", 2.0, 2, Terms(kind="spot", boot_s=30.0, evictions_per_h=6.0, notice_s=20.0, **kept)),
        ),
        scaling=Scaling(**rule),
    )


FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "restart-pause": {"restart_s": 30.0},
    "restart-delayed": {"restart_s": 30.0, "restart_mode": "delayed"},
    "estimates": {"estimate_error": 0.5},
    "bugs": {"bug_share": 0.3, "bug_within_s": 100.0},
    "cancels": {"cancel_share": 0.4},
    "checkpoints": {"checkpoint_s": 45.0},
    "horizon": {"horizon_s": 900.0},
    "all": {
        "restart_s": 30.0,
        "estimate_error": 0.5,
        "bug_share": 0.2,
        "bug_within_s": 100.0,
        "cancel_share": 0.2,
        "checkpoint_s": 45.0,
    },
}

ABSENCES = (
    Absence(node=0, start_s=300.0, end_s=700.0, cause="fails"),
    Absence(node=1, start_s=1000.0, end_s=1400.0, cause="maintenance"),
    Absence(node=2, start_s=0.0, end_s=200.0, cause="arrives"),
)


QUEUES = QueueTree.model_validate(
    {
        "map": "user",
        "unmapped": "cai",
        "tree": {
            "ann": {"parent": "research", "within": "lower", "reclaim": "any", "quota": [{"nominal": 8}]},
            "bob": {"parent": "research", "reclaim": "lower", "quota": [{"nominal": 4}]},
            "cai": {"parent": "research", "within": "lower-or-newer-equal", "quota": [{"nominal": 12, "lend": 6}]},
        },
    }
)
"""A queue for each user of the standard workload; together they may hold more than all its nodes have."""


def scenario(feature: str = "plain", cluster: Cluster | None = None, **changes: Any) -> Scenario:
    """Return the standard small scenario with one group of options; ``changes`` replace its fields."""
    fields: dict[str, Any] = {
        "workload": full_workload(),
        "cluster": cluster or fixed_nodes(8, 8, 4),
        "options": SimulationRules(**FEATURES[feature]),
        "speed": SpeedSpec(kind="scaling"),
        "queues": QUEUES,
    }
    return Scenario(**{**fields, **changes})


def slotted(num_jobs: int = 30, seed: int = 0, slot_s: float = 60.0) -> Scenario:
    """Return jobs whose workers make steps on their own, in slots of a minute, on three unequal machines."""
    given = many(num_jobs, seed, "async")
    none = dict.fromkeys(("batch_s", "transfer_s", "worker_overhead_s", "server_overhead_s"))
    jobs = given.workload.with_columns(**none, workers_per_server=np.full(num_jobs, 3.0))
    slots = {"slot_s": slot_s, "utility_unit_s": 10 * slot_s, "utility_clock": "slots"}
    return given.replace(workload=jobs, options=given.options.model_copy(update=slots))


def many(num_jobs: int = 30, seed: int = 0, updates: Literal["sync", "async"] = "sync") -> Scenario:
    """Return jobs with everything that policies of parameter servers may need, on three unequal machines."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.integers(0, 20, num_jobs) * 60.0)
    workers, servers = rng.integers(1, 7, num_jobs), rng.integers(1, 4, num_jobs)
    jobs = Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(num_jobs)],
            "submit_s": submit_s,
            "work": rng.integers(20, 200, num_jobs).astype(float),
            "workers": workers,
            "servers": servers,
            "cpus_per_worker": rng.integers(1, 4, num_jobs).astype(float),
            "cpus_per_server": rng.integers(1, 3, num_jobs).astype(float),
            "mem_gib_per_worker": np.full(num_jobs, 4.0),
            "mem_gib_per_server": np.full(num_jobs, 8.0),
            "disk_gib_per_server": np.full(num_jobs, 5.0),
            "workers_per_server": np.where(rng.random(num_jobs) < 0.5, np.nan, 3.0),
            "batch_s": rng.uniform(1, 6, num_jobs),
            "step_s": rng.uniform(0.1, 1, num_jobs),
            "transfer_s": rng.uniform(0.1, 1, num_jobs),
            "worker_overhead_s": np.full(num_jobs, 0.05),
            "server_overhead_s": np.full(num_jobs, 0.01),
            "spread_s": rng.choice([0.0, 0.5], num_jobs),
            "limit_gpus": np.maximum(workers, 6) * 1.0,
            "limit_cpus": np.full(num_jobs, 40.0),
            "utility_1": rng.uniform(1, 100, num_jobs),
            "utility_2": np.full(num_jobs, 4.0),
            "utility_3": rng.uniform(0.1, 2.0, num_jobs),
            "priority": rng.integers(0, 3, num_jobs).astype(float),
            "user": rng.choice(["ann", "bob"], num_jobs),
            "due_s": submit_s + 3600.0,
            "weight_usd_per_s": np.full(num_jobs, 0.01),
        }
    )
    sizes = ((8, 48.0), (8, 48.0), (4, 24.0))
    pools = tuple(
        Pool(vm=VmType(name=f"m{n}", gpus=g, cpus=c, mem_gib=200.0, disk_gib=500.0, usd_per_h=float(g)), count=1)
        for n, (g, c) in enumerate(sizes)
    )
    return Scenario(jobs, Cluster(pools=pools), SimulationRules(), SpeedSpec(kind="parameter-server", updates=updates))
