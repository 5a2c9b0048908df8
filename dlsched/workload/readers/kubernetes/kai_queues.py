"""Queue objects of KAI (scheduling.run.ai/v2) as a tree of quotas; a parent's quota is all that its children have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dlsched.domain.errors import InputError, validated
from dlsched.domain.names import first_of
from dlsched.domain.queue_tree import ALL_FLAVORS, QueueTree
from dlsched.workload.readers.kubernetes.objects import Object, part, word
from dlsched.workload.readers.kubernetes.quantities import amount

GROUP = "scheduling.run.ai/"
UNITS = {"gpu": ("gpus", 1.0), "cpu": ("cpus", 1000.0), "memory": ("mem_gib", 2.0**30 / 1e6)}
"""Resource of KAI -> ours, and how many of its units one of ours is: GPUs, thousandths of a core, megabytes."""
ENDLESS = -1.0
NAMED = 5


def tree_of_kai(queues: Mapping[str, Object]) -> tuple[QueueTree, list[str]]:
    """Return the tree of KAI's queues with what to know of it; ``queues``: name -> spec.

    A queue that is the parent of another one holds no jobs and becomes a cohort. Quota -1 is no bound, so the resource
    is not counted there; limit -1 is none. A limit that is left out is 0, as in the API: nothing above the quota. KAI
    has no flavors: all nodes count alike.

    Raises
    ------
    InputError
        An amount that is none, or parents in a circle.
    """
    parents = {parent for spec in queues.values() if (parent := word(spec, "parentQueue"))}
    endless: list[str] = []
    without_limit: list[str] = []
    tree: dict[str, dict[str, Any]] = {}
    cohorts: dict[str, dict[str, Any]] = {name: {} for name in parents}
    for name, spec in queues.items():
        quota = []
        for theirs, (ours, units) in UNITS.items():
            resource = part(part(spec, "resources"), theirs)
            if not resource:
                continue
            nominal = _number(name, f"{theirs}.quota", resource.get("quota"), 0.0)
            limit = _number(name, f"{theirs}.limit", resource.get("limit"), 0.0)
            if nominal == ENDLESS:
                endless.append(f"{name}: {theirs}")
                continue
            if resource.get("limit") is None:
                without_limit.append(f"{name}: {theirs}")
            borrow = {} if limit == ENDLESS else {"borrow": max(limit - nominal, 0.0) / units}
            quota.append({"flavor": ALL_FLAVORS, "resource": ours, "nominal": nominal / units, **borrow})
        weight = part(part(spec, "resources"), "gpu").get("overQuotaWeight")
        node: dict[str, Any] = {
            "quota": quota, "weight": _number(name, "gpu.overQuotaWeight", weight, 1.0),
            "level": int(_number(name, "priority", spec.get("priority"), 0.0)),
            "parent": word(spec, "parentQueue") or None,
        }  # fmt: skip
        (cohorts if name in parents else tree)[name] = node
    made = validated(QueueTree, {"rule": "kai", "tree": tree, "cohorts": cohorts}, "queues")
    notes = ["KAI knows no flavors: all nodes count alike", "minimum run times before a job may be stopped are ignored"]
    if endless:
        notes.append(f"Quota -1, so not counted: {first_of(endless, NAMED)}")
    if without_limit:
        notes.append(
            f"No limit is stated, which is 0 in KAI, so nothing above the quota: {first_of(without_limit, NAMED)}"
        )
    return made, notes


def _number(queue: str, what: str, given: Any, default: float) -> float:
    """Return a plain number; InputError for anything else."""
    value = default if given is None else amount(given)
    if math.isnan(value) or abs(value) > 1e12:
        raise InputError(f"Queue {queue[:80]}", f"{what} {str(given)[:30]!r} is no number", "Correct it")
    return value
