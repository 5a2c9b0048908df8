"""What can be changed of the terms on which nodes are had, and of when nodes are rented.

Keys: ``terms.TYPE``, ``price.``, ``boot.``, ``idle_timeout.``, ``kept.``, ``eviction_rate.`` and ``notice.TYPE`` of all
pools of a VM type; ``burst_wait``, ``burst_queue`` and ``burst_order`` of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, get_args

from dlsched.domain.cluster import Cluster, Pool, Scaling, Terms, TermsKind
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.studies.design.factor import Edit, Factor, Kind, Role, Value

OWNED = "owned"
KINDS = (OWNED, *get_args(TermsKind))
MIXED = "differs by pool"


class _Term(NamedTuple):
    """A field of the terms or of the rule of renting, and how it is shown; its limits and help are the field's own."""

    field: str
    label: str
    unit: str
    role: Role = "option"
    kind: Kind = "number"


TERMS: Mapping[str, _Term] = {
    "boot": _Term("boot_s", "Boot time", "s", "condition"),
    "idle_timeout": _Term("idle_timeout_s", "Idle timeout", "s"),
    "kept": _Term("min_nodes", "Least number of rented nodes", "", kind="whole"),
    "eviction_rate": _Term("evictions_per_h", "Eviction rate", "per hour", "condition"),
    "notice": _Term("notice_s", "Notice of evictions", "s", "condition"),
}
RULE: Mapping[str, _Term] = {
    "burst_wait": _Term("wait_s", "Wait before renting", "s"),
    "burst_queue": _Term("queue_length", "Queue length for renting", "", kind="whole"),
    "burst_order": _Term("order", "Order of renting", "", kind="names"),
}
FAMILIES = ("terms", "price", *TERMS)
CONDITIONS = ("price", *(family for family, term in TERMS.items() if term.role == "condition"))


def rental_factors(scenario: Scenario) -> tuple[Factor, ...]:
    """Return the factors that a form offers where nodes are reserved or rented; () elsewhere."""
    cluster = scenario.cluster
    if not cluster.has_terms:
        return ()
    keys = list(RULE) if cluster.rents_nodes else []
    for name in dict.fromkeys(pool.vm.name for pool in cluster.pools):
        kinds = [pool.terms for pool in cluster.pools if pool.vm.name == name and pool.terms is not None]
        had = [family for family, term in TERMS.items() if any(term.field in one.model_dump() for one in kinds)]
        keys += [f"{family}.{name}" for family in ("terms", "price", *had)]
    found = (rental_factor(scenario, key) for key in keys if len(key) <= 120)
    return tuple(factor for factor in found if factor is not None)


def rental_factor(scenario: Scenario, key: str) -> Factor | None:
    """Return the factor of a key; None if the key is not about terms of nodes.

    Raises
    ------
    InputError
        Where there is no pool of this VM type, or policies choose the machines.
    """
    family, _, name = key.partition(".")
    if key not in RULE and not (family in FAMILIES and name):
        return None
    cluster = scenario.cluster
    if cluster.free_slots:
        why = "policies choose the machines of this cluster, so no nodes have terms"
        raise InputError(f"change {key!r:.80}", why, "Switch to owned nodes on the page Cluster")
    if key in RULE:
        return _of_rule(cluster, key)
    names = dict.fromkeys(pool.vm.name for pool in cluster.pools)
    if name not in names:
        raise InputError(f"change {key!r:.80}", f"there is no VM type {name!r:.80}", names_hint(name, names))
    if family == "terms":
        return _kind(cluster, key, name)
    return _price(cluster, key, name) if family == "price" else _of_terms(cluster, key, name)


def _with_pools(cluster: Cluster, pools: list[Pool]) -> Cluster:
    """Return the cluster with these pools; the rule of renting goes with the last pool it is for."""
    scaling = cluster.scaling if any(pool.is_rented for pool in pools) else None
    return Cluster(pools=tuple(pools), absences=cluster.absences, scaling=scaling)


def _kind_of(cluster: Cluster, name: str) -> str:
    """Return on what terms the nodes of a type are had, in one word or :data:`MIXED`."""
    kinds = {pool.kind for pool in cluster.pools if pool.vm.name == name}
    return kinds.pop() if len(kinds) == 1 else MIXED


def _kind(cluster: Cluster, key: str, name: str) -> Factor:
    own = _kind_of(cluster, name)

    def edit(scenario: Scenario, value: str, _: int) -> Scenario:
        pools = [_on(pool, value) if pool.vm.name == name else pool for pool in scenario.cluster.pools]
        return scenario.replace(cluster=_with_pools(scenario.cluster, pools))

    text = (
        f"On what terms the nodes of {name} are had. reserved: always there, paid for 1 or 3 years; on-demand and "
        "spot: rented as jobs need them, up to their number. What both terms have, such as the boot time, stays."
    )
    return Factor(
        key, f"Terms of {name}", "", "names", 0, 0, text, edit, "option", turn="terms", choices=KINDS, own=lambda _: own
    )


def _on(pool: Pool, kind: str) -> Pool:
    """Return a pool on other terms; terms that both kinds have stay."""
    if kind == OWNED:
        return pool.model_copy(update={"terms": None})
    default = Terms.model_validate({"kind": kind}).model_dump()
    now = {} if pool.terms is None else pool.terms.model_dump()
    kept = {name: value for name, value in now.items() if name in default and name != "kind"}
    return pool.model_copy(update={"terms": Terms.model_validate(default | kept)})


def _price(cluster: Cluster, key: str, name: str) -> Factor:
    own = next(vm.usd_per_h for vm in cluster.vm_types if vm.name == name)

    def edit(scenario: Scenario, value: float, _: int) -> Scenario:
        pools = [
            pool.model_copy(update={"vm": pool.vm.model_copy(update={"usd_per_h": value})})
            if pool.vm.name == name
            else pool
            for pool in scenario.cluster.pools
        ]
        return scenario.replace(cluster=_with_pools(scenario.cluster, pools))

    text = f"Price of a node of {name} per hour. Typed with a sign (+0.5, -0.5) it is a change of today's."
    return Factor(
        key, f"Hourly price of {name}", "$", "number", 0.0, 1e6, text, edit, "condition", turn="terms", base=own,
        own=lambda _: own,
    )  # fmt: skip


def _of_terms(cluster: Cluster, key: str, name: str) -> Factor:
    """Return the change of a number in the terms of all pools of a type that have it."""
    term = TERMS[key.partition(".")[0]]
    told = [{} if pool.terms is None else pool.terms.model_dump() for pool in cluster.pools if pool.vm.name == name]
    values = {one[term.field] for one in told if term.field in one}
    own = values.pop() if len(values) == 1 else None

    def edit(scenario: Scenario, value: float, _: int) -> Scenario:
        pools, found = list(scenario.cluster.pools), False
        for number, pool in enumerate(pools):
            now = {} if pool.terms is None else pool.terms.model_dump()
            if pool.vm.name == name and term.field in now:
                terms = Terms.model_validate(now | {term.field: value})
                pools[number], found = Pool.model_validate(pool.model_dump() | {"terms": terms}), True
        if not found:
            kinds = [kind for kind in get_args(TermsKind) if term.field in Terms(kind=kind).model_dump()]
            why = f"nodes of {name} are {_kind_of(scenario.cluster, name)}"
            ways = " or ".join(f"terms.{name}={kind}" for kind in kinds)
            raise InputError(term.label.lower(), why, f"Change {ways} too")
        return scenario.replace(cluster=_with_pools(scenario.cluster, pools))

    return _factor(key, term, f"{term.label} of {name}", Terms, edit, own)


def _of_rule(cluster: Cluster, key: str) -> Factor:
    term = RULE[key]
    own = getattr(cluster.scaling or Scaling(), term.field)

    def edit(scenario: Scenario, value: Value, _: int) -> Scenario:
        cluster = scenario.cluster
        if not cluster.rents_nodes:
            name = cluster.pools[0].vm.name
            why = "no nodes are rented as jobs need them"
            raise InputError(term.label.lower(), why, f"Change terms.{name}=on-demand too, or that of another type")
        rule = (cluster.scaling or Scaling()).model_dump() | {term.field: value}
        return scenario.replace(cluster=cluster.model_copy(update={"scaling": Scaling.model_validate(rule)}))

    return _factor(key, term, term.label, Scaling, edit, own)


def _factor(
    key: str, term: _Term, label: str, model: type[Terms] | type[Scaling], edit: Edit, own: Value | None
) -> Factor:
    """Return a factor with the limits and the help of a field."""
    field = model.model_fields[term.field]
    low = next((float(mark.ge) for mark in field.metadata if hasattr(mark, "ge")), 0.0)
    high = next((float(mark.le) for mark in field.metadata if hasattr(mark, "le")), 0.0)
    choices = get_args(field.annotation) if term.kind == "names" else ()
    return Factor(
        key, label, term.unit, term.kind, low, high, str(field.description), edit, term.role, choices=choices,
        base=None if isinstance(own, str) else own, own=lambda _: own,
    )  # fmt: skip
