"""The list of policies: add one by adding its specification here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dlsched.domain.cluster import vm_capacity
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.baselines import BASELINES
from dlsched.policies.elastic_queueing import ELASTIC
from dlsched.policies.gpuaas import GPUAAS
from dlsched.policies.primal_dual.specs import PRIMAL_DUAL
from dlsched.policies.rolling_horizon.specs import MODELARTS
from dlsched.policies.smd.specs import SMD
from dlsched.speed import build_speed

POLICIES: tuple[PolicySpec, ...] = (*BASELINES, *ELASTIC, *MODELARTS, *GPUAAS, *SMD, *PRIMAL_DUAL)
LABELS = {spec.key: spec.label for spec in POLICIES}
"""Key of a policy -> its label."""


def policies() -> tuple[PolicySpec, ...]:
    """Return the specification of every policy."""
    return POLICIES


def find(key: str) -> PolicySpec:
    """Return the policy with this key; raise InputError that lists near names, or all where none is near."""
    by_key = {spec.key: spec for spec in POLICIES}
    if key in by_key:
        return by_key[key]
    hint = names_hint(key.lower().replace("_", "-"), by_key, most=3)
    raise InputError(f"policy {key!r}", "no policy has this key", hint)


def spoken(label: str) -> str:
    """Return the name within a sentence of the policy with this label; a label that is no policy's as it is."""
    return next((spec.spoken for spec in POLICIES if spec.label == label), label)


def unmet_needs(spec: PolicySpec, scenario: Scenario) -> tuple[Need, ...]:
    """Return what the policy must be given and the scenario does not have, in the order of :class:`Need`."""
    return tuple(need for need in Need if need in spec.needs and not _MET[need](scenario))


def _any_number(*names: str) -> Callable[[Scenario], bool]:
    """Whether every one of these columns is there with at least one number."""

    def met(scenario: Scenario) -> bool:
        columns = [getattr(scenario.workload, name) for name in names]
        return all(column is not None and not bool(np.isnan(column).all()) for column in columns)

    return met


def _has_users(scenario: Scenario) -> bool:
    columns = (scenario.workload.user, scenario.workload.group)
    return any(column is not None and any(column) for column in columns)


def _has_prices(scenario: Scenario) -> bool:
    vm_types = scenario.cluster.vm_types
    return all(vm.usd_per_h is not None for vm in vm_types)


def _on_one_node(scenario: Scenario) -> bool:
    """Whether one machine type can run each job, with whole GPUs that run out before CPUs and memory, no partitions."""
    jobs, vm_types = scenario.workload, [vm for vm in scenario.cluster.vm_types if vm.gpus > 0]
    per_worker = jobs.gpus_per_worker
    if jobs.has_servers or not vm_types or any(pool.partition for pool in scenario.cluster.pools):
        return False
    if (per_worker < 1).any() or (per_worker != np.floor(per_worker)).any():
        return False
    for vm in vm_types:
        capacity = np.array(vm_capacity(vm))
        if (jobs.demand * (vm.gpus / per_worker)[:, None] > capacity * (1 + 1e-9)).any():
            return False
    most = max(vm.gpus for vm in vm_types)
    smallest = build_speed(scenario.speed, jobs, scenario.cluster.vm_types).limits()[0]
    return bool((smallest * per_worker <= most).all())


def _has_servers(scenario: Scenario) -> bool:
    """Whether every job has parameter servers, and the times of its training steps are known."""
    servers = scenario.workload.servers
    return scenario.speed.kind == "parameter-server" and servers is not None and bool((servers > 0).all())


def _own_steps(scenario: Scenario) -> bool:
    """Whether each worker makes steps on its own that take as long at any width from 1 on (Eq. 1 of PD-ORS)."""
    jobs, speed = scenario.workload, scenario.speed
    shared = (jobs.batch_s, jobs.transfer_s, jobs.worker_overhead_s, jobs.server_overhead_s)
    free_widths = jobs.min_workers is None or bool((jobs.min_workers <= 1).all())
    alone = all(terms is None or not terms.any() for terms in shared)
    return speed.kind == "parameter-server" and speed.updates == "async" and alone and free_widths


_MET: Mapping[Need, Callable[[Scenario], bool]] = {
    Need.DUE: _any_number("due_s"),
    Need.WEIGHT: _any_number("weight_usd_per_s"),
    Need.PRICE: _has_prices,
    Need.PRIORITY: _any_number("priority"),
    Need.USER: _has_users,
    Need.SPEED: lambda scenario: scenario.speed.kind != "rigid",
    Need.FREE_SLOTS: lambda scenario: scenario.cluster.free_slots,
    Need.FIXED_NODES: lambda scenario: not scenario.cluster.free_slots,
    Need.SERVERS: _has_servers,
    Need.ONE_NODE: _on_one_node,
    Need.OWN_STEPS: _own_steps,
    Need.POOL: lambda scenario: scenario.options.placement == "pool" and not scenario.cluster.free_slots,
    Need.SHORT_RESTARTS: lambda scenario: scenario.options.restart_s < scenario.options.slot_s,
    Need.UTILITY: _any_number("utility_1", "utility_2", "utility_3"),
}
