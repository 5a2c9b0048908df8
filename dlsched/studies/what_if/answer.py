"""What a change does: the answer to one what-if question, as it is kept, and its numbers side by side."""

from __future__ import annotations

from collections.abc import Mapping

from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.workload import GPU
from dlsched.metrics.findings import headline_rows
from dlsched.metrics.money import COSTS, cost_key
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import Comparison, Row, compare
from dlsched.metrics.winners import Winners
from dlsched.studies.design.variants import Futures
from dlsched.wording.counted import COUNTED

TODAY, NOTHING, CHANGED = "today", "doing nothing", "the change"
"""Names of the sides in a comparison."""
LEVELS_PERCENT = tuple(level / 2 for level in range(201))
"""Shares of jobs at which waits and turnaround times are kept, percent: 0, 0.5, ..., 100."""
MOST_CARDS = 4
FOREST = (
    "late_share", "wait_p95", "wait_mean", "jct_mean", "slowdown_mean", *COSTS, "allocation_ratio",
)  # fmt: skip
MOST_FOREST_ROWS = 6

Value = float | str


class Moved(FrozenModel):
    """One thing that differs: ``key`` of a change, "policy" or "param.NAME"; ``unit`` "x" = a factor, "" = none.

    A value of None is the default of a parameter, or a rule that is not set.
    """

    key: str
    label: str
    unit: str
    before: Value | None
    after: Value | None


class Side(FrozenModel):
    """One of the two choices in all futures; its curves are of the first.

    ``metrics`` by key for each future, empty where its run failed; ``audit`` holds the auditor's complaints,
    ``errors`` what ended runs. ``waits_s`` and ``times_in_system_s`` are those not exceeded by LEVELS_PERCENT of the
    ``started`` and the ``completed`` jobs; ``queue`` holds times (seconds) and how many jobs wait from then on.
    """

    policy: str
    label: str
    metrics: tuple[Mapping[str, float | None], ...]
    audit: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    started: int = 0
    completed: int = 0
    waits_s: tuple[float, ...] = ()
    times_in_system_s: tuple[float, ...] = ()
    queue: tuple[tuple[float, float], ...] = ()


class WhatIf(Answer):
    """The answer: all sides in the same ``futures``; ``basis``: what may be said of them.

    ``today``: what there is, as things are. ``baseline``: the same under the ``conditions``, which is doing nothing.
    ``changed``: what is chosen (``moved``), under the same conditions.

    ``free_slots``: the policy rents the machines. ``winners``: which groups gain and which lose, by each grouping of
    jobs; none if nothing is changed. ``run_cpu_s``: CPU seconds of a run, about; it is of the machine, not of the
    answer. ``counted``: index in RESOURCES of what counts for the scenario.
    """

    scenario: str
    scenario_name: str
    today: Side
    baseline: Side
    changed: Side
    conditions: tuple[Moved, ...] = ()
    moved: tuple[Moved, ...]
    futures: Futures
    basis: Basis
    free_slots: bool
    winners: tuple[Winners, ...] = ()
    run_cpu_s: float = 0.0
    counted: int = GPU

    @property
    def exact(self) -> bool:
        """Whether nothing is random, so that one future says all."""
        return self.basis.is_exact

    @property
    def draws(self) -> int:
        """How many futures."""
        return len(self.futures.seeds)

    @property
    def is_changed(self) -> bool:
        """Whether anything differs from the scenario as it is."""
        return bool(self.moved or self.conditions)

    @property
    def before(self) -> Side:
        """What the changed side is compared with: doing nothing where there is an option, else today."""
        return self.baseline if self.moved else self.today

    @property
    def before_name(self) -> str:
        """How it is called."""
        return NOTHING if self.moved and self.conditions else TODAY

    @property
    def errors(self) -> tuple[str, ...]:
        """What ended runs, of both sides; each once."""
        return tuple(dict.fromkeys((*self.today.errors, *self.baseline.errors, *self.changed.errors)))

    @property
    def audit(self) -> tuple[str, ...]:
        """What the auditor complains of, on both sides; each once."""
        return tuple(dict.fromkeys((*self.today.audit, *self.baseline.audit, *self.changed.audit)))


def comparison_of(answer: WhatIf) -> Comparison:
    """Return all metrics of both sides with their differences, paired by future."""
    sides = [(TODAY, answer.before.metrics), (CHANGED, answer.changed.metrics)]
    counted = COUNTED[answer.counted]
    return compare(sides, TODAY, basis=answer.basis, rents=answer.free_slots, counted=counted)


def service_rows(comparison: Comparison) -> list[Row]:
    """Return the metrics of service that a sentence speaks of, those of due dates first."""
    rows = {row.kpi.key: row for row in headline_rows(comparison) if row.kpi.section != "Cost"}
    order = sorted(rows, key=lambda key: (key != "late_share", key == "completed"))
    return [rows[key] for key in order]


def card_rows(answer: WhatIf, comparison: Comparison) -> list[Row]:
    """Return the metrics of the cards: how late or slow, how long jobs wait, completed jobs where they differ, cost."""
    service = [row for row in service_rows(comparison) if row.kpi.key != "completed"]
    late = next((row for key in ("late_share", "utility_total", "slowdown_mean")
                 if _is_there(row := comparison.row(key))), None)  # fmt: skip
    waits = [row for row in service if row is not late and row.kpi.key != "slowdown_mean"][:1]
    completed, cost = comparison.row("completed"), cost_key(comparison)
    third = completed if completed is not None and differs(completed) else comparison.row("wait_p50")
    last = comparison.row(cost or "allocation_ratio")
    return [row for row in (late, *waits, third, last) if row is not None][:MOST_CARDS]


def differs(row: Row) -> bool:
    """Whether the changed side has another number in any future, however few they are."""
    delta = row.of(CHANGED).delta
    return delta is not None and bool(delta.value or delta.better or delta.worse)


def forest_rows(answer: WhatIf, comparison: Comparison) -> list[Row]:
    """Return the metrics of the picture of changes: at most MOST_FOREST_ROWS whose baseline is not 0."""
    wanted = [key for key in FOREST if key not in COSTS or key == cost_key(comparison)]
    there = [row for key in wanted if _is_there(row := comparison.row(key)) and row is not None]
    return [row for row in there if (value := row.of(TODAY).value) is not None and value.value][:MOST_FOREST_ROWS]


def _is_there(row: Row | None) -> bool:
    return row is not None and all(cell.value is not None for cell in row.cells)
