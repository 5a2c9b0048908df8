"""What a sweep asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel, Key
from dlsched.domain.names import names_hint
from dlsched.policies import registry
from dlsched.studies.design.measures import MEASURES, is_paired
from dlsched.studies.design.variants import Futures, Value, Variant

MOST_RUNS = 5000
MOST_AXES = 12
METRICS = (
    "wait_mean", "wait_p95", "jct_mean", "late_share", "vm_cost", "cost_month", "total_cost", "completed", "rejected",
    "unfinished",
)  # fmt: skip
NOT_REPEATABLE = ("decision_cpu_s",)
"""Metrics of the machine that computes, not of the scenario."""


class AxisSpec(FrozenModel):
    """One thing that varies: the key of a change ("nodes", "demand", …) or "policy.parameter", and its values."""

    key: Key
    values: tuple[Value, ...] = Field(min_length=1, max_length=200)

    @property
    def policy(self) -> str:
        """The policy whose parameter this is; "" for a change of the scenario."""
        return policy_of(self.key)


def policy_of(key: str) -> str:
    """Return the policy of a key "policy.parameter", "" where the part before the point names none."""
    name, point, _ = key.partition(".")
    return name if point and registry.is_known(name) else ""


class SweepSpec(FrozenModel):
    """Every policy at every point in every future.

    ``mode``: a grid has every pair of values; one-at-a-time has the scenario as it is, then each value by itself. The
    first point is the baseline. ``params``: parameters by policy that differ from their defaults at every point.
    ``reference``: the policy that others are compared with; empty = the first.
    With a metric of ``design.measures.PAIRED`` each run is compared with the reference's, job by job.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    axes: tuple[AxisSpec, ...] = Field(min_length=1, max_length=MOST_AXES)
    mode: Literal["grid", "one-at-a-time"] = "grid"
    policies: tuple[Key, ...] = Field(("fifo",), min_length=1, max_length=40, description="Keys of policies.")
    params: dict[Key, dict[Key, Any]] = Field(default_factory=dict, max_length=40)
    futures: Futures = Field(default_factory=Futures)
    metrics: tuple[Key, ...] = Field(
        METRICS, min_length=1, description="Metrics; regret and frontier are of the first."
    )
    reference: str = Field("", max_length=80, description="Policy that others are compared with; else the first.")

    @model_validator(mode="before")
    @classmethod
    def _with_reference(cls, values: Any) -> Any:
        """Name the reference, so that the same question has the same form."""
        if not isinstance(values, Mapping) or values.get("reference"):
            return values
        policies = values.get("policies", cls.model_fields["policies"].default)
        return {**values, "reference": policies[0]} if isinstance(policies, list | tuple) and policies else values

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        keys = [axis.key for axis in self.axes]
        named = {"axes": keys, "policies": self.policies, "metrics": self.metrics}
        for name, given in (*named.items(), *((f"values of {axis.key}", axis.values) for axis in self.axes)):
            for value in _repeated(given):
                raise ValueError(f"{name} must differ, {value!r:.80} is listed twice")
        if self.mode == "grid" and len(self.axes) > 2:
            raise ValueError(f"a grid has at most 2 axes, got {len(self.axes)}; vary more one at a time")
        for metric in self.metrics:
            if metric not in MEASURES:
                raise ValueError(f"there is no metric {metric!r:.80}. {names_hint(metric, MEASURES)}")
            if metric in NOT_REPEATABLE:
                raise ValueError(f"{metric} differs from machine to machine and from run to run")
        if self.reference not in self.policies:
            raise ValueError(f"the reference must be one of the policies, got {self.reference!r:.80}")
        if self.runs > MOST_RUNS:
            raise ValueError(f"points x policies x futures must be at most {MOST_RUNS:,}, got {self.runs:,}")
        return self

    @property
    def points(self) -> tuple[tuple[Value | None, ...], ...]:
        """The value of each axis at each point, None if the scenario stays as it is; the baseline first."""
        if self.mode == "grid":
            return tuple(product(*(axis.values for axis in self.axes)))
        unchanged: tuple[Value | None, ...] = (None,) * len(self.axes)
        alone = (
            (*unchanged[:place], value, *unchanged[place + 1 :])
            for place, axis in enumerate(self.axes)
            for value in axis.values
        )
        return (unchanged, *alone)

    def variant(self, point: tuple[Value | None, ...], policy: str) -> Variant:
        """Return a policy at a point."""
        moved = [(axis, value) for axis, value in zip(self.axes, point, strict=True) if value is not None]
        own = {axis.key.partition(".")[2]: value for axis, value in moved if axis.policy == policy}
        changes = {axis.key: value for axis, value in moved if not axis.policy}
        return Variant(policy=policy, changes=changes, params=self.params.get(policy, {}) | own)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All variants: points first, then policies."""
        return tuple(self.variant(point, policy) for point in self.points for policy in self.policies)

    @property
    def references(self) -> tuple[Variant, ...]:
        """For each of ``variants`` the one of the reference policy; empty where no metric compares job by job."""
        if not is_paired(self.metrics):
            return ()
        return tuple(self.variant(point, self.reference) for point in self.points for _ in self.policies)

    @property
    def runs(self) -> int:
        """How many cells there are; fewer runs where cells ask the same."""
        sizes = [len(axis.values) for axis in self.axes]
        points = 1 + sum(sizes) if self.mode == "one-at-a-time" else prod(sizes)
        return points * len(self.policies) * len(self.futures.seeds)


def _repeated(values: Iterable[Any]) -> list[Any]:
    given = list(values)
    return [value for value in given if given.count(value) > 1]


def read_values(key: str, text: str) -> list[Value]:
    """Return the values of "4,8,16", of "0.8:1.2:5" (from, to, how many, equally far apart) or of names.

    A comma makes a list: "5:00:00," is one time.

    Raises
    ------
    InputError
        If a range is not three numbers with at least two values.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if "," not in text and text.count(":") == 2:
        return _range(key, parts[0])
    return [_value(part) for part in parts]


def _range(key: str, text: str) -> list[Value]:
    try:
        low, high, count = text.split(":")
        first, last, steps = float(low), float(high), int(count)
        if not 2 <= steps <= 200 or first == last:
            raise ValueError
    except ValueError:
        do = "Write it as in 0.8:1.2:5, from 2 to 200 values, or put a comma after a single time: 5:00:00,"
        raise InputError(f"change {key}", f"{text!r:.80} is no range", do) from None
    # Twelve figures: 0.8:1.2:5 is 0.9 and not 0.9000000000000001, in tables and in the hash of a scenario.
    return [float(f"{first + (last - first) * step / (steps - 1):.12g}") for step in range(steps)]


def _value(text: str) -> Value:
    """Return a number, or a text as it is; a plus says that a number is added, so it stays."""
    try:
        return text if text.startswith("+") else float(text)
    except ValueError:
        return text


def refuse_too_many(values: Mapping[str, int], mode: str, policies: int, futures: int) -> None:
    """Raise InputError where a sweep would be of more than ``MOST_RUNS`` runs, naming what to coarsen.

    ``values``: how many there are, by what varies.
    """
    sizes = list(values.values())
    points = prod(sizes) if mode == "grid" else 1 + sum(sizes)
    runs = points * policies * futures
    if runs <= MOST_RUNS:
        return
    largest = max(values, key=lambda name: values[name])
    parts = f"{points:,} points x {policies:,} policies x {futures:,} futures"
    why = f"would be {runs:,} runs: {parts}; at most {MOST_RUNS:,}"
    fewer = [f"fewer than {values[largest]} values of {largest}"]
    if futures > 1 and MOST_RUNS // (points * policies):
        fewer.append(f"{MOST_RUNS // (points * policies):,} futures")
    raise InputError("sweep", why, f"Take {' or '.join(fewer)}")
