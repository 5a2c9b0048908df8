"""Queues for jobs that have none: one for each user, group or class, with a quota from what their jobs use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.queue_tree import ALL_FLAVORS, Cohort, MapColumn, Queue, QueueTree, Quota, ResourceName
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import RESOURCES, Floats, Texts
from dlsched.workload.cluster_from_log import most_at_once

Rule = Literal["use", "equal", "peak"]
RULES: Mapping[Rule, str] = {
    "use": "Shares of the nodes by use",
    "equal": "Equal shares of the nodes",
    "peak": "Peak use",
}
RULE_HELP: Mapping[Rule, str] = {
    "use": "The cluster is divided in proportion to the GPU time of each group's jobs",
    "equal": "The cluster is divided into equal parts",
    "peak": "The most that a group's jobs would hold at once if none waited; the sum may be more than the nodes have",
}
MOST_QUEUES = 40
COHORT, OTHERS = "everyone", "others"


def amounts_of_flavors(cluster: Cluster, resource: ResourceName) -> dict[str, float]:
    """Return what the nodes of each flavor have of a resource, in all: by GPU type, or "all" where there is one type.

    Machines that are rented count as they would with the largest type in each slot. Nodes without the resource, or that
    do not state it, count nothing.
    """
    if cluster.free_slots:
        amounts = [float(getattr(vm, resource) or 0.0) for vm in cluster.catalogue]
        return {ALL_FLAVORS: cluster.slots * max(amounts, default=0.0)}
    column, nodes = RESOURCES.index(resource), cluster.nodes
    amount = np.where(np.isfinite(nodes.capacity[:, column]), nodes.capacity[:, column], 0.0)
    kinds = nodes.gpu_type.astype(object)
    by_type = {str(kind): float(amount[kinds == kind].sum()) for kind in dict.fromkeys(kinds.tolist())}
    there = {kind: total for kind, total in by_type.items() if total > 0}
    return there if len(there) > 1 else {ALL_FLAVORS: sum(there.values())}


def tree_of_groups(scenario: Scenario, column: MapColumn, rule: Rule) -> QueueTree:
    """Return one queue for each value of a column of the jobs, all in one cohort that lends and reclaims freely.

    Quotas are whole numbers of what counts for the scenario (GPUs, else cores); shares of the nodes add up to them.
    Values beyond the MOST_QUEUES that use most, and jobs without a value, share the queue "others".

    Raises
    ------
    InputError
        Where the jobs have no such column, or the nodes nothing to divide.
    """
    jobs = scenario.workload
    values: Texts | None = getattr(jobs, column)
    if values is None or not (values != "").any():
        raise InputError("jobs", f"have no {column.replace('_', ' ')}", "Choose another column")
    resource: ResourceName = RESOURCES[scenario.counted]  # type: ignore[assignment]
    asked = jobs.requested[:, scenario.counted]
    use = asked * jobs.work
    ranked = sorted(set(values.tolist()) - {""}, key=lambda name: (-float(use[values == name].sum()), name))
    named = [name[:120] for name in ranked[: MOST_QUEUES - 1]]
    rest = OTHERS if OTHERS not in named else f"{OTHERS} (rest)"
    queue = np.array([name if name in set(named) else rest for name in values.tolist()], dtype=object)
    names = [*named, *([rest] if (queue == rest).any() else [])]
    by_use = np.array([float(use[queue == name].sum()) for name in names])
    flavors = amounts_of_flavors(scenario.cluster, resource)
    if not sum(flavors.values()):
        raise InputError("cluster", f"its nodes state no {resource}", "Add nodes on the page Cluster")
    if rule == "peak":
        peak = [most_at_once(jobs.submit_s[rows], (jobs.submit_s + jobs.work)[rows], asked[rows])
                for rows in (queue == name for name in names)]  # fmt: skip
        part = {flavor: np.ceil(np.array(peak) * total / sum(flavors.values())) for flavor, total in flavors.items()}
    else:
        weight = by_use if rule == "use" and by_use.sum() > 0 else np.ones(len(names))
        part = {flavor: _whole_parts(total, weight) for flavor, total in flavors.items()}
    cohort = COHORT if COHORT not in names else f"{COHORT} (cohort)"
    tree = {
        name: Queue(
            parent=cohort, within="lower", reclaim="any",
            quota=tuple(Quota(flavor=flavor, resource=resource, nominal=float(amounts[place]))
                        for flavor, amounts in part.items()),
        )
        for place, name in enumerate(names)
    }  # fmt: skip
    return QueueTree(tree=tree, cohorts={cohort: Cohort()}, map=column, unmapped=rest if rest in names else "error")


def _whole_parts(total: float, weight: Floats) -> Floats:
    """Return whole numbers that add up to the whole part of ``total``, in proportion: largest remainders go up."""
    exact = np.floor(total) * weight / weight.sum()
    parts: Floats = np.floor(exact)
    left = round(float(np.floor(total) - parts.sum()))
    parts[np.argsort(-(exact - parts), kind="stable")[:left]] += 1
    return parts
