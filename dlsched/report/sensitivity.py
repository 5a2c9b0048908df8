"""What could change the answer: the options again, in situations in which one thing is different."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.compare import Row, compare
from dlsched.studies.sweep.answer import Sweep
from dlsched.wording.formats import amount, count


@dataclass(frozen=True, slots=True)
class Situation:
    """One thing that is different, in words, and one metric of all options there."""

    words: str
    row: Row


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Situations, the first of them as things are; all rows are of one metric."""

    situations: tuple[Situation, ...]
    draws: int
    exact: bool

    @property
    def label(self) -> str:
        """Label of the metric."""
        return self.situations[0].row.kpi.label

    @property
    def names(self) -> tuple[str, ...]:
        """The options, in the order of the rows' cells."""
        return tuple(cell.name for cell in self.situations[0].row.cells)

    def words(self, name: str) -> str:
        """Return in how many situations an option is best; "" where a single draw of something random cannot tell."""
        if name not in self.names or (self.draws == 1 and not self.exact):
            return ""
        lost = [each for each in self.situations if not _holds(each.row, name)]
        total = amount(len(self.situations), "situation")
        if not lost:
            return f"{name} is best, or not distinguishable from the best, in all {total}."
        kept = count(len(self.situations) - len(lost))
        return f"{name} is best, or not distinguishable from the best, in {kept} of {total}; not at: {lost[0].words}."


def _holds(row: Row, name: str) -> bool:
    """Whether an option is among the best; where nobody is marked best all tie."""
    return row.of(name).best or not any(cell.best for cell in row.cells)


def of_sweep(sweep: Sweep, metric: str, *, exact: bool = False) -> Sensitivity | None:
    """Return what a sweep of one thing at a time says about a metric; None where it says nothing.

    A metric the sweep does not have is replaced by its first one that is good or bad. ``exact``: nothing is random.
    """
    judged = [key for key in sweep.metrics if KPIS[key].better != "neutral"]
    key = metric if metric in judged else judged[0] if judged else ""
    if not key or len(sweep.policies) < 2:
        return None
    situations = []
    for point in range(len(sweep.points)):
        row = _row(sweep, point, key, exact=exact)
        if row is not None:
            situations.append(Situation(sweep.point_words(point), row))
    return Sensitivity(tuple(situations), len(sweep.seeds), exact) if situations else None


def _row(sweep: Sweep, point: int, key: str, *, exact: bool) -> Row | None:
    draws: Mapping[str, list[dict[str, float | None]]] = {
        sweep.labels[policy]: [{key: cell.values.get(key)} for cell in sweep.at(point, policy)]
        for policy in sweep.policies
    }
    found = compare(list(draws.items()), sweep.labels[sweep.reference], exact=exact, keys=(key,))
    return found.row(key)
