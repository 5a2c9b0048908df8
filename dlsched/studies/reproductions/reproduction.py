"""What a reproduction is: the claim of a paper, how we compute it, and what came out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dlsched.domain.errors import InputError
from dlsched.studies.simulation import Progress

LEAST_LOAD, MOST_LOAD = 0.1, 10.0
Verdict = Literal["same", "partly", "different"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """``ours`` in one sentence with numbers, the verdict and ``why``; ``data`` are the figure's numbers."""

    ours: str
    verdict: Verdict
    why: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """How thorough to be: ``quick`` = small sizes, seconds; ``progress`` is told how far it is.

    ``load_scale`` makes arrivals this many times as dense as in the study, where a reproduction has such a scale; None
    keeps its own.

    Raises
    ------
    InputError
        If the load scale is no number from ``LEAST_LOAD`` to ``MOST_LOAD``.
    """

    quick: bool = False
    progress: Progress | None = None
    load_scale: float | None = None

    def __post_init__(self) -> None:
        load = self.load_scale
        if load is not None and not (math.isfinite(load) and LEAST_LOAD <= load <= MOST_LOAD):
            why = f"must be from {LEAST_LOAD:g} to {MOST_LOAD:g}, got {load:g}"
            raise InputError("load scale", why, "1 is the density of the study")

    def loads(self, otherwise: tuple[float, ...]) -> tuple[float, ...]:
        """Return the load scale asked for, or those of the reproduction."""
        return otherwise if self.load_scale is None else (self.load_scale,)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A figure or table of a paper; ``load_scales`` are those it runs at unless told; none: it has no such scale."""

    key: str
    paper: str
    figure: str
    claim: str
    compute: Callable[[Setting], Outcome]
    load_scales: tuple[float, ...] = ()

    def run(self, setting: Setting) -> Outcome:
        """Return what came out.

        Raises
        ------
        InputError
            If a load scale is asked for and the reproduction has none.
        """
        if setting.load_scale is not None and not self.load_scales:
            raise InputError(f"reproduction {self.key!r}", "has no load scale to choose", "Leave the load scale out")
        return self.compute(setting)
