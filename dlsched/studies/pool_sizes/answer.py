"""What a sweep of the pool's size answers, and how its numbers come together over draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.wording.formats import Kind

DECISION_EDGES_S: tuple[float, ...] = tuple(float(f"{10 ** (power / 4):.4g}") for power in range(-16, 13))
"""Edges of the histogram of decision times: four to a power of ten, 0.1 ms to 1,000 s; the ends take what is beyond."""


class Draw(FrozenModel):
    """One run: a policy at a size, a variant and a draw. Seconds; None where no job has such a time.

    Times are means over the jobs that started (wait) or completed (total). ``by_last_submission`` counts jobs completed
    by then, ``oversize`` jobs dropped or cut in width because they can never fit. ``compared`` counts jobs that
    completed here and under the reference policy, on which ``gain_percent`` rests: by how much longer the reference's
    mean total time is; both None for the reference itself.
    """

    seed: int
    jobs: int
    completed: int
    by_last_submission: int
    oversize: int
    wait_mean_s: float | None
    total_mean_s: float | None
    total_p95_s: float | None
    workers_per_job: float | None = Field(description="Mean workers of a running job, over time.")
    held_share: float | None = Field(description="GPU time held by jobs out of GPU time up.")
    compared: int | None = None
    gain_percent: float | None = None
    additional: int | None = Field(None, description="by_last_submission minus that of the reference.")
    audit: tuple[str, ...] = ()


class Decisions(FrozenModel):
    """Decisions of a solver over all draws: how many, how many of them proven, CPU seconds and their histogram."""

    solved: int
    proven: int
    mean_s: float
    p50_s: float
    p95_s: float
    longest_s: float
    counts: tuple[int, ...] = Field(description="By DECISION_EDGES_S.")


class Cell(FrozenModel):
    """A policy at a size under one of the variants of what goes wrong; ``decisions`` None where it uses no solver."""

    nodes: int
    variant: str
    policy: str
    draws: tuple[Draw, ...] = Field(min_length=1)
    decisions: Decisions | None = None


class PoolSizes(Answer):
    """All cells, sizes first, then variants, then policies.

    ``reference`` is the policy that gains are against, ``present`` the scenario's own number of nodes, ``draws`` how
    many were asked for; a variant in ``exact`` has nothing random and one draw that says all. ``labels`` name policies.
    ``unit`` is what a worker of the jobs is: "node" or "worker".
    """

    scenario: str
    scenario_name: str
    nodes: tuple[int, ...]
    present: int
    variants: tuple[str, ...]
    exact: tuple[str, ...]
    policies: tuple[str, ...]
    reference: str
    draws: int
    unit: str
    labels: Mapping[str, str]
    cells: tuple[Cell, ...]

    def at(self, nodes: int, variant: str, policy: str) -> Cell:
        """Return one cell; KeyError where there is none."""
        for cell in self.cells:
            if (cell.nodes, cell.variant, cell.policy) == (nodes, variant, policy):
                return cell
        raise KeyError((nodes, variant, policy))

    @property
    def others(self) -> tuple[str, ...]:
        """The policies compared with the reference."""
        return tuple(policy for policy in self.policies if policy != self.reference)


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a draw as it is shown: what it is called, how it is written, and how it is counted."""

    key: str
    label: str
    kind: Kind
    hint: str
    of: Callable[[Draw], float | None]


MEASURES: dict[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure("total", "Total time, mean", "duration",
                "Submission to completion, mean over the jobs that completed.", lambda draw: draw.total_mean_s),
        Measure("wait", "Queueing time, mean", "duration",
                "Submission to the first start, mean over the jobs that started.", lambda draw: draw.wait_mean_s),
        Measure("p95", "Total time, p95", "duration",
                "95 of 100 completed jobs were done within this time.", lambda draw: draw.total_p95_s),
        Measure("additional", "Additional jobs", "number",
                "Jobs completed by the last submission, minus those of the reference policy.",
                lambda draw: draw.additional),
        Measure("completed", "Completed jobs", "number", "Jobs that finished, sooner or later.",
                lambda draw: draw.completed),
        Measure("workers", "Width, mean", "number", "Workers of a running job, mean over time and jobs.",
                lambda draw: draw.workers_per_job),
        Measure("held", "GPUs held", "share",
                "GPU time held by jobs out of GPU time there was, until the last job ended.",
                lambda draw: draw.held_share),
    )
}  # fmt: skip


def mean_of(cell: Cell, measure: Measure) -> Interval | None:
    """Return the mean over draws with its interval; None where no draw has the number."""
    values = [value for draw in cell.draws if (value := measure.of(draw)) is not None]
    return mean_interval(values) if values else None


def gain_of(cell: Cell) -> Interval | None:
    """Return the gain over the reference in percent; None for the reference, and where no draw has one."""
    values = [draw.gain_percent for draw in cell.draws if draw.gain_percent is not None]
    return mean_interval(values) if values else None


def gain_change(cell: Cell, base: Cell) -> Interval | None:
    """Return the gain of a cell minus that of another, draw by draw; None where a draw of either has none.

    A cell with one draw that says all (nothing random) stands for each draw of the other.
    """
    ours, theirs = ([draw.gain_percent for draw in one.draws] for one in (cell, base))
    many = max(len(ours), len(theirs))
    ours, theirs = (values * many if len(values) == 1 else values for values in (ours, theirs))
    if len(ours) != len(theirs) or any(value is None for value in (*ours, *theirs)):
        return None
    return paired_difference([value or 0.0 for value in ours], [value or 0.0 for value in theirs])


def decisions_of_draws(cpu_s: Floats, proven: int) -> Decisions | None:
    """Return what is told of a solver's decisions; None without any.

    ``cpu_s`` their CPU seconds, shape (decisions,), of which ``proven`` are optimal beyond doubt.
    """
    if not len(cpu_s):
        return None
    within = np.clip(cpu_s, DECISION_EDGES_S[0], np.nextafter(DECISION_EDGES_S[-1], 0))
    p50_s, p95_s = np.percentile(cpu_s, (50, 95)).tolist()
    return Decisions(
        solved=len(cpu_s),
        proven=proven,
        mean_s=float(cpu_s.mean()),
        p50_s=p50_s,
        p95_s=p95_s,
        longest_s=float(cpu_s.max()),
        counts=tuple(np.histogram(within, DECISION_EDGES_S)[0].tolist()),
    )


def best_gain(answer: PoolSizes, variant: str) -> tuple[Cell, Interval] | None:
    """Return the cell with the largest mean gain of a variant, the first of equals; None where there is no gain.

    Gains whose interval lies above 0 come before larger means that chance may have made.
    """
    cells = [cell for cell in answer.cells if cell.variant == variant]
    gains = [(cell, gain) for cell in cells if (gain := gain_of(cell)) is not None]
    return max(gains, key=lambda entry: (_surely_gains(entry[1]), entry[1].mean), default=None)


def _surely_gains(gain: Interval) -> bool:
    return gain.mean > 0 and gain.tells_apart()


def with_violations(answer: PoolSizes) -> list[tuple[Cell, Draw]]:
    """Return the runs of which the auditor complains."""
    return [(cell, draw) for cell in answer.cells for draw in cell.draws if draw.audit]


def sizes_cut(answer: PoolSizes) -> Sequence[int]:
    """Return the sizes at which jobs were dropped or cut in width because they can never fit."""
    return sorted({cell.nodes for cell in answer.cells if any(draw.oversize for draw in cell.draws)})


def rows_of(answer: PoolSizes) -> list[dict[str, Any]]:
    """Return all cells as rows of a table: means over draws with half widths of their 95% intervals; None = unknown."""
    return [_row(answer, cell) for cell in answer.cells]


def _row(answer: PoolSizes, cell: Cell) -> dict[str, Any]:
    row: dict[str, Any] = {
        "nodes": cell.nodes, "goes wrong": cell.variant, "policy": answer.labels[cell.policy],
        "draws": len(cell.draws), "jobs, mean": float(np.mean([draw.jobs for draw in cell.draws])),
    }  # fmt: skip
    for key, name in _COLUMNS.items():
        row |= _columns(name, mean_of(cell, MEASURES[key]))
    row |= _columns("gain, %", gain_of(cell))
    decisions = cell.decisions
    row |= {
        "decisions": None if decisions is None else decisions.solved,
        "proven": None if decisions is None else decisions.proven,
        "decision median, s": None if decisions is None else decisions.p50_s,
        "decision p95, s": None if decisions is None else decisions.p95_s,
        "decision longest, s": None if decisions is None else decisions.longest_s,
    }
    row["audit"] = "; ".join(text for draw in cell.draws for text in draw.audit) or "ok"
    return row


_COLUMNS = {
    "total": "total time, s", "p95": "total time p95, s", "wait": "queueing time, s", "completed": "completed",
    "additional": "additional jobs", "workers": "width", "held": "GPUs held",
}  # fmt: skip


def _columns(name: str, of: Interval | None) -> dict[str, float | None]:
    return {name: None if of is None else of.mean, f"{name} ±": None if of is None else of.half_width}
