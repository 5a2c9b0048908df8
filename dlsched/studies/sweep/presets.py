"""Which values suggest themselves: for one change of a scenario, and for the four questions that are asked most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.placement import can_ever_fit
from dlsched.studies.design.factor import Factor, Value
from dlsched.studies.design.factors import MISHAPS, NODES_OF, OWN, changed, factor_of, factors_for, pool_of
from dlsched.studies.sweep.spec import AxisSpec
from dlsched.workload.import_report import arrival_window_s

Mode = Literal["grid", "one-at-a-time"]
SIZES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
FACTORS = (0.8, 0.9, 1.0, 1.2, 1.4)
LOADS = (0.8, 1.0, 1.2, 1.4, 1.6)
BESIDE = 0.2
"""How far low and high stand from what the scenario has, as a share of it."""
WHERE_ZERO: Mapping[str, tuple[Value, ...]] = {
    "restart_s": (10.0, 30.0),
    "checkpoint_s": (600.0, HOUR_S),
    "estimate_error": (0.2, 0.5),
    "bug_share": (0.05, 0.15),
    "cancel_share": (0.05, 0.15),
    "run_time_spread": (0.2, 0.5),
    "failures": (168.0, 720.0),
    "days": (1.0,),
}
"""Low and high of changes whose own value is nothing: assumptions of ours, to be typed over.

Restarts are shorter than the quantum of LAS, 60 s: none of the usual policies refuses them.
"""
ASSUMPTIONS = (
    "demand", "durations", "nodes", "prices", "run_time_spread", "due_slack", "restart_s", "estimate_error",
    "weights",
)  # fmt: skip
"""What is varied where the question is which assumption matters: the first six that the scenario has."""
MOST_ASSUMPTIONS = 6
SHARE_THAT_FAILS, FAILS_FOR = 0.25, 0.25
"""Nodes that fail at most, as a share of all, and for how long, as a share of the time in which jobs arrive."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A question that is asked often.

    ``mode``: how it varies the scenario; ``policies``: those it is asked about, the last as the reference that others
    are compared with job by job; empty = any.
    """

    key: Literal["size", "pool-size", "load", "assumptions", "situations"]
    label: str
    help: str
    mode: Mode = "grid"
    policies: tuple[str, ...] = ()


PRESETS = (
    Preset("size", "How many nodes?", "From half to twice as many nodes, under each policy"),
    Preset(
        "pool-size",
        "How large an elastic pool?",
        "The gain of the optimal ModelArts allocator over the greedy one, job by job, on fewer and on more nodes, with "
        "and without mishaps",
        policies=("modelarts-optimal", "modelarts-greedy"),
    ),
    Preset("load", "What if load grows?", "Up to 1.6 times as many jobs over the same time, under each policy"),
    Preset(
        "assumptions",
        "Which assumption matters most?",
        "Six assumptions, each 20% lower and higher by itself: what changes the result most",
        "one-at-a-time",
    ),
    Preset(
        "situations",
        "Situations to be ready for",
        "As it is, more jobs, other run times, two nodes fail, higher prices: which policy is the safe choice",
        "one-at-a-time",
    ),
)


def axes_of(key: str, scenario: Scenario) -> tuple[AxisSpec, ...]:
    """Return over what a preset varies the scenario; InputError where it has nothing of the kind."""
    if key == "size":
        return (_sizes(scenario),)
    if key == "pool-size":
        pool_of(scenario)
        return _sizes(scenario), AxisSpec(key="mishaps", values=(OWN, "mishaps"))
    if key == "load":
        return (_needed(scenario, "demand", LOADS),)
    if key == "assumptions":
        found = [
            axis
            for name in ASSUMPTIONS
            if (axis := _axis(scenario, name, low_and_high(scenario, factor_of(scenario, name))))
        ]
        return tuple(found[:MOST_ASSUMPTIONS])
    return _situations(scenario)


def low_and_high(scenario: Scenario, change: Factor) -> tuple[Value, ...]:
    """Return one value below and one above what the scenario has, in the bounds of the change."""
    own = change.own(scenario)
    if change.key == "mishaps":
        return MISHAPS
    if change.kind == "names" and change.choices:
        return tuple(one for one in change.choices if one != own) or change.choices
    if change.kind == "names":
        return (_named(scenario, change),)
    if change.choices and own in (0, *change.choices):  # no limit, or a limit of nothing
        return (0.0,) if own else change.choices
    if own is None or own == 0 or isinstance(own, str):
        return WHERE_ZERO.get(change.key, (min(max(1.0, change.low), change.high),))
    step = max(1, round(BESIDE * own)) if change.kind == "whole" else BESIDE * own
    return tuple(_within(change, (own - step, own + step)))


def range_of(scenario: Scenario, change: Factor) -> tuple[Value, ...]:
    """Return values over a range around what the scenario has, ascending."""
    own = change.own(scenario)
    if change.kind == "names" or own is None or own == 0 or isinstance(own, str):
        return low_and_high(scenario, change)
    if change.key == "nodes" or change.key.startswith(NODES_OF):
        return _node_counts(scenario, change) or (own,)
    return tuple(_within(change, (factor * own for factor in FACTORS)))


def _within(change: Factor, values: Iterable[float]) -> list[float]:
    """Return rounded values that the change takes, each once; its unit's own step for whole ones."""
    rounded = [float(round(value)) if change.kind == "whole" else float(f"{value:.6g}") for value in values]
    least = change.low * (1 + 1e-9) if change.above else change.low
    return sorted({value for value in rounded if least <= value <= change.high})


def _node_counts(scenario: Scenario, change: Factor) -> tuple[Value, ...]:
    """Return numbers of nodes around the present one on which no job is too large."""
    own = change.own(scenario)
    assert isinstance(own, int | float)
    counts = _within(change, (max(1, round(factor * own)) for factor in SIZES))
    return tuple(count for count in counts if count == own or _holds_all(scenario, change.key, count))


def _holds_all(scenario: Scenario, key: str, count: float) -> bool:
    try:
        made = changed(scenario, {key: count})
    except InputError:
        return False
    if made.options.oversize != "refuse" or made.cluster.free_slots:
        return True
    return bool(can_ever_fit(made.workload, made.cluster, made.options.placement).all())


def _sizes(scenario: Scenario) -> AxisSpec:
    nodes = [change for change in factors_for(scenario) if change.key == "nodes" or change.key.startswith(NODES_OF)]
    for change in nodes:
        counts = _node_counts(scenario, change)
        if len(counts) > 1:
            return AxisSpec(key=change.key, values=counts)
    raise InputError("sweep over nodes", "no pool of this cluster can have another size", "Vary something else")


def _situations(scenario: Scenario) -> tuple[AxisSpec, ...]:
    """Return the four situations beside the scenario as it is; without prices, longer jobs stand for higher prices."""
    asked: tuple[tuple[str, Sequence[Value]], ...] = (
        ("demand", (1.2,)),
        ("run_time_spread", (0.5,)),
        ("failure_at", (_two_fail(scenario),)),
        ("prices", (1.2,)),
        ("durations", (1.2,)),
    )
    found = [axis for key, values in asked if (axis := _axis(scenario, key, values))]
    return tuple(found[:4])


def _two_fail(scenario: Scenario) -> str:
    """Return two failures, of fewer nodes on small clusters, in the middle of the time in which jobs arrive."""
    hours = max(arrival_window_s(scenario.workload) / HOUR_S, 1.0)
    nodes = max(1, min(2, int(SHARE_THAT_FAILS * scenario.cluster.num_nodes)))
    start_h, length_h = float(np.round(hours / 2, 1)), max(float(np.round(FAILS_FOR * hours, 1)), 0.1)
    return "+".join(f"{node}@{start_h:g}for{length_h:g}" for node in range(nodes))


def _named(scenario: Scenario, change: Factor) -> str:
    if change.key == "vm_types":
        return "+".join(vm.name for vm in scenario.cluster.catalogue) or "none"
    return _two_fail(scenario)


def _needed(scenario: Scenario, key: str, values: Sequence[Value]) -> AxisSpec:
    changed(scenario, {key: values[0]})
    return AxisSpec(key=key, values=tuple(values))


def _axis(scenario: Scenario, key: str, values: Sequence[Value]) -> AxisSpec | None:
    """Return an axis of the values; None if the scenario lacks what it changes, or nothing is left to vary."""
    try:
        for value in values:
            changed(scenario, {key: value})
    except InputError:
        return None
    return AxisSpec(key=key, values=tuple(values)) if values else None
