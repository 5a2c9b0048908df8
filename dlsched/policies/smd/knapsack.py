"""Which jobs to admit: the multi-dimensional knapsack of SMD, Eq. (16), exactly or by two simpler rules."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.packing import WholePacking, fractional_packing, whole_packing
from dlsched.policies.smd.subsets import best_subset, fractional_bound

Method = Literal["exact", "frieze-clarke", "density"]
METHODS: tuple[Method, ...] = get_args(Method)
"""exact: CP-SAT; frieze-clarke: best linear program over small subsets, rounded down; density: best value for its
weight first."""
Mask = NDArray[np.bool_]

ROOM = 1e-9
"""A capacity holds within this share of it: ten weights of 0.1 fit into 1."""
PROVEN = 1e-9
"""Optimal is what is proven to be within this share of the bound."""
WORK_LIMIT, LEAST_WORK = 10.0, 0.01
MOST_ITEMS, MOST_RESOURCES = 10_000, 100
MOST_CHOICES = 4_000_000
"""Subsets x resources of frieze-clarke."""
LARGEST = 1e100
SIZES = (0, 1, 2)
WEIGHT_UNITS, VALUE_UNITS = 2.0**40, 2.0**44
"""A capacity and the largest value in whole units for the exact search; 10,000 of them stay below 2**62."""


@dataclass(frozen=True, eq=False)
class Packed:
    """``selected`` (I,) and its value; ``bound``: proven, no selection is worth more.

    ``status``: optimal where bound and value agree within PROVEN, else feasible.
    """

    selected: Mask
    value: float
    bound: float
    status: Literal["optimal", "feasible"]


@dataclass(frozen=True, eq=False)
class _Items:
    """The items worth taking that fit alone: ``share`` (R, I) of each capacity that not all of them fit into.

    ``places`` (I,): where they are in what was given.
    """

    value: Floats
    share: Floats
    places: Ints

    def fits(self, taken: Mask) -> bool:
        return bool((self.share[:, taken].sum(axis=1) <= 1.0 + ROOM).all())


def solve(
    value: ArrayLike, weight: ArrayLike, capacity: ArrayLike, method: str = "exact", size: int = 1,
    work_limit: float = WORK_LIMIT,
) -> Packed:  # fmt: skip
    """Return the items to take, so that their value is large and no capacity is exceeded.

    Parameters
    ----------
    value, weight, capacity
        Shapes (I,), (I, R), (R,), at least 0; a capacity may be infinite. Items without value are not taken.
    method
        One of ``METHODS``. Of equal items the first ones are taken.
    size
        Of frieze-clarke: the largest subset that is tried, one of SIZES; see :func:`guarantee`.
    work_limit
        Of exact: about the CPU seconds of its search, counted in work, not by the clock.

    Raises
    ------
    InputError
        Shapes that do not agree, a number outside 0..LARGEST, an unknown method or size, too many items.
    """
    values, weights, capacities = _checked(value, weight, capacity)
    if method not in METHODS:
        raise InputError(f"method {method!r:.60}", f"is not known; known: {', '.join(METHODS)}")
    if size not in SIZES:
        raise InputError("size", f"must be one of {', '.join(map(str, SIZES))}, got {size!r:.60}", "Correct the size")
    choices = len(values) ** size // max(size, 1) * len(capacities)
    if method == "frieze-clarke" and choices > MOST_CHOICES:
        why = f"{size} makes {choices:,} subsets x resources of {len(values):,} items, more than {MOST_CHOICES:,}"
        raise InputError("size", why, "Take a smaller size")

    items = _items(values, weights, capacities)
    if not len(items.share):
        taken, bound = np.ones(len(items.value), dtype=bool), 0.0
    elif method == "exact":
        taken, bound = _exact(items, work_limit)
    else:
        bound = fractional_bound(items.value, items.share)
        taken = _by_density(items) if method == "density" else _by_subsets(items, size)

    selected = np.zeros(len(values), dtype=bool)
    selected[items.places] = _first_of_equals(items, taken)
    total = float(values[selected].sum())
    bound = max(bound, total)
    return Packed(selected, total, bound, "optimal" if bound - total <= PROVEN * bound else "feasible")


def shadow_prices(value: ArrayLike, weight: ArrayLike, capacity: ArrayLike) -> tuple[Floats, float]:
    """Return what one more unit of each capacity would be worth if items could be taken in parts, and a bound.

    Prices (R,) of the linear relaxation of Eq. (16) in value for a unit, 0 where there is room for all; no selection is
    worth more than the bound. Also items that do not fit whole count. Arguments and errors as in :func:`solve`.
    """
    values, weights, capacities = _checked(value, weight, capacity)
    scale = weights.max(axis=0, initial=0.0)
    tight = np.flatnonzero(weights.sum(axis=0) > capacities * (1 + ROOM))
    prices = np.zeros(len(capacities))
    if not len(tight):
        return prices, float(values.sum())
    parts, most = weights[:, tight].T / scale[tight, None], capacities[tight] / scale[tight]
    _, of_part = fractional_packing(values, parts, most)
    prices[tight] = of_part / scale[tight]
    return prices, float(of_part @ most + np.maximum(0.0, values - of_part @ parts).sum())


def guarantee(size: int, resources: int) -> float:
    """Return the share of the best value that frieze-clarke reaches at least, whatever the items; 0 = no guarantee.

    ``1 - R / (size + 1)`` with R ``resources``.
    """
    return max(0.0, 1.0 - resources / (size + 1))


def _checked(value: ArrayLike, weight: ArrayLike, capacity: ArrayLike) -> tuple[Floats, Floats, Floats]:
    values, capacities = _numbers("value", value), _numbers("capacity", capacity)
    for name, array in (("value", values), ("capacity", capacities)):
        if array.ndim != 1:
            raise InputError(name, f"must be a list of numbers, got {array.ndim} dimensions")
    items, resources = len(values), len(capacities)
    if items > MOST_ITEMS or resources > MOST_RESOURCES:
        why = f"at most {MOST_ITEMS:,} items and {MOST_RESOURCES} resources, got {items:,} and {resources:,}"
        raise InputError("knapsack", why, "Admit the jobs in parts")
    weights = _numbers("weight", weight)
    if not items and not weights.size:
        weights = weights.reshape(0, resources)
    if weights.shape != (items, resources):
        shape = " x ".join(map(str, weights.shape))
        why = f"must have {items:,} rows, as many as values, of {resources} entries, as many as capacities, got {shape}"
        raise InputError("weight", why, "Give each item one weight of each resource")
    for name, array in (("value", values[:, None]), ("weight", weights), ("capacity", capacities[:, None])):
        bad = np.argwhere(~((array >= 0) & ((array <= LARGEST) | ((name == "capacity") & (array == inf)))))
        if len(bad):
            row, column = bad[0].tolist()
            of = "resource" if name == "capacity" else "item"
            where = f"{of} {row + 1}, {name}" + (f" {column + 1}" if name == "weight" else "")
            raise InputError(where, f"must be from 0 to {LARGEST:g}, got {array[row, column]:g}", "Correct the value")
    return values, weights, capacities


def _items(value: Floats, weight: Floats, capacity: Floats) -> _Items:
    places = np.flatnonzero((value > 0) & (weight <= capacity * (1 + ROOM)).all(axis=1))
    full = np.flatnonzero(np.isfinite(capacity) & (capacity > 0))
    shares = weight[places][:, full].T / capacity[full, None]
    return _Items(value[places], shares[shares.sum(axis=1) > 1.0 + ROOM], places)


def _numbers(name: str, given: ArrayLike) -> Floats:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(name, "must be numbers, in rows of equal length", "Correct the rows") from error


def _exact(items: _Items, work_limit: float) -> tuple[Mask, float]:
    """Return the best items and a proven bound.

    The search counts in whole units. Weights are rounded down, so that nothing that fits is lost; what fits in units
    alone is ruled out, and the search goes on. Rounding the values down may hide less than a unit an item.
    """
    whole = bool((items.value == np.floor(items.value)).all()) and items.value.max() <= VALUE_UNITS
    units, worth = (1.0, 1.0) if whole else (VALUE_UNITS, float(items.value.max()))
    value = np.floor(items.value / worth * units).astype(np.int64)
    hidden = 0 if whole else len(value)
    weight = np.floor(items.share * WEIGHT_UNITS).astype(np.int64)
    capacity = np.full(len(weight), np.floor((1.0 + ROOM) * WEIGHT_UNITS), dtype=np.int64)
    best = _by_density(items)
    bound = inf
    while work_limit > 0:
        packing = whole_packing(value, weight, capacity, hint=best, work_limit=work_limit)
        bound = min(bound, (packing.bound + hidden) / units * worth)
        if packing.taken is None or items.fits(packing.taken):
            return _better(items, best, packing), bound
        work_limit -= max(packing.work, LEAST_WORK)
        cover = _cover(items, packing.taken)
        weight = np.vstack([weight, cover.astype(np.int64)])
        capacity = np.append(capacity, cover.sum() - 1)
    return best, min(bound, fractional_bound(items.value, items.share))


def _better(items: _Items, best: Mask, packing: WholePacking) -> Mask:
    """Return what was found, filled up with what is worth less than a unit, or ``best`` if that is worth more."""
    if packing.taken is None:
        return best
    taken = _filled(items, packing.taken)
    return taken if items.value[taken].sum() >= items.value[best].sum() else best


def _cover(items: _Items, taken: Mask) -> Mask:
    """Return few items of ``taken`` that do not fit together: the heaviest in the capacity that is exceeded most."""
    row = items.share[int(np.argmax(items.share[:, taken].sum(axis=1)))]
    order = np.flatnonzero(taken)[np.argsort(-row[taken], kind="stable")]
    enough = int(np.searchsorted(np.cumsum(row[order]), 1.0 + ROOM, side="right")) + 1
    cover = np.zeros(len(taken), dtype=bool)
    cover[order[:enough]] = True
    return cover


def _density_order(items: _Items) -> NDArray[np.int64]:
    """Return the items by value for the sum of their shares, best first, ties in their order."""
    with np.errstate(divide="ignore", over="ignore"):
        density = items.value / items.share.sum(axis=0)
    return np.argsort(-density, kind="stable")


def _by_density(items: _Items) -> Mask:
    return _filled(items, np.zeros(len(items.value), dtype=bool))


def _filled(items: _Items, taken: Mask) -> Mask:
    """Return ``taken`` and what else fits, by density."""
    taken = taken.copy()
    used = items.share[:, taken].sum(axis=1)
    for item in _density_order(items).tolist():
        more = used + items.share[:, item]
        if not taken[item] and (more <= 1.0 + ROOM).all():
            taken[item], used = True, more
    return taken


def _by_subsets(items: _Items, size: int) -> Mask:
    """Return the best subset's items; what fits only within the tolerance of the linear programs loses its worst."""
    taken = best_subset(items.value, items.share, size, ROOM)
    for item in _density_order(items)[::-1].tolist():
        if items.fits(taken):
            break
        taken[item] = False
    return taken


def _first_of_equals(items: _Items, taken: Mask) -> Mask:
    """Return a selection of the same value: of items equal in value and all weights the first ones are taken."""
    rows = np.column_stack([items.value, items.share.T])
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    kind = kind.ravel()
    wanted = np.bincount(kind, weights=taken)
    order = np.argsort(kind, kind="stable")
    begins = np.searchsorted(kind[order], kind[order])
    first = np.zeros(len(taken), dtype=bool)
    first[order] = np.arange(len(order)) - begins < wanted[kind[order]]
    return first
