"""What is committed to and what is rented: the scenario in which the number of committed nodes varies."""

from __future__ import annotations

from dataclasses import dataclass

from dlsched.domain.cluster import Cluster, Pool, Scaling, Terms
from dlsched.domain.errors import InputError, validated
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.studies.commitment.answer import Commitment, rents_nothing
from dlsched.studies.commitment.spec import MOST_NODES, CommitmentSpec
from dlsched.studies.design.factors import NODES_OF, changed
from dlsched.studies.sizing.conditions import refuse_options
from dlsched.studies.sizing.sizes import most_nodes

PRICE_OPTIONS = {"committed": ", or type it here (--base-price)", "rented": ", or type it here (--rent-price)"}


@dataclass(frozen=True, eq=False)
class Mix:
    """``scenario`` with a pool to commit to, ``base``, and one to rent from; both have prices.

    ``fixed``: pools that stay as they are; ``left_out``: machine types that are rented today and not asked about;
    ``today``: how many nodes of both there are today, at most. Prices are those under the conditions.
    """

    scenario: Scenario
    base: Pool
    rented: Pool
    fixed: tuple[Pool, ...]
    left_out: tuple[str, ...]
    today: int

    @property
    def key(self) -> str:
        """Key of the change that sets the number of committed nodes."""
        return NODES_OF + self.base.vm.name

    @property
    def without_renting(self) -> Scenario:
        """The scenario with none to rent, and as many committed nodes as there are of both today."""
        pools = tuple(
            pool.model_copy(update={"count": self.today}) if pool.vm.name == self.base.vm.name else pool
            for pool in self.scenario.cluster.pools
            if not pool.is_rented
        )
        return self.scenario.replace(cluster=self.scenario.cluster.model_copy(update={"pools": pools, "scaling": None}))


def mix_of(spec: CommitmentSpec, scenario: Scenario) -> Mix:
    """Return what is committed to and rented.

    Raises
    ------
    InputError
        No such pool, several that could be meant, absences planned for nodes to commit to, or a price that is missing.
    """
    cluster = scenario.cluster
    if cluster.free_slots:
        why = "lets policies choose the machines they rent; a commitment is for nodes of one type"
        raise InputError("commitment, cluster", why, "Switch to node types on the page Cluster")
    if scenario.workload.all_at_once and scenario.generator is None:
        why = "all jobs arrive at once, so there is no use by the hour to scale to a year"
        raise InputError("commitment, workload", why, "Take a trace in which jobs arrive over time")
    refuse_options(spec.condition, scenario)
    today, own = _rented_today(spec, cluster), _own(spec, cluster)
    base = own or (today.model_copy(update={"count": 0, "terms": None}) if today else None)
    assert base is not None  # a cluster has a node
    base = _committed(spec, base)
    nodes = min(MOST_NODES, max(1, base.count + (today.count if today else 0)))
    rented = _to_rent(spec, today, base, nodes)
    fixed = tuple(pool for pool in cluster.pools if not pool.is_rented and pool is not own and pool.count)
    for what, pools in (("committed", (base,)), ("rented", (rented,)), ("other", fixed)):
        for pool in pools:
            if pool.vm.usd_per_h is None:
                way = "Set it on the page Cluster" + PRICE_OPTIONS.get(what, "")
                raise InputError(f"commitment, {pool.vm.name}", f"the {what} nodes have no price", way)
    mixed = _with_pools(scenario, own, base, rented, spec.rent_after_s)
    prices = {key: value for key, value in spec.condition.items() if key == "prices"}
    priced = {pool.vm.name: pool.vm for pool in changed(mixed, prices).cluster.pools}
    base, rented, *rest = (pool.model_copy(update={"vm": priced[pool.vm.name]}) for pool in (base, rented, *fixed))
    left_out = tuple(pool.vm.name for pool in cluster.pools if pool.is_rented and pool is not today)
    return Mix(mixed, base, rented, tuple(rest), left_out, nodes)


def scenario_with(found: Commitment, spec: CommitmentSpec, scenario: Scenario) -> Scenario | None:
    """Return the scenario with the mix that a search found, without the conditions; None if it found none."""
    nothing = rents_nothing(found)
    nodes = found.all_committed if nothing else found.best
    if nodes is None:
        return None
    mix = mix_of(spec.model_copy(update={"rent_after_s": found.rent_after_s} if found.waits else {}), scenario)
    return changed(mix.without_renting if nothing else mix.scenario, {mix.key: nodes})


def _rented_today(spec: CommitmentSpec, cluster: Cluster) -> Pool | None:
    """Return the pool to rent from that there is today; None without one."""
    pools = [pool for pool in cluster.pools if pool.is_rented]
    names = [pool.vm.name for pool in pools]
    if spec.rent and spec.rent not in names:
        known = names_hint(spec.rent, names) if names else "Leave it out: nodes as those committed to are rented"
        raise InputError(f"commitment, rent {spec.rent!r:.80}", "is no node type on demand or spot", known)
    found = [pool for pool in pools if pool.vm.name == spec.rent or not spec.rent]
    if len(found) > 1:
        why = f"{len(found)} rows of nodes could be rented ({', '.join(names)})"
        raise InputError("commitment, rent", why, "Name its machine type (--rent); the others are left out")
    return found[0] if found else None


def _own(spec: CommitmentSpec, cluster: Cluster) -> Pool | None:
    """Return the pool that is always there and varies; None if all nodes are rented."""
    pools = [pool for pool in cluster.pools if not pool.is_rented]
    names = [pool.vm.name for pool in pools]
    if spec.base and spec.base not in names:
        raise InputError(
            f"commitment, base {spec.base!r:.80}", "is no node type that is always there", names_hint(spec.base, names)
        )
    found = [pool for pool in pools if pool.vm.name == spec.base or (not spec.base and len(pools) == 1)]
    if not found and not pools:
        return None
    if len(found) != 1:
        why = f"{len(found) or len(pools)} rows of nodes could be committed to ({', '.join(names)})"
        do = "Keep one row of the node type" if found else "Name its machine type (--base)"
        raise InputError("commitment, base", why, do)
    first = sum(pool.count for pool in cluster.pools[: cluster.pools.index(found[0])])
    away = [one.node for one in cluster.absences if first <= one.node < first + found[0].count]
    if away:
        why = f"an absence is planned for node {away[0]}, and its number of nodes varies"
        raise InputError(f"commitment, {found[0].vm.name}", why, "Remove the absences of this node type")
    return found[0]


def _committed(spec: CommitmentSpec, pool: Pool) -> Pool:
    """Return the pool to commit to, on its terms and at its price; without names, as its number varies."""
    changes: dict[str, object] = {"nodes": ""}
    if spec.terms == "owned":
        changes["terms"] = None
    elif spec.terms != "as-is":
        changes["terms"] = Terms(kind="reserved", commitment_years=1 if spec.terms == "reserved-1-year" else 3)
    if spec.base_usd_per_h is not None:
        changes["vm"] = pool.vm.model_copy(update={"usd_per_h": spec.base_usd_per_h})
    return pool.model_copy(update=changes)


def _to_rent(spec: CommitmentSpec, today: Pool | None, base: Pool, nodes: int) -> Pool:
    """Return the pool to rent from: today's, else machines as those committed to; its type has a name of its own."""
    pool = today or base.model_copy(update={"terms": None, "count": 0, "owned": False})
    terms = {} if pool.terms is None else pool.terms.model_dump()
    kind = spec.rent_terms if spec.rent_terms != "as-is" else terms.get("kind", "on-demand")
    if kind != terms.get("kind"):
        terms = {name: terms[name] for name in ("boot_s", "idle_timeout_s", "min_nodes") if name in terms}
    given = {name: getattr(spec, name) for name in ("boot_s", "idle_timeout_s", "evictions_per_h")}
    terms |= {"kind": kind} | {name: value for name, value in given.items() if value is not None}
    read = validated(Terms, terms, "commitment, rented nodes")
    usd = spec.rent_usd_per_h
    vm = pool.vm.model_copy(update={"usd_per_h": pool.vm.usd_per_h if usd is None and today else usd})
    if vm.name == base.vm.name:
        vm = vm.model_copy(update={"name": f"{vm.name[:70]}, {kind}"})
    count = spec.rent_most or pool.count or min(MOST_NODES, most_nodes(nodes))
    return pool.model_copy(update={"vm": vm, "terms": read, "count": max(count, read.min_nodes)})


def _with_pools(scenario: Scenario, own: Pool | None, base: Pool, rented: Pool, rent_after_s: float | None) -> Scenario:
    """Return the scenario with these pools: nodes to rent come last, so that the numbers of the others stay."""
    cluster = scenario.cluster
    if cluster.absences and any(pool.is_rented for pool in cluster.pools[:-1]):
        why = "has absences, and a node type that is rented before others"
        raise InputError("commitment, cluster", why, "Put the rented node type last")
    pools = [base if pool is own else pool for pool in cluster.pools if not pool.is_rented]
    pools += [base] if own is None else []
    scaling = cluster.scaling
    if rent_after_s is not None:
        scaling = (scaling or Scaling()).model_copy(update={"wait_s": rent_after_s})
    return scenario.replace(cluster=Cluster(pools=(*pools, rented), absences=cluster.absences, scaling=scaling))
