"""What a fit answers: what was learned from the first half of a log, and how near it comes on the second half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.workload import Floats
from dlsched.studies.calibration.answer import Calibration, PolicyFit
from dlsched.studies.calibration.measures import Measures, log_ratio, measures, rank_correlation
from dlsched.studies.fitting.families import Setting

FITTED, FIFO, EASY = "fitted", "fifo", "easy-backfill"
"""The policies that are judged: the fitted one, whatever its key, and two as they are."""
LOW, HIGH = 10, 90
"""Percentiles of the replays that are shown as a band."""


class Learned(FrozenModel):
    """What was learned before the median submission, and the policy that follows it.

    ``period_s``: of backfill passes, None if the starts show none. ``nodes_from_log``: whether nodes and partitions
    were learned too; ``later_nodes``: names of nodes first seen in the second half, at most 20, of ``num_later``;
    ``absences``: times at which a node was not there. ``usable_nodes`` of ``nodes``. ``jobs``: rows it rests on.
    ``given``: settings that were described and so are not learned. ``base``: key of the policy without any part;
    ``counted``: what widths are counted in, "GPUs" or "cores".
    """

    policy: str
    params: Mapping[str, Any]
    setting: Setting
    period_s: float | None
    jobs: int
    nodes: int
    usable_nodes: int
    nodes_from_log: bool
    absences: int
    num_later: int
    later_nodes: tuple[str, ...]
    given: tuple[str, ...]
    base: str
    counted: str


class FamilyTried(FrozenModel):
    """A family of policies: EASY backfill (``part`` None) or one more part; factors are exp of the mean |log ratio|.

    ``fit_factor`` on the first quarter, ``choice_factor`` on the second, which decides whether the part is kept.
    """

    part: str | None
    setting: Setting
    fit_factor: float
    choice_factor: float
    tried: int
    kept: bool


class Band(FrozenModel):
    """A measure over single replays: its mean, and the range of 80% of them."""

    mean: float
    low: float
    high: float


class Bands(FrozenModel):
    """Measures of single replays on the second half; None if one is undefined in every replay."""

    typical_factor: Band
    within_2x: Band
    bias_s: Band
    rank_correlation: Band | None
    explained: Band | None


class Ceiling(FrozenModel):
    """How near one replay of the fitted policy comes to another one: more cannot be expected of a single replay."""

    rank_correlation: float | None
    typical_factor: float
    mean_factor: float


class Fit(Answer):
    """A policy fitted to the first half of a log, judged once on the second half beside FIFO and EASY backfill.

    ``judged``: measures of the mean waits of the replays, over jobs of the second half only; its policies are "fitted",
    "fifo" and "easy-backfill". ``first_jobs``: jobs of the first half that were compared while fitting; ``half_s``:
    where the second half starts. ``left``: jobs of the log that left the queue without a start; of them the fitted
    policy starts ``left_started`` before they left, on the mean of the replays.
    """

    scenario: str
    scenario_name: str
    seed: int
    replays: int = Field(ge=2)
    first_jobs: int
    quarter_s: float
    half_s: float
    learned: Learned
    families: tuple[FamilyTried, ...] = Field(min_length=1)
    judged: Calibration
    bands: Mapping[str, Bands]
    ceiling: Ceiling
    left: int = 0
    left_started: float = 0.0

    @property
    def fitted(self) -> PolicyFit:
        """The fitted policy on the second half."""
        return self.judged.of(FITTED)

    @property
    def measures(self) -> Measures:
        """Its measures."""
        return self.fitted.second

    def summary(self) -> dict[str, Any]:
        """Return the measures on the half that was not seen, as the command prints them before everything else."""
        return {
            **_numbers(self.fitted),
            "grade": self.measures.grade,
            "left_without_start": self.left,
            "left_started": self.left_started,
            "fifo": _numbers(self.judged.of(FIFO)),
            "easy": _numbers(self.judged.of(EASY)),
        }


def _numbers(fit: PolicyFit) -> dict[str, Any]:
    second = fit.second
    return {
        "n": second.jobs,
        "typical_factor": second.typical_factor,
        "mean_factor": second.mean_factor,
        "within_2x": second.within_2x,
        "rank_correlation": second.rank_correlation,
        "bias_s": fit.bias_s.mean,
        "r2": second.explained,
        "p95_recorded_s": second.recorded_p95_s,
        "p95_replayed_s": second.replayed_p95_s,
        "never_start": second.never_start,
    }


def bands_of(recorded_s: Floats, replays_s: Sequence[Floats]) -> Bands:
    """Return the measures of single replays of the same jobs, shapes (n,), finite."""
    found = [one for replayed_s in replays_s if (one := measures(recorded_s, replayed_s)) is not None]
    bias_s = [float((replayed_s - recorded_s).mean()) for replayed_s in replays_s]
    bands = {
        name: _band([getattr(one, name) for one in found])
        for name in ("typical_factor", "within_2x", "rank_correlation", "explained")
    }
    return Bands.model_validate({**bands, "bias_s": _band(bias_s)})


def _band(values: Sequence[float | None]) -> Band | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, high = np.percentile(known, (LOW, HIGH)).tolist()
    return Band(mean=float(np.mean(known)), low=low, high=high)


def ceiling_of(replays_s: Sequence[Floats]) -> Ceiling:
    """Return the mean agreement of each replay with the next one, over the same jobs."""
    pairs = list(zip(replays_s, (*replays_s[1:], replays_s[0]), strict=True))
    off = [np.abs(log_ratio(one, other)) for one, other in pairs]
    ranks = [found for one, other in pairs if (found := rank_correlation(one, other)) is not None]
    return Ceiling(
        rank_correlation=float(np.mean(ranks)) if ranks else None,
        typical_factor=float(np.mean([np.exp(np.median(logs)) for logs in off])),
        mean_factor=float(np.mean([np.exp(logs.mean()) for logs in off])),
    )
