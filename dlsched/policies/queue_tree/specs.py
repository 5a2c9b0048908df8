"""Quota trees in the registry."""

from __future__ import annotations

from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.queue_lookup import check_queues
from dlsched.domain.scenario import Scenario
from dlsched.policies.queue_tree.policy import QueueTreePolicy


def _check(scenario: Scenario) -> None:
    """Refuse queues that do not go with the jobs and the nodes."""
    assert scenario.queues is not None  # it is one of the policy's needs
    check_queues(scenario.queues, scenario.workload, scenario.cluster)


QUEUE_TREE: tuple[PolicySpec, ...] = (
    PolicySpec(
        "queue-tree",
        "Quota tree",
        "Quota tree",
        "Admits jobs by the quotas of their queues, which borrow from one another, and stops jobs where a queue takes "
        "its quota back, as Kueue does.",
        QueueTreePolicy,
        needs=frozenset({Need.QUEUES, Need.FIXED_NODES}),
        paper="Kueue 0.20, kueue.sigs.k8s.io",
        check=_check,
        compiled=True,
    ),
)
