"""What of a scenario's queues can be changed: quotas, borrowing, lending, and whose jobs may be stopped.

Keys: ``quota.NODE[.FLAVOR[.RESOURCE]]``, ``borrow.``, ``lend.``, ``weight.`` and ``parent.NODE`` of a queue or cohort;
``reclaim.``, ``within.`` and ``strategy.QUEUE``, or ``.*`` for all queues; ``borrowing``; ``fair_sharing``. All are
options: the planner chooses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from dlsched.domain.errors import InputError, validated
from dlsched.domain.names import names_hint
from dlsched.domain.queue_lookup import nodes_of
from dlsched.domain.queue_tree import Cohort, Queue, QueueTree, Quota, ResourceName
from dlsched.domain.scenario import Scenario
from dlsched.studies.design.factor import Edit, Factor, Value
from dlsched.wording.settings import ALL_QUEUES, value_words

ALLOWED, OFF, ON, NONE = "allowed", "off", "on", "none"
MIXED, BY_FLAVOR = "differs by queue", "differs by flavor"
MOST = 1e12
MOST_OFFERED = 40
"""Of more queues only quotas are offered in forms; all keys can be typed."""
GPUS: ResourceName = "gpus"
UNITS: Mapping[str, str] = {"gpus": "GPUs", "cpus": "CPUs", "mem_gib": "GiB", "disk_gib": "GiB of disk"}
RULES: Mapping[str, tuple[str, str, str]] = {
    "reclaim": (
        "Reclaim of lent quota, ",
        "all queues",
        "Jobs of other queues that use more than their quota, which a waiting job of this queue may stop",
    ),
    "within": ("Preemption within ", "each queue", "Jobs of its own queue that a waiting job may stop"),
    "strategy": ("Order in ", "all queues", "Whether a job that cannot be admitted blocks the jobs behind it"),
}
"""Fields of a queue with a choice: the start of the label, how it names all queues, and what is chosen."""
FAMILIES = ("quota", "borrow", "lend", "weight", "parent", *RULES)
TreeEdit = Callable[[QueueTree, Any], QueueTree]


def queue_factors(scenario: Scenario) -> tuple[Factor, ...]:
    """Return the factors of queues that a form offers; () without queues."""
    tree = scenario.queues
    if tree is None:
        return ()
    few = len(tree.tree) <= MOST_OFFERED
    keys = ["borrowing", "fair_sharing", *(f"{rule}.{ALL_QUEUES}" for rule in RULES)]
    for name, node in nodes_of(tree).items():
        flavors = [quota.flavor for quota in node.quota if quota.resource == GPUS]
        keys += (
            [f"quota.{name}.{flavor}" for flavor in flavors] if len(flavors) > 1 else [f"quota.{name}"] * len(flavors)
        )
        keys += [f"{family}.{name}" for family in ("borrow", "lend") if few and node.quota]
        keys += [f"{family}.{name}" for family in ("weight", "parent") if few]
    keys += [f"{rule}.{name}" for rule in RULES for name in tree.tree if few]
    found = (queue_factor(scenario, key) for key in keys if len(key) <= 120)
    return tuple(factor for factor in found if factor is not None)


def queue_factor(scenario: Scenario, key: str) -> Factor | None:
    """Return the factor of a key; None if the key is not about queues.

    Raises
    ------
    InputError
        Where there are no queues, no such queue, or no such quota.
    """
    family, _, rest = key.partition(".")
    if key not in ("borrowing", "fair_sharing") and not (family in FAMILIES and rest):
        return None
    tree = scenario.queues
    if tree is None:
        why = "the scenario has no queues with quotas"
        raise InputError(
            f"change {key!r:.80}", why, "Add them on the page Cluster, or as [queues] in the scenario file"
        )
    if key == "borrowing":
        return _borrowing(tree)
    if key == "fair_sharing":
        return _fair_sharing(tree)
    if family in RULES:
        return _rule(tree, key, family, rest)
    node, flavor, resource = _place(tree, key, rest)
    if family == "quota":
        return _quota(tree, key, node, flavor, resource)
    if family in ("borrow", "lend"):
        return _limit(tree, key, family, node, flavor, resource)
    if flavor or resource:
        raise InputError(
            f"change {key!r:.80}", f"there is no queue or cohort {rest!r:.80}", names_hint(rest, nodes_of(tree))
        )
    return _weight(tree, key, node) if family == "weight" else _parent(tree, key, node)


def _place(tree: QueueTree, key: str, rest: str) -> tuple[str, str, str]:
    """Return node, flavor and resource of NODE[.FLAVOR[.RESOURCE]]; names may hold points, so the longest counts."""
    nodes = nodes_of(tree)
    near = [name for name in nodes if rest == name or rest.startswith(f"{name}.")]
    if not near:
        raise _unknown(key, "queue or cohort", rest, nodes)
    node = max(near, key=len)
    flavor, resource = rest[len(node) + 1 :], ""
    for name in get_args(ResourceName):
        if flavor == name or flavor.endswith(f".{name}"):
            flavor, resource = flavor[: -len(name)].rstrip("."), name
    if flavor and flavor not in tree.flavors:
        raise _unknown(key, "flavor", flavor, tree.flavors)
    return node, flavor, resource


def _unknown(key: str, kind: str, name: str, known: Iterable[str]) -> InputError:
    return InputError(f"change {key!r:.80}", f"there is no {kind} {name!r:.80}", names_hint(name, known))


def _edit(edit: TreeEdit) -> Edit:
    """Return the edit of a scenario's queues; the tree is checked anew."""

    def edited(scenario: Scenario, value: Any, _: int) -> Scenario:
        assert scenario.queues is not None
        return scenario.replace(queues=edit(scenario.queues, value))

    return edited


def _checked(tree: QueueTree, **fields: Any) -> QueueTree:
    return validated(QueueTree, tree.model_dump() | fields, "queues")


def _with_nodes(tree: QueueTree, change: Callable[[str, Cohort], dict[str, Any]], names: Iterable[str]) -> QueueTree:
    """Return the tree with these fields of these nodes changed."""
    wanted, dump = set(names), tree.model_dump()
    for name, node in nodes_of(tree).items():
        if name in wanted:
            part = "tree" if isinstance(node, Queue) else "cohorts"
            dump[part][name] = node.model_dump() | change(name, node)
    return validated(QueueTree, dump, "queues")


def _option(key: str, label: str, unit: str, text: str, edit: TreeEdit, own: Value | None, **more: Any) -> Factor:
    """Return an option; ``own`` is what the tree has."""
    kind = more.pop("kind", "names")
    return Factor(key, label, unit, kind, 0.0, MOST, text, _edit(edit), "option", own=lambda _: own, **more)


def _borrowing(tree: QueueTree) -> Factor:
    def edit(tree: QueueTree, value: str) -> QueueTree:
        if value == own:
            return tree
        limit = 0.0 if value == OFF else None

        def limited(_: str, node: Cohort) -> dict[str, Any]:
            return {"quota": [quota.model_dump() | {"borrow": limit} for quota in node.quota]}

        return _with_nodes(tree, limited, [name for name, node in nodes_of(tree).items() if node.quota])

    quotas = [quota for node in nodes_of(tree).values() for quota in node.quota]
    own = OFF if all(quota.borrow == 0 for quota in quotas) else ALLOWED
    most = "up to the borrowing limits of the scenario" if own == ALLOWED else "without limits"
    text = f"off: no queue or cohort may use more than its own quota. allowed: {most}."
    return _option("borrowing", "Borrowing", "", text, edit, own, choices=(ALLOWED, OFF))


def _fair_sharing(tree: QueueTree) -> Factor:
    text = "on: what is borrowed is shared by weight, and jobs may be stopped for it (fairSharing of Kueue)."
    return _option(
        "fair_sharing", "Fair sharing", "", text, lambda tree, value: _checked(tree, fair_sharing=value == ON),
        ON if tree.fair_sharing else OFF, choices=(ON, OFF),
    )  # fmt: skip


def _rule(tree: QueueTree, key: str, family: str, rest: str) -> Factor:
    """Return the change of a field with a choice, in one queue or all."""
    if rest != ALL_QUEUES and rest not in tree.tree:
        raise InputError(
            f"change {key!r:.80}", f"there is no queue {rest!r:.80}", names_hint(rest, [ALL_QUEUES, *tree.tree])
        )
    names = list(tree.tree) if rest == ALL_QUEUES else [rest]
    values = {getattr(tree.tree[name], family) for name in names}
    head, every, text = RULES[family]
    choices = get_args(Queue.model_fields[family].annotation)
    words = {choice: value_words(key, "", choice) for choice in choices}
    listed = "; ".join(choice if choice == word else f"{choice} = {word}" for choice, word in words.items())
    return _option(
        key, f"{head}{every if rest == ALL_QUEUES else rest}", "", f"{text}. {listed}.",
        lambda tree, value: _with_nodes(tree, lambda *_: {family: value}, names),
        values.pop() if len(values) == 1 else MIXED, choices=choices,
    )  # fmt: skip


def _quota(tree: QueueTree, key: str, node: str, flavor: str, resource: str) -> Factor:
    """Return the change of a nominal quota; without a flavor, that of the flavor the queue prefers."""
    resource = resource or GPUS
    quotas = [quota for quota in nodes_of(tree)[node].quota if quota.resource == resource]
    if not flavor:
        flavors = [quota.flavor for quota in quotas] or list(tree.flavors)
        if not quotas and len(flavors) != 1:
            why = f"{node} has no quota of {UNITS[resource]}; which flavor is not stated"
            raise InputError(f"change {key!r:.80}", why, f"Write quota.{node}.FLAVOR, one of {', '.join(flavors)}")
        flavor = flavors[0]
    own = next((quota.nominal for quota in quotas if quota.flavor == flavor), 0.0)

    def edit(tree: QueueTree, value: float) -> QueueTree:
        def with_nominal(_: str, node: Cohort) -> dict[str, Any]:
            there = [quota.model_dump() for quota in node.quota]
            for quota in there:
                if (quota["flavor"], quota["resource"]) == (flavor, resource):
                    return {"quota": [*(q if q is not quota else q | {"nominal": value} for q in there)]}
            return {"quota": [*there, {"flavor": flavor, "resource": resource, "nominal": value}]}

        return _with_nodes(tree, with_nominal, [node])

    of = f" on {flavor}" if len(tree.flavors) > 1 else ""
    text = (
        f"Nominal quota of {node}{of}; nodes stay as they are. Typed with a sign (+16, -8) it is a change of its "
        f"{own:g} {UNITS[resource]}. Without a flavor the one that is preferred counts."
    )
    return _option(
        key, f"Quota of {node}{of}", UNITS[resource], text, edit, own, kind="number", base=own,
    )  # fmt: skip


def _limit(tree: QueueTree, key: str, family: str, node: str, flavor: str, resource: str) -> Factor:
    """Return the change of what a node may borrow or lend, in all its quotas that the key names."""

    def is_meant(quota: Quota) -> bool:
        return quota.flavor == (flavor or quota.flavor) and quota.resource == (resource or quota.resource)

    limits = {getattr(quota, family) for quota in nodes_of(tree)[node].quota if is_meant(quota)}
    if not limits:
        raise InputError(f"change {key!r:.80}", f"{node} has no such quota", "Give it a quota first")
    own = limits.pop() if len(limits) == 1 else BY_FLAVOR

    def edit(tree: QueueTree, value: Value) -> QueueTree:
        limit = None if value == NONE else value

        def limited(_: str, node: Cohort) -> dict[str, Any]:
            quotas = ((quota, quota.model_dump()) for quota in node.quota)
            return {"quota": [plain | {family: limit} if is_meant(quota) else plain for quota, plain in quotas]}

        return _with_nodes(tree, limited, [node])

    label, text = {
        "borrow": ("Borrowing limit", "The most it may use above its own quota; none = no limit."),
        "lend": ("Lending limit", "The most of its own quota that others may use; none = all of it."),
    }[family]
    return _option(
        key, f"{label} of {node}", UNITS[resource or GPUS], text, edit, NONE if own is None else own, kind="number",
        choices=(NONE,), base=None if isinstance(own, str) else own,
    )  # fmt: skip


def _weight(tree: QueueTree, key: str, node: str) -> Factor:
    text = "Weight under fair sharing: with 2 it counts as using half of what it uses above its quota."
    return _option(
        key, f"Weight of {node}", "", text,
        lambda tree, value: _with_nodes(tree, lambda *_: {"weight": value}, [node]),
        nodes_of(tree)[node].weight, kind="number",
    )  # fmt: skip


def _parent(tree: QueueTree, key: str, node: str) -> Factor:
    def edit(tree: QueueTree, value: str) -> QueueTree:
        return _with_nodes(tree, lambda *_: {"parent": None if value == NONE else value}, [node])

    cohorts = tuple(name for name, one in nodes_of(tree).items() if not isinstance(one, Queue) and name != node)
    text = "Cohort with which it lends and borrows; none = by itself."
    return _option(
        key, f"Cohort of {node}", "", text, edit, nodes_of(tree)[node].parent or NONE, choices=(NONE, *cohorts)
    )  # fmt: skip
