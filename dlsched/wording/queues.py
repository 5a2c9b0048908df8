"""What to know of quotas before a run: they exceed the nodes, name no nodes, or leave jobs without a queue."""

from __future__ import annotations

from typing import get_args

from dlsched.domain.names import first_of
from dlsched.domain.queue_lookup import QueueNames, granted
from dlsched.domain.queue_tree import ALL_FLAVORS, QueueTree, ResourceName
from dlsched.domain.scenario import Scenario
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import amount, listed, number
from dlsched.wording.resources import RESOURCE_UNITS
from dlsched.workload.queues_from_jobs import amounts_of_flavors

POOL = "pool:"
NAMED = 5


def queue_words(tree: QueueTree) -> str:
    """Return how many queues and cohorts a tree has: "4 queues in 3 cohorts"."""
    cohorts = {node.parent for node in (*tree.tree.values(), *tree.cohorts.values()) if node.parent} | set(tree.cohorts)
    return amount(len(tree.tree), "queue") + (f" in {amount(len(cohorts), 'cohort')}" if cohorts else "")


def tree_cautions(scenario: Scenario) -> list[Caution]:
    """Return the banners about the quotas of a scenario; none without quotas."""
    tree = scenario.queues
    return [] if tree is None else [*_unqueued(scenario, tree), *_flavors(scenario, tree), *_too_much(scenario, tree)]


def _unqueued(scenario: Scenario, tree: QueueTree) -> list[Caution]:
    column = getattr(scenario.workload, tree.map)
    values = [""] * len(scenario.workload) if column is None else column.tolist()
    queue = QueueNames(tree)
    lost = {value for value in set(values) if queue.of(value) is None}
    if not lost:
        return []
    many = sum(value in lost for value in values)
    named = first_of(sorted(value or "(empty)" for value in lost), NAMED)
    what = tree.map.replace("_", " ")
    verb = "names" if many == 1 else "name"
    text = f"{amount(many, 'job')} {verb} no queue by {what}: {named}. Runs with quotas are refused."
    return [Caution("orange", text, "Add names below, choose another column, or a queue for all other jobs")]


def _flavors(scenario: Scenario, tree: QueueTree) -> list[Caution]:
    """Warn of flavors of GPUs that no node has, where the nodes have several types."""
    here = amounts_of_flavors(scenario.cluster, "gpus")
    if len(here) < 2:
        return []
    quotas = [quota for node in (*tree.tree.values(), *tree.cohorts.values()) for quota in node.quota]
    asked = dict.fromkeys(quota.flavor for quota in quotas if quota.resource == "gpus")
    unknown = [one for one in asked if one not in here and one != ALL_FLAVORS and not one.startswith(POOL)]
    if not unknown:
        return []
    text = (
        f"No node has the GPU type {listed(unknown[:NAMED])}, for which there are quotas; nodes have {listed([*here])}."
    )
    return [Caution("orange", text, "Rename the flavor, or the GPU type of the nodes")]


def _too_much(scenario: Scenario, tree: QueueTree) -> list[Caution]:
    found = []
    for resource in get_args(ResourceName):
        quota = granted(tree, resource)
        here = amounts_of_flavors(scenario.cluster, resource)
        if len(here) < 2 or not set(quota) <= set(here):
            quota, here = {ALL_FLAVORS: sum(quota.values())}, {ALL_FLAVORS: sum(here.values())}
        for flavor, total in quota.items():
            if total > here.get(flavor, 0.0) > 0:
                of = "" if flavor == ALL_FLAVORS else f" on {flavor}"
                unit = RESOURCE_UNITS[resource]
                text = f"Quotas{of} add up to {number(total)} {unit}; the nodes have {number(here[flavor])}."
                do = "Jobs within their quota may still wait for nodes; lower the quotas or add nodes"
                found.append(Caution("orange", text, do))
    return found
