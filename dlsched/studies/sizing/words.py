"""What a search for a size says in words: the sentence, how sure it is, what lies beside it, headroom."""

from __future__ import annotations

from collections.abc import Mapping

from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.compare import delta_words, judge
from dlsched.studies.sizing.answer import (
    CostBy,
    Counts,
    Headroom,
    OneMore,
    Reversal,
    Sizing,
    check_at,
    check_load,
    cost_at,
    cost_difference,
    left_out,
    reachable,
)
from dlsched.studies.sizing.rule import Check, TargetCheck, Verdict
from dlsched.studies.what_if.words import of_these_days
from dlsched.wording.formats import amount, listed, money_per_month, number, share, show_interval

VERDICTS: Mapping[Verdict, str] = {"meets": "ok", "fails": "fails", "unsure": "unsure"}
SMALLEST: Mapping[CostBy, str] = {"gpus": "GPUs", "nodes": "nodes"}
"""Without prices, what the smallest size has fewest of."""


def sentence(sizing: Sizing) -> str:
    """Return the answer as one or two sentences."""
    answer = sizing.answer
    if answer is None:
        return _no_size(sizing)
    one = sum(answer) == 1
    today = "Today's " if answer == sizing.today else ""
    verbs = ("is", "meets") if one else ("are", "meet")
    fewest = SMALLEST.get(sizing.cost_by)
    smallest = fewest is not None or (sizing.cost_by == "runs" and not _meets_below(sizing, answer))
    which = "smallest" if smallest else "cheapest"
    unpriced = "" if fewest is None else f" No prices are set: the smallest has the fewest {fewest}."
    if sizing.cost_by == "runs":
        unpriced = " None that does is distinguishably cheaper."
    text = f"{today}{sizing.words(answer)} {verbs[0]} the {which} we tried that {verbs[1]} {_all_targets(sizing)}"
    return f"{text}{_claim(sizing)}{_price(sizing, answer)}.{unpriced}"


def _meets_below(sizing: Sizing, answer: Counts) -> bool:
    """Whether a smaller size meets the targets too: the answer was chosen for what its runs cost."""
    return any(check_at(sizing, one.counts).verdict == "meets" for one in sizing.sizes if one.counts < answer)


def _no_size(sizing: Sizing) -> str:
    tried = [size.counts for size in sizing.sizes]
    most = sizing.words(max(tried, key=lambda counts: (sum(counts), counts))) if tried else ""
    what = f"No size we tried, up to {most}, meets" if most else "No size was tried that meets"
    return f"{what} {_all_targets(sizing)}{_claim(sizing)}."


def _all_targets(sizing: Sizing) -> str:
    targets = sizing.rule.targets
    if len(targets) == 1:
        return f"“{targets[0].words}”"
    return "both targets" if len(targets) == 2 else f"all {len(targets)} targets"


def _claim(sizing: Sizing) -> str:
    if sizing.rule.exact:
        return ""
    if sizing.rule.claim == "average":
        return " in the average month"
    return f" in nearly every month, at least {share(sizing.rule.level)} of the draws run"


def _price(sizing: Sizing, answer: Counts) -> str:
    cost, more = cost_at(sizing, answer), cost_difference(sizing, answer, sizing.today)
    if cost is None:
        return ""
    text = ": " + show_interval("usd_per_month", cost.mean, cost.half_width)
    if more is None or answer == sizing.today:
        return text
    if more.half_width and not more.tells_apart():
        return f"{text}, not distinguishable from today's"
    if not more.mean:
        return f"{text}, as much as today"
    word = "more" if more.mean > 0 else "less"
    return f"{text}, {show_interval('usd_per_month', abs(more.mean), more.half_width)} {word} than today"


def why_none(sizing: Sizing) -> list[str]:
    """Return what is known of why there is no answer: reasons, what was reached, sizes that are unsure."""
    if sizing.answer is not None:
        return []
    found = [*sizing.reasons]
    for target in sizing.rule.targets:
        best = reachable(sizing, target.metric)
        checks = [check_at(sizing, size.counts).of(target.metric) for size in sizing.sizes]
        if best is None or any(check.verdict == "meets" for check in checks):
            continue
        counts, mean = best
        end = "lowest" if target.side == "at most" else "highest"
        value = show_interval(target.kpi.kind, mean.mean, mean.half_width)
        found.append(f"{target.kpi.label}: the {end} mean reached is {value}, with {sizing.words(counts)}")
    unsure = [size.counts for size in sizing.sizes if check_at(sizing, size.counts).verdict == "unsure"]
    if unsure:
        found.append(f"unsure with {listed([sizing.words(counts) for counts in unsure])}: more draws may tell")
    return found


def sure_words(sizing: Sizing) -> str:
    """Return how sure the answer is, with its draws."""
    if sizing.rule.exact:
        return "Exact for this trace, not a forecast: nothing in it is random."
    search, confirm = len(sizing.search_seeds), len(sizing.confirm_seeds)
    days = of_these_days(sizing.vary)
    if sizing.answer is None:
        return f"{amount(search, 'draw')}{days} of each size, {confirm:,} more where those met the targets."
    held = held_words(check_at(sizing, sizing.answer))
    return f"{held}; {search:,} draws{days} found it, {confirm:,} fresh ones confirm it."


def held_words(check: Check) -> str:
    """Return in how many draws a size met all targets: "Held in 39 of 40 draws (95% interval 86.8% to 99.9%)"."""
    interval = "" if check.low == check.high else f" (95% interval {share(check.low)} to {share(check.high)})"
    return f"Held in {check.hits:,} of {amount(check.n, 'draw')}{interval}"


def target_words(one: TargetCheck) -> str:
    """Return a target with what was reached: "Late jobs, share 2.8% ± 0.6 pp, at most 5%: ok"."""
    kpi, mean = one.target.kpi, one.mean
    reached = one.why or "no value" if mean is None else show_interval(kpi.kind, mean.mean, mean.half_width)
    return f"{kpi.label} {reached}, {one.target.side} {kpi.show(one.target.limit)}: {VERDICTS[one.verdict]}"


def neighbour_words(sizing: Sizing) -> str:
    """Return the sizes just below the answer with their verdicts; "" where there are none."""
    parts = []
    for counts in sizing.neighbours:
        check = check_at(sizing, counts)
        why = f" ({check.why})" if check.why else f" ({amount(check.n, 'draw')})" if check.n > 1 else ""
        parts.append(f"{sizing.words(counts)} {VERDICTS[check.verdict]}{why}")
    return f"Just below: {'; '.join(parts)}." if parts else ""


def headroom_words(sizing: Sizing, room: Headroom) -> str:
    """Return how much load a size takes: the last factor tried that meets the targets and the first that does not."""
    size = ("Today's " if room.counts == sizing.today else "") + sizing.words(room.counts)
    does, takes = ("does", "takes") if sum(room.counts) == 1 else ("do", "take")
    if room.last is None:
        return f"{size} {does} not meet the targets at any load tried, down to {number(room.first)}x."
    if room.last == 1 and room.first is not None:
        return f"{size} {takes} no more load than the present one; at {number(room.first)}x: {_at(sizing, room)}."
    if room.first is None:
        return f"{size} {takes} {number(room.last)}x the load, the most that was tried."
    return f"{size} {takes} {number(room.last)}x the load; at {number(room.first)}x: {_at(sizing, room)}."


def _at(sizing: Sizing, room: Headroom) -> str:
    """Return the verdict at the first load that does not meet the targets."""
    first = next((load for load in room.loads if load.factor == room.first), None)
    return VERDICTS["fails" if first is None else check_load(sizing, first).verdict]


def one_more_words(sizing: Sizing, more: OneMore) -> str:
    """Return what one node more costs and changes."""
    of = f" of {more.vm.name}" if more.vm.name else ""
    usd = "" if more.usd_month is None else f", {money_per_month(more.usd_month.mean)}"
    changes = []
    for metric, change in more.changes.items():
        kpi = KPIS[metric]
        if change is not None:
            changes.append(f"{kpi.label} {delta_words(kpi, change, judge(kpi, change, _scale(sizing, metric)))}")
    draws = max((change.n for change in more.changes.values() if change is not None), default=0)
    on = "" if sizing.rule.exact or not draws else f", on {amount(draws, 'draw')} that both have"
    return f"One node more{of}{usd}{on}: {'; '.join(changes) or 'no numbers'}."


def _scale(sizing: Sizing, metric: str) -> float:
    """Return the size of a metric at the answer, that differences are seen against."""
    mean = None if sizing.answer is None else check_at(sizing, sizing.answer).of(metric).mean
    return 0.0 if mean is None else abs(mean.mean)


def reversal_words(sizing: Sizing, one: Reversal) -> str:
    """Return where more nodes did worse."""
    change = show_interval(KPIS[one.metric].kind, one.change.mean, one.change.half_width, signed=True)
    sizes = f"{sizing.words(one.larger)} do worse than {sizing.words(one.smaller)}"
    return f"More nodes are not always better here: {sizes}, {KPIS[one.metric].label} {change}."


def left_out_words(sizing: Sizing) -> str:
    """Return how many jobs the answer leaves out; "" where all are done."""
    left = None if sizing.answer is None else left_out(sizing, sizing.answer)
    if sizing.answer is None or left is None or left.mean <= 0:
        return ""
    many = f"{number(left.mean)} jobs a draw are rejected or not done at the end"
    return f"With {sizing.words(sizing.answer)} {many}, about as many as with today's cluster or fewer."
