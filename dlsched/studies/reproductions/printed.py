"""What the papers print, next to what we compute: by key of the reproduction, a few words and points for its chart.

Only numbers that are printed as numbers are here; none is read off a picture. The keys are those of
``reproductions.registry``; ``panel`` names a part of the data of an outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ORDER_ONLY = "an order, no number"


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number, or a range up to ``high``, in the unit of the panel.

    Without ``x`` it belongs to no place; ``series``: the one of ours it stands beside.
    """

    panel: str
    low: float
    high: float | None = None
    x: float | str | None = None
    words: str = ""
    series: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """What a figure prints, in a few words, and what of it can be drawn; ``panel``: what its chart shows."""

    words: str
    points: tuple[Printed, ...] = ()
    panel: str = ""

    @property
    def first(self) -> str:
        """The panel of our data to look at first; empty where it is left open."""
        return self.panel or next((point.panel for point in self.points), "")


_ORDER = Published(ORDER_ONLY)
_RATIO = Published(ORDER_ONLY, panel="pd_ors_over_oasis")
_ADDITIONAL = "additional_jobs_per_100"
_ERRORS = {
    "3 CONV layers (batchsize=8)": (0.08, 0.05),
    "3 CONV layers (batchsize=16)": (0.13, 0.04),
    "3 CONV layers (batchsize=32)": (0.14, 0.08),
    "InceptionV3": (0.06, 0.04),
}
"""Mean errors of the exact and the hybrid model in Table II of the HELL/KNEE study."""
_SECONDS = {"mean": 0.4, "median": 0.24, "95th percentile": 1.49, "longest": 2.48}

PUBLISHED: Mapping[str, Published] = {
    "path-relinking-3a": _ORDER,
    "path-relinking-3b": _ORDER,
    "path-relinking-3c": _ORDER,
    "path-relinking-4": Published(
        "saves 23–97%, 7–20%, 43–95%",
        (
            Printed("saving", 0.23, 0.97, "EDF"),
            Printed("saving", 0.07, 0.20, "Hierarchical"),
            Printed("saving", 0.43, 0.95, "best DP"),
        ),
    ),
    "path-relinking-5": Published("under 7 s", (Printed("mean_decision_cpu_s", 7.0, x=100.0, words="below"),)),
    "path-relinking-6": Published("6 jobs on 2 nodes"),
    "path-relinking-table-4": Published("€16.03 and €16.72"),
    "hell-knee-1": _ORDER,
    "hell-knee-12a": _ORDER,
    "hell-knee-12b": _ORDER,
    "hell-knee-13a": _ORDER,
    "hell-knee-13b": _ORDER,
    "hell-knee-14": Published(
        "26.8 h instead of 41 h",
        (
            Printed("mean_h_to_fraction", 41.0, x=0.4, series="gamma 0"),
            Printed("mean_h_to_fraction", 26.8, x=0.4, series="gamma 1.05"),
        ),
    ),
    "hell-knee-7": _ORDER,
    "hell-knee-10": Published("measured, no number"),
    "hell-knee-15": Published("measured, no number"),
    "hell-knee-table-2": Published(
        "errors 4–8%, exact 6–14%",
        tuple(
            Printed("error_share", value, x=model, series=name)
            for name, values in _ERRORS.items()
            for model, value in zip(("exact", "hybrid"), values, strict=True)
        ),
    ),
    "modelarts-4": Published("nodes of each job"),
    "modelarts-5": Published("2 h"),
    "modelarts-6": Published(
        "1.6 times per doubling",
        tuple(Printed("simulated", 1.6**power, x=float(2**power)) for power in range(5)),
    ),
    "modelarts-7": Published("one plan"),
    "modelarts-8": Published("8 nodes, after 129 s"),
    "modelarts-9": Published("32% at 150 nodes", (Printed("wait_saved", 0.32, x=150.0),)),
    "modelarts-10": Published(ORDER_ONLY, panel="mean_total_min"),
    "modelarts-11": Published("17.4 at 110 nodes", (Printed(_ADDITIONAL, 17.4, x=110.0),)),
    "modelarts-12": Published(
        "up to 24.1, and 17.4",
        (Printed(_ADDITIONAL, 24.1, words="up to, all jobs"), Printed(_ADDITIONAL, 17.4, words="up to, long jobs")),
    ),
    "modelarts-13": Published("0.6 to 2.4 fewer", (Printed("change_of_additional_jobs", -2.4, -0.6),)),
    "modelarts-14": Published("up to 15.0", (Printed(_ADDITIONAL, 15.0, words="up to"),)),
    "modelarts-15": Published("0.9 more to 1.8 fewer", (Printed("change_of_additional_jobs", -1.8, 0.9),)),
    "modelarts-16": Published(
        "mean 0.4 s, longest 2.48 s", tuple(Printed("seconds", value, x=name) for name, value in _SECONDS.items())
    ),
    "smd-7": _ORDER,
    "smd-8": _ORDER,
    "smd-9": _ORDER,
    "smd-10": _ORDER,
    "smd-11": _ORDER,
    "smd-12": Published("30–50% used", (Printed("used_of_reserved", 0.3, 0.5),)),
    "pd-ors-5": _ORDER,
    "pd-ors-6": _ORDER,
    "pd-ors-7": _ORDER,
    "pd-ors-8": _ORDER,
    "pd-ors-9": _ORDER,
    "pd-ors-10": Published("1.0 to 1.4", (Printed("ratio", 1.0, 1.4),)),
    "pd-ors-11": Published("best at G = 1"),
    "pd-ors-12": _ORDER,
    "pd-ors-13": _ORDER,
    "pd-ors-14": _RATIO,
    "pd-ors-15": _RATIO,
    "pd-ors-16": _RATIO,
    "pd-ors-17": _RATIO,
}


def published(key: str) -> Published:
    """Return what a figure prints; nothing for a key that is not listed."""
    return PUBLISHED.get(key, Published("–"))
