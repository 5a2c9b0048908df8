"""The sentences of pages and reports, from numbers alone.

Grammar: what changed + what got better, from a to b + what it costs + how sure. Never "better" when not clear; "a
trade-off" when metrics disagree; no adjective without its number. Names a user gave are not escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import CPU
from dlsched.metrics.money import COSTS, cost_key
from dlsched.metrics.savings import cost_words, gain_words
from dlsched.metrics.stats.compare import Cell, Comparison, Row
from dlsched.metrics.summary import HOURS_PER_MONTH
from dlsched.wording.counted import COUNTED, GPUS, Counted, room_words
from dlsched.wording.formats import Number, amount, count, duration, factor, is_missing, listed, money, number, share
from dlsched.wording.settings import is_plural

HEADLINES: Mapping[str, str] = {
    "completed": "completed jobs",
    "jct_mean": "the mean turnaround time",
    "wait_p95": "the p95 wait",
    "not_running_p95": "the p95 total waiting",
    "late_share": "late jobs",
    "slowdown_mean": "the mean slowdown",
    "cost_month": "machine cost",
    "usd_per_job": "machine cost per job",
    "total_cost": "total cost",
    "vm_cost": "machine cost",
}
"""The metrics a comparison speaks of, as they are called in a sentence.

Slowdown only where jobs have no due dates; total waiting, with pauses, in place of the wait where a policy stops jobs,
because the wait ends at the first start. Where a policy changes widths the turnaround time takes the place of both: a
job can start at once and crawl. Of the costs one: see :func:`dlsched.metrics.money.cost_key`.
"""
MOST_CLAUSES = 2
MOST_GPU_TYPES = 3
"""More GPU types than this are counted in a sentence, not named."""


def workload_sentence(
    jobs: int, span_s: float, median_run_s: Number, *, load: Number = None, room: str = "", never_fit: int = 0,
    scarcer: str = "",
) -> str:  # fmt: skip
    """Return "9,383 jobs in 41 d ask for 84% of 64 GPUs; 3 can never fit; half run under 18 min.".

    ``span_s`` 0: they come at once. ``room``: what the cluster has ("64 GPUs", "480 cores"); "" without any.
    ``scarcer``: what they ask more of ("112% of 480 cores").
    """
    parts = [f"{amount(jobs, 'job')} {f'in {duration(span_s)}' if span_s else 'at once'}"]
    if room and not is_missing(load):
        more = f" and {scarcer}" if scarcer else ""
        parts[0] += f" {'asks' if jobs == 1 else 'ask'} for {share(load)} of {room}{more}"
    if never_fit:
        parts.append(f"{count(never_fit)} can never fit")
    if not is_missing(median_run_s):
        parts.append(f"half run under {duration(median_run_s)}")
    return "; ".join(parts) + "."


def cluster_sentence(
    cluster: Cluster, widest: float | None = None, *, counted: Counted = GPUS, fits: bool = True
) -> str:
    """Return "8 nodes, 64 A100, $134/h ($98,000 a month). Largest job (64 GPUs) fits.".

    ``counted``: the resource in which sizes are told, of the cluster and of the widest job.
    """
    if cluster.free_slots:
        kinds = amount(len(cluster.catalogue), "machine type")
        text = f"Up to {amount(cluster.slots, 'rented machine')}, the policy chooses from {kinds}."
    else:
        parts = [amount(cluster.num_nodes, "node"), _size(cluster, counted), _price(cluster)]
        text = f"{', '.join(part for part in parts if part)}."
    if not widest:
        return text
    size = counted.amount(float(widest))
    return f"{text} Largest job ({size}) {'fits' if fits else 'does not fit'}."


def _size(cluster: Cluster, counted: Counted) -> str:
    """Return the GPUs by type and the cores of CPU nodes; what counts on a cluster without GPUs."""
    cores = room_words(cluster, COUNTED[CPU])
    if counted != GPUS or not cluster.num_gpus:
        return room_words(cluster, counted) or cores
    of_cpu_nodes = sum(pool.count * (pool.vm.cpus or 0) for pool in cluster.pools if not pool.vm.gpus)
    return _gpus_by_type(cluster) + (f", {count(of_cpu_nodes)} cores on CPU nodes" if of_cpu_nodes else "")


def _gpus_by_type(cluster: Cluster) -> str:
    totals: dict[str, int] = {}
    for pool in cluster.pools:
        if pool.vm.gpus and pool.count:
            totals[pool.vm.gpu_type] = totals.get(pool.vm.gpu_type, 0) + pool.count * pool.vm.gpus
    if len(totals) > MOST_GPU_TYPES:
        return f"{amount(sum(totals.values()), 'GPU')} of {len(totals)} types"
    named = [amount(gpus, "GPU") if kind == "GPU" else f"{count(gpus)} {kind}" for kind, gpus in totals.items()]
    return listed(named)


def _price(cluster: Cluster) -> str:
    if cluster.rents_nodes:
        always = "" if cluster.usd_per_h is None else f"{money(cluster.usd_per_h)}/h for those that are always there, "
        rented = sum(cluster.pools[number].count for number in cluster.rented_pools)
        return f"{always}up to {amount(rented, 'node')} rented as jobs need them"
    if cluster.usd_per_h is None:
        return "no price set"
    return f"{money(cluster.usd_per_h)}/h ({money(cluster.usd_per_h * HOURS_PER_MONTH)} a month)"


def result_sentence(
    policy: str, metrics: Mapping[str, Number], *, money_first: bool = False, counted: Counted = GPUS
) -> str:
    """Return what one run says: waits, lateness or slowdown, money or use, and jobs that did not complete.

    ``money_first``: machines are rented by the policy, so what it spent comes first, and how far that is from its bound
    takes the place of the waits. ``counted``: the resource that use is told in.
    """
    if money_first and not is_missing(metrics.get("total_cost")):
        parts = [cost_words(metrics), _lateness(metrics), gain_words(metrics), _not_completed(metrics)]
    else:
        parts = [
            _waits(metrics),
            _pauses(metrics),
            _lateness(metrics),
            _money(metrics, counted),
            _not_completed(metrics),
        ]
    return f"{policy}: " + "; ".join(part for part in parts if part) + "."


def _waits(metrics: Mapping[str, Number]) -> str:
    if metrics.get("other_width_share") and metrics.get("jct_mean") is not None:
        mean, middle, late = (duration(metrics.get(f"jct_{part}")) for part in ("mean", "median", "p95"))
        return f"jobs take {mean} on average, half of them up to {middle}, 1 in 20 over {late}"
    half, most = metrics.get("wait_p50"), metrics.get("wait_p95")
    if half is None or most is None:
        return "no job started"
    if metrics.get("wait_max") == 0:
        return "every job started at once"
    if most == 0:
        return "95 of 100 jobs started at once"
    started = "half of the jobs started at once" if half == 0 else f"half of the jobs started within {duration(half)}"
    return f"{started}, but 1 in 20 waited over {duration(most)}"


def _pauses(metrics: Mapping[str, Number]) -> str:
    """Say how long jobs made no progress where some were stopped: their first wait alone would flatter the policy."""
    still = metrics.get("not_running_mean")
    if not metrics.get("preemptions") or still is None:
        return ""
    if metrics.get("other_width_share"):
        return f"{duration(still)} of it without progress"
    return f"{duration(still)} without progress on average, pauses included"


def _lateness(metrics: Mapping[str, Number]) -> str:
    late, slowdown = metrics.get("late_share"), metrics.get("slowdown_mean")
    if late is not None:
        return f"{share(late)} of the jobs were late" if late else "no job was late"
    if metrics.get("utility_total") is not None:
        return f"their total utility is {number(metrics.get('utility_total'))}"
    return "" if slowdown is None else f"mean slowdown {factor(slowdown)}"


def _money(metrics: Mapping[str, Number], counted: Counted) -> str:
    cost, held = metrics.get("vm_cost"), metrics.get("allocation_ratio")
    if cost is not None:
        late = metrics.get("tardiness_cost")
        return f"{money(cost)} for machines" + (f" and {money(late)} for lateness" if late else "")
    if metrics.get("used_of_reserved") is not None:
        return f"{share(metrics.get('used_of_reserved'))} of the reserved resources was used"
    return "" if held is None else counted.say(f"{share(held)} of the GPU time was allocated")


def _not_completed(metrics: Mapping[str, Number]) -> str:
    words = {"rejected": "rejected", "unfinished": "unfinished", "cancelled": "cancelled", "failed": "failed"}
    found = [f"{count(metrics[key])} {word}" for key, word in words.items() if metrics.get(key)]
    return f"of {count(metrics.get('jobs'))} jobs {', '.join(found)}" if found else ""


def compare_sentence(comparison: Comparison, called: str = "") -> str:
    """Return what the comparison says: a clause for each of the first two other runs, then how sure it is.

    A clause names the most important number that got better and the most important one that got worse; two of each
    where only one run is compared. ``called``: what stands in the place of a run's name, such as "it".
    """
    others = [name for name in comparison.names if name != comparison.baseline]
    if not others:
        return f"Only {comparison.baseline} is here: choose another run to compare it with."
    shown = others[:MOST_CLAUSES]
    most = 2 if len(shown) == 1 else 1
    told: set[str] = set()
    clauses = [_clause(comparison, name, called or name, most, told) for name in shown]
    rests = [_rest(comparison, name) for name in shown]
    if len(shown) > 1 and rests[0] and len(set(rests)) == 1:
        clauses[-1] += f", both {rests[0]}"
    else:
        clauses = [clause + (f" {rest}" if rest else "") for clause, rest in zip(clauses, rests, strict=True)]
    if len(others) > MOST_CLAUSES:
        clauses.append(f"{count(len(others) - MOST_CLAUSES)} more in the table")
    return "; ".join(clauses) + f" ({comparison.certainty})."


def headline(comparison: Comparison) -> str:
    """Return the one thing to remember: the best run's change in late jobs (in the p95 wait without due dates)."""
    waits = "not_running_p95" if _any_above_zero(comparison, "preemptions") else "wait_p95"
    row = comparison.row("late_share") or comparison.row(waits)
    better = [cell for cell in row.cells if cell.verdict == "better" and cell.delta is not None] if row else []
    if row is None or not better:
        return f"No other policy here is clearly better than {comparison.baseline} ({comparison.certainty})."
    best = min(better, key=lambda cell: cell.delta.value if cell.delta else 0.0)
    change = _change(row, best, comparison.baseline, many=is_plural(best.name))
    return f"Against {comparison.baseline}, {best.name} {change} ({best.told.brackets}; {comparison.certainty})."


def _clause(comparison: Comparison, run: str, name: str, most: int, told: set[str]) -> str:
    """Return what a run changes, as ``name``; ``told`` collects the numbers whose baseline the sentence has named."""
    base = comparison.baseline
    rows = {row.kpi.key: (row, row.of(run)) for row in headline_rows(comparison)}
    better, worse = _of_verdict(rows, "better")[:most], _of_verdict(rows, "worse")[:most]
    if not better and not worse:
        better, worse = _of_verdict(rows, "likely better")[:most], _of_verdict(rows, "likely worse")[:most]
    if not better and not worse:
        return _no_difference(rows, name, base)
    is_first = not told
    many = is_plural(name)
    gains, losses = _changes(better, base, told, many=many), _changes(worse, base, told, many=many)
    if gains and losses:
        pronoun, is_are = ("they", "are") if many else ("it", "is")
        against = f" against {base}" if is_first else ""
        return f"{name} {is_are} a trade-off{against}: {pronoun} {gains}, but {losses}"
    against = f" against {base}" if is_first else ""
    return f"{name} {gains or losses}{against}" + ("" if gains else ", and nothing gets better")


def _of_verdict(rows: Mapping[str, tuple[Row, Cell]], verdict: str) -> list[tuple[Row, Cell]]:
    return [pair for pair in rows.values() if pair[1].verdict == verdict]


def headline_rows(comparison: Comparison) -> list[Row]:
    """Return the metrics that sentences about a comparison speak of, see HEADLINES."""
    has_due = comparison.row("late_share") is not None
    if _any_above_zero(comparison, "other_width_share"):
        left_out = {"wait_p95", "not_running_p95"}
    else:
        left_out = {"jct_mean", "wait_p95" if _any_above_zero(comparison, "preemptions") else "not_running_p95"}
    if has_due:
        left_out.add("slowdown_mean")
    left_out |= {*COSTS} - {cost_key(comparison)}
    keys = [key for key in HEADLINES if key not in left_out]
    return [row for key in keys if (row := comparison.row(key)) is not None]


def _any_above_zero(comparison: Comparison, key: str) -> bool:
    row = comparison.row(key)
    return row is not None and any(cell.value is not None and cell.value.value > 0 for cell in row.cells)


def _changes(pairs: Iterable[tuple[Row, Cell]], base: str, told: set[str], *, many: bool) -> str:
    """Return "cuts the p95 wait from 3 h 53 min to 3 h 12 min (better in 40 of 40) and ...", empty without pairs."""
    changes = [
        f"{_change(row, cell, base, again=row.kpi.key in told, many=many)} ({cell.told.brackets})"
        for row, cell in pairs
    ]
    told.update(row.kpi.key for row, _ in pairs)
    return listed(changes) if changes else ""


def _change(row: Row, cell: Cell, base: str, *, again: bool = False, many: bool = False) -> str:
    """Return one change, by ``many`` things or one; ``again``: the baseline's value stands before in the sentence."""
    before, delta, value = row.of(base).value, cell.delta, cell.value
    assert before is not None
    assert delta is not None
    assert value is not None
    verb = ("cut" if delta.value < 0 else "raise") + ("" if many else "s")
    verb = f"likely {verb}" if cell.verdict.startswith("likely") else verb
    start = "" if again else f" from {row.kpi.show(before.value)}"
    return f"{verb} {HEADLINES[row.kpi.key]}{start} to {row.kpi.show(value.value)}"


def _rest(comparison: Comparison, name: str) -> str:
    """Return what a plain improvement costs, where the cost did not change."""
    rows = {row.kpi.key: (row, row.of(name)) for row in headline_rows(comparison)}
    cost = cost_key(comparison)
    if cost not in rows or not _of_verdict(rows, "better") or _of_verdict(rows, "worse"):
        return ""
    return {
        "same": f"at the same {HEADLINES[cost]}",
        "not clear": f"at about the same {HEADLINES[cost]}",
    }.get(rows[cost][1].verdict, "")


def _no_difference(cells: Mapping[str, tuple[Row, Cell]], name: str, base: str) -> str:
    compared = {key: cell for key, (_, cell) in cells.items() if cell.verdict != "missing"}
    if not compared:
        return f"{name} and {base} have no number in common"
    many = is_plural(name)
    rough = [key for key, cell in compared.items() if cell.verdict == "rough"]
    if rough:
        pairs = [(cells[key][0], cells[key][1]) for key in rough]
        seen = listed([f"{HEADLINES[row.kpi.key]} {cell.text} against {row.of(base).text}" for row, cell in pairs])
        return f"{name} {'have' if many else 'has'} {seen} of {base}: one simulation is too few to say which is better"
    mixed = [(cells[key][0], cell) for key, cell in compared.items() if cell.verdict == "mixed"]
    if mixed:
        return f"{name} {_changes(mixed, base, set(), many=many)}: the recorded month and the others disagree"
    unsure = [f"{HEADLINES[key]}{_how_many(cell)}" for key, cell in compared.items() if cell.verdict == "not clear"]
    if unsure:
        return f"{name} {'do' if many else 'does'} not clearly change {listed(unsure)} against {base}"
    verb = "leave" if many else "leaves"
    return f"{name} {verb} {listed([HEADLINES[key] for key in compared])} the same as {base}"


def _how_many(cell: Cell) -> str:
    """Return in how many futures of a recorded month an unclear number is better: " (better in 25 of 40)"."""
    change = cell.delta
    if change is None or change.kind != "recorded":
        return ""
    word, most = ("better", change.better) if change.better >= change.worse else ("worse", change.worse)
    return f" ({word} in {count(most)} of {count(change.n)})"
