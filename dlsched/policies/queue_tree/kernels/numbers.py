"""Numbers of the tree: the functions of ``Tree`` for one pair of flavor and resource, compiled."""

from __future__ import annotations

from typing import Any

from dlsched.policies.queue_tree.kernels.tables import NO_LIMIT, compiled

Share = tuple[int, int, bool, bool]
"""Numerator, denominator, endless, borrows; without the factor 1000, which no comparison feels."""


@compiled
def shift(nodes: Any, node: int, amount: int) -> None:
    """Let a queue use more, or less."""
    while amount != 0 and node >= 0:
        before, limit = nodes[node].used, nodes[node].kept
        after = before + amount
        nodes[node].used = after
        amount = max(after - limit, 0) - max(before - limit, 0)
        node = nodes[node].parent


@compiled
def hide(nodes: Any, runs: Any, run: int) -> None:
    """Look at the tree as if a running job had left."""
    runs[run].gone = 1
    shift(nodes, runs[run].queue, -runs[run].amount)


@compiled
def unhide(nodes: Any, runs: Any, run: int) -> None:
    """Undo ``hide``."""
    runs[run].gone = 0
    shift(nodes, runs[run].queue, runs[run].amount)


@compiled
def available(nodes: Any, node: int) -> int:
    """Return the largest amount that a node can get now."""
    free, most, limited = 0, 0, False
    while nodes[node].parent >= 0:
        own, use, limit = nodes[node].kept, nodes[node].used, nodes[node].borrow
        if own > use:
            free += own - use
            use = own
        if limit != NO_LIMIT and (not limited or free + nodes[node].pool - use + limit < most):
            most, limited = free + nodes[node].pool - use + limit, True
        node = nodes[node].parent
    top = free + nodes[node].pool - nodes[node].used
    return min(top, most) if limited else top


@compiled
def fits(nodes: Any, queue: int, amount: int, borrowing: bool) -> bool:
    """Return whether a queue can get an amount now; not ``borrowing``: and stay within its nominal."""
    if not borrowing and nodes[queue].used + amount > nodes[queue].nominal:
        return False
    return amount <= max(0, available(nodes, queue))


@compiled
def over(nodes: Any, node: int) -> bool:
    """Return whether a node borrows."""
    return nodes[node].used > nodes[node].pool


@compiled
def free_kept(nodes: Any, node: int) -> int:
    """Return what a node keeps and does not use."""
    return max(0, nodes[node].kept - nodes[node].used)


@compiled
def borrows_from(nodes: Any, queue: int, amount: int) -> tuple[int, bool]:
    """Return the height of the lowest cohort whose quota covers ``amount`` more, and whether one is above it."""
    if nodes[queue].used + amount <= nodes[queue].pool or nodes[queue].parent < 0:
        return 0, nodes[queue].parent >= 0
    left, node = amount - free_kept(nodes, queue), queue
    while nodes[node].parent >= 0:
        node = nodes[node].parent
        if nodes[node].used + left <= nodes[node].pool:
            break
        left -= free_kept(nodes, node)
    return nodes[node].height, nodes[node].parent >= 0


@compiled
def share_of(nodes: Any, node: int) -> Share:
    """Return the share of a node."""
    above = nodes[node].used - nodes[node].pool
    if nodes[node].parent < 0 or above <= 0 or nodes[node].known == 0:
        return 0, 1, False, False
    num, den = (above, nodes[node].lendable) if nodes[node].lendable > 0 else (0, 1)
    if nodes[node].weight_num == 0:
        return num, den, True, True
    return num * nodes[node].weight_den, den * nodes[node].weight_num, False, True


@compiled
def exceeds(one: Share, other: Share) -> bool:
    """Return whether a share is larger than another one."""
    if one[2] != other[2]:
        return one[2]
    return one[0] * other[1] > other[0] * one[1]
