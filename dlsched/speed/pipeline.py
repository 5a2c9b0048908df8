"""Time of one training iteration from the times of its layers (SMD, Section III-C): three ways to overlap transfers.

Layers are counted from the input. Backward goes through them last to first, forward first to last; in between each
layer pushes its gradients to the servers and pulls its parameters back, on links that carry both ways at once.
``pipeline_simulation`` plays the same iteration event by event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats

Overlap = Literal["sequential", "wait-free", "priority"]
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)
"""sequential: backward, all pushes, all pulls, forward; wait-free: a layer pushes when its gradients are there, pulls
when it has pushed, in that order; priority: in slices, the layer nearest to the input first."""
MOST_LAYERS = 100_000
LARGEST_S = 1e15


@dataclass(frozen=True, eq=False)
class Layers:
    """Times of one iteration by layer, first to last, shape (N,); 0 is legal.

    ``transfer_s`` is one way: pushing takes as long as pulling. ``slice_s`` is the time of one slice with priority;
    0 = slices as fine as can be. Any unit will do, as long as it is one.

    Raises
    ------
    InputError
        No layer or more than MOST_LAYERS, unequal lengths, a time that is not from 0 to LARGEST_S; names the layer.
    """

    forward_s: Floats
    backward_s: Floats
    transfer_s: Floats
    slice_s: float = 0.0

    def __init__(
        self, forward_s: ArrayLike, backward_s: ArrayLike, transfer_s: ArrayLike, slice_s: float = 0.0
    ) -> None:
        given = {"forward": forward_s, "backward": backward_s, "transfer": transfer_s}
        times = {name: np.array(values, dtype=np.float64) for name, values in given.items()}
        layers = times["forward"].size
        for name, values in times.items():
            if values.ndim != 1:
                raise InputError(f"layers, {name}", f"must be a list of times, got {values.ndim} dimensions")
            if len(values) != layers:
                why = f"must have {layers:,} entries, as many layers as forward, got {len(values):,}"
                raise InputError(f"layers, {name}", why, "Give every layer one time of each kind")
        if not 1 <= layers <= MOST_LAYERS:
            why = f"their number must be from 1 to {MOST_LAYERS:,}, got {layers:,}"
            raise InputError("layers", why, "Describe at least one layer; join small ones where there are more")
        for name, values in times.items():
            for layer in np.flatnonzero(~((values >= 0) & (values <= LARGEST_S))).tolist()[:1]:
                _refuse(f"layer {layer + 1}, {name}", values[layer])
            object.__setattr__(self, f"{name}_s", values)
        if not 0 <= slice_s <= LARGEST_S:
            _refuse("layers, slice", slice_s)
        object.__setattr__(self, "slice_s", float(slice_s))

    def __len__(self) -> int:
        return len(self.forward_s)


def _refuse(what: str, time_s: float) -> None:
    raise InputError(what, f"must be from 0 to {LARGEST_S:g}, got {time_s:g}", "Correct the time")


@dataclass(frozen=True, eq=False)
class Pipeline:
    """One iteration, from the start of backward; start times of shape (N,), None if the overlap has none.

    ``eta``: the shares of all forward, backward and transfer times that lie on the critical path, so that
    ``eta[0] sum f + eta[1] sum b + eta[2] 2 sum r = iteration_s``; 1 where such a sum is 0.
    ``forward_from_s`` is tau of the study, ``push_from_s`` kappa, ``pull_from_s`` s; ``pulled_s`` is e, the time by
    which the layer and all before it are pulled.
    """

    overlap: Overlap
    iteration_s: float
    eta: tuple[float, float, float]
    forward_from_s: Floats
    push_from_s: Floats | None = None
    pull_from_s: Floats | None = None
    pulled_s: Floats | None = None


def pipeline(layers: Layers, overlap: str) -> Pipeline:
    """Return times and shares of one iteration in closed form; O(N).

    Raises
    ------
    InputError
        An unknown overlap.
    """
    check_overlap(overlap)
    return FORMULAS[overlap](layers)


def check_overlap(overlap: str) -> None:
    """Raise InputError for an overlap that is not one of ``OVERLAPS``."""
    if overlap not in OVERLAPS:
        raise InputError(f"overlap {overlap!r:.60}", f"is not known; known: {', '.join(OVERLAPS)}")


def _sequential(layers: Layers) -> Pipeline:
    first_s = layers.backward_s.sum() + 2 * layers.transfer_s.sum()
    start_s = first_s + _before(layers.forward_s)
    return Pipeline("sequential", float(start_s[-1] + layers.forward_s[-1]), (1.0, 1.0, 1.0), start_s)


def _wait_free(layers: Layers) -> Pipeline:
    """Lemma 1."""
    transfer = layers.transfer_s.tolist()
    last = len(layers) - 1
    ready = np.cumsum(layers.backward_s[::-1])[::-1].tolist()
    push, pull = list(ready), [0.0] * len(layers)
    pull[last] = push[last] + transfer[last]
    for at in range(last - 1, -1, -1):
        push[at] = max(ready[at], push[at + 1] + transfer[at + 1])
        pull[at] = max(push[at] + transfer[at], pull[at + 1] + transfer[at + 1])
    start_s = pull[0] + transfer[0] + _before(layers.forward_s)

    # The critical path, backwards from the first forward: pulls that waited for pulls, pushes that waited for pushes.
    at = 0
    while at < last and pull[at + 1] + transfer[at + 1] > push[at] + transfer[at]:
        at += 1
    turn = at
    while push[at] > ready[at]:
        at += 1
    on_links_s = sum(transfer[: turn + 1]) + sum(transfer[turn : at + 1])
    eta = _shares(layers, layers.forward_s.sum(), layers.backward_s[at:].sum(), on_links_s)
    iteration_s = float(start_s[-1] + layers.forward_s[-1])
    return Pipeline("wait-free", iteration_s, eta, start_s, np.array(push), np.array(pull))


def _priority(layers: Layers) -> Pipeline:
    """Lemma 2, with the end of communication corrected.

    Layers 1..j have the links before all others, so they are pushed when, for the worst k <= j, layers k..1 are through
    that were not there before backward of k ended: D_k is how much later than layer 1 alone that is. The pull of a
    slice follows its push. Sliced transfers end up to one slice later, where a slice of another layer is under way; up
    to two where layer 1 has less than a slice to pull.
    """
    forward, backward, transfer = layers.forward_s, layers.backward_s, layers.transfer_s
    later_s = _before(transfer[1:], len(layers)) - _before(backward)  # D_1..D_N, D_1 = 0
    behind_s = min(layers.slice_s, float(transfer[0]))
    pulled_s = backward.sum() + transfer[0] + behind_s + np.maximum.accumulate(later_s)
    start = pulled_s.tolist()
    for at, duration in enumerate(forward[:-1].tolist(), start=1):
        start[at] = max(start[at - 1] + duration, start[at])
    start_s = np.array(start)

    waits = int(np.flatnonzero(start_s == pulled_s)[-1])
    worst = int(np.argmax(later_s[: waits + 1]))
    eta = _shares(layers, forward[waits:].sum(), backward[worst:].sum(), transfer[: worst + 1].sum() + behind_s)
    return Pipeline("priority", start[-1] + float(forward[-1]), eta, start_s, pulled_s=pulled_s)


FORMULAS: dict[str, Callable[[Layers], Pipeline]] = dict(
    zip(OVERLAPS, (_sequential, _wait_free, _priority), strict=True)
)


def _before(times: Floats, length: int | None = None) -> Floats:
    """Return the sum of all times before each: 0, t_1, t_1 + t_2, ...; ``length`` entries, else as many as times."""
    return np.concatenate([[0.0], np.cumsum(times)])[: len(times) if length is None else length]


def _shares(layers: Layers, forward_s: float, backward_s: float, transfer_s: float) -> tuple[float, float, float]:
    """Return times on the critical path as shares of all; 1 where there is nothing to share."""
    totals = (layers.forward_s.sum(), layers.backward_s.sum(), 2 * layers.transfer_s.sum())
    on_path = (forward_s, backward_s, transfer_s)
    eta = [min(float(part / total), 1.0) if total > 0 else 1.0 for part, total in zip(on_path, totals, strict=True)]
    return eta[0], eta[1], eta[2]
