"""What the page Size says of a search for a size: cards, tables, banners, assumptions; and how limits are typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlsched.metrics.kpi import KPI, KPIS
from dlsched.studies.sizing.answer import (
    CostBy,
    Counts,
    Headroom,
    Sizing,
    VmRange,
    check_at,
    cost_at,
    cost_difference,
    frontier,
    reachable,
    reversals,
    tightest,
)
from dlsched.studies.sizing.rule import CLAIMS, Claim, Rule, TargetCheck
from dlsched.studies.sizing.targets import SIDES, Target
from dlsched.studies.sizing.words import VERDICTS, left_out_words, reversal_words, sentence
from dlsched.studies.what_if.words import DAYS_WHY, varies_words
from dlsched.wording.assumptions import Assumption
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    MISSING,
    Number,
    amount,
    factor,
    listed,
    money,
    number,
    share,
    show_interval,
)

CLAIM_LABELS: Mapping[Claim, str] = {
    "average": "The average month meets the targets",
    "nearly-every": "Nearly every month meets them",
}
EXAMPLES = {
    "duration": "1 h, 30 min or 2 d", "hours": "100 h", "share": "5%", "usd": "$50,000", "usd_per_month": "$50,000",
    "usd_per_gpu_h": "$2.50", "factor": "3x", "count": "1,200", "number": "0.9",
}  # fmt: skip
"""How a limit may be typed, by kind of metric."""
USUAL_WAIT_S, USUAL_SHARE = 3600.0, 0.05
WAIT_STEPS_S = tuple(60.0 * minutes for minutes in (1, 2, 5, 10, 15, 20, 30, 45))
BEFORE_ALL = "What is the cheapest cluster that meets my targets?"
BEFORE_GROWTH = "Until when does the cluster meet my targets, and by when must more be ordered?"
COST_COLUMN: Mapping[CostBy, str] = {"price": "Cost/month", "runs": "Cost/month", "gpus": "GPUs", "nodes": "Nodes"}
NO_PRICES = "No price is set on these machines: sizes are compared by their GPUs, or by nodes without them."


# ---- limits as they are typed ------------------------------------------------------------------------


def limit_text(kpi: KPI, limit: float) -> str:
    """Return a limit so that it is read as the same number: "1 h", "5%", "$50,000"."""
    if kpi.kind in ("duration", "hours"):
        units = ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min")) if kpi.kind == "duration" else ((HOUR_S, "h"),)
        whole = ((size, unit) for size, unit in units if limit >= size and limit % size == 0)
        size, unit = next(whole, (HOUR_S, "h") if kpi.kind == "hours" else (1, "s"))
        return f"{limit / size:.12g} {unit}"
    if kpi.kind == "share":
        return f"{100 * limit:.12g}%"
    if kpi.kind.startswith("usd"):
        return f"${limit:,.12g}"
    return f"{limit:.12g}x" if kpi.kind == "factor" else f"{limit:,.12g}"


def example_of(kpi: KPI) -> str:
    """Return how a limit of a metric may be written."""
    return EXAMPLES[kpi.kind]


def usual_limit(kpi: KPI, now: Number) -> float:
    """Return the limit a field begins with: of waits an hour, of shares 5%, or as good as now where that is better.

    Of other numbers what they are now, rounded to two figures on the good side, else 1.
    """
    if kpi.key.startswith("wait"):
        steps = [step for step in WAIT_STEPS_S if now is not None and now <= step]
        return steps[0] if steps else USUAL_WAIT_S
    if kpi.kind == "share" and kpi.better == "lower":
        return USUAL_SHARE
    if now is None or now != now:
        return {"duration": USUAL_WAIT_S, "hours": 100 * USUAL_WAIT_S, "share": 0.9}.get(kpi.kind, 1.0)
    return _rounded(float(now), up=kpi.better == "lower")


def _rounded(value: float, *, up: bool) -> float:
    """Return the value with two figures, not below it (``up``) or not above it."""
    near = float(f"{value:.1e}")
    if (near >= value) if up else (near <= value):
        return near
    step = 10.0 ** (int(f"{abs(value):.1e}".partition("e")[2]) - 1)
    return float(f"{near + (step if up else -step):.1e}")


# ---- question and answer -----------------------------------------------------------------------------


def goal_words(targets: tuple[Target, ...], claim: Claim, level: float, label: str, *, exact: bool) -> str:
    """Return what is asked of every size: targets, claim and policy."""
    sure = f" ({share(level)} of draws)" if claim == "nearly-every" and not exact else ""
    month = "" if exact else f", {CLAIMS[claim]}{sure}"
    return f"{listed([target.words for target in targets])}{month}, under {label}"


def headline(sizing: Sizing) -> str:
    """Return the sentence on top: the size, what it costs, and in how many draws it held."""
    if sizing.answer is None or sizing.rule.exact:
        return sentence(sizing)
    check = check_at(sizing, sizing.answer)
    return f"{sentence(sizing)} Held in {check.hits:,} of {amount(check.n, 'draw')}."


def certainty(sizing: Sizing) -> str:
    """Return how sure the answer is, in a few words."""
    if sizing.rule.exact:
        return "exact for this trace, not a forecast"
    if sizing.answer is None:
        return f"{amount(len(sizing.search_seeds), 'draw')} a size"
    check = check_at(sizing, sizing.answer)
    return f"held in {check.hits:,} of {amount(check.n, 'draw')}"


def cards_of(sizing: Sizing) -> list[tuple[str, str, str]]:
    """Return four cards at most: nodes, cost, tightest target, headroom; what was reached where nothing does."""
    answer = sizing.answer
    if answer is None:
        return _cards_of_none(sizing)
    found = [("Nodes", nodes_card(sizing, answer), f"{sizing.words(answer)}, today {sizing.words(sizing.today)}.")]
    cost = cost_at(sizing, answer)
    if cost is not None:
        more = cost_difference(sizing, answer, sizing.today)
        text = "Nodes times their prices over 30.4 days." if sizing.cost_by == "price" else "Mean over draws."
        against = (
            "" if more is None else f" Against today: {show_interval('usd_per_month', more.mean, None, signed=True)}."
        )
        found.append(("Cost per month", money(cost.mean), text + against))
    else:
        found.append(("GPUs", f"{sizing.size(answer).gpus:,}", NO_PRICES))
    tight = tightest(sizing, answer)
    if tight is not None and tight.mean is not None:
        kpi = tight.target.kpi
        value = f"{kpi.show(tight.mean.mean)} of {kpi.show(tight.target.limit)}"
        text = f"{target_words(tight)}. The target whose mean uses most of its limit. {kpi.tooltip}"
        found.append((f"Tightest: {kpi.label.removesuffix(', share')}", value, text))
    room = room_of(sizing, answer)
    if room is not None:
        found.append(("Headroom", headroom_card(room), "How much more load this size takes before a target breaks."))
    return found


def _cards_of_none(sizing: Sizing) -> list[tuple[str, str, str]]:
    found = [("Sizes tried", f"{len(sizing.sizes):,}", f"{amount(sizing.runs, 'run')} in all.")]
    for target in sizing.rule.targets[:3]:
        best = reachable(sizing, target.metric)
        if best is not None:
            end = "lowest" if target.side == "at most" else "highest"
            text = (
                f"The {end} mean over draws of all sizes tried, with {sizing.words(best[0])}. Target: {target.words}."
            )
            found.append((f"{target.kpi.label}, {end} reached", target.kpi.show(best[1].mean), text))
    return found


def nodes_card(sizing: Sizing, counts: Counts) -> str:
    """Return the nodes of a size with the difference to today: "10 (+2)"; by type where several vary."""
    if len(counts) > 1:
        there = [f"{count:,} {vm.name}" for vm, count in zip(sizing.types, counts, strict=True) if count]
        return " + ".join(there) or "none"
    more = counts[0] - sizing.today[0]
    sign = "as today" if not more else f"+{more:,}" if more > 0 else f"\N{MINUS SIGN}{-more:,}"
    return f"{counts[0]:,} ({sign})"


def room_of(sizing: Sizing, counts: Counts) -> Headroom | None:
    """Return the headroom of a size; None where it was not looked for."""
    return next((room for room in sizing.headroom if room.counts == counts), None)


def headroom_card(room: Headroom) -> str:
    """Return how much more load a size takes: "+18% load"; "none", or how much less it would take."""
    if room.last is None:
        return f"under {factor(room.first)} load"
    percent = round(100 * (room.last - 1))
    at_least = "at least " if room.first is None else ""
    if percent < 0:
        return f"\N{MINUS SIGN}{-percent}% load"
    return f"{at_least}+{percent}% load" if percent else "none"


def target_words(one: TargetCheck) -> str:
    """Return a target with what was reached: "35 min ± 10 min, ok"."""
    kpi, mean = one.target.kpi, one.mean
    reached = MISSING if mean is None else show_interval(kpi.kind, mean.mean, mean.half_width)
    return f"{reached}, {VERDICTS[one.verdict]}"


def rows_of(sizing: Sizing) -> list[dict[str, Any]]:
    """Return every size tried as a row: cost, each target with its verdict, draws that held, what it is."""
    priced = sizing.cost_by in ("price", "runs")
    knees = {point.counts for point in frontier(sizing) if point.knee}
    rows = []
    for size in sizing.sizes:
        check, cost = check_at(sizing, size.counts), cost_at(sizing, size.counts)
        names = {"answer": size.counts == sizing.answer, "today": size.counts == sizing.today,
                 "just below": size.counts in sizing.neighbours, "knee": size.counts in knees}  # fmt: skip
        usd = MISSING if cost is None else show_interval("usd_per_month", cost.mean, cost.half_width)
        rows.append(
            {"Size": sizing.words(size.counts), "Note": ", ".join(name for name, holds in names.items() if holds)}
            | ({COST_COLUMN[sizing.cost_by]: usd} if priced else {"GPUs": f"{size.gpus:,}"})
            | {one.target.words: target_words(one) for one in check.targets}
            | {"All targets": VERDICTS[check.verdict]}
            | ({} if sizing.rule.exact else {"Draws held": f"{check.hits} of {check.n}"})
            | {"Why": check.why}
        )
    if not any(row["Why"] for row in rows):
        for row in rows:
            row.pop("Why")
    return rows


def notes_of(sizing: Sizing) -> list[str]:
    """Return what else must be known of the answer: more nodes that do worse."""
    return [reversal_words(sizing, one) for one in reversals(sizing)[:3]]


def guards_of(sizing: Sizing, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, a search that ran out, jobs left out, the edge of a range; old answers."""
    found = []
    bad = [(size.counts, draw) for size in sizing.sizes for draw in size.draws if draw.audit]
    if bad:
        first = f"{sizing.words(bad[0][0])}: {bad[0][1].audit[0]}"
        text = f"The auditor found violations in {amount(len(bad), 'run')}. First, {first}"
        found.append(Caution("red", text, "Do not use this answer"))
    if sizing.answer is not None and sizing.reasons:
        found.append(Caution("orange", f"{_sentence(listed(list(sizing.reasons)))}: a cheaper size may be left."))
    if words := left_out_words(sizing):
        found.append(Caution("orange", words))
    if sizing.answer is not None:
        edges = [vm for vm, count in zip(sizing.types, sizing.answer, strict=True) if count == vm.least > 1]
        if edges:
            text = f"The answer has the least nodes that were allowed ({edge_words(edges)}): fewer were not tried."
            found.append(Caution("orange", text, "Allow fewer and search again"))
    return [*found, *origin_guards(sizing.scenario_name, stale=stale, elsewhere=elsewhere)]


def origin_guards(name: str, *, stale: bool, elsewhere: bool) -> list[Caution]:
    """Return the banners of an answer that was made by other code, or about a scenario that is not here."""
    found = []
    if elsewhere:
        found.append(Caution("info", f"This answer is about the scenario {name}, which is not in this store."))
    if stale:
        found.append(Caution("info", "Computed by another version of this program.", "Ask again to be sure."))
    return found


def edge_words(types: list[VmRange]) -> str:
    """Return the least of ranges in words."""
    return ", ".join(f"{vm.least:,} {vm.name} nodes".replace("  ", " ") for vm in types)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def chips_of(sizing: Sizing) -> list[Assumption]:
    """Return what the answer takes for granted beyond its scenario."""
    found = rule_chips(sizing.rule, sizing.vary)
    ranges = "; ".join(f"{vm.name or 'nodes'} {vm.least:,} to {vm.most:,}" for vm in sizing.types)
    why = "Only these were tried, and of those not all: more nodes are supposed to serve better, and sizes that say "
    found.append(Assumption(f"sizes: {ranges}", why + "otherwise are told.", ""))
    if sizing.cost_by in ("gpus", "nodes"):
        found.append(Assumption("no prices", NO_PRICES, "Cluster"))
    return found


def rule_chips(rule: Rule, vary: Mapping[str, float | str]) -> list[Assumption]:
    """Return what the claim, the draws and what varies between them take for granted."""
    if rule.exact:
        why = "Nothing is random where given jobs run as they are: one draw says all of them, and nothing of others."
        return [Assumption("exact for this trace", why, "")]
    if rule.claim == "average":
        why = "The mean over draws, with its whole 95% interval, is within every target. Single months may be worse."
        found = [Assumption("claim: the average month", why, "")]
    else:
        why = f"{share(rule.level)} of the draws seen meet all targets at once; a draw stands for a month."
        found = [Assumption("claim: nearly every month", why, "")]
    drawn = "Drawn anew for each draw, the same for every size; how is an assumption of ours."
    named = zip(vary, varies_words(vary), strict=True)
    return found + [Assumption(words, DAYS_WHY if key == "days" else drawn, "") for key, words in named]


def load_words(value: float) -> str:
    """Return a load factor: 1.05x the load."""
    return f"{number(value)}x the load"


def metric_names(sizing: Sizing) -> dict[str, str]:
    """Return the targets' metrics with their labels, the one the frontier begins with first."""
    targets = sorted(sizing.rule.targets, key=lambda target: target.rises_with_size)
    return {target.metric: KPIS[target.metric].label for target in targets}


def side_words(metric: str) -> str:
    """Return on which side of its limit a metric is good."""
    return SIDES[KPIS[metric].better]
