"""Steady-state experiments behind Figs 1, 12, 13 and 14 of the HELL/KNEE study; how two policies compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.domain.errors import DlschedError
from dlsched.domain.units import HOUR_S
from dlsched.studies.design.run import VariantTask, carry_out
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.studies.steady import SteadyAnswer, SteadyPoint, SteadyPolicy, SteadySpec, run_steady
from dlsched.wording.formats import PLUS_MINUS
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario

POLICIES = {
    "hell": "hell-malleable",
    "knee": "knee-malleable",
    "srpt": "srpt-all-nodes",
    "waterfill": "waterfill",
    "jsq-chunk": "jsq-chunk",
    "moldable-hell": "hell-moldable",
    "moldable-knee": "knee-moldable",
}
"""Names in the answers, and the keys of the policies."""
ALIKE = 0.1
"""Responses that differ by at most this share of the longer one are alike; the study gives no number."""
QUICK_CHUNKS = (5, 7, 10, 14, 20, 33)
CHUNKS = (4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 25, 33, 40)
"""Chunk sizes tried: those that leave few of 100 nodes idle; the study tries 7 to 40."""
FIRST_JOBS, QUICK_MOST_JOBS, MOST_JOBS = 4000, 16_000, 64_000


def steady_spec(
    setting: Setting,
    stream: StreamSpec,
    loads: Sequence[float],
    policies: Sequence[SteadyPolicy],
    fractions: Sequence[float] = (1.0,),
) -> SteadySpec:
    """Return the experiment: until half widths are below 5% or the cap is reached, earlier in a quick one."""
    return SteadySpec(
        stream=stream,
        loads=tuple(loads),
        policies=tuple(policies),
        first_jobs=FIRST_JOBS,
        most_jobs=QUICK_MOST_JOBS if setting.quick else MOST_JOBS,
        chunks=QUICK_CHUNKS if setting.quick else CHUNKS,
        fractions=tuple(fractions),
    )


def named(*names: str) -> list[SteadyPolicy]:
    """Return policies with default parameters, labelled by their names in the answers."""
    return [SteadyPolicy(key=POLICIES[name], label=name) for name in names]


@dataclass(frozen=True)
class SteadyComparison:
    """An answer whose points and pairs are found by name and load."""

    answer: SteadyAnswer

    @property
    def loads(self) -> tuple[float, ...]:
        """Loads, ascending."""
        return self.answer.spec.loads

    @property
    def names(self) -> tuple[str, ...]:
        """Policies, in the order asked for."""
        return tuple(policy.label for policy in self.answer.spec.policies)

    def point(self, name: str, load: float) -> SteadyPoint:
        """Return a policy at a load."""
        return next(one for one in self.answer.points if one.label == name and one.load == load)

    def grows(self, name: str, load: float) -> bool:
        """Whether the queue grows without end."""
        return self.point(name, load).state == "queue grows"

    def difference(self, name: str, other: str, load: float) -> tuple[float, float] | None:
        """Return mean response of a policy minus another's with the half width, hours; None without one or the other.

        A pair whose interval cannot be relied on counts as None.
        """
        for pair in self.answer.pairs:
            if pair.load == load and {pair.label, pair.other} == {name, other}:
                mean, half = pair.difference_h.mean, pair.difference_h.half_width
                return (mean if pair.label == name else -mean, half) if half is not None and pair.settled else None
        return None

    def shorter(self, name: str, other: str, load: float) -> bool:
        """Whether a policy's mean response is shorter beyond doubt, or only the other's queue grows."""
        if self.grows(name, load) or self.grows(other, load):
            return not self.grows(name, load)
        difference = self.difference(name, other, load)
        return difference is not None and difference[0] + difference[1] < 0

    def alike(self, name: str, other: str, load: float) -> bool:
        """Whether two mean responses surely differ by at most ``ALIKE`` of the longer one."""
        difference = self.difference(name, other, load)
        means = [one.response_h.mean for one in (self.point(name, load), self.point(other, load)) if one.response_h]
        return difference is not None and abs(difference[0]) + difference[1] <= ALIKE * max(means)

    def compared(self, name: str, other: str, load: float) -> str:
        """Return by how much a mean response is longer or shorter than another's."""
        growing = [one for one in (name, other) if self.grows(one, load)]
        if growing:
            return f"the queue of {' and '.join(growing)} grows"
        difference = self.difference(name, other, load)
        if difference is None:
            return "no interval to rely on"
        mean, half = difference
        apart = f"{abs(mean):.1f} {PLUS_MINUS} {half:.1f} h {'shorter' if mean < 0 else 'longer'}"
        return apart if abs(mean) > half else f"{apart}: no clear difference"

    def words(self, name: str, load: float) -> str:
        """Return the mean response with its half width, or that the queue grows."""
        point = self.point(name, load)
        if point.response_h is None:
            return f"{name}: queue grows"
        response, least = point.response_h, "" if point.settled else "at least "
        half = "" if response.half_width is None else f" {PLUS_MINUS} {least}{response.half_width:.1f}"
        return f"{name} {response.mean:.1f}{half} h"

    def responses(self, load: float) -> str:
        """Return the mean responses of all policies at a load in words, beginning with "0.7: "."""
        return f"{load:g}: {', '.join(self.words(name, load) for name in self.names)}"


def run_study(setting: Setting, spec: SteadySpec) -> SteadyComparison:
    """Return the answer of an experiment; DlschedError where the auditor complains about a run."""
    answer = run_steady(spec, None, setting.executor, progress=setting.progress)
    for point in answer.points:
        if point.audit:
            raise DlschedError(f"{point.label} at load {point.load:g}: {point.audit[0]}")
    return SteadyComparison(answer)


def tables(study: SteadyComparison) -> dict[str, Any]:
    """Return the figure's numbers by policy and load; null where there is none.

    Where the queue grows there is no mean response. ``mean_of_finite_run_h`` is then the mean of a run of ``jobs``
    jobs, which would be larger with more jobs.
    """
    spec = study.answer.spec

    def cells(value: Any) -> dict[str, dict[str, Any]]:
        return {name: {f"{load:g}": value(study.point(name, load)) for load in study.loads} for name in study.names}

    return {
        "mean_response_h": cells(lambda one: one.response_h and one.response_h.mean),
        "half_width_h": cells(lambda one: one.response_h and one.response_h.half_width),
        "state": cells(lambda one: one.state),
        "best_chunk": cells(lambda one: one.params.get("chunk")),
        "mean_of_finite_run_h": cells(lambda one: _finite_mean_h(spec, one) if one.state == "queue grows" else None),
        "growth_in_100_arrivals": cells(lambda one: {"mean": one.growth.mean, "half_width": one.growth.half_width}),
        "jobs": cells(lambda one: one.jobs_simulated),
        "jobs_measured": cells(lambda one: one.jobs_measured),
        "settled": cells(lambda one: one.settled),
        "seeds": [spec.seed],
        "target_of_half_width": spec.target,
        "differences_h": [
            {
                "load": pair.load,
                "policy": pair.label,
                "minus": pair.other,
                "mean": pair.difference_h.mean,
                "half_width": pair.difference_h.half_width,
                "settled": pair.settled,
            }
            for pair in study.answer.pairs
        ],
        "audited": study.answer.audited,
        "seconds_are_of": "turnaround time, submission to completion",
    }


def _finite_mean_h(spec: SteadySpec, point: SteadyPoint) -> float:
    """Return the mean response of all jobs of the last run of a point, hours; all of them end."""
    scenario = stream_scenario(spec.stream_at(point.load, point.jobs_simulated), spec.seed)
    draw = carry_out(VariantTask(scenario, {}, point.policy, point.params, 0))
    if draw.metrics is None or draw.audit:
        raise DlschedError(f"{point.label} at load {point.load:g}: {draw.error or draw.audit[0]}")
    return float(draw.metrics["jct_mean"] or 0.0) / HOUR_S
