"""What a reproduction is: the claim of a paper, what is printed of it, how we compute it, and what came out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from dlsched.domain.errors import InputError
from dlsched.domain.model import plain
from dlsched.studies.simulation import Progress

LEAST_LOAD, MOST_LOAD = 0.1, 10.0
Verdict = Literal["same", "partly", "different"]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: what the keys of its figures start with, its short name and its reference."""

    key: str
    name: str
    reference: str

    def figure(
        self,
        number: int | str,
        claim: str,
        compute: Callable[[Setting], Outcome],
        time: CpuTime,
        printed: Printed | None = None,
        load_scales: tuple[float, ...] = (),
    ) -> Reproduction:
        """Return the reproduction of a figure by its number; without ``printed`` the paper prints an order only."""
        key, figure = f"{self.key}-{number}", f"Fig. {number}"
        return Reproduction(key, self, figure, claim, compute, time, printed or ORDER_ONLY, load_scales)


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A printed number, or a range up to ``high``, in the unit of the panel it belongs to.

    Only numbers that are printed as numbers, none that is read off a picture. ``panel`` names a part of the data of an
    outcome. Without ``x`` the number belongs to no place; ``series``: the one of ours it stands beside.
    """

    panel: str
    low: float
    high: float | None = None
    x: float | str | None = None
    words: str = ""
    series: str = ""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a figure prints, in a few words, and what of it can be drawn; ``panel``: what its chart shows first."""

    words: str
    points: tuple[PrintedNumber, ...] = ()
    panel: str = ""

    @property
    def first_panel(self) -> str:
        """The panel of our data to look at first; empty where it is left open."""
        return self.panel or next((point.panel for point in self.points), "")


ORDER_ONLY = Printed("an order, no number")


@dataclass(frozen=True, slots=True)
class CpuTime:
    """CPU seconds of a quick and of a full run, of all processes together, on two shared cores of 2026.

    A full run that was not measured is the quick one times what it has more of (sizes, draws, jobs): rough.
    """

    quick_s: float
    full_s: float
    full_is_measured: bool = True

    def of(self, *, quick: bool) -> float:
        """Return the CPU seconds of a run."""
        return self.quick_s if quick else self.full_s


@dataclass(frozen=True, slots=True)
class Outcome:
    """``ours`` in one sentence with numbers, the verdict and ``reasons``, a paragraph each; ``data`` are the figure's
    numbers.
    """

    ours: str
    verdict: Verdict
    reasons: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def why(self) -> str:
        """All reasons one after the other."""
        return " ".join(self.reasons)

    @property
    def checks(self) -> list[tuple[str, bool]]:
        """The parts of the claim that were looked at, and whether each is seen."""
        return [(str(check["claim"]), bool(check["holds"])) for check in self.data.get("checks", ())]

    def to_plain(self) -> dict[str, Any]:
        """Return the outcome in JSON's own types; a number that is none or infinite becomes null."""
        return {"ours": self.ours, "verdict": self.verdict, "why": list(self.reasons), "data": plain(self.data)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the outcome written by :meth:`to_plain`; older ones have all reasons in one text.

        Raises
        ------
        InputError
            If something is missing, or the verdict is none there is.
        """
        try:
            ours, verdict, why, data = (plain[name] for name in ("ours", "verdict", "why", "data"))
        except KeyError as error:
            raise InputError("answer of a reproduction", f"has no {error.args[0]!r}", "Run it again") from error
        if verdict not in get_args(Verdict):
            raise InputError("answer of a reproduction", f"has the verdict {verdict!r:.40}", "Run it again")
        return cls(ours, verdict, (why,) if isinstance(why, str) else tuple(why), data)


@dataclass(frozen=True, slots=True)
class Setting:
    """How thorough to be, and where to compute.

    Parameters
    ----------
    quick
        Small sizes, to be done in seconds to minutes.
    progress
        Told how far it is.
    load_scale
        Makes arrivals this many times as dense as in the study, where a reproduction has such a scale; None keeps its
        own.
    executor
        Where to compute; None = here, one task after the other.

    Raises
    ------
    InputError
        If the load scale is no number from ``LEAST_LOAD`` to ``MOST_LOAD``.
    """

    quick: bool = False
    progress: Progress | None = None
    load_scale: float | None = None
    executor: Executor | None = None

    def __post_init__(self) -> None:
        load = self.load_scale
        if load is not None and not (math.isfinite(load) and LEAST_LOAD <= load <= MOST_LOAD):
            why = f"must be from {LEAST_LOAD:g} to {MOST_LOAD:g}, got {load:g}"
            raise InputError("load scale", why, "1 is the density of the study")

    def loads(self, otherwise: tuple[float, ...]) -> tuple[float, ...]:
        """Return the load scale asked for, or those of the reproduction."""
        return otherwise if self.load_scale is None else (self.load_scale,)

    def tell(self, done: int, whole: int, noun: str) -> None:
        """Say that so many of all ``noun`` are done."""
        if self.progress is not None:
            self.progress(done / whole, f"{done} of {whole} {noun}")


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A figure or table of a paper; ``load_scales`` are those it runs at unless told; none: it has no such scale."""

    key: str
    paper: Paper
    figure: str
    claim: str
    compute: Callable[[Setting], Outcome]
    time: CpuTime
    printed: Printed = ORDER_ONLY
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
