"""Queues and settings of a Slurm under other names, for the copy of a scenario that :mod:`anonymise` makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlsched.domain.queue_lookup import QueueNames
from dlsched.domain.queue_tree import Cohort, QueueTree
from dlsched.domain.slurm import SlurmReservation, SlurmSetup
from dlsched.domain.workload import Workload

New = Mapping[str, str]
"""Name -> the one that stands in for it."""


def names_in_slurm(setup: SlurmSetup | None) -> dict[str, set[str]]:
    """Return the names in settings of a Slurm, by the column of jobs that has such names."""
    if setup is None:
        return {}
    accounts = setup.associations
    return {
        "user": {one.user for one in accounts} | {user for one in setup.reservations for user in one.users},
        "group": {one.account for one in accounts} | {one.parent for one in accounts}
        | {account for one in setup.reservations for account in one.accounts},
        "job_class": {name for one in setup.qos for name in (one.name, *one.Preempt)}
        | {one.QOS for one in setup.partitions} | {name for one in accounts for name in one.QOS},
        "partition": {one.name for one in setup.partitions} | {one.partition for one in accounts},
    }  # fmt: skip


def host_lists(setup: SlurmSetup | None) -> set[str]:
    """Return the host lists in settings of a Slurm."""
    if setup is None:
        return set()
    reserved = {one.nodes for one in setup.reservations}
    return {*setup.node_weights, *setup.switches.values(), *(text for text in reserved if text.upper() != "ALL")}


def renamed_slurm(setup: SlurmSetup, new: Mapping[str, New], hosts: New) -> SlurmSetup:
    """Return the settings with other names of partitions, QOS, accounts, users and nodes; reservations are numbered."""
    user, group, qos, partition = ({"": "", **new[column]} for column in ("user", "group", "job_class", "partition"))

    def reserved(number: int, one: SlurmReservation) -> SlurmReservation:
        return one.model_copy(update={
            "name": f"r{number:02d}", "nodes": hosts.get(one.nodes, "ALL" if one.nodes.upper() == "ALL" else ""),
            "users": tuple(user[name] for name in one.users), "accounts": tuple(group[name] for name in one.accounts),
        })  # fmt: skip

    return setup.model_copy(update={
        "partitions": tuple(
            one.model_copy(update={"name": partition[one.name], "QOS": qos[one.QOS]}) for one in setup.partitions
        ),
        "qos": tuple(
            one.model_copy(update={"name": qos[one.name], "Preempt": tuple(qos[name] for name in one.Preempt)})
            for one in setup.qos
        ),
        "associations": tuple(
            one.model_copy(update={
                "account": group[one.account], "user": user[one.user], "partition": partition[one.partition],
                "parent": group[one.parent], "QOS": tuple(qos[name] for name in one.QOS),
            })
            for one in setup.associations
        ),
        "reservations": tuple(reserved(number, one) for number, one in enumerate(setup.reservations, 1)),
        "node_weights": {hosts[text]: weight for text, weight in setup.node_weights.items() if hosts.get(text)},
        "switches": {
            f"s{number:03d}": hosts.get(text, "") for number, text in enumerate(setup.switches.values(), 1)
        },
    })  # fmt: skip


def renamed_queues(tree: QueueTree, jobs: Workload, new: Mapping[str, New], numbered: New, types: New) -> QueueTree:
    """Return the tree with its queues and cohorts under the names in ``numbered``.

    Each name that the jobs give leads to the queue that it led to. ``types`` are the new names of machine types.
    """
    values = getattr(jobs, tree.map)
    lookup = QueueNames(tree)
    aliases = {}
    for name in {str(value) for value in ([] if values is None else values)} - {""}:
        queue = lookup.of(name)
        if queue is not None and (other := new[tree.map].get(name)):
            aliases[other] = numbered[queue]
    users = new["user"]

    def flavor(name: str) -> str:
        kind, colon, pool = name.partition(":")
        return f"{kind}:{types.get(pool) or new['partition'].get(pool, 'none')}" if colon else name

    def node(one: Cohort) -> Cohort:
        update: dict[str, Any] = {
            "parent": None if one.parent is None else numbered.get(one.parent, "none"),
            "quota": tuple(quota.model_copy(update={"flavor": flavor(quota.flavor)}) for quota in one.quota),
        }
        if isinstance(local := getattr(one, "local", None), dict):
            update["local"] = {users[name]: weight for name, weight in local.items() if name in users}
        return one.model_copy(update=update)

    def changed(key: str) -> str:
        name, *rest = key.rsplit(".", 3)
        return ".".join([numbered.get(name, name), *(flavor(part) for part in rest[:1]), *rest[1:]])

    return tree.model_copy(update={
        "aliases": aliases,
        "unmapped": numbered.get(tree.unmapped, tree.unmapped),
        "tree": {numbered[name]: node(queue) for name, queue in tree.tree.items()},
        "cohorts": {numbered[name]: node(cohort) for name, cohort in tree.cohorts.items()},
        "changes": tuple(
            one.model_copy(update={"set": {changed(key): amount for key, amount in one.set.items()}})
            for one in tree.changes
        ),
    })  # fmt: skip


def names_in_queues(tree: QueueTree | None) -> set[str]:
    """Return the names of queues and cohorts, also of cohorts that are only named as parents."""
    if tree is None:
        return set()
    nodes = (*tree.tree.values(), *tree.cohorts.values())
    return {*tree.tree, *tree.cohorts, *(one.parent for one in nodes if one.parent is not None)}
