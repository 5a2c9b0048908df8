"""What to choose: cost against service of each option, and the sentence that recommends one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dlsched.metrics.findings import HEADLINES, compare_sentence, headline_rows
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.money import COSTS, cost_key
from dlsched.metrics.stats.compare import Cell, Comparison, Row
from dlsched.metrics.stats.statements import Estimate
from dlsched.report.alternatives import Alternative
from dlsched.wording.formats import amount, listed

ENOUGH_DRAWS = 10
NOT_SERVICE = ("completed", *COSTS)


@dataclass(frozen=True, slots=True)
class Point:
    """An option between what it costs and how well it serves; ``beaten``: another is no worse in both, by means."""

    name: str
    cost: Estimate
    service: Estimate
    beaten: bool


def service_key(comparison: Comparison) -> str:
    """Return the metric that says how well jobs are served: late jobs, worth, else a time; "" where none is known."""
    rows = [row.kpi.key for row in headline_rows(comparison) if row.kpi.key not in NOT_SERVICE]
    for key in ("late_share", "utility_total"):
        if comparison.row(key) is not None:
            return key
    return rows[0] if rows else ""


def points(comparison: Comparison, cost: str, service: str) -> tuple[Point, ...]:
    """Return cost and service of the options that have both."""
    paid, served = comparison.row(cost), comparison.row(service)
    if paid is None or served is None:
        return ()
    there = [
        (name, x, y)
        for name in comparison.names
        if (x := paid.of(name).value) is not None and (y := served.of(name).value) is not None
    ]
    sign = -1.0 if served.kpi.better == "higher" else 1.0
    less = np.array([[x.value, sign * y.value] for _, x, y in there]).reshape(-1, 2)
    return tuple(
        Point(name, x, y, bool(((less <= less[k]).all(axis=1) & (less < less[k]).any(axis=1)).any()))
        for k, (name, x, y) in enumerate(there)
    )


def only(comparison: Comparison, names: Sequence[str]) -> Comparison:
    """Return the comparison of some of its runs."""
    rows = tuple(Row(row.kpi, tuple(cell for cell in row.cells if cell.name in names)) for row in comparison.rows)
    kept = tuple(name for name in comparison.names if name in names)
    return replace(comparison, names=kept, rows=rows)


def is_rough(comparison: Comparison) -> bool:
    """Whether a single draw of something random stands behind the numbers."""
    return comparison.is_rough


def best_of(comparison: Comparison, options: Sequence[Alternative]) -> str:
    """Return the option to recommend; the baseline where no other is plainly better.

    A size that a search found to meet what was asked of it is what was looked for, so it comes first. Plainly better:
    at least one of the numbers a comparison speaks of is better and none is worse. Of several it is the one with the
    largest mean gain in service, then in cost; what speaks against it is said beside it.
    """
    found = _found(comparison, options)
    if found is not None:
        return found.name
    clear = _plainly_better(comparison, options)
    if not clear:
        return comparison.baseline
    service, cost = service_key(comparison), cost_key(comparison) or ""
    return min(clear, key=lambda name: (_change(comparison, name, service), _change(comparison, name, cost)))


def _found(comparison: Comparison, options: Sequence[Alternative]) -> Alternative | None:
    """Return the one option that a search found to meet its targets; None where none or several are."""
    found = [option for option in options if option.claim and option.name != comparison.baseline]
    return found[0] if len(found) == 1 and not is_rough(comparison) else None


def _plainly_better(comparison: Comparison, options: Sequence[Alternative]) -> list[str]:
    if is_rough(comparison):
        return []
    able = [option.name for option in options if option.name != comparison.baseline and not option.is_limit]
    return [name for name in able if (said := _verdicts(comparison, name)) and "better" in said and "worse" not in said]


def _tied_in(comparison: Comparison, key: str, names: Sequence[str]) -> list[str]:
    """Return which of the names are best in a metric, or not clearly behind the best."""
    row = comparison.row(key)
    return [name for name in names if row is not None and row.of(name).best]


def trade_offs(comparison: Comparison, options: Sequence[Alternative]) -> list[str]:
    """Return the options that are better in some of the numbers and worse in others."""
    able = [option.name for option in options if option.name != comparison.baseline and not option.is_limit]
    return [name for name in able if {"better", "worse"} <= _verdicts(comparison, name)]


def recommendation(comparison: Comparison, options: Sequence[Alternative]) -> str:
    """Return what to do and why, in words for who decides: the sentence a memo opens with."""
    base = comparison.baseline
    if len(comparison.names) < 2:
        return compare_sentence(comparison)
    if is_rough(comparison):
        wanted = f"run {amount(ENOUGH_DRAWS, 'simulation')} before deciding"
        return f"Rough preview: {wanted}. {compare_sentence(comparison)}"
    best = best_of(comparison, options)
    claimed = _found(comparison, options)
    if claimed is not None:
        return f"Choose {best}: {claimed.claim} {compare_sentence(only(comparison, (base, best)))}"
    if best != base:
        why = compare_sentence(only(comparison, (base, best)), called="it")
        return f"Choose {best}: {why}{_beside(comparison, options, best)}"
    mixed = trade_offs(comparison, options)
    if mixed:
        told = only(comparison, (base, *mixed))
        weigh = f"No option is better in all that counts: stay with {base} unless the gain is worth the loss."
        return f"{weigh} {compare_sentence(told)}"
    names = (base, *(option.name for option in options if not option.is_limit))
    told = only(comparison, names)
    if len(told.names) < 2:
        return f"Stay with {base}: what it is compared with shows a limit and cannot be chosen ({told.certainty})."
    return f"Stay with {base}. {compare_sentence(told)}"


def _beside(comparison: Comparison, options: Sequence[Alternative], best: str) -> str:
    """Return what else to know: what speaks against the best option, and which others the draws rank as high.

    Beside an option with a caveat, those that have none are named.
    """
    caveats = {option.name: option.caveat for option in options}
    service = service_key(comparison)
    others = [name for name in _plainly_better(comparison, options) if name != best]
    tied = _tied_in(comparison, service, [name for name in others if not (caveats[best] and caveats[name])])
    caveat = f" Mind that {caveats[best]}." if caveats[best] else ""
    if not tied or not _tied_in(comparison, service, [best]):
        return caveat
    word = HEADLINES.get(service, KPIS[service].label.lower())
    needs = ", without that" if caveats[best] else ""
    return f"{caveat} {listed(tied)} {'does' if len(tied) == 1 else 'do'} about as well in {word}{needs}."


def _verdicts(comparison: Comparison, name: str) -> set[str]:
    return {row.of(name).verdict for row in headline_rows(comparison)}


def _change(comparison: Comparison, name: str, key: str) -> float:
    """Return how a metric changes, as a share of the baseline, below 0 = better; 0 where it cannot be told."""
    row = comparison.row(key)
    cell: Cell | None = row.of(name) if row else None
    if row is None or cell is None or cell.delta is None or cell.verdict not in ("better", "worse"):
        return 0.0
    base = row.of(comparison.baseline).value
    size = abs(cell.delta.value) / (abs(base.value) if base and base.value else 1.0)
    return -size if cell.verdict == "better" else size
