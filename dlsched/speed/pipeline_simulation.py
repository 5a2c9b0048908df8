"""One training iteration played layer by layer on three servers: the processor, the way up and the way down.

It knows what may run when and nothing of the formulas of ``pipeline``: it checks them, and draws what users look at.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, NamedTuple

from dlsched.domain.errors import InputError
from dlsched.speed.pipeline import Layers, check_overlap

Kind = Literal["forward", "backward", "push", "pull"]
MOST_SLICES = 100_000
"""Of one layer."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Bar:
    """What one server does for a layer (0..N-1) without a break, from the start of backward."""

    layer: int
    kind: Kind
    start_s: float
    end_s: float


class _Task(NamedTuple):
    """Something to do for a layer; of what is ready the lowest ``rank`` goes first, equal ones in the order given."""

    ready_s: float
    rank: int
    layer: int
    length_s: float


class _Done(NamedTuple):
    """A task, or a part of one, that was carried out."""

    task: _Task
    start_s: float
    end_s: float


def simulate_layers(layers: Layers, overlap: str) -> list[Bar]:
    """Return what happens in one iteration: all of backward, then all pushes, pulls and forward, each in time order.

    Layers without a time have a bar of length 0. With priority a layer may be pushed and pulled in several parts;
    slices that follow each other are one bar. With ``slice_s`` 0 a push breaks off at once for a layer nearer to the
    input, and a pull is under way with its push.

    Raises
    ------
    InputError
        An unknown overlap, or more than MOST_SLICES slices.
    """
    check_overlap(overlap)
    last_first = range(len(layers) - 1, -1, -1)
    backward = _served([_Task(0.0, 0, at, float(layers.backward_s[at])) for at in last_first])
    by_priority = overlap == "priority"
    ready_s = {bar.task.layer: backward[-1].end_s if overlap == "sequential" else bar.end_s for bar in backward}
    to_push = [
        _Task(ready_s[at], at if by_priority else -at, at, part_s)
        for at in last_first
        for part_s in (_slices(layers, at) if by_priority else [float(layers.transfer_s[at])])
    ]
    if by_priority and layers.slice_s == 0:
        pushes = pulls = _broken_off(to_push)
    else:
        pushes = _served(to_push)
        all_pushed_s = pushes[-1].end_s
        wait_s = all_pushed_s if overlap == "sequential" else 0.0
        pulls = _served([push.task._replace(ready_s=max(push.end_s, wait_s)) for push in pushes])
    return [
        *_bars(backward, "backward"),
        *_bars(pushes, "push"),
        *_bars(pulls, "pull"),
        *_bars(_forward(layers, pulls), "forward"),
    ]


def _slices(layers: Layers, at: int) -> list[float]:
    """Return the lengths of a layer's slices: all ``slice_s`` but the last one."""
    transfer_s, slice_s = float(layers.transfer_s[at]), layers.slice_s
    if slice_s == 0 or transfer_s <= slice_s:
        return [transfer_s]
    number = transfer_s / slice_s
    if number > MOST_SLICES:
        why = f"must leave at most {MOST_SLICES:,} slices to play, got {slice_s:g} with a transfer of {transfer_s:g}"
        raise InputError(f"layer {at + 1}, slice", why, "Take longer slices, or 0 for slices as fine as can be")
    whole = ceil(number - ROUNDING) - 1
    return [slice_s] * whole + [transfer_s - whole * slice_s]


def _served(tasks: Sequence[_Task]) -> list[_Done]:
    """Return what a server does that finishes what it has begun; in time order."""
    arriving = sorted(tasks, key=lambda task: task.ready_s)
    waiting: list[tuple[int, int]] = []
    done: list[_Done] = []
    now_s, seen = 0.0, 0
    while len(done) < len(tasks):
        if not waiting:
            now_s = max(now_s, arriving[seen].ready_s)
        while seen < len(tasks) and arriving[seen].ready_s <= now_s:
            heapq.heappush(waiting, (arriving[seen].rank, seen))
            seen += 1
        task = arriving[heapq.heappop(waiting)[1]]
        done.append(_Done(task, now_s, now_s + task.length_s))
        now_s = done[-1].end_s
    return done


def _broken_off(tasks: Sequence[_Task]) -> list[_Done]:
    """Return what a server does that turns to a better rank at once and goes on later; in time order."""
    arriving = sorted(tasks, key=lambda task: task.ready_s)
    waiting: list[tuple[int, int]] = []
    left_s = [task.length_s for task in arriving]
    done: list[_Done] = []
    now_s, seen = 0.0, 0
    while waiting or seen < len(tasks):
        if not waiting:
            now_s = max(now_s, arriving[seen].ready_s)
        while seen < len(tasks) and arriving[seen].ready_s <= now_s:
            heapq.heappush(waiting, (arriving[seen].rank, seen))
            seen += 1
        at = waiting[0][1]
        until_s = now_s + left_s[at]
        if seen < len(tasks) and arriving[seen].ready_s < until_s:
            until_s = arriving[seen].ready_s
            left_s[at] -= until_s - now_s
        else:
            heapq.heappop(waiting)
        done.append(_Done(arriving[at], now_s, until_s))
        now_s = until_s
    return done


def _forward(layers: Layers, pulls: Sequence[_Done]) -> list[_Done]:
    """Return forward, which needs the layer before and all of its own parameters."""
    there_s = dict.fromkeys(range(len(layers)), 0.0)
    for pull in pulls:
        there_s[pull.task.layer] = max(there_s[pull.task.layer], pull.end_s)
    done: list[_Done] = []
    now_s = 0.0
    for at, length_s in enumerate(layers.forward_s.tolist()):
        start_s = max(now_s, there_s[at])
        now_s = start_s + length_s
        done.append(_Done(_Task(there_s[at], at, at, length_s), start_s, now_s))
    return done


def _bars(done: Sequence[_Done], kind: Kind) -> list[Bar]:
    """Return bars, those of one layer that touch as one."""
    bars: list[Bar] = []
    for part in done:
        if bars and bars[-1].layer == part.task.layer and bars[-1].end_s == part.start_s:
            bars[-1] = replace(bars[-1], end_s=part.end_s)
        else:
            bars.append(Bar(part.task.layer, kind, part.start_s, part.end_s))
    return bars
