"""Quotas over time, from which job held how much of which: use, what is lent by which queue, and what waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from dlsched.domain.queue_lookup import Place, QuotaClock, nodes_of
from dlsched.domain.queue_tree import Cohort, QueueTree
from dlsched.domain.workload import Floats, Ints

MOST_CELLS = 30_000_000
"""Queues and cohorts x times that are kept; of more times only every second, third, ... is."""
MOST_CHANGES = 5_000
"""Changes of quota by the clock that are followed."""


NO_LENDER = ""
"""Stands for the lender of what is used above all quotas, as after a quota was cut under running jobs."""


class Amounts(NamedTuple):
    """One quota from each time on: nominal, used and lent, arrays over the times of :class:`States`.

    ``lenders``: what a queue borrows, by the cohort that has it, nearest first; empty of cohorts.
    """

    nominal: Floats
    used: Floats
    lent: Floats
    lenders: Mapping[str, Floats]


class States(NamedTuple):
    """All quotas of a run over common times ``at_s``, the first and the last of which are those of the run."""

    at_s: Floats
    of: Mapping[Place, Amounts]


def states_of(tree: QueueTree, clock: QuotaClock, holds: pd.DataFrame, start_s: float, end_s: float) -> States:
    """Return the quotas of queues and cohorts over time.

    ``holds``: queue, flavor, resource, from_s, to_s and amount of what jobs held. Used by a cohort is what its members
    borrow of it. What is borrowed is taken from the cohort's own quota first, then from the spare quota of its members
    in proportion, as far as they lend; what is left is borrowed from above, the same share for each member.
    """
    changes = [start_s]
    while len(changes) < MOST_CHANGES and (next_s := clock.next_s(changes[-1])) < end_s:
        changes.append(next_s)
    from_s, to_s = (np.clip(holds[name].to_numpy(float), start_s, end_s) for name in ("from_s", "to_s"))
    at_s = np.unique(np.concatenate([[start_s, end_s], changes, from_s, to_s]))
    nodes = nodes_of(tree)
    step = -(-len(at_s) * len(nodes) // MOST_CELLS)
    if step > 1:
        at_s = np.unique(np.append(at_s[::step], end_s))
    quotas = [clock.at(time_s) for time_s in changes]
    place_of = np.searchsorted(np.array(changes), at_s, side="right") - 1
    pairs = dict.fromkeys((flavor, resource) for amounts in quotas for _, flavor, resource in amounts)
    keys = list(zip(holds["queue"], holds["flavor"], holds["resource"], strict=True))
    rows_of: dict[Place, list[int]] = {}
    for row, key in enumerate(keys):
        rows_of.setdefault(key, []).append(row)
    amount = holds["amount"].to_numpy(float)
    found: dict[Place, Amounts] = {}
    for flavor, resource in pairs:
        limits = {
            name: [np.array([(of.get((name, flavor, resource)) or (0.0, None, None))[k] for of in quotas], dtype=float)
                   [place_of] for k in (0, 2)]
            for name in nodes
        }  # fmt: skip
        used = {
            name: _held(from_s, to_s, amount, rows_of.get((name, flavor, resource), []), at_s) for name in tree.tree
        }
        lent, lenders = _lent(tree, limits, used)
        for name in nodes:
            if any((name, flavor, resource) in of for of in quotas) or used.get(name, at_s[:0]).any():
                own = used.get(name, lent[name])
                found[name, flavor, resource] = Amounts(limits[name][0], own, lent[name], lenders.get(name, {}))
    return States(at_s, found)


def _held(from_s: Floats, to_s: Floats, amount: Floats, rows: list[int], at_s: Floats) -> Floats:
    """Return the sum of the amounts of these rows that are held at each time."""
    change = np.zeros(len(at_s) + 1)
    np.add.at(change, np.searchsorted(at_s, from_s[rows], side="left"), amount[rows])
    np.add.at(change, np.searchsorted(at_s, to_s[rows], side="left"), -amount[rows])
    return np.asarray(np.round(np.cumsum(change[:-1]), 6))


def _lent(
    tree: QueueTree, limits: Mapping[str, list[Floats]], used: Mapping[str, Floats]
) -> tuple[dict[str, Floats], dict[str, dict[str, Floats]]]:
    """Return what others use of the quota of each node, and what each queue borrows from which cohort.

    All of one flavor and resource; limits: nominal and lend.
    """
    nodes = nodes_of(tree)
    members: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if node.parent is not None:
            members.setdefault(node.parent, []).append(name)
    order: list[str] = []  # members before their cohort
    waiting = [name for name, node in nodes.items() if node.parent is None]
    while waiting:
        order.append(name := waiting.pop())
        waiting += members.get(name, [])
    order.reverse()
    spare, asked, lent = dict[str, Floats](), dict[str, Floats](), dict[str, Floats]()
    own_spare, covered = dict[str, Floats](), dict[str, Floats]()

    def take(name: str, amount: Floats) -> None:
        """Lend so much of a node: its own quota first, then in proportion what its members have to spare."""
        own = np.minimum(amount, own_spare[name])
        own_spare[name] = own_spare[name] - own
        lent[name] = lent[name] + own
        rest, there = amount - own, sum((spare[one] for one in members.get(name, ())), np.zeros(len(amount)))
        for one in members.get(name, ()):
            part = np.divide(rest * spare[one], there, out=np.zeros(len(rest)), where=there > 0)
            if part.any():
                take(one, part)
                spare[one] = spare[one] - part

    for name in order:
        nominal, lend = limits[name]
        lent[name] = np.zeros(len(nominal))
        if name in used:
            asked[name] = np.maximum(used[name] - nominal, 0.0)
            own_spare[name] = np.maximum(nominal - used[name], 0.0)
            spare[name] = np.minimum(own_spare[name], np.where(np.isnan(lend), np.inf, lend))
            continue
        wanted = sum((asked[one] for one in members.get(name, ())), np.zeros(len(nominal)))
        own_spare[name] = nominal
        if tree.rule == "kai":  # a parent's quota is the whole; its own part is what the children do not have
            of_members = sum((limits[one][0] for one in members.get(name, ())), np.zeros(len(nominal)))
            own_spare[name] = np.maximum(nominal - of_members, 0.0)
        there = own_spare[name] + sum((spare[one] for one in members.get(name, ())), np.zeros(len(nominal)))
        taken = np.minimum(wanted, there)
        take(name, taken)
        asked[name] = wanted - taken
        covered[name] = np.divide(taken, wanted, out=np.ones(len(wanted)), where=wanted > 0)
        spare[name] = np.minimum(there - taken, np.where(np.isnan(lend), np.inf, lend))
    return lent, {queue: _lenders(asked[queue], nodes[queue].parent, covered, nodes) for queue in used}


def _lenders(
    borrowed: Floats, cohort: str | None, covered: Mapping[str, Floats], nodes: Mapping[str, Cohort]
) -> dict[str, Floats]:
    """Return what a queue borrows, by lender; ``covered``: the share of what is asked of a cohort that it has."""
    found, rest = dict[str, Floats](), borrowed
    while cohort is not None:
        found[cohort] = np.round(rest * covered[cohort], 6)
        rest, cohort = rest - found[cohort], nodes[cohort].parent
    found[NO_LENDER] = np.where(rest > 1e-5, rest, 0.0)
    return {lender: amount for lender, amount in found.items() if amount.any()}


def waiting_of(jobs: pd.DataFrame, holds: pd.DataFrame, end_s: float) -> tuple[Ints, Floats, Floats]:
    """Return row, from and to of each time in which a job is there and holds no quota, seconds."""
    held = holds[["row", "from_s", "to_s"]].drop_duplicates().sort_values(["row", "from_s"], kind="stable")
    row = held["row"].to_numpy(int)
    left_s = jobs["left_s"].to_numpy(float)
    left_s = np.where(np.isnan(left_s), end_s, left_s)
    all_rows = np.arange(len(jobs))
    rows = np.concatenate([all_rows, row])
    begins = np.concatenate([jobs["submit_s"].to_numpy(float), held["to_s"].to_numpy(float)])
    order = np.lexsort((begins, rows))
    rows, begins = rows[order], begins[order]
    starts = np.concatenate([held["from_s"].to_numpy(float), left_s])
    of_row = np.concatenate([row, all_rows])
    second = np.lexsort((np.concatenate([np.zeros(len(row)), np.ones(len(all_rows))]), starts, of_row))
    ends = np.minimum(starts[second], left_s[rows])
    there = ends > begins + 1e-9
    return rows[there], begins[there], ends[there]
