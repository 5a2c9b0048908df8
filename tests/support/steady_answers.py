"""Answers of steady-state experiments with chosen numbers, for figures, words and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.code_version import code_version
from dlsched.studies.steady import Curve, Pair, SteadyAnswer, SteadyPoint, SteadyPolicy, SteadySpec

HELL, KNEE, SRPT = "HELL, malleable", "KNEE, malleable", "SRPT, all nodes"
KEYS = {HELL: "hell-malleable", KNEE: "knee-malleable", SRPT: "srpt-all-nodes"}


def point(
    label: str,
    load: float,
    mean_h: float | None,
    half_h: float = 1.0,
    *,
    target: float = 0.05,
    settled: bool = True,
    audit: Sequence[str] = (),
) -> SteadyPoint:
    """Return a point; without a mean its queue grows by 20 jobs per 100 arrivals."""
    steady = mean_h is not None
    mean = mean_h or 0.0
    within = steady and settled and half_h <= target * mean
    return SteadyPoint(
        policy=KEYS.get(label, "hell-malleable"),
        label=label,
        params={"gamma": 0.0, "vm_type": None},
        load=load,
        state="within target" if within else "cap reached" if steady else "queue grows",
        response_h=Interval(mean, half_h, 900) if steady else None,
        growth=Interval(0.1 if steady else 20.0, 0.5, 20),
        p50_h=mean / 2 if steady else None,
        p95_h=3 * mean if steady else None,
        jobs_simulated=1000,
        jobs_warm_up=100,
        jobs_end=0,
        jobs_measured=900,
        batches=32,
        lag_1=0.1,
        settled=settled,
        quantiles_h=tuple(mean * (i + 0.5) / 100 for i in range(200)) if steady else (),
        fractions_h=tuple(Interval(mean * part, 0.5, 900) for part in (0.2, 0.4, 0.6, 0.8, 1.0)) if steady else (),
        nodes_per_job=Curve(at_h=(0.0, 10.0, 40.0), value=(4.0, 8.0, 2.0)),
        in_system=Curve(at_h=(0.0, 10.0, 40.0), value=(1.0, 2.0, 3.0 if steady else 400.0)),
        load_drawn=load,
        audit=tuple(audit),
    )


def answer(
    points: Sequence[SteadyPoint],
    differences: Mapping[tuple[str, str, float], tuple[float, float]] | None = None,
) -> SteadyAnswer:
    """Return the answer of these points; ``differences`` (policy, other, load) -> mean and half width in hours."""
    labels = list(dict.fromkeys(one.label for one in points))
    loads = tuple(sorted({one.load for one in points}))
    policies = tuple(
        SteadyPolicy(key=next(one.policy for one in points if one.label == label), label=label) for label in labels
    )
    pairs = tuple(
        Pair(load=load, label=one, other=other, difference_h=Interval(mean, half, 800), settled=True)
        for (one, other, load), (mean, half) in (differences or {}).items()
    )
    spec = SteadySpec(loads=loads, policies=policies)
    return SteadyAnswer(spec=spec, points=tuple(points), pairs=pairs, audited="All logs.", code_version=code_version())


def three_policies() -> SteadyAnswer:
    """Return HELL and KNEE with means up to load 0.7, alike at 0.5; SRPT's queue grows from 0.5 on, all at 0.9."""
    return answer(
        [
            point(HELL, 0.1, 50.0), point(HELL, 0.5, 60.0), point(HELL, 0.7, 80.0, 8.0), point(HELL, 0.9, None),
            point(KNEE, 0.1, 50.0), point(KNEE, 0.5, 61.0), point(KNEE, 0.7, 120.0, 20.0), point(KNEE, 0.9, None),
            point(SRPT, 0.1, 81.0), point(SRPT, 0.5, None), point(SRPT, 0.7, None), point(SRPT, 0.9, None),
        ],
        {
            (HELL, KNEE, 0.1): (0.0, 0.0), (HELL, SRPT, 0.1): (-31.0, 2.0), (KNEE, SRPT, 0.1): (-31.0, 2.0),
            (HELL, KNEE, 0.5): (-1.0, 2.0), (HELL, KNEE, 0.7): (-40.0, 15.0),
        },
    )  # fmt: skip
