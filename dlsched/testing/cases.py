"""Scenarios for each check, made for the needs of a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlsched.domain.cluster import Absence, Cluster, Pool
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.testing.scenarios import (
    ABSENCES,
    FEATURES,
    QUEUES,
    fixed_nodes,
    free_slots,
    full_workload,
    many,
    scaling_nodes,
    scenario,
    slotted,
)
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario

PLACEMENTS = ("pool", "best-fit", "pack", "spread")


@dataclass(frozen=True, eq=False)
class Case:
    """A scenario with a name, and parameters that the policy needs there."""

    name: str
    scenario: Scenario
    params: Mapping[str, Any] = field(default_factory=dict)


Cases = Callable[[PolicySpec, tuple[int, ...]], Iterable[Case]]
"""Makes the cases of a check for a policy, with the seeds of those that are drawn."""


def suitable(spec: PolicySpec, feature: str = "plain") -> Scenario:
    """Return the standard scenario for the needs of a policy."""
    if Need.OWN_STEPS in spec.needs:
        return on_a_pool(slotted(), feature)
    if Need.SERVERS in spec.needs:
        return on_a_pool(many(), feature)
    return scenario(feature, free_slots() if Need.FREE_SLOTS in spec.needs else fixed_nodes(8, 8, 4))


def on_a_pool(given: Scenario, feature: str) -> Scenario:
    """Return jobs with parameter servers with these options, on nodes taken together."""
    own = {name: getattr(given.options, name) for name in ("slot_s", "utility_unit_s", "utility_clock")}
    options = scenario(feature).options.model_copy(update={"placement": "pool", **own})
    return given.replace(options=options, queues=QUEUES)


def with_features(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """The standard scenario with one group of options each: restarts, crashes, wrong estimates, cancellations ..."""
    for feature in FEATURES:
        yield Case(feature, suitable(spec, feature))


def plain(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """The standard scenario."""
    yield Case("plain", suitable(spec))


def everything(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """The standard scenario with all options at once."""
    yield Case("all", suitable(spec, "all"))


def plain_and_everything(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Both."""
    yield from plain(spec, seeds)
    yield from everything(spec, seeds)


def plain_and_few(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """The standard scenario, and more jobs of one instant than fit."""
    yield from plain(spec, seeds)
    yield from few_jobs(spec, seeds)


def placements(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """The standard scenario under each rule for placing a width."""
    given = suitable(spec)
    for placement in PLACEMENTS:
        yield Case(placement, given.replace(options=given.options.model_copy(update={"placement": placement})))


def failures(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Nodes fail, arrive late and are serviced."""
    for feature in ("plain", "all"):
        given = suitable(spec, feature)
        yield Case(feature, given.replace(cluster=given.cluster.model_copy(update={"absences": ABSENCES})))


def rented(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Rented machines."""
    if Need.FIXED_NODES not in spec.needs:
        yield Case("rented", suitable(spec).replace(cluster=free_slots()))


def come_and_go(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Nodes on demand and spot nodes beside owned and reserved ones, under each rule for renting."""
    if {Need.ALWAYS_THERE, Need.FREE_SLOTS} & spec.needs:
        return
    rules: tuple[dict[str, Any], ...] = ({}, {"wait_s": 120.0}, {"queue_length": 3, "order": "listed"})
    for feature in ("plain", "restart-delayed", "checkpoints", "horizon", "all"):
        for rule in rules:
            told = "".join(f", {name} {value}" for name, value in rule.items())
            yield Case(feature + told, suitable(spec, feature).replace(cluster=scaling_nodes(**rule)))
    for seed in seeds:
        drawn = random_scenario(spec, seed)
        rule = rules[seed % len(rules)]
        yield Case(f"drawn at seed {seed}", drawn.replace(cluster=scaling_nodes(**rule)))


def time_tables(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Run times by width from a table, on nodes of one GPU that fail."""
    drawn = stream_scenario(StreamSpec(jobs=40, nodes=8, load=0.7), 0)
    columns = full_workload(40).columns() | {name: getattr(drawn.workload, name) for name in ("work", "workers")}
    jobs = Workload.from_columns(columns | {"submit_s": drawn.workload.submit_s, "profile": drawn.workload.profile})
    third_s = float(np.quantile(jobs.submit_s, 1 / 3))
    away = tuple(Absence(node=node, start_s=third_s, end_s=third_s * (2 + node)) for node in range(3))
    cluster = drawn.cluster.model_copy(update={"absences": away})
    days = {"bug_within_s": 1e5, "restart_s": 900.0, "checkpoint_s": 3600.0}
    # the stream takes months: every few minutes would be too many decisions
    params = {"every_s": 86_400.0} if "every_s" in spec.params.model_fields else {}
    for feature in ("plain", "restart-delayed", "all"):
        options = scenario(feature).options
        options = options.model_copy(update={name: value for name, value in days.items() if getattr(options, name)})
        yield Case(feature, Scenario(jobs, cluster, options, drawn.speed, queues=QUEUES), params)


def unequal_nodes(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Partitions, GPU types, shared GPUs, CPUs and memory."""
    given = suitable(spec)
    if given.cluster.free_slots:  # which have no partitions
        return
    rng = np.random.default_rng(1)
    count = len(given.workload)
    jobs = given.workload.with_columns(
        workers=np.minimum(given.workload.workers, 4),
        gpus_per_worker=rng.choice([0.0, 0.25, 1.0, 2.0], count),
        cpus_per_worker=rng.choice([1.0, 4.0], count),
        mem_gib_per_worker=rng.choice([2.0, 16.0], count),
        partition=rng.choice(["", "own", "gone"], count),
        gpu_types=rng.choice(["", "A", "A|B"], count),
    )
    pools = [
        pool.model_copy(
            update={
                "partition": partition,
                "count": 2,
                "vm": pool.vm.model_copy(
                    update={"name": f"{partition}{gpu_type}", "gpu_type": gpu_type, "gpus": 8, "cpus": 32.0}
                    | {"mem_gib": 128.0, "speed": speed}
                ),
            }
        )
        for pool, partition, gpu_type, speed in zip(
            given.cluster.pools * 2, ["", "", "own", "own"], ["A", "B", "A", "B"], [1.0, 2.0, 1.0, 0.5], strict=False
        )
    ]
    cluster = given.cluster.model_copy(update={"pools": tuple(pools)})
    yield Case("unequal nodes", given.replace(workload=jobs, cluster=cluster))


def shared_partitions(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Nodes in several partitions."""
    for feature in ("plain", "all"):
        given = suitable(spec, feature)
        if given.cluster.free_slots:
            return
        wanted = np.random.default_rng(2).choice(["", "a", "b", "c", "a|c", "b|gone", "d"], len(given.workload))
        vm = given.cluster.pools[0].vm
        pools = tuple(Pool(vm=vm, count=2, partition=entry) for entry in ("a|b", "b|c", "d", ""))
        cluster = Cluster(pools=pools, absences=given.cluster.absences)
        yield Case(feature, given.replace(workload=given.workload.with_columns(partition=wanted), cluster=cluster))


def own_partitions(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Partitions "a" and "b" with nodes of their own, and nodes open to all."""
    given = suitable(spec)
    if given.cluster.free_slots:
        return
    wanted = np.random.default_rng(3).choice(["", "a", "b"], len(given.workload))
    vm = given.cluster.pools[0].vm
    cluster = Cluster(pools=tuple(Pool(vm=vm, count=2, partition=name) for name in ("a", "b", "")))
    yield Case("partitions", given.replace(workload=given.workload.with_columns(partition=wanted), cluster=cluster))


def with_servers(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Jobs with parameter servers, under each rule of placement."""
    for placement in PLACEMENTS:
        for feature in ("plain", "all"):
            options = scenario(feature).options.model_copy(update={"placement": placement})
            yield Case(f"{placement}, {feature}", many().replace(options=options, queues=QUEUES))


def few_jobs(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """Twelve jobs at one instant, and a single job."""
    given = suitable(spec)
    twelve = given.workload.select(slice(0, 12)) if Need.SERVERS in spec.needs else full_workload(12)
    at_once = twelve.with_columns(submit_s=np.full(12, 7.0), due_s=np.full(12, 900.0))
    yield Case("jobs of one instant", given.replace(workload=at_once))
    yield Case("one job", given.replace(workload=given.workload.select(slice(0, 1))))


def drawn(spec: PolicySpec, seeds: tuple[int, ...]) -> Iterator[Case]:
    """A random small scenario for each seed: jobs, nodes, failures and options."""
    for seed in seeds:
        yield Case(f"drawn at seed {seed}", random_scenario(spec, seed))


def random_scenario(spec: PolicySpec, seed: int) -> Scenario:
    """Return a small scenario for the needs of a policy; few distinct times and sizes, so that ties are the rule."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 26))
    feature = str(rng.choice(list(FEATURES)))
    if Need.OWN_STEPS in spec.needs:
        return on_a_pool(slotted(count, seed), feature)
    if Need.SERVERS in spec.needs:
        return on_a_pool(many(count, seed), feature)
    owned = fixed_nodes(*rng.choice([1, 2, 4, 8], int(rng.integers(1, 6))).tolist())
    if rng.random() < 0.5:
        from_s = float(rng.integers(0, 12) * 50)
        owned = owned.model_copy(update={"absences": (Absence(node=0, start_s=from_s, end_s=from_s + 250.0),)})
    cluster = free_slots(int(rng.integers(2, 6))) if Need.FREE_SLOTS in spec.needs else owned
    options = SimulationRules(**FEATURES[feature], oversize="cap")
    if Need.POOL in spec.needs or rng.random() < 0.75:
        placement = "pool" if Need.POOL in spec.needs else str(rng.choice(PLACEMENTS))
        options = options.model_copy(update={"placement": placement})
    speed = SpeedSpec(kind="scaling" if Need.SPEED in spec.needs or rng.random() < 0.5 else "rigid")
    jobs = full_workload(count, seed, widths=(1, 1, 2, 3, 4, 8))
    return Scenario(jobs, cluster, options, speed, queues=QUEUES if Need.QUEUES in spec.needs else None)
