"""Fair share: past use that fades, the classic factor and Fair Tree. Associations are numbers, parents before children.

Association 0 is the root account. ``shares`` below 0 stand for FairShare=parent. Only associations that are ``active``
exist: users whose jobs have been seen or who are configured.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit, types

from dlsched.domain.fingerprint import fingerprint
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.slurm.kernels.compiled import allocating, compiled

LN_HALF = 0.693
"""Slurm's own constant for ln 2."""


@compiled
def decay_per_s(half_life_s: float) -> float:
    """Return what is left of past use after a second; 1 = nothing fades, at half-life 0."""
    return 1.0 - LN_HALF / half_life_s if half_life_s > 0 else 1.0


@compiled
def use_of(run_s: float, billing: float, decay: float) -> float:
    """Return the use that a job adds for the last ``run_s`` seconds, in billing seconds."""
    return run_s * decay**run_s * billing


@allocating
def sibling_shares(parent: Ints, shares: Floats, active: Ints) -> Floats:
    """Return the shares of all children of each association, shape (associations,)."""
    total = np.zeros(len(parent))
    for one in range(1, len(parent)):
        if active[one] and shares[one] > 0:
            total[parent[one]] += shares[one]
    return total


@allocating
def effective_usage(parent: Ints, shares: Floats, usage: Floats, active: Ints, total: float) -> Floats:
    """Return UE of each association: its part of all use, moved towards that of its account by its shares.

    ``total`` is the use of the root.
    """
    siblings = sibling_shares(parent, shares, active)
    effective = np.zeros(len(parent))
    for one in range(1, len(parent)):
        above = parent[one]
        if shares[one] < 0:
            effective[one] = effective[above]
        elif active[one]:
            own = usage[one] / total if total > 0 else 0.0
            part = shares[one] / siblings[above] if siblings[above] > 0 else 0.0
            effective[one] = own if above == 0 else own + (effective[above] - own) * part
    return effective


@allocating
def classic(parent: Ints, shares: Floats, usage: Floats, active: Ints, total: float, damping: float) -> Floats:
    """Return the classic factor 2^(-UE / S / damping) of each association; 0 without shares.

    S is the product of the shares down from the root, UE :func:`effective_usage`. Source: Slurm, classic fair share.
    """
    effective = effective_usage(parent, shares, usage, active, total)
    siblings = sibling_shares(parent, shares, active)
    norm, factor = np.ones(len(parent)), np.zeros(len(parent))
    for one in range(1, len(parent)):
        above = parent[one]
        if shares[one] < 0:
            norm[one] = norm[above]
        else:
            norm[one] = norm[above] * shares[one] / siblings[above] if siblings[above] > 0 else 0.0
        if active[one] and norm[one] > 0:
            factor[one] = 2.0 ** (-effective[one] / norm[one] / damping)
    return factor


@allocating
def level_shares(parent: Ints, shares: Floats, usage: Floats, active: Ints) -> Floats:
    """Return Level FS: the share among siblings divided by the share of their use; 0 without shares, else infinite.

    Infinite without use, and for FairShare=parent. Source: Slurm, Fair Tree.
    """
    siblings = sibling_shares(parent, shares, active)
    level = np.full(len(parent), np.inf)
    for one in range(1, len(parent)):
        above = parent[one]
        if shares[one] == 0:
            level[one] = 0.0
        elif shares[one] > 0 and usage[one] > 0 and usage[above] > 0:
            level[one] = (shares[one] / siblings[above]) / (usage[one] / usage[above])
    return level


@allocating
def fair_tree(parent: Ints, shares: Floats, usage: Floats, active: Ints, is_user: Ints) -> Floats:
    """Return the Fair Tree factor of each user: its rank from below / number of users; 0 for accounts.

    Depth first, higher Level FS first, users before accounts on ties; children of accounts that tie compete as
    siblings. Users that tie share the higher rank.
    """
    count = len(parent)
    level = level_shares(parent, shares, usage, active)
    factor = np.zeros(count)
    depth, deepest = np.zeros(count, np.int64), 1
    for one in range(1, count):
        depth[one] = depth[parent[one]] + 1
        deepest = max(deepest, depth[one])
    users = np.zeros(count, np.int64)
    num_users = 0
    for one in range(1, count):
        if is_user[one] and active[one]:
            users[num_users] = one
            num_users += 1
    path = np.zeros((num_users, deepest))
    for k in range(num_users):
        one = users[k]
        while one > 0:
            path[k, depth[one] - 1] = level[one]
            one = parent[one]
    order = _sorted_paths(path, depth, users, num_users)
    rank = num_users
    for place in range(num_users):
        k = order[place]
        if place == 0 or _compare(path, depth, users, order[place - 1], k) < -1:
            rank = num_users - place
        factor[users[k]] = rank / num_users
    return factor


@allocating
def _compare(path: Floats, depth: Ints, users: Ints, a: int, b: int) -> int:
    """Return -2 if user a goes before b, -1 if it does on a tie only, 0 if they tie, 1 and 2 the other way round."""
    depth_a, depth_b = depth[users[a]], depth[users[b]]
    for at in range(min(depth_a, depth_b)):
        if path[a, at] != path[b, at]:
            return -2 if path[a, at] > path[b, at] else 2
        ends_a, ends_b = at + 1 == depth_a, at + 1 == depth_b
        if ends_a != ends_b:
            return -1 if ends_a else 1
    return 0


@allocating
def _sorted_paths(path: Floats, depth: Ints, users: Ints, count: int) -> Ints:
    """Return the users' places in order, a merge sort: ties stay in order of number."""
    order, other = np.arange(count), np.zeros(count, np.int64)
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or _compare(path, depth, users, order[i], order[j]) <= 0):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


def _compile(stamp: int) -> Callable[[Ints, Floats, Floats, Ints, Ints, float, Floats], None]:
    ints, floats = (types.Array(kind, 1, "A", aligned=False) for kind in (types.int64, types.float64))

    # compiled by itself: what its callers are compiled without would be taken from it too
    @njit(types.void(ints, floats, floats, ints, ints, types.float64, floats), cache=True, nogil=True)
    def renew(
        parent: Ints, shares: Floats, usage: Floats, active: Ints, is_user: Ints, damping: float, factor: Floats
    ) -> None:
        if stamp < 0:
            return
        if damping > 0:
            found = classic(parent, shares, usage, active, usage[0], damping)
        else:
            found = fair_tree(parent, shares, usage, active, is_user)
        factor[:] = found

    return renew


renew = _compile(fingerprint([Path(__file__)]))
"""``renew(parent, shares, usage, active, is_user, damping, factor)`` fills in the factors: classic with a damping above
0, else Fair Tree."""
