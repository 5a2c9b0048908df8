"""What a bar says when the mouse is over it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dlsched.figures.base import column, plain, texts
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.counted import COUNTED, GPUS, Counted
from dlsched.wording.formats import duration, money, number
from dlsched.wording.resources import gang_words

HOVER = "<b>%{customdata[1]}</b><br>%{customdata[2]}<br>%{customdata[3]}<br>%{customdata[4]}<extra></extra>"
THEN: Mapping[str, str] = {
    "completed": "then done",
    "preempted": "then stopped for another job",
    "resized": "then its width changed",
    "moved": "then moved",
    "node_lost": "then its node was lost",
    "cancelled": "then cancelled",
    "failed": "then it died of its own bug",
    "overrun": "then its reservation was over",
    "run_ended": "then the run ended",
    "vm_changed": "then its machine changed",
}
"""Why a piece of a run ended, in words."""


def hover_rows(part: pd.DataFrame, clock: Clock = DAYS) -> NDArray[np.object_]:
    """Return [job id, and four lines of text] per bar, in the order of HOVER.

    The end comes from the data, since with a base %{x} would be the end. Line breaks are in HOVER and not in the text,
    where each would take nine bytes.
    """
    job, user, job_class, because, ended = (
        texts(part, name) for name in ("job_id", "user", "job_class", "because", "end_reason")
    )
    where = texts(part, "nodes") if "nodes" in part else np.array([f"n{n}" for n in part["node"]], dtype=object)
    machine = [
        f", {plain(name)}" + (f" ({plain(kind)})" if kind else "") if name else ""
        for name, kind in zip(texts(part, "vm_type"), texts(part, "gpu_type"), strict=True)
    ]
    start, end, gpus, due, wait, cost, rate = (
        column(part, name).tolist() for name in ("start_s", "end_s", "gpus", "due_s", "wait_s", "cost", "rate")
    )
    workers, servers = (np.nan_to_num(column(part, name)).tolist() for name in ("workers", "servers"))
    unit = units_of(part)
    rows = np.empty((len(part), 5), dtype=object)
    for i in range(len(part)):
        who = "".join(f", {word} {plain(name)}" for word, name in (("user", user[i]), ("class", job_class[i])) if name)
        known = [
            _waited(wait[i], unit[i].say(because[i])),
            _due(due[i], end[i], clock),
            "" if math.isnan(cost[i]) else f"job's cost {money(cost[i])}",
        ]
        held = f"{gpus[i]:g} {unit[i].one if gpus[i] == 1 else unit[i].many}"
        if servers[i]:  # a node may hold servers only, or workers without a GPU
            held = ", ".join([gang_words(workers[i], servers[i]), *([held] if gpus[i] else [])])
        rows[i] = (
            job[i],
            plain(job[i]) + who,
            f"{held} on {plain(where[i])}{machine[i]}{_rate(rate[i])}",
            ", ".join(
                (
                    f"{clock.moment(start[i])} to {clock.moment(end[i])}",
                    f"lasted {duration(end[i] - start[i])}",
                    *filter(None, [THEN.get(ended[i], "")]),
                )
            ),
            "; ".join(text for text in known if text),
        )
    return rows


def units_of(part: pd.DataFrame) -> list[Counted]:
    """Return what the column ``gpus`` of each row counts, from ``counted`` (index in RESOURCES); GPUs without it."""
    if "counted" not in part:
        return [GPUS] * len(part)
    return [COUNTED[int(index)] for index in part["counted"]]


def _rate(rate: float) -> str:
    """Return the rate in words where it says something: trace jobs work at rate 1 all the time."""
    return "" if math.isnan(rate) or rate == 1 else f", {number(rate)} units of work/s"


def _waited(wait_s: float, because: str) -> str:
    if math.isnan(wait_s):
        return ""
    return f"waited {duration(wait_s)}" + (f", because: {because}" if because and wait_s > 0 else "")


def _due(due_s: float, end_s: float, clock: Clock) -> str:
    if math.isnan(due_s):
        return ""
    return f"due {clock.moment(due_s)}" + (f", late by {duration(end_s - due_s)}" if end_s > due_s else "")
