"""Quotas that change by the clock, on a tree."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dlsched.domain.queue_lookup import Amounts, Place, QuotaClock
from dlsched.domain.queue_tree import QueueTree
from dlsched.policies.queue_tree.tree import AMOUNTS_PER_UNIT, Quota, Tree


def set_quotas(tree: Tree, amounts: Mapping[Place, Amounts]) -> None:
    """Let quotas hold from now on, in GPUs, cores or GiB."""
    for (name, flavor, resource), given in amounts.items():
        tree.set_quota(tree.number[name], tree.index[flavor, resource], _quota(*given))
    tree.refresh()


def largest_quotas(spec: QueueTree, capacity: list[int | None], clock: QuotaClock) -> Tree:
    """Return a tree with the most that each quota ever is: what is too large for it never fits.

    ``capacity``: see :class:`Tree`.
    """
    tree = Tree.of(spec)
    tree.capacity = capacity
    for amounts in clock.all_amounts():
        for (name, flavor, resource), given in amounts.items():
            f, node, quota = tree.index[flavor, resource], tree.number[name], _quota(*given)
            borrow, lend = tree.borrow[f][node], tree.lend[f][node]
            top = (tree.nominal[f][node], math.inf if borrow is None else tree.nominal[f][node] + borrow)
            new = max(top[1], math.inf if quota.borrow is None else quota.nominal + quota.borrow)
            nominal = max(top[0], quota.nominal)
            tree.set_quota(
                node, f,
                Quota(
                    nominal,
                    None if math.isinf(new) else int(new) - nominal,
                    None if lend is None or quota.lend is None else max(lend, quota.lend),
                ),
            )  # fmt: skip
    tree.refresh()
    return tree


def _quota(nominal: float, borrow: float | None, lend: float | None) -> Quota:
    def amount(value: float | None) -> int | None:
        return None if value is None else round(value * AMOUNTS_PER_UNIT)

    return Quota(round(nominal * AMOUNTS_PER_UNIT), amount(borrow), amount(lend))
