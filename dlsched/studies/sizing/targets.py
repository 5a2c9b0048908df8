"""What a size must reach: a metric, a limit, and on which side of it is good; how limits are typed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.names import names_hint
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.wording.formats import Number
from dlsched.wording.typed import EXAMPLES, NotRead, read, text_of, way_out

Side = Literal["at most", "at least"]
SIDES: Mapping[str, Side] = {"lower": "at most", "higher": "at least"}
"""The good side of a limit, by which values of the metric are better."""
RISE_WITH_SIZE = ("gpu_hours_idle",)
"""Metrics outside the section Cost that more nodes may make worse."""

USUAL_WAIT_S, USUAL_SHARE = 3600.0, 0.05
WAIT_STEPS_S = tuple(60.0 * minutes for minutes in (1, 2, 5, 10, 15, 20, 30, 45))

_WRITTEN = re.compile(r"\s*(\w+)\s*(<=|>=)\s*(.*?)\s*")


class Target(FrozenModel):
    """A metric that is better on one side, at most or at least ``limit``, in the unit of the metric.

    Seconds for times, a fraction for shares. ``side`` follows from the metric; the other side is refused.
    """

    metric: str = Field(min_length=1, max_length=80)
    limit: float
    side: Side = "at most"

    @model_validator(mode="before")
    @classmethod
    def _with_side(cls, values: Any) -> Any:
        """Set the side of the metric where none is given, so that the same question has the same form."""
        kpi = KPIS.get(str(values.get("metric"))) if isinstance(values, Mapping) else None
        if kpi is None or kpi.better == "neutral" or values.get("side"):
            return values
        return {**values, "side": SIDES[kpi.better]}

    @model_validator(mode="after")
    def _has_a_good_side(self) -> Self:
        known = [key for key, kpi in KPIS.items() if kpi.better != "neutral"]
        if self.metric not in known:
            better = "is neither better nor worse when larger" if self.metric in KPIS else "is not a metric"
            raise ValueError(f"{self.metric!r:.80} {better}. {names_hint(self.metric, known)}")
        if self.side != SIDES[self.kpi.better]:
            raise ValueError(f"{self.metric} is better when {self.kpi.better}: a target is {SIDES[self.kpi.better]}")
        return self

    @property
    def kpi(self) -> KPI:
        """The entry of the metric."""
        return KPIS[self.metric]

    @property
    def rises_with_size(self) -> bool:
        """Whether more nodes may make the metric worse: costs, GPUs paid and not held."""
        return self.kpi.section == "Cost" or self.metric in RISE_WITH_SIZE

    @property
    def words(self) -> str:
        """The target as text: "p95 wait at most 1 h"."""
        return f"{self.kpi.label} {self.side} {self.kpi.show(self.limit)}"

    def met_by(self, value: float) -> bool:
        """Whether a value is on the good side, the limit itself among it."""
        return value <= self.limit if self.side == "at most" else value >= self.limit

    def share_used(self, value: float) -> float:
        """Return how much of the limit a value uses: 1 at the limit, more beyond it; infinite where that is undefined.

        Value over limit for "at most", limit over value for "at least".
        """
        above, below = (value, self.limit) if self.side == "at most" else (self.limit, value)
        if below > 0:
            return above / below
        return 1.0 if above == below else 0.0 if above < below else math.inf


def read_target(text: str) -> Target:
    """Return the target of "wait_p95<=1h", "late_share<=5%" or "cost_month<=$50,000".

    Raises
    ------
    InputError
        Naming the target: no such form or metric, the wrong side, or a unit that is missing or not of the metric.
    """
    what = f"target {text!r:.80}"
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(what, "is not of the form METRIC<=LIMIT or METRIC>=LIMIT", "Write it as in wait_p95<=1h")
    metric, sign, written = found.groups()
    if metric not in KPIS:
        raise InputError(what, f"{metric!r:.80} is not a metric", names_hint(metric, KPIS))
    side = "at most" if sign == "<=" else "at least"
    try:
        limit = read(KPIS[metric].kind, written)
    except NotRead as error:
        raise InputError(what, f"the limit {error}", way_out(KPIS[metric].kind)) from None
    return validated(Target, {"metric": metric, "limit": limit, "side": side}, what)


# ---- limits as they are typed ------------------------------------------------------------------------


def limit_text(kpi: KPI, limit: float) -> str:
    """Return a limit so that it is read as the same number: "1 h", "5%", "$50,000"."""
    return text_of(kpi.kind, limit)


def example_of(kpi: KPI) -> str:
    """Return how a limit of a metric may be written."""
    return EXAMPLES[kpi.kind]


def usual_limit(kpi: KPI, now: Number) -> float:
    """Return the limit a field starts with: of waits an hour, of shares 5%, or as good as now where that is better.

    Of other numbers what they are now, rounded to two figures on the good side, else 1.
    """
    if kpi.key.startswith("wait"):
        steps = [step for step in WAIT_STEPS_S if now is not None and now <= step]
        return steps[0] if steps else USUAL_WAIT_S
    if kpi.kind == "share" and kpi.better == "lower":
        return USUAL_SHARE
    if now is None or now != now:
        return {"duration": USUAL_WAIT_S, "hours": 100 * USUAL_WAIT_S, "share": 0.9}.get(kpi.kind, 1.0)
    return _rounded(float(now), up=kpi.better == "lower")


def _rounded(value: float, *, up: bool) -> float:
    """Return the value with two figures, not below it (``up``) or not above it."""
    near = float(f"{value:.1e}")
    if (near >= value) if up else (near <= value):
        return near
    step = 10.0 ** (int(f"{abs(value):.1e}".partition("e")[2]) - 1)
    return float(f"{near + (step if up else -step):.1e}")
