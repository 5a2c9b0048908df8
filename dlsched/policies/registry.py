"""The list of policies: add one of ours by adding its specification here; others are found as plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import vm_capacity
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.placement.eligibility import Claims, eligible, features_matter
from dlsched.plugins import Catalogue, Problem
from dlsched.plugins.loading import is_reference
from dlsched.policies.baselines import BASELINES
from dlsched.policies.elastic_queueing import ELASTIC
from dlsched.policies.external import KEY, VARIABLE, configured_policy
from dlsched.policies.gpuaas import GPUAAS
from dlsched.policies.outside import fault_of, missing_policy, spec_of_object, watched
from dlsched.policies.primal_dual.specs import PRIMAL_DUAL
from dlsched.policies.queue_tree.specs import QUEUE_TREE
from dlsched.policies.rolling_horizon.specs import MODELARTS
from dlsched.policies.slurm.specs import SLURM
from dlsched.policies.smd.specs import SMD
from dlsched.speed import build_speed

POLICIES: tuple[PolicySpec, ...] = (
    *BASELINES, *SLURM, *ELASTIC, *MODELARTS, *GPUAAS, *SMD, *PRIMAL_DUAL, *QUEUE_TREE,
)  # fmt: skip
"""Our own policies."""
_OWN = {spec.key: spec for spec in POLICIES}


def _distinct(spec: PolicySpec, others: Collection[PolicySpec]) -> PolicySpec:
    """Return a policy from outside that is watched, under a label that no other has: comparisons tell it by label."""
    if spec.label in {one.label for one in (*POLICIES, *others) if one.key != spec.key}:
        spec = replace(spec, label=f"{spec.label} ({spec.key})", spoken="")
    return replace(spec, build=partial(watched, spec))


_OUTSIDE = Catalogue("dlsched.policies", "policy", PolicySpec, lambda: _OWN.keys(), fault_of, spec_of_object, _distinct)


def policies() -> tuple[PolicySpec, ...]:
    """Return the specification of every policy: ours, then those of plug-ins."""
    return *POLICIES, *outside()


def problems() -> tuple[Problem, ...]:
    """Return the plug-ins whose policies cannot be used, each with its error."""
    return _OUTSIDE.problems()


def find(key: str) -> PolicySpec:
    """Return the policy with this key; raise InputError that lists near names, or all where none is near.

    Plug-ins are looked at only where none of ours has the key. A module is never imported because of ``key``, which
    may come from a link: see :func:`load`.
    """
    found = _OWN.get(key) or _with_process().find(key)
    if found is not None:
        return found
    if key == KEY:
        do = f"Give it with --param command=..., or in the variable {VARIABLE}"
        raise InputError(f"policy {KEY}", "has no command line of a program to ask", do)
    if is_reference(key):
        do = "Name it with --policy on the command line, or in the variable DLSCHED_PLUGINS"
        raise InputError(f"policy {key[:120]!r}", "this module has not been loaded", do)
    hint = names_hint(key.lower().replace("_", "-"), [spec.key for spec in policies()], most=3)
    raise InputError(f"policy {key!r}", "no policy has this key", hint)


def load(reference: str) -> PolicySpec:
    """Return the policy that ``module:NAME`` names: a PolicySpec, or a class or object with ``plan(state)``.

    From then on this process knows it by its key. Only for what a user types or gives in Python.

    Raises
    ------
    InputError
        It cannot be imported, is no policy, or its key is taken.
    """
    return _OUTSIDE.load(reference)


def given(policy: str | PolicySpec | object) -> PolicySpec:
    """Return the policy that a Python caller gives: a key, a PolicySpec, or an object or class with ``plan(state)``.

    From then on this process knows it by its key.

    Raises
    ------
    InputError
        An unknown key, something that is no policy, or a key that is taken.
    """
    if isinstance(policy, str):
        return find(policy)
    if isinstance(policy, PolicySpec) and _OWN.get(policy.key) is policy:
        return policy
    spec = spec_of_object(policy)
    if spec is None:
        why = f"must be a key, a PolicySpec, or an object with plan(state), got {type(policy).__name__}"
        raise InputError("policy", why, "See docs/guides/add-a-policy.md")
    return _OUTSIDE.add(spec, policy)


def find_stored(key: str) -> PolicySpec:
    """Return the policy of a stored result: one that is not installed here has its key for a name, and cannot run."""
    try:
        return find(key)
    except InputError as error:
        return missing_policy(key, error)


def policy_label(key: str) -> str:
    """Return the label of a policy; the key of one that is not installed here."""
    return find_stored(key).label


def is_known(key: str) -> bool:
    """Whether there is a policy with this key."""
    return key in _OWN or _with_process().find(key) is not None


def outside() -> tuple[PolicySpec, ...]:
    """Return the policies of plug-ins."""
    return tuple(_with_process().all().values())


def outside_fingerprints() -> set[str]:
    """Return the fingerprints of the policies from outside, as they are in this process."""
    return _with_process().fingerprints()


def _with_process() -> Catalogue[PolicySpec]:
    """Return the policies from outside, with the process that this one is configured to ask, as its files are now.

    A process that was given in Python, see :func:`given`, has precedence.
    """
    configured, known = configured_policy(), _OUTSIDE.all().get(KEY)
    ours = known is None or known is _configured.get(KEY)
    if configured is not None and ours and (known is None or known.fingerprint != configured.fingerprint):
        _configured[KEY] = _OUTSIDE.add(configured, configured)
    return _OUTSIDE


_configured: dict[str, PolicySpec] = {}
"""The configured process as it was last added, by its key."""


def spoken(label: str) -> str:
    """Return the name within a sentence of the policy with this label; a label that is no policy's as it is."""
    return next((spec.spoken for spec in policies() if spec.label == label), label)


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
    """Whether one machine type can run each job, with whole GPUs that run out before CPUs and memory, no partitions
    or features.
    """
    jobs, vm_types = scenario.workload, [vm for vm in scenario.cluster.vm_types if vm.gpus > 0]
    per_worker = jobs.gpus_per_worker
    if jobs.has_servers or not vm_types or any(pool.partition for pool in scenario.cluster.pools):
        return False
    if features_matter(jobs, scenario.cluster):
        return False
    if (per_worker < 1).any() or (per_worker != np.floor(per_worker)).any():
        return False
    for vm in vm_types:
        capacity = np.array(vm_capacity(vm))
        if (jobs.demand * (vm.gpus / per_worker)[:, None] > capacity * (1 + 1e-9)).any():
            return False
    return bool(_narrow_enough(scenario).all())


def _narrow_enough(scenario: Scenario) -> NDArray[np.bool_]:
    """Return which jobs fit one machine at hand that they accept, shape (jobs,), or accept none at all."""
    jobs, cluster = scenario.workload, scenario.cluster
    speed = build_speed(scenario.speed, jobs, cluster.vm_types)
    smallest, claims = speed.limits()[0], Claims.of(jobs)
    gpu_type = np.array([vm.gpu_type for vm in cluster.vm_types], dtype=object)
    blank = np.full(len(gpu_type), "", dtype=object)
    masks = [eligible(claim, blank, gpu_type, blank) for claim in claims.distinct]
    accepts = np.array([np.ones(len(gpu_type), dtype=bool) if mask is None else mask for mask in masks])[claims.of_row]
    can_run, fits = np.zeros((2, len(jobs)), dtype=bool)
    for number in np.arange(len(gpu_type)) if cluster.free_slots else np.unique(cluster.nodes.vm):
        runs = accepts[:, number] & (speed.rates_on(np.arange(len(jobs)), smallest, int(number)) > 0)
        can_run |= runs
        fits |= runs & (smallest * jobs.gpus_per_worker <= cluster.vm_types[number].gpus)
    return fits | ~can_run


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
    Need.ALWAYS_THERE: lambda scenario: not scenario.cluster.rents_nodes,
    Need.POOL: lambda scenario: scenario.options.placement == "pool" and not scenario.cluster.free_slots,
    Need.SHORT_RESTARTS: lambda scenario: scenario.options.restart_s < scenario.options.slot_s,
    Need.QUEUES: lambda scenario: scenario.queues is not None,
    Need.UTILITY: _any_number("utility_1", "utility_2", "utility_3"),
}
