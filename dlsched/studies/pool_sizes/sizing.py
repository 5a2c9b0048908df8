"""The scenario at another size of its pool and with other mishaps, and which sizes suggest themselves."""

from __future__ import annotations

from dlsched.domain.cluster import Cluster, Pool
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.placement import can_ever_fit
from dlsched.policies import registry
from dlsched.wording.assumptions import is_random
from dlsched.workload.studies.modelarts import VARIANTS

OWN = "own"
VARIANT_KEYS = (OWN, *VARIANTS)
WRONG = ("estimate_error", "bug_share", "bug_within_s", "cancel_share", "restart_s", "restart_mode")
"""The rules that say what goes wrong; a variant sets these and leaves the others as they are."""
FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)
BOTH = ("modelarts-optimal", "modelarts-greedy")


def pool_of(scenario: Scenario) -> Pool:
    """Return the one pool of equal nodes that can have another size.

    Pools of equal nodes count as one. InputError where nodes differ, or policies choose the machines.
    """
    cluster = scenario.cluster
    if cluster.free_slots:
        raise InputError(
            "pool sizes, cluster",
            f"has {cluster.slots:,} free slots on which policies choose the machines; a size is one of fixed nodes",
            "Make it fixed nodes on the page Cluster",
        )
    kinds = {pool.model_dump_json(exclude={"count"}) for pool in cluster.pools if pool.count}
    if len(kinds) > 1:
        why = f"has {len(kinds)} pools of different nodes; which of them should grow is not said"
        raise InputError("pool sizes, cluster", why, "Leave one pool on the page Cluster")
    count = sum(pool.count for pool in cluster.pools)
    return next(pool for pool in cluster.pools if pool.count).model_copy(update={"count": count})


def scenario_at(scenario: Scenario, nodes: int, variant: str = OWN) -> Scenario:
    """Return the scenario with ``nodes`` nodes in its pool and a variant of what goes wrong; jobs stay as they are.

    Absences stay with their nodes: InputError where one is of a node that the smaller pool does not have.
    """
    pool, absences = pool_of(scenario), scenario.cluster.absences
    beyond = [absence.node for absence in absences if absence.node >= nodes]
    if beyond:
        why = f"{nodes:,} is too few: an absence is planned or a failure set for node {max(beyond):,}"
        raise InputError("pool sizes, nodes", why, f"Take {max(beyond) + 1:,} nodes or more, or remove the absences")
    cluster = Cluster(pools=(pool.model_copy(update={"count": nodes}),), absences=absences)
    same = nodes == scenario.cluster.num_nodes
    return scenario.replace(
        cluster=scenario.cluster if same else cluster, options=options_of(scenario.options, variant)
    )


def options_of(options: SimulationRules, variant: str) -> SimulationRules:
    """Return the rules of the simulation with a variant of what goes wrong."""
    if variant == OWN:
        return options
    return options.model_copy(update={name: getattr(VARIANTS[variant], name) for name in WRONG})


def is_exact(scenario: Scenario, variant: str, policies: tuple[str, ...]) -> bool:
    """Whether one draw says all: jobs are given, nothing random goes wrong, no policy draws."""
    changed = scenario.replace(options=options_of(scenario.options, variant))
    return not is_random(changed) and not any(registry.find(policy).draws for policy in policies)


def default_nodes(scenario: Scenario) -> tuple[int, ...]:
    """Return sizes around the present one, ascending: those on which no job is too large, and no absence lost."""
    present = pool_of(scenario).count
    sizes = sorted({max(1, round(factor * present)) for factor in FACTORS})
    least = max((absence.node + 1 for absence in scenario.cluster.absences), default=1)
    return tuple(nodes for nodes in sizes if nodes >= least and (nodes >= present or _holds_all(scenario, nodes)))


def _holds_all(scenario: Scenario, nodes: int) -> bool:
    """Whether no job is too large, or the scenario says what to do with those that are."""
    if scenario.options.oversize != "refuse":
        return True
    cluster = scenario_at(scenario, nodes).cluster
    return bool(can_ever_fit(scenario.workload, cluster, scenario.options.placement).all())


def default_policies(scenario: Scenario) -> tuple[str, ...]:
    """Return the policies that suggest themselves: both ModelArts allocators."""
    return tuple(key for key in BOTH if not registry.unmet_needs(registry.find(key), scenario))
