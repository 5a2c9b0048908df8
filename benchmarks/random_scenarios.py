"""Random scenarios with random parameters for every policy: what the campaign of :mod:`benchmarks.random_runs` runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.policies.registry import POLICIES

Dice = np.random.Generator

SCALES_S = (1e-6, 1e-3, 1.0, 60.0, 3600.0, 1e6, 1e9)
"""Seconds that stand for a short job of a scenario; in some, each job has one of its own."""
SCALE_SHARES = (0.1, 0.05, 0.2, 0.25, 0.25, 0.05, 0.1)
MOST_JOBS = 60
GPU_TYPES, PARTITIONS, FEATURES = ("A", "B", "C"), ("p", "q", "p|q"), ("fast", "big", "fast|big")
EFFORT = {"iterations": 200, "draws": 50, "node_limit": 500, "elite": 20, "controller_nodes": 20, "horizon_slots": 100}
"""The most of a parameter that buys quality with time: a run may take as long as its user asks for."""


BY_THE_CLOCK = ("quantum_s", "period_s", "every_s", "interval_s", "lease_s")
MOST_TURNS = 2_000
SOLVERS, MOST_SOLVED = ("modelarts-optimal", "gpuaas-exact", "gpuaas-hierarchical"), 100
"""Policies of which each decision is an integer program, 0.02 to 0.1 CPU s, and how many decisions their runs take."""


@dataclass(frozen=True, eq=False)
class Question:
    """One run: a policy with parameters on a scenario."""

    number: int
    scenario: Scenario
    policy: str
    params: dict[str, Any]


def question(number: int, policy: str | None = None) -> Question:
    """Return the question with this number; the policies take turns unless one is named."""
    dice = np.random.default_rng([21, number])
    spec = POLICIES[number % len(POLICIES)]
    if policy is not None:
        spec = next(spec for spec in POLICIES if spec.key == policy)
    obeys = dice.random() < 0.95  # else the run may lack what the policy needs, and must say so
    needs = spec.needs if obeys else frozenset()
    cluster = _cluster(dice, needs)
    with_servers = bool(needs & {Need.SERVERS, Need.OWN_STEPS}) or (not cluster.free_slots and dice.random() < 0.05)
    scale_s = dice.choice(SCALES_S, p=SCALE_SHARES)
    jobs, times = _jobs(dice, cluster, scale_s, needs, with_servers=with_servers)
    speed = _speed(dice, needs, times, with_servers=with_servers)
    rules = _rules(dice, scale_s, needs)
    cluster = cluster.model_copy(update={"absences": _absences(dice, cluster, jobs, scale_s)})
    queues = _queues(dice) if Need.QUEUES in needs or dice.random() < 0.1 else None
    scenario = Scenario(jobs, cluster, rules, speed, seed=number, queues=queues)
    params = _params(dice, spec, cluster)
    return _seldom(Question(number, scenario, spec.key, params), spec)


def _cluster(dice: Dice, needs: frozenset[Need]) -> Cluster:
    """Return a few pools of unlike nodes, or slots with a catalogue."""
    plain = Need.ONE_NODE in needs
    priced = Need.PRICE in needs or dice.random() < 0.7
    has_cores = dice.random() < 0.4 or Need.SERVERS in needs
    kinds = [_machine(dice, number, priced=priced, has_cores=has_cores) for number in range(dice.integers(1, 4))]
    if Need.FIXED_NODES not in needs and Need.POOL not in needs and (Need.FREE_SLOTS in needs or dice.random() < 0.2):
        return Cluster(slots=int(dice.integers(1, 7)), catalogue=tuple(kinds))
    divided, named = not plain and dice.random() < 0.2, not plain and dice.random() < 0.2
    pools = []
    for kind in kinds:
        partition = str(dice.choice(["", *PARTITIONS])) if divided else ""
        features = str(dice.choice(["", *FEATURES])) if named else ""
        pools.append(Pool(vm=kind, count=int(dice.integers(1, 5)), partition=partition, features=features))
    return Cluster(pools=tuple(pools))


def _machine(dice: Dice, number: int, *, priced: bool, has_cores: bool) -> VmType:
    gpus = int(dice.choice([1, 2, 4, 8]))
    return VmType(
        name=f"vm{number}",
        gpu_type=str(dice.choice(GPU_TYPES)),
        gpus=gpus,
        cpus=float(dice.integers(1, 9) * gpus) if has_cores else None,
        mem_gib=float(dice.integers(1, 65) * gpus) if has_cores else None,
        usd_per_h=round(float(gpus * dice.uniform(0, 4)), 2) if priced else None,
        speed=float(dice.choice([1.0, 1.0, 0.5, 2.0, 1 / 3])),
    )


def _jobs(
    dice: Dice, cluster: Cluster, scale_s: float, needs: frozenset[Need], *, with_servers: bool
) -> tuple[Workload, TimeTable | None]:
    """Return jobs on few distinct times, so that ties are the rule, and the times of their profiles if they have some.

    In a tenth of the scenarios each job has a scale of its own.
    """
    count = int(dice.integers(1, MOST_JOBS + 1))
    plain = Need.ONE_NODE in needs
    scales_s = dice.choice(SCALES_S, count) if dice.random() < 0.1 else np.full(count, scale_s)
    spread = float(dice.choice([0.0, 0.3, 1.0, 3.0]))
    submit_s = dice.integers(0, 25, count) * scales_s * spread + float(dice.choice([0.0, 0.0, 1.6e9]))
    work = np.maximum(dice.integers(1, 40, count) * scales_s * dice.choice([1.0, 1.0, 0.1, 1 / 3]), 1e-12)
    largest = max(vm.gpus for vm in cluster.vm_types)
    workers = dice.choice([w for w in (1, 1, 2, 3, 4, 8) if not plain or w <= largest], count)
    columns: dict[str, Any] = {
        "job_id": [f"j{number}" for number in range(count)], "submit_s": submit_s, "work": work, "workers": workers,
    }  # fmt: skip
    if not plain and dice.random() < 0.2:
        columns["gpus_per_worker"] = dice.choice([0.5, 1.0, 2.0], count)
    if dice.random() < 0.3:
        columns |= {
            "cpus_per_worker": dice.choice([1.0, 2.0], count),
            "mem_gib_per_worker": dice.choice([1.0, 4.0], count),
        }
    if dice.random() < 0.2:
        columns |= {"limit_gpus": columns.get("gpus_per_worker", 1.0) * workers * dice.choice([1.0, 2.0], count)}
    if dice.random() < 0.3:
        columns["limit_s"] = np.where(dice.random(count) < 0.3, np.nan, work * dice.choice([0.5, 1.0, 3.0], count))
    if dice.random() < 0.3:
        columns |= {"min_workers": np.maximum(workers // 2, 1), "max_workers": workers * int(dice.integers(1, 4))}
    columns |= _owners(dice, count, needs) | _worth(dice, submit_s, work, scales_s, needs)
    if not plain and any(pool.partition for pool in cluster.pools):
        columns["partition"] = dice.choice(["", "p", "q", "p|q", "elsewhere"], count)
    if not plain and any(pool.features for pool in cluster.pools):
        columns["features"] = dice.choice(["", "fast", "fast&big", "fast|big"], count)
    if dice.random() < 0.2:
        columns["gpu_types"] = dice.choice(["", "A", "A|B", "|".join(GPU_TYPES)], count)
    times = None
    if with_servers:
        columns |= _gangs(dice, count, workers, own_steps=Need.OWN_STEPS in needs)
        columns["work"] = np.maximum(np.ceil(work / 2), 1.0)
    elif dice.random() < 0.3:
        times = _times(dice)
        columns["profile"] = dice.choice(list(times.rows), count)
    return Workload.from_columns(columns), times


def _owners(dice: Dice, count: int, needs: frozenset[Need]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if {Need.USER, Need.QUEUES} & needs or dice.random() < 0.5:
        columns["user"] = dice.choice(["ann", "bob", "cai"], count)
    if Need.PRIORITY in needs or dice.random() < 0.3:
        columns["priority"] = dice.integers(0, 3, count).astype(float)
    return columns


def _worth(dice: Dice, submit_s: Any, work: Any, scales_s: Any, needs: frozenset[Need]) -> dict[str, Any]:
    """Return due dates with what lateness costs, and utilities; some jobs have none."""
    count, columns = len(submit_s), dict[str, Any]()
    all_there = Need.ONE_NODE in needs
    if Need.DUE in needs or dice.random() < 0.5:
        due_s = submit_s + work * dice.choice([0.0, 0.5, 1.0, 1.0, 2.0, 10.0], count)
        columns["due_s"] = due_s if all_there else np.where(dice.random(count) < 0.2, np.nan, due_s)
    if Need.WEIGHT in needs or dice.random() < 0.5:
        weight = dice.choice([0.0, 1e-4, 0.01, 1.0], count)
        columns["weight_usd_per_s"] = weight if all_there else np.where(dice.random(count) < 0.2, np.nan, weight)
    if {Need.UTILITY, Need.OWN_STEPS} & needs or dice.random() < 0.2:
        columns["utility_1"] = dice.uniform(1, 100, count)
        columns["utility_2"] = dice.choice([0.0, 0.5, 4.0], count)
        columns["utility_3"] = dice.uniform(0.1, 10.0, count) * scales_s / float(scales_s[0])
    return columns


def _gangs(dice: Dice, count: int, workers: Any, *, own_steps: bool) -> dict[str, Any]:
    """Return parameter servers and the times of training steps."""
    columns: dict[str, Any] = {
        "servers": dice.integers(1, 4, count),
        "cpus_per_worker": dice.choice([1.0, 2.0], count), "cpus_per_server": dice.choice([0.0, 1.0], count),
        "workers_per_server": np.where(dice.random(count) < 0.5, np.nan, 3.0),
        "step_s": dice.uniform(0.1, 2, count),
    }  # fmt: skip
    if own_steps:
        columns["min_workers"] = np.ones(count, dtype=int)
        columns["max_workers"] = workers * 2
        return columns
    terms = ("batch_s", "transfer_s", "worker_overhead_s", "server_overhead_s", "spread_s")
    return columns | {name: dice.choice([0.0, 0.05, 1.0], count) for name in terms}


def _times(dice: Dice) -> TimeTable:
    """Return a table in which profiles lack GPU types, rows have unlike lengths, and more GPUs can be slower."""
    rows: dict[str, dict[str, tuple[float, ...]]] = {}
    for profile in ("cnn", "rnn", "bert")[: int(dice.integers(1, 4))]:
        known = dice.choice(GPU_TYPES, int(dice.integers(1, 4)), replace=False)
        rows[profile] = {
            str(kind): tuple(np.round(4 / np.arange(1, most + 1) ** 0.8 * dice.uniform(0.7, 1.3, most), 3).tolist())
            for kind, most in zip(known, dice.choice([1, 2, 4, 8], len(known)).tolist(), strict=True)
        }
    return TimeTable(rows=rows)


def _speed(dice: Dice, needs: frozenset[Need], times: TimeTable | None, *, with_servers: bool) -> SpeedSpec:
    if with_servers:
        updates = "async" if Need.OWN_STEPS in needs or dice.random() < 0.3 else "sync"
        return SpeedSpec(kind="parameter-server", updates=updates)
    if times is not None:
        return SpeedSpec(kind="table", times=times)
    if Need.SPEED in needs or dice.random() < 0.5:
        return SpeedSpec(
            kind="scaling", efficiency=float(dice.uniform(0.55, 1)), max_factor=float(dice.choice([1, 2, 4]))
        )
    return SpeedSpec()


def _rules(dice: Dice, scale_s: float, needs: frozenset[Need]) -> SimulationRules:
    """Return rules of which each is at its default in most scenarios."""
    day_s = 86_400.0
    drawn: dict[str, Any] = {
        "oversize": str(dice.choice(["drop", "cap", "cap", "refuse"])),
        "placement": "pool" if Need.POOL in needs else str(dice.choice(["pool", "best-fit", "pack", "spread"])),
        "slot_s": float(dice.choice([1.0, 60.0, 3600.0])) * max(1.0, min(scale_s, 1e7) / 60),
    }

    def sometimes(name: str, value: Any, share: float = 0.2) -> None:
        if dice.random() < share:
            drawn[name] = value

    restart_s = float(dice.choice([0.5 * scale_s, 1.0, 30.0, 600.0]))
    most_s = 0.99 * drawn["slot_s"] if Need.SHORT_RESTARTS in needs else day_s
    sometimes("restart_s", min(restart_s, most_s, day_s), 0.3)
    sometimes("restart_mode", "delayed", 0.3)
    sometimes("checkpoint_s", min(float(dice.integers(1, 10)) * scale_s, 7 * day_s))
    sometimes("estimate_error", float(dice.choice([0.1, 0.5, 0.99])))
    sometimes("limits", str(dice.choice(["ignore", "kill"])), 0.4)
    sometimes("bug_share", float(dice.choice([0.2, 1.0])))
    sometimes("bug_within_s", min(max(scale_s, 1e-9), day_s))
    sometimes("cancel_share", float(dice.choice([0.2, 1.0])))
    sometimes("billing", "hour", 0.3)
    sometimes("rejection_usd", 5.0)
    sometimes("utility_unit_s", max(scale_s, 1e-6), 0.7)
    sometimes("utility_clock", "slots", 0.3)
    sometimes("horizon_s", float(dice.integers(1, 40)) * scale_s, 0.15)
    return SimulationRules(**drawn)


def _absences(dice: Dice, cluster: Cluster, jobs: Workload, scale_s: float) -> tuple[Absence, ...]:
    if dice.random() < 0.6:
        return ()
    first_s, absences = float(jobs.submit_s[0]), []
    for _ in range(int(dice.integers(1, 5))):
        start_s = first_s + float(dice.integers(0, 30)) * scale_s
        start_s = start_s if dice.random() < 0.8 else 0.0
        for_good = dice.random() < 0.05
        end_s = None if for_good else max(start_s, first_s) + float(dice.integers(1, 30)) * scale_s
        cause = str(dice.choice(["fails", "fails", "maintenance"])) if start_s else "arrives"
        node, billed = int(dice.integers(cluster.num_nodes)), bool(dice.random() < 0.3)
        if end_s is None or end_s > start_s:
            absences.append(Absence(node=node, start_s=start_s, end_s=end_s, cause=cause, billed=billed))
    return tuple(absences)


def _queues(dice: Dice) -> QueueTree:
    def queue() -> dict[str, Any]:
        quota: dict[str, Any] = {"nominal": float(dice.integers(0, 17))}
        if dice.random() < 0.3:
            quota["borrow"] = float(dice.integers(0, 9))
        if dice.random() < 0.3:
            quota["lend"] = float(dice.integers(0, 9))
        return {
            "parent": "all", "quota": [quota], "strategy": str(dice.choice(["best-effort", "strict"])),
            "within": str(dice.choice(["never", "lower", "lower-or-newer-equal"])),
            "reclaim": str(dice.choice(["never", "lower", "any"])),
            "while_borrowing": str(dice.choice(["never", "lower"])),
        }  # fmt: skip

    return QueueTree.model_validate(
        {
            "map": "user", "unmapped": "cai", "tree": {name: queue() for name in ("ann", "bob", "cai")},
            "fair_sharing": bool(dice.random() < 0.3), "nodes": str(dice.choice(["with-quota", "after-quota"])),
            "stop_s": float(dice.choice([0.0, 30.0])),
            "eviction_loses": str(dice.choice(["checkpoint", "all", "nothing"])),
        }
    )  # fmt: skip


def _params(dice: Dice, spec: PolicySpec, cluster: Cluster) -> dict[str, Any]:
    """Return about half of the parameters of a policy, drawn from what its schema allows."""
    drawn: dict[str, Any] = {}
    for name, schema in _properties(spec).items():
        if name == "vm_type":
            if dice.random() < 0.3:
                drawn[name] = str(dice.choice([vm.name for vm in cluster.vm_types]))
        elif dice.random() < 0.5:
            value = _value(dice, name, schema)
            if value is not None:
                drawn[name] = value
    return drawn


def _seldom(asked: Question, spec: PolicySpec) -> Question:
    """Return the question with a policy that decides by the clock so seldom that the run stays short.

    How often it decides is its user's choice. Where it may not be so seldom (weeks, in jobs of centuries), the run ends
    earlier. Work is seconds, or steps of at most some seconds; no machine is slower than a third.
    """
    jobs, rules = asked.scenario.workload, asked.scenario.options
    lasts_s = float(np.ptp(jobs.submit_s)) + 30 * float(jobs.work.sum()) + 10 * len(jobs) * rules.restart_s
    most = MOST_SOLVED if spec.key in SOLVERS else MOST_TURNS
    turns, defaults = dict[str, float](), spec.parse({})
    for name, schema in _properties(spec).items():
        turn_s = asked.params.get(name, getattr(defaults, name))
        if name in BY_THE_CLOCK and turn_s is not None:
            most_s = min(kind.get("maximum", math.inf) for kind in schema.get("anyOf", [schema]))
            turns[name] = min(max(turn_s, lasts_s / most), most_s)
    asked = replace(asked, params=asked.params | turns)
    until_s = most * min(turns.values(), default=math.inf)
    if until_s > 0.99 * lasts_s:
        return asked
    horizon_s = min(float(jobs.submit_s[0]) + until_s, rules.horizon_s or math.inf)
    return replace(asked, scenario=asked.scenario.replace(options=rules.model_copy(update={"horizon_s": horizon_s})))


def _properties(spec: PolicySpec) -> dict[str, dict[str, Any]]:
    return dict(spec.params.model_json_schema()["properties"])


def _value(dice: Dice, name: str, schema: dict[str, Any]) -> Any:
    """Return a value that a JSON Schema allows; None = its default (free text has a form of its own)."""
    if "anyOf" in schema:
        schema = schema["anyOf"][int(dice.integers(len(schema["anyOf"])))]
    if "enum" in schema:
        return schema["enum"][int(dice.integers(len(schema["enum"])))]
    if schema.get("type") == "boolean":
        return bool(dice.random() < 0.5)
    if schema.get("type") == "array":
        return sorted(float(10 ** dice.uniform(0, 6)) for _ in range(int(dice.integers(1, 4))))
    if schema.get("type") not in ("integer", "number"):
        return None
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0.0))
    high = min(schema.get("maximum", schema.get("exclusiveMaximum", 1e6)), EFFORT.get(name, math.inf))
    inside = max(low, (high - low) * 1e-6) if "exclusiveMinimum" in schema or low == 0 else low
    value = float(np.exp(dice.uniform(np.log(inside), np.log(high * (1 - 1e-9)))))
    if low == 0 and "minimum" in schema and dice.random() < 0.2:
        value = 0.0
    return max(int(value), int(low)) if schema["type"] == "integer" else value
