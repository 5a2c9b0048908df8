"""What the sizes of a scenario are: which VM types vary, what a size costs, and the changes that make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.metrics.summary import HOURS_PER_MONTH
from dlsched.studies.design.factor import Value
from dlsched.studies.design.factors import NODES_OF, changed, factor_of, pool_of
from dlsched.studies.sizing.answer import CostBy, Counts, VmRange, counts_words
from dlsched.studies.sizing.conditions import refuse_options
from dlsched.studies.sizing.spec import MOST_NODES, MOST_TYPES, TypeRange

ALL = "nodes"
LARGEST_FACTOR, LARGEST_LEAST = 4, 8
"""Without a range, up to so many times today's nodes, including those rented beside them; at least up to so many."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """The VM types that vary, those that stay, and how sizes compare in cost.

    ``rented_nodes``: up to so many come and go beside every size; ``fixed`` has none of them.
    """

    types: tuple[VmRange, ...]
    fixed: tuple[Pool, ...]
    cost_by: CostBy
    rented_nodes: int = 0

    @property
    def today(self) -> Counts:
        """What the scenario has."""
        return tuple(one.today for one in self.types)

    def changes(self, counts: Counts) -> dict[str, float | str]:
        """Return the changes of the scenario that make a size."""
        return {one.key: count for one, count in zip(self.types, counts, strict=True)}

    def words(self, counts: Counts) -> str:
        """Return a size in words, with what is rented beside it."""
        return counts_words(self.types, counts, self.rented_nodes)

    def hold(self, counts: Counts) -> bool:
        """Whether a size is within the ranges."""
        return all(one.least <= count <= one.most for one, count in zip(self.types, counts, strict=True))

    def usd_month(self, counts: Counts) -> float | None:
        """Return the price of all nodes over 30.4 days; None unless all nodes have prices and none are rented."""
        if self.cost_by != "price":
            return None
        return HOURS_PER_MONTH * sum(count * (price or 0.0) for count, price, _ in self._nodes(counts))

    def gpus(self, counts: Counts) -> int:
        """Return the GPUs of the nodes that are always there."""
        return sum(count * gpus for count, _, gpus in self._nodes(counts))

    def cost(self, counts: Counts) -> float:
        """Return what decides which size is cheaper, before any run: dollars, GPUs or nodes."""
        usd = self.usd_month(counts)
        return usd if usd is not None else float(self.gpus(counts) if self.cost_by == "gpus" else sum(counts))

    def _nodes(self, counts: Counts) -> list[tuple[int, float | None, int]]:
        varying = [(count, one.usd_per_h, one.gpus) for one, count in zip(self.types, counts, strict=True)]
        return varying + [(pool.count, pool.vm.usd_per_h, pool.vm.gpus) for pool in self.fixed]


def sizes_of(scenario: Scenario, ranges: tuple[TypeRange, ...] = ()) -> Sizes:
    """Return the sizes of a scenario within ranges; without any, those of :func:`default_types`.

    Raises
    ------
    InputError
        A key that names no node count of the scenario, a pool that cannot be varied, or one whose nodes come and go
        beside others that are always there.
    """
    ranges = ranges or default_types(scenario)
    types = tuple(_range(scenario, one) for one in ranges)
    cluster = scenario.cluster
    keys = {one.key for one in types}
    others = () if keys == {ALL} else tuple(pool for pool in cluster.pools if NODES_OF + pool.vm.name not in keys)
    fixed = tuple(pool for pool in others if not pool.is_rented)
    priced = all(vm.usd_per_h is not None for vm in _vms(scenario, others, types))
    if cluster.free_slots:
        return Sizes(types, (), "runs" if priced else "nodes")
    gpus = sum(one.gpus for one in types)
    cost_by: CostBy = ("runs" if cluster.rents_nodes else "price") if priced else "gpus" if gpus else "nodes"
    return Sizes(types, fixed, cost_by, sum(pool.count for pool in others if pool.is_rented))


def sizes_under(condition: Mapping[str, Value], scenario: Scenario, ranges: tuple[TypeRange, ...] = ()) -> Sizes:
    """Return the sizes of a scenario under conditions, which may change prices; errors as :func:`sizes_of`.

    Raises
    ------
    InputError
        Also for a condition that is not one: nodes and rules are chosen, they do not happen.
    """
    refuse_options(condition, scenario)
    prices = {key: value for key, value in condition.items() if key == "prices"}
    return sizes_of(changed(scenario, prices), ranges)


def default_types(scenario: Scenario) -> tuple[TypeRange, ...]:
    """Return every type of ``varying_names`` from none, or one node, to :func:`most_by_default`.

    Raises
    ------
    InputError
        With more than three VM types: which of them may vary has to be said.
    """
    cluster = scenario.cluster
    names = varying_names(cluster)
    if is_one_number(cluster):
        return (TypeRange(key=ALL, least=1, most=most_by_default(cluster, cluster.num_nodes)),)
    if len(names) > MOST_TYPES:
        why = f"has {len(names)} VM types, at most {MOST_TYPES} can vary at once"
        raise InputError("size, cluster", why, "Name those that may vary, with least and most nodes")
    today = {name: sum(pool.count for pool in cluster.pools if pool.vm.name == name) for name in names}
    return tuple(
        TypeRange(key=NODES_OF + name, least=0, most=most_by_default(cluster, count)) for name, count in today.items()
    )


def is_one_number(cluster: Cluster) -> bool:
    """Whether the nodes of a cluster are of one type, so that their number is its size."""
    return cluster.free_slots or len({pool.vm.name for pool in cluster.pools}) == 1


def varying_names(cluster: Cluster) -> list[str]:
    """Return the VM types whose nodes are always there; all where every node comes and goes, up to its number."""
    staying = [pool.vm.name for pool in cluster.pools if not pool.is_rented]
    return list(dict.fromkeys(staying or [pool.vm.name for pool in cluster.pools]))


def most_by_default(cluster: Cluster, today: int) -> int:
    """Return the most nodes of a type that are tried where no range is given: it may replace all rented beside it."""
    varying = varying_names(cluster)
    return most_nodes(today + sum(pool.count for pool in cluster.pools if pool.vm.name not in varying))


def most_nodes(today: int) -> int:
    """Return the most nodes that are tried where so many are there today."""
    return min(MOST_NODES, max(LARGEST_LEAST, LARGEST_FACTOR * today))


def _range(scenario: Scenario, one: TypeRange) -> VmRange:
    if one.key != ALL and not one.key.startswith(NODES_OF):
        known = [ALL, *(NODES_OF + vm.name for vm in scenario.cluster.vm_types if not scenario.cluster.free_slots)]
        raise InputError(f"size, VM type {one.key!r:.80}", "is no number of nodes", names_hint(one.key, known))
    today = factor_of(scenario, one.key).own(scenario)
    vm = _vm(scenario, one.key)
    if vm is not None and vm.name not in varying_names(scenario.cluster):
        why = "comes and goes beside nodes that are always there"
        do = "Vary those, or ask for the cheapest mix: Commit or rent on the page Capacity, or the command commit"
        raise InputError(f"size, VM type {vm.name!r:.80}", why, do)
    return VmRange(
        key=one.key,
        name="" if vm is None or one.key == ALL else vm.name,
        least=one.least,
        most=one.most,
        today=int(today or 0),
        usd_per_h=None if vm is None else vm.usd_per_h,
        gpus=0 if vm is None else vm.gpus,
        rented=scenario.cluster.rents_all,
    )


def _vm(scenario: Scenario, key: str) -> VmType | None:
    """Return the VM type of a key; None if policies choose the machines."""
    cluster = scenario.cluster
    if cluster.free_slots:
        return None
    return pool_of(scenario).vm if key == ALL else next(vm for vm in cluster.vm_types if NODES_OF + vm.name == key)


def _vms(scenario: Scenario, fixed: tuple[Pool, ...], types: tuple[VmRange, ...]) -> list[VmType]:
    """Return every VM type that a size may have nodes of."""
    if scenario.cluster.free_slots:
        return list(scenario.cluster.catalogue)
    own = [vm for one in types if (vm := _vm(scenario, one.key)) is not None]
    return own + [pool.vm for pool in fixed if pool.count]
