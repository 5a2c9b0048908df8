"""Fig. 5 of the PD-ORS study: when the promise of its rounding (Lemma 1) says anything, and the theorems' factors."""

from __future__ import annotations

import math
from itertools import pairwise

from dlsched.policies.primal_dual.rounded_slot import gain_for_capacity, gain_for_work
from dlsched.studies.reproductions.pd_ors.runs import PAPER
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Setting

ROOM, ROWS, COVERS = 15.0, 401, 1
"""W_b, r = R H + 1 with 4 resources on 100 machines, and m, as printed (m is 1: one row asks for work)."""
DELTAS = (0.02, 0.04, 0.06, 0.08, 0.1)
WORK = (20.0, 30.0, 40.0, 60.0, 80.0)
"""W_a, workers a slot asks for; the study's values are in the picture only."""


def right_side(delta: float, work: float) -> float:
    """Return 3 m / e^(G W_a / 2), with G of Eq. 29; the promise says something where it is at most ``delta``."""
    return 3 * COVERS / math.exp(gain_for_capacity(delta, ROOM, ROWS) * work / 2)


def crossing(work: float) -> float:
    """Return the least delta in (0, 1] at which the promise says something, 1 where there is none below.

    The right side falls as delta grows, so there is one crossing; it is found by halving.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if right_side(middle, work) <= middle else (middle, high)
    return high


def figure_5(setting: Setting) -> Outcome:
    """Return where the curves cross the straight line, and the factors of Theorems 3 and 4."""
    crossings = {work: crossing(work) for work in WORK}
    falls = all(crossings[more] < crossings[less] for less, more in pairwise(WORK))
    within = [work for work in WORK if crossings[work] <= DELTAS[-1]]
    least_deltas = ", ".join(f"{crossings[work]:.2g} at {work:g}" for work in WORK)
    gains = {
        f"{delta:g}": {
            "gain_for_capacity": gain_for_capacity(delta, ROOM, ROWS),
            "gain_for_work": {f"{work:g}": gain_for_work(delta, work) for work in WORK},
            "right_side": {f"{work:g}": right_side(delta, work) for work in WORK},
            "promised_ratio": 3 * gain_for_capacity(delta, ROOM, ROWS) / delta,
        }
        for delta in DELTAS
    }
    promise = gains[f"{DELTAS[-1]:g}"]["promised_ratio"]
    least = f"from {within[0]:g} workers on" if within else "nowhere"
    ours = (
        f"The least delta at which the promise says something, by workers asked for in a slot: {least_deltas}. With "
        f"delta up to {DELTAS[-1]:g} that is {least}."
    )
    why = (
        f"More workers make the promise easier to keep, as printed. What is promised is little: a cost of at most "
        f"{promise:.3g} times the least at delta {DELTAS[-1]:g}. Workers asked for are ours: the study's are in the "
        "picture only."
    )
    data = {"crossing_by_workers": {f"{work:g}": crossings[work] for work in WORK}, "by_delta": gains}
    return Outcome(ours, "same" if falls and within else "partly", (why,), data)


PROMISE = (
    PAPER.figure(
        5,
        "The larger W_a, the smaller the delta from which on the promise of the rounding says something.",
        figure_5,
        CpuTime(0.05, 0.05),
    ),
)
