"""How long jobs run: distributions with a quantile function (one uniform a job) and a mean in closed form."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.special import ndtri

from dlsched.domain.model import FrozenModel
from dlsched.domain.units import MONTH_S
from dlsched.domain.workload import Floats

_Z90 = NormalDist().inv_cdf(0.9)

Seconds = Annotated[float, Field(gt=0, le=1e9)]
Longest = Annotated[float, Field(gt=0, le=1e9, description="Longer run times are cut to this limit, in seconds.")]


class Lognormal(FrozenModel):
    """Lognormal run times by their median and 90th percentile."""

    kind: Literal["lognormal"] = "lognormal"
    median_s: Seconds = Field(description="Median run time in seconds.")
    p90_s: Seconds = Field(description="90th percentile of run times in seconds.")
    longest_s: Longest = MONTH_S

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.p90_s < self.median_s:
            raise ValueError(f"p90 must be at least the median, got {self.p90_s:g} and {self.median_s:g} s")
        return self

    @property
    def mean_s(self) -> float:
        """Mean run time, after the cut."""
        return _mean_of_cut_lognormal(math.log(self.median_s), self._sigma, self.longest_s)

    def quantile_s(self, uniforms: Floats) -> Floats:
        """Return the run time below which a share ``uniforms`` of the jobs lies."""
        return np.minimum(self.median_s * np.exp(self._sigma * ndtri(uniforms)), self.longest_s)

    @property
    def _sigma(self) -> float:
        return math.log(self.p90_s / self.median_s) / _Z90


class LognormalByMean(FrozenModel):
    """Lognormal run times by their mean and the standard deviation of their logarithm."""

    kind: Literal["lognormal-mean"] = "lognormal-mean"
    uncut_mean_s: Seconds = Field(description="Mean before the limit is applied, in seconds.")
    sigma: float = Field(ge=0, le=6, description="Standard deviation of the natural logarithm.")
    longest_s: Longest = MONTH_S

    @property
    def mean_s(self) -> float:
        """Mean run time, after the cut."""
        return _mean_of_cut_lognormal(self._mu, self.sigma, self.longest_s)

    def quantile_s(self, uniforms: Floats) -> Floats:
        """Return the run time below which a share ``uniforms`` of the jobs lies."""
        return np.minimum(np.exp(self._mu + self.sigma * ndtri(uniforms)), self.longest_s)

    @property
    def _mu(self) -> float:
        return math.log(self.uncut_mean_s) - self.sigma**2 / 2


class Pareto(FrozenModel):
    """Pareto run times: P(longer than t) = (shortest / t) ** alpha, cut at ``longest_s``."""

    kind: Literal["pareto"] = "pareto"
    shortest_s: Seconds = Field(description="Shortest run time in seconds.")
    alpha: float = Field(1.5, gt=0, le=100, description="Tail index: smaller values give more very long jobs.")
    longest_s: Longest = MONTH_S

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.longest_s < self.shortest_s:
            raise ValueError(f"longest must be at least shortest, got {self.longest_s:g} and {self.shortest_s:g} s")
        return self

    @property
    def mean_s(self) -> float:
        """Mean run time, after the cut: the area under P(longer than t) up to the cut."""
        low, high, alpha = self.shortest_s, self.longest_s, self.alpha
        if alpha == 1:
            return low * (1 + math.log(high / low))
        return float(low + low * (1 - (low / high) ** (alpha - 1)) / (alpha - 1))

    def quantile_s(self, uniforms: Floats) -> Floats:
        """Return the run time below which a share ``uniforms`` of the jobs lies."""
        with np.errstate(over="ignore"):  # a tail beyond the largest float is cut as any other
            return np.minimum(self.shortest_s * (1 - uniforms) ** (-1 / self.alpha), self.longest_s)


class Empirical(FrozenModel):
    """Run times drawn with replacement from a list."""

    kind: Literal["empirical"] = "empirical"
    values_s: tuple[Seconds, ...] = Field(min_length=1, max_length=20_000, description="Run times in seconds.")

    @property
    def mean_s(self) -> float:
        """Mean run time."""
        return sum(self.values_s) / len(self.values_s)

    def quantile_s(self, uniforms: Floats) -> Floats:
        """Return the run time below which a share ``uniforms`` of the list lies."""
        ordered = np.sort(np.array(self.values_s))
        return ordered[(uniforms * len(ordered)).astype(np.int64)]


RunTime = Annotated[Lognormal | LognormalByMean | Pareto | Empirical, Field(discriminator="kind")]


def _mean_of_cut_lognormal(mu: float, sigma: float, cut_s: float) -> float:
    """Return E[min(X, cut)] of a lognormal X."""
    if sigma == 0:
        return min(math.exp(mu), cut_s)
    normal = NormalDist()
    cut_z = (math.log(cut_s) - mu) / sigma
    below = math.exp(mu + sigma**2 / 2) * normal.cdf(cut_z - sigma)
    return below + cut_s * (1 - normal.cdf(cut_z))
