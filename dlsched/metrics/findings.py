"""The sentences of pages and reports, from numbers alone.

Grammar: what changed + what got better, from a to b + what it costs + how sure. Never "better" when not
distinguishable; "a trade-off" when metrics disagree; no adjective without its number. Names a user gave are not
escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dlsched.domain.cluster import Cluster
from dlsched.metrics.chips import Chip, assumptions, is_random
from dlsched.metrics.compare import Cell, Comparison, Row
from dlsched.metrics.formats import Number, amount, count, duration, factor, is_missing, money, number, share
from dlsched.metrics.guards import Guard, comparison_guards, guards
from dlsched.metrics.summary import HOURS_PER_MONTH

__all__ = [
    "Chip",
    "Guard",
    "assumptions",
    "certainty",
    "cluster_sentence",
    "compare_sentence",
    "comparison_guards",
    "guards",
    "headline",
    "is_random",
    "result_sentence",
    "workload_sentence",
]

HEADLINES: Mapping[str, str] = {
    "completed": "completed jobs",
    "wait_p95": "the p95 wait",
    "late_share": "late jobs",
    "slowdown_mean": "the mean slowdown",
    "vm_cost": "machine cost",
}
"""The metrics a comparison speaks of, as they are called in a sentence; slowdown only where jobs have no due times."""
COST = "vm_cost"
MOST_CLAUSES = 2
MOST_GPU_TYPES = 3
"""More GPU types than this are counted in a sentence, not named."""


def workload_sentence(
    jobs: int, span_s: float, median_run_s: Number, *, load: Number = None, gpus: int = 0, never_fit: int = 0
) -> str:
    """Return "9,383 jobs in 41 d ask for 84% of 64 GPUs; 3 can never fit; half run under 18 min."."""
    parts = [f"{amount(jobs, 'job')} in {duration(span_s)}"]
    if gpus and not is_missing(load):
        parts[0] += f" {'asks' if jobs == 1 else 'ask'} for {share(load)} of {amount(gpus, 'GPU')}"
    if never_fit:
        parts.append(f"{count(never_fit)} can never fit")
    if not is_missing(median_run_s):
        parts.append(f"half run under {duration(median_run_s)}")
    return "; ".join(parts) + "."


def cluster_sentence(cluster: Cluster, widest_gpus: float | None = None, *, fits: bool = True) -> str:
    """Return "8 nodes, 64 A100, $134/h ($98,000 a month). Widest job (64 GPUs) fits."."""
    if cluster.free_slots:
        kinds = amount(len(cluster.catalogue), "machine type")
        text = f"{amount(cluster.slots, 'free slot')}, the policy chooses from {kinds}."
    else:
        text = f"{amount(cluster.num_nodes, 'node')}, {_gpus_by_type(cluster)}, {_price(cluster)}."
    if widest_gpus is None:
        return text
    size = f"{number(widest_gpus)} {'GPU' if widest_gpus == 1 else 'GPUs'}"
    return f"{text} Widest job ({size}) {'fits' if fits else 'does not fit'}."


def _gpus_by_type(cluster: Cluster) -> str:
    totals: dict[str, int] = {}
    for pool in cluster.pools:
        if pool.vm.gpus and pool.count:
            totals[pool.vm.gpu_type] = totals.get(pool.vm.gpu_type, 0) + pool.count * pool.vm.gpus
    if len(totals) > MOST_GPU_TYPES:
        return f"{amount(sum(totals.values()), 'GPU')} of {len(totals)} types"
    named = [amount(gpus, "GPU") if kind == "GPU" else f"{count(gpus)} {kind}" for kind, gpus in totals.items()]
    return _listed(named) if named else "no GPUs"


def _price(cluster: Cluster) -> str:
    if cluster.usd_per_h is None:
        return "no price set"
    return f"{money(cluster.usd_per_h)}/h ({money(cluster.usd_per_h * HOURS_PER_MONTH)} a month)"


def result_sentence(policy: str, metrics: Mapping[str, Number]) -> str:
    """Return what one run says: waits, lateness or slowdown, money or use, and jobs that did not complete."""
    parts = [_waits(metrics), _lateness(metrics), _money(metrics), _not_completed(metrics)]
    return f"{policy}: " + "; ".join(part for part in parts if part) + "."


def _waits(metrics: Mapping[str, Number]) -> str:
    half, most = metrics.get("wait_p50"), metrics.get("wait_p95")
    if half is None or most is None:
        return "no job started"
    if metrics.get("wait_max") == 0:
        return "every job started at once"
    if most == 0:
        return "95 of 100 jobs started at once"
    started = "half of the jobs started at once" if half == 0 else f"half of the jobs started within {duration(half)}"
    return f"{started}, but 1 in 20 waited over {duration(most)}"


def _lateness(metrics: Mapping[str, Number]) -> str:
    late, slowdown = metrics.get("late_share"), metrics.get("slowdown_mean")
    if late is not None:
        return f"{share(late)} were late" if late else "none was late"
    return "" if slowdown is None else f"mean slowdown {factor(slowdown)}"


def _money(metrics: Mapping[str, Number]) -> str:
    cost, held = metrics.get("vm_cost"), metrics.get("allocation_ratio")
    if cost is not None:
        late = metrics.get("tardiness_cost")
        return f"{money(cost)} for machines" + (f" and {money(late)} for lateness" if late else "")
    return "" if held is None else f"{share(held)} of the GPU time was held"


def _not_completed(metrics: Mapping[str, Number]) -> str:
    words = {"rejected": "rejected", "unfinished": "unfinished", "cancelled": "cancelled", "failed": "failed"}
    found = [f"{count(metrics[key])} {word}" for key, word in words.items() if metrics.get(key)]
    return f"of {count(metrics.get('jobs'))} jobs {', '.join(found)}" if found else ""


def compare_sentence(comparison: Comparison) -> str:
    """Return what the comparison says: a clause for each of the first two other runs, then how sure it is."""
    others = [name for name in comparison.names if name != comparison.baseline]
    if not others:
        return f"Only {comparison.baseline} is here: pick another run to compare it with."
    clauses = [_clause(comparison, name) for name in others[:MOST_CLAUSES]]
    if len(others) > MOST_CLAUSES:
        clauses.append(f"{count(len(others) - MOST_CLAUSES)} more in the table")
    return "; ".join(clauses) + f" ({certainty(comparison)})."


def headline(comparison: Comparison) -> str:
    """Return the one thing to remember: the best run's change in late jobs (in the p95 wait without due times)."""
    row = comparison.row("late_share") or comparison.row("wait_p95")
    better = [cell for cell in row.cells if cell.verdict == "better" and cell.delta is not None] if row else []
    if row is None or not better:
        return f"No other policy here is clearly better than {comparison.baseline} ({certainty(comparison)})."
    best = min(better, key=lambda cell: cell.delta.mean if cell.delta else 0.0)
    change = _change(row, best, comparison.baseline).removesuffix(")")
    return f"Against {comparison.baseline}, {best.name} {change}; {certainty(comparison)})."


def certainty(comparison: Comparison) -> str:
    """Return how sure a comparison is, in words."""
    if comparison.exact:
        return "exact for this trace"
    if comparison.draws == 1:
        return "rough, 1 draw"
    return f"95%, {comparison.draws} paired draws"


def _clause(comparison: Comparison, name: str) -> str:
    cells = {row.kpi.key: (row, row.of(name)) for row in _headline_rows(comparison)}
    better = [pair for pair in cells.values() if pair[1].verdict == "better"]
    worse = [pair for pair in cells.values() if pair[1].verdict == "worse"]
    base = comparison.baseline
    if better and worse:
        return f"{name} against {base} is a trade-off: it {_changes(better, base)}, but {_changes(worse, base)}"
    if better:
        return f"{name} {_changes(better, base)} against {base}{_rest(cells)}"
    if worse:
        return f"{name} {_changes(worse, base)} against {base}, and nothing compared here gets better"
    return _no_difference(cells, name, base)


def _headline_rows(comparison: Comparison) -> list[Row]:
    has_due = comparison.row("late_share") is not None
    keys = [key for key in HEADLINES if not (key == "slowdown_mean" and has_due)]
    return [row for key in keys if (row := comparison.row(key)) is not None]


def _changes(pairs: Iterable[tuple[Row, Cell]], base: str) -> str:
    """Return "cuts the p95 wait from 3 h 53 min to 3 h 12 min (−41 min ± 15 min) and ..."."""
    return _listed([_change(row, cell, base) for row, cell in pairs])


def _change(row: Row, cell: Cell, base: str) -> str:
    before, delta, value = row.of(base).value, cell.delta, cell.value
    assert before is not None
    assert delta is not None
    assert value is not None
    verb = "cuts" if delta.mean < 0 else "raises"
    size = cell.delta_text.rsplit(f", {cell.verdict}", 1)[0]
    return f"{verb} {HEADLINES[row.kpi.key]} from {row.kpi.show(before.mean)} to {row.kpi.show(value.mean)} ({size})"


def _rest(cells: Mapping[str, tuple[Row, Cell]]) -> str:
    """Return what an improvement costs, where the cost did not change."""
    if COST not in cells:
        return ""
    verdict = cells[COST][1].verdict
    return {
        "same": f" at the same {HEADLINES[COST]}",
        "not distinguishable": f"; {HEADLINES[COST]} is not distinguishable",
    }.get(verdict, "")


def _no_difference(cells: Mapping[str, tuple[Row, Cell]], name: str, base: str) -> str:
    compared = {key: cell for key, (_, cell) in cells.items() if cell.verdict != "missing"}
    if not compared:
        return f"{name} and {base} have no number in common"
    rough = [key for key, cell in compared.items() if cell.verdict == "rough"]
    if rough:
        pairs = [(cells[key][0], cells[key][1]) for key in rough]
        seen = _listed([f"{HEADLINES[row.kpi.key]} {cell.text} against {row.of(base).text}" for row, cell in pairs])
        return f"{name} has {seen} of {base}, which one draw cannot tell apart"
    unsure = [HEADLINES[key] for key, cell in compared.items() if cell.verdict == "not distinguishable"]
    if unsure:
        return f"{name} is not distinguishable from {base} in {_listed(unsure)}"
    return f"{name} does the same as {base} in {_listed([HEADLINES[key] for key in compared])}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
