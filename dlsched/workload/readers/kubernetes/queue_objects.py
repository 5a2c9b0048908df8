"""Queue objects of Kueue (v1beta1, v1beta2) as a tree of quotas: ClusterQueues, Cohorts and what explains them.

Defaults are those of the API where a field is left out. Amounts become GPUs, cores and GiB.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlsched.domain.errors import InputError, validated
from dlsched.domain.names import first_of
from dlsched.domain.queue_tree import MOST_QUEUES, QueueTree
from dlsched.workload.readers.kubernetes import kai_queues
from dlsched.workload.readers.kubernetes.objects import Object, objects, part, parts, word
from dlsched.workload.readers.kubernetes.quantities import amount, is_gpu
from dlsched.workload.readers.source import TraceText

GROUP = "kueue.x-k8s.io/"
EXPORT = "kubectl get clusterqueues,cohorts,resourceflavors,localqueues,workloadpriorityclasses -A -o yaml"
GIB = 2.0**30
PER_UNIT = {"gpus": 1.0, "cpus": 1.0, "mem_gib": GIB, "disk_gib": GIB}
"""How many of Kueue's units one of ours is."""
MOST_LOCAL_QUEUES = 200_000
DEEPEST_COHORTS = 100
MOST_GROUPS = 15
NAMED = 5

RULES: dict[str, dict[str, Any]] = {
    "within": {"": "never", "Never": "never", "LowerPriority": "lower",
               "LowerOrNewerEqualPriority": "lower-or-newer-equal"},
    "reclaim": {"": "never", "Never": "never", "LowerPriority": "lower", "Any": "any"},
    "while_borrowing": {"": "never", "Never": "never", "LowerPriority": "lower"},
    "when_can_borrow": {"": "stop", "MayStopSearch": "stop", "Borrow": "stop", "TryNextFlavor": "next"},
    "when_can_preempt": {"": "next", "MayStopSearch": "stop", "Preempt": "stop", "TryNextFlavor": "next"},
    "preference": {"": "borrow", "BorrowingOverPreemption": "borrow", "PreemptionOverBorrowing": "preempt"},
    "strategy": {"": "best-effort", "BestEffortFIFO": "best-effort", "StrictFIFO": "strict"},
    "order": {"": "priority", "NoAdmissionFairSharing": "priority", "UsageBasedAdmissionFairSharing": "usage"},
}  # fmt: skip
"""Field of a queue -> value of the API, "" where it is left out -> our value. Borrow and Preempt are deprecated."""


@dataclass(frozen=True)
class QueuesFound:
    """A tree of quotas that was read, with what to know of it.

    ``flavors``: ResourceFlavor -> labels of its nodes. ``queue_of``: "namespace/local queue" -> ClusterQueue.
    ``priorities``: WorkloadPriorityClass -> value. ``notes``: sentences without a full stop, what was ignored included.
    """

    tree: QueueTree
    flavors: Mapping[str, Object]
    queue_of: Mapping[str, str]
    priorities: Mapping[str, float]
    notes: tuple[str, ...] = ()


@dataclass
class QueueObjects:
    """Collects queue objects as a file is read; ``tree`` puts them together."""

    queues: dict[str, Object] = field(default_factory=dict)
    cohorts: dict[str, Object] = field(default_factory=dict)
    flavors: dict[str, Object] = field(default_factory=dict)
    queue_of: dict[str, str] = field(default_factory=dict)
    local_weights: dict[str, float] = field(default_factory=dict)
    priorities: dict[str, float] = field(default_factory=dict)
    kai: dict[str, Object] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)

    def take(self, item: Object) -> None:
        """Keep an object if it is about queues; count it otherwise.

        Raises
        ------
        InputError
            More queues or cohorts than a tree may have.
        """
        kind, meta, spec = word(item, "kind"), part(item, "metadata"), part(item, "spec")
        name = word(meta, "name")
        if word(item, "apiVersion").startswith(kai_queues.GROUP) and kind == "Queue":
            self.kai[name] = spec
            if len(self.kai) > MOST_QUEUES:
                raise InputError("queues", f"there are more than {MOST_QUEUES:,} Queues of KAI", "Export fewer of them")
        elif not word(item, "apiVersion").startswith(GROUP):
            if kind == "PriorityClass":
                self.priorities.setdefault(name, amount(word(item, "value")))
            elif len(self.others) < MOST_QUEUES or kind in self.others:
                self.others[kind] += 1
        elif kind in ("ClusterQueue", "Cohort"):
            kept = self.queues if kind == "ClusterQueue" else self.cohorts
            kept[name] = spec
            if len(kept) > MOST_QUEUES:
                raise InputError("queues", f"there are more than {MOST_QUEUES:,} {kind}s", "Export fewer of them")
        elif kind == "ResourceFlavor" and len(self.flavors) < MOST_QUEUES:
            self.flavors[name] = part(spec, "nodeLabels")
        elif kind == "LocalQueue" and len(self.queue_of) < MOST_LOCAL_QUEUES:
            key = f"{word(meta, 'namespace') or 'default'}/{name}"
            self.queue_of[key] = word(spec, "clusterQueue")
            self.local_weights[key] = _weight(spec, f"LocalQueue {key}")
        elif kind == "WorkloadPriorityClass":
            self.priorities[name] = amount(word(item, "value"))
        elif kind != "Workload" and (len(self.others) < MOST_QUEUES or kind in self.others):
            self.others[kind] += 1

    def lost(self, names: Sequence[str]) -> list[str]:
        """Return the ClusterQueues that LocalQueues name and that are not defined, "" for those that are.

        Kueue admits no job of them. Without any ClusterQueue, none counts as missing: the file lists none.
        """
        named = set(self.queue_of.values()) if self.queues else set()
        return [name if name in named and name not in self.queues else "" for name in names]

    def tree(self) -> QueuesFound | None:
        """Return the tree of the objects; None without a ClusterQueue of Kueue, or else a Queue of KAI.

        A flavor without ResourceFlavor makes its queues inactive, as in Kueue: they stay, without quota. Where the
        file has no ResourceFlavor at all, every flavor counts as defined.

        Raises
        ------
        InputError
            An amount that is none, a rule that is not known, cohorts in a circle.
        """
        if not self.queues and self.kai:
            check_depth({name: word(spec, "parentQueue") for name, spec in self.kai.items()}, "parentQueue")
            found_tree, told = kai_queues.tree_of_kai(self.kai)
            return QueuesFound(found_tree, self.flavors, self.queue_of, self.priorities, tuple(told))
        if not self.queues:
            return None
        notes = list[str]()
        cohort_name = {name: f"{name} (cohort)" if name in self.queues else name for name in self._cohort_names()}
        if renamed := [name for name in cohort_name if name in self.queues]:
            notes.append(f"Cohorts with the name of a queue are called “NAME (cohort)”: {first_of(renamed, NAMED)}")
        check_depth({name: _parent(spec) for name, spec in self.cohorts.items()}, "parentName")
        found, local = _Quotas(self.flavors, notes), self._weights_by_namespace()
        tree = {name: _queue(name, spec, cohort_name, found, local[name]) for name, spec in self.queues.items()}
        cohorts = {
            cohort_name[name]: _without_none(
                {
                    "parent": cohort_name.get(_parent(self.cohorts.get(name, {}))),
                    "weight": _weight(self.cohorts.get(name, {}), f"Cohort {name}"),
                    "quota": found.of(f"Cohort {name}", self.cohorts.get(name, {})),
                }
            )
            for name in cohort_name
        }
        if apart := _set_apart([node["quota"] for node in (*tree.values(), *cohorts.values())]):
            notes.append(f"Quotas in groups without GPUs count on all nodes; these flavors are renamed: {apart}")
        made = validated(QueueTree, {"tree": tree, "cohorts": cohorts}, "queues")
        found.finish()
        self._note_rest(notes, made)
        return QueuesFound(made, self.flavors, self.queue_of, self.priorities, tuple(notes))

    def _cohort_names(self) -> list[str]:
        """Return the cohorts in the order of the file, those that are only named last; these have no quota."""
        named = [_parent(spec) for spec in (*self.queues.values(), *self.cohorts.values())]
        return [name for name in dict.fromkeys([*self.cohorts, *named]) if name]

    def _weights_by_namespace(self) -> dict[str, dict[str, set[float]]]:
        """Return queue -> namespace -> weights of its local queues."""
        found: dict[str, dict[str, set[float]]] = defaultdict(lambda: defaultdict(set))
        for key, target in self.queue_of.items():
            found[target][key.partition("/")[0]].add(self.local_weights[key])
        return found

    def _note_rest(self, notes: list[str], made: QueueTree) -> None:
        """Add what is missing, points nowhere, or is ignored."""
        if not self.flavors:
            notes.append("There is no ResourceFlavor: every flavor counts as defined")
        lost = [f"{key} -> {target}" for key, target in self.queue_of.items() if target not in self.queues]
        if lost:
            notes.append(f"Local queues that point to no ClusterQueue: {len(lost):,} ({first_of(lost, NAMED)})")
        unlike = [
            name for name, spaces in self._weights_by_namespace().items()
            if name in made.tree and made.tree[name].order == "usage" and any(len(of) > 1 for of in spaces.values())
        ]  # fmt: skip
        if unlike:
            notes.append(
                "Past use is counted by namespace, so local queues of one namespace with different weights count "
                f"alike: {first_of(unlike, NAMED)}"
            )
        specs = self.queues.items()
        ignored = {
            "admission checks": [n for n, s in specs if s.get("admissionChecks") or s.get("admissionChecksStrategy")],
            "namespaceSelector": [n for n, s in specs if part(s, "namespaceSelector")],
            "stopPolicy": [n for n, s in specs if word(s, "stopPolicy") not in ("", "None")],
        }
        for what, names in ignored.items():
            if names:
                notes.append(f"Ignored: {what} of {len(names):,} queues ({first_of(names, NAMED)})")
        if self.others:
            counts = [f"{count:,} {kind[:60] or 'without kind'}" for kind, count in self.others.items()]
            notes.append(f"Other objects, ignored: {first_of(counts, NAMED)}")
        weighted = any(node.weight != 1 for node in (*made.tree.values(), *made.cohorts.values()))
        notes.append(
            "Kueue's own Configuration is not in this list. We assume that fair sharing is off"
            + (" (although weights are set)" if weighted else "")
            + " and that resources without quota are not counted; change it on the page Cluster"
        )


def check_depth(parent: Mapping[str, str], key: str) -> None:
    """Raise InputError for nodes in a circle or nested deeper than DEEPEST_COHORTS; ``parent``: "" = none."""
    depth: dict[str, int] = {"": 0}
    for name in parent:
        path = dict[str, None]()
        while name not in depth and name not in path:
            path[name] = None
            name = parent.get(name, "")
        if name in path:
            circle = " -> ".join([*list(path)[list(path).index(name) :][:NAMED], name])
            raise InputError("cohorts", f"{circle} form a circle", f"Correct {key}")
        for above, one in enumerate(reversed(path), 1):
            depth[one] = depth[name] + above
        if path and depth[next(iter(path))] > DEEPEST_COHORTS:
            raise InputError("cohorts", f"they are nested deeper than {DEEPEST_COHORTS} levels", f"Correct {key}")


def _queue(
    name: str, spec: Object, cohort_name: Mapping[str, str], found: _Quotas, weights: Mapping[str, set[float]]
) -> dict[str, Any]:
    """Return the fields of a queue; ``weights`` of its local queues by namespace, used where a namespace has one."""
    where = f"ClusterQueue {name}"
    preemption, fungible = part(spec, "preemption"), part(spec, "flavorFungibility")
    borrowing = part(preemption, "borrowWithinCohort")
    given = {
        "strategy": word(spec, "queueingStrategy"),
        "within": word(preemption, "withinClusterQueue"),
        "reclaim": word(preemption, "reclaimWithinCohort"),
        "while_borrowing": word(borrowing, "policy"),
        "when_can_borrow": word(fungible, "whenCanBorrow"),
        "when_can_preempt": word(fungible, "whenCanPreempt"),
        "preference": word(fungible, "preference"),
        "order": word(part(spec, "admissionScope"), "admissionMode"),
    }
    rules = {key: _rule(where, key, value) for key, value in given.items()}
    one_each = {space: of for space, of in weights.items() if len(of) == 1 and of != {1.0}}
    below = word(borrowing, "maxPriorityThreshold")
    return _without_none(
        {
            "parent": cohort_name.get(_parent(spec)),
            "weight": _weight(spec, where),
            **rules,
            "while_borrowing_below": _finite(where, "maxPriorityThreshold", below) if below else None,
            "local": {space: next(iter(of)) for space, of in one_each.items()} if rules["order"] == "usage" else {},
            "quota": found.of(where, spec),
        }
    )


class _Quotas:
    """Reads resourceGroups into quotas and remembers what to say of them."""

    def __init__(self, flavors: Mapping[str, Object], notes: list[str]) -> None:
        self._flavors, self._notes = flavors, notes
        self._undefined: dict[str, list[str]] = {}
        self._others: Counter[str] = Counter()
        self._binary: list[str] = []

    def of(self, where: str, spec: Object) -> list[dict[str, Any]]:
        """Return the quotas of a queue or cohort, the flavors of a group in its order of preference."""
        groups = parts(spec, "resourceGroups")
        wanted = [word(flavor, "name") for group in groups for flavor in parts(group, "flavors")]
        if self._flavors and (missing := [name for name in wanted if name not in self._flavors]):
            self._undefined[where] = missing
            return []
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        group_of: dict[str, int] = {}
        for number, group in enumerate(groups):
            for flavor in parts(group, "flavors"):
                for resource in parts(flavor, "resources"):
                    row = self._quota(where, word(flavor, "name"), resource)
                    if row is None:
                        continue
                    row["group"] = group_of.setdefault(row["resource"], min(number, MOST_GROUPS))
                    key = (row["flavor"], row["resource"])
                    rows[key] = _together(rows[key], row) if key in rows else row
        return [_without_none(row) for row in rows.values()]

    def _quota(self, where: str, flavor: str, resource: Object) -> dict[str, Any] | None:
        name = word(resource, "name")
        ours = _resource(name)
        if ours is None:
            self._others[name[:60] or "without name"] += 1
            return None
        about = f"{where}, flavor {flavor[:60]}, {name[:60]}"
        row: dict[str, Any] = {"flavor": flavor, "resource": ours}
        for key, theirs in (("nominal", "nominalQuota"), ("borrow", "borrowingLimit"), ("lend", "lendingLimit")):
            text = word(resource, theirs)
            if text and ours == "gpus" and text.endswith("i"):
                self._binary.append(f"{where}: {theirs} {text[:20]}")
            row[key] = _finite(about, theirs, text) / PER_UNIT[ours] if text else (0.0 if key == "nominal" else None)
        return row

    def finish(self) -> None:
        """Add what was seen to the notes."""
        for where, missing in list(self._undefined.items())[:NAMED]:
            self._notes.append(
                f"{where} is inactive, so its jobs cannot start: no ResourceFlavor {first_of(missing, NAMED)}"
            )
        if len(self._undefined) > NAMED:
            self._notes.append(f"Inactive for the same reason: {len(self._undefined) - NAMED:,} more")
        if self._binary:
            self._notes.append(
                f"GPU quotas with a binary suffix, so 1Gi = 1,073,741,824 GPUs: {first_of(self._binary, NAMED)}"
            )
        if self._others:
            counts = [f"{name} ({count:,})" for name, count in self._others.items()]
            self._notes.append(f"Quotas of other resources, ignored: {first_of(counts, NAMED)}")


def _set_apart(quotas: list[list[dict[str, Any]]]) -> str:
    """Rename flavors of GPUs in groups that have none, so that jobs on other GPUs may use them; return which.

    A job names the GPU type it accepts, which says nothing of the flavor that its cores are counted for. Quotas that
    some other queue counts together with GPUs keep their name, as they are lent to one another.
    """
    of_gpus = {row["flavor"] for rows in quotas for row in rows if row["resource"] == "gpus"}
    together, apart = set[tuple[str, str]](), list[dict[str, Any]]()
    for rows in quotas:
        with_gpus = {row["group"] for row in rows if row["resource"] == "gpus"}
        for row in rows:
            if row["group"] in with_gpus:
                together.add((row["flavor"], row["resource"]))
            elif row["flavor"] in of_gpus:
                apart.append(row)
    renamed = dict[str, None]()
    for row in apart:
        if (row["flavor"], row["resource"]) not in together:
            renamed[row["flavor"]] = None
            row["flavor"] = f"{row['flavor'][:100]} (no GPUs)"
    return first_of([*renamed], NAMED) if renamed else ""


def _together(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return two quotas of resources that are one for us, such as GPUs and their slices, added up."""
    both = {key: (one[key], other[key]) for key in ("nominal", "borrow", "lend")}
    return {**one, **{key: None if None in pair else sum(pair) for key, pair in both.items()}}


def _resource(name: str) -> str | None:
    """Return our name of a resource; None for one that is not modelled."""
    if is_gpu(name):
        return "gpus"
    return {"cpu": "cpus", "memory": "mem_gib", "ephemeral-storage": "disk_gib"}.get(name)


def _finite(where: str, what: str, text: str) -> float:
    value = amount(text)
    if math.isnan(value):
        raise InputError(where[:200], f"{what} {text[:30]!r} is no amount", "Correct it; 8, 500m and 64Gi are amounts")
    return value


def _weight(spec: Object, where: str) -> float:
    text = word(part(spec, "fairSharing"), "weight")
    return _finite(where, "fairSharing.weight", text) if text else 1.0


def _rule(where: str, key: str, value: str) -> Any:
    known = RULES[key]
    if value not in known:
        raise InputError(
            where[:200], f"{value[:60]!r} is no value we know", f"Use one of {', '.join(filter(None, known))}"
        )
    return known[value]


def _parent(spec: Object) -> str:
    return next((found for name in ("cohortName", "parentName", "cohort", "parent") if (found := word(spec, name))), "")


def _without_none(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}


def collect(texts: Iterable[TraceText]) -> QueueObjects:
    """Return the queue objects of files; other objects are counted."""
    found = QueueObjects()
    for text in texts:
        for _, item in objects(text):
            found.take(item)
    return found
