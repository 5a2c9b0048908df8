"""What a search for a size says in words: sentence, cards, tables, headroom, banners, assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.domain.scenario import Scenario
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.compare import delta_words, judge
from dlsched.policies.registry import find
from dlsched.studies.sizing.answer import (
    CostBy,
    Counts,
    Headroom,
    OneMore,
    Reversal,
    Sizing,
    VmRange,
    check_at,
    check_load,
    cost_at,
    cost_difference,
    frontier,
    jobs_words,
    left_out,
    reachable,
    reversals,
    tightest,
)
from dlsched.studies.sizing.rule import CLAIMS, Check, Claim, Rule, TargetCheck, Verdict
from dlsched.studies.sizing.spec import TypeRange
from dlsched.studies.sizing.targets import Target
from dlsched.wording.assumptions import Premise, draw_premises, exact_premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.caveats import Caveat, caveats_of
from dlsched.wording.certainty import EXACT, EXACT_WHY
from dlsched.wording.formats import (
    MISSING,
    amount,
    capital,
    factor,
    listed,
    money,
    money_per_month,
    number,
    share,
    show_interval,
    signed,
)
from dlsched.wording.settings import NODES_OF, Value, of_these_days

BEFORE = "What is the cheapest cluster that meets my targets?"
"""What stands in the place of an answer before there is one."""
CLAIM_LABELS: Mapping[Claim, str] = {
    "average": "The average month meets the targets",
    "nearly-every": "Nearly every month meets them",
}
COST_COLUMN: Mapping[CostBy, str] = {"price": "Cost/month", "runs": "Cost/month", "gpus": "GPUs", "nodes": "Nodes"}
NO_PRICES = "No price is set on these machines: sizes are compared by their GPUs, or by nodes without them."
VERDICTS: Mapping[Verdict, str] = {"meets": "ok", "fails": "fails", "unsure": "unsure"}
SMALLEST: Mapping[CostBy, str] = {"gpus": "GPUs", "nodes": "nodes"}
"""Without prices, what the smallest size has fewest of."""

LOAD_ASSUMED = Premise(
    "load by more jobs alone",
    "More jobs like today's over the same time: copies of jobs of the trace on other days. Tried in steps of 5% of the "
    "jobs; more jobs are supposed never to be served better.", "",
)  # fmt: skip
NO_HEADROOM = "This answer has no headroom: it was not asked, or the search ran out of runs before."


def sentence(sizing: Sizing, *, hits: bool = False) -> str:
    """Return the answer as one or two sentences; ``hits``: also in how many draws it held."""
    answer = sizing.answer
    if answer is None:
        return _no_size(sizing)
    today = "Today's " if answer == sizing.today else ""
    held = "" if sizing.rule.exact or not hits else f" Held in {hits_words(check_at(sizing, answer))}."
    return f"{today}{sizing.words(answer)} {'is' if sum(answer) == 1 else 'are'} {claim_words(sizing, answer)}{held}"


def claim_words(sizing: Sizing, answer: Counts) -> str:
    """Return what is claimed of the size found: "the cheapest we tried that meets … in the average month: …."."""
    fewest = SMALLEST.get(sizing.cost_by)
    smallest = fewest is not None or (sizing.cost_by == "runs" and not _meets_below(sizing, answer))
    which = f"the {'smallest' if smallest else 'cheapest'} we tried that {'meets' if sum(answer) == 1 else 'meet'}"
    unpriced = "" if fewest is None else f" No prices are set: the smallest has the fewest {fewest}."
    if sizing.cost_by == "runs":
        unpriced = " None that does is distinguishably cheaper."
    return f"{which} {_all_targets(sizing)}{_claim(sizing)}{_price(sizing, answer)}.{unpriced}"


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


def certainty(sizing: Sizing) -> str:
    """Return how sure the answer is, in a few words."""
    if sizing.rule.exact:
        return EXACT
    if sizing.answer is None:
        return f"{amount(len(sizing.search_seeds), 'draw')} a size"
    return f"held in {hits_words(check_at(sizing, sizing.answer))}"


def sure_words(sizing: Sizing) -> str:
    """Return how sure the answer is, with its draws, in a sentence."""
    if sizing.rule.exact:
        return EXACT_WHY
    search, confirm = len(sizing.search_seeds), len(sizing.confirm_seeds)
    days = of_these_days(sizing.futures.vary)
    if sizing.answer is None:
        return f"{amount(search, 'draw')}{days} of each size, {confirm:,} more where those met the targets."
    check, found = check_at(sizing, sizing.answer), f"{amount(search, 'draw')}{days} found it"
    interval = "" if check.low == check.high else f" (95% interval {share(check.low)} to {share(check.high)})"
    return f"Held in {hits_words(check)}{interval}; {found}, {confirm:,} fresh ones confirm it."


def hits_words(check: Check) -> str:
    """Return in how many draws a size met all targets: "39 of 40 draws"."""
    return f"{check.hits:,} of {amount(check.n, 'draw')}"


def reached_words(one: TargetCheck) -> str:
    """Return what a size reached of a target: "35 min ± 10 min, ok"."""
    kpi, mean = one.target.kpi, one.mean
    reached = MISSING if mean is None else show_interval(kpi.kind, mean.mean, mean.half_width)
    return f"{reached}, {VERDICTS[one.verdict]}"


def neighbour_words(sizing: Sizing) -> str:
    """Return the sizes just below the answer with their verdicts; "" where there are none."""
    parts = []
    for counts in sizing.neighbours:
        check = check_at(sizing, counts)
        why = f" ({check.why})" if check.why else f" ({amount(check.n, 'draw')})" if check.n > 1 else ""
        parts.append(f"{sizing.words(counts)} {VERDICTS[check.verdict]}{why}")
    return f"Just below: {'; '.join(parts)}." if parts else ""


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


def ranges_words(types: Sequence[VmRange | TypeRange]) -> str:
    """Return how many nodes may be tried: "1 to 32 nodes", "0 to 4 nodes of A100 and 1 to 8 nodes of H100"."""
    kinds = [f" of {one.key.removeprefix(NODES_OF)}" if one.key.startswith(NODES_OF) else "" for one in types]
    return listed([f"{one.least:,} to {one.most:,} nodes{kind}" for one, kind in zip(types, kinds, strict=True)])


# ---- cards and tables --------------------------------------------------------------------------------


def goal_words(targets: tuple[Target, ...], claim: Claim, level: float, label: str, *, exact: bool) -> str:
    """Return what is asked of every size: targets, claim and policy."""
    sure = f" ({share(level)} of draws)" if claim == "nearly-every" and not exact else ""
    month = "" if exact else f", {CLAIMS[claim]}{sure}"
    return f"{listed([target.words for target in targets])}{month}, under {label}"


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
        text = f"{reached_words(tight)}. The target whose mean uses most of its limit. {kpi.tooltip}"
        found.append((f"Tightest: {kpi.label}", value, text))
    room = room_of(sizing, answer)
    if room is not None:
        found.append(
            ("Headroom", headroom_card(room), "How many more jobs this size can handle before a target breaks.")
        )
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
    return f"{counts[0]:,} ({signed(more) if more else 'as today'})"


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
            | {one.target.words: reached_words(one) for one in check.targets}
            | {"All targets": VERDICTS[check.verdict]}
            | ({} if sizing.rule.exact else {"Draws held": f"{check.hits} of {check.n}"})
            | {"Why": check.why}
        )
    return without_empty(rows, "Why")


def without_empty(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    """Return rows without a column that none of them has a value in."""
    if any(row[column] for row in rows):
        return rows
    return [{name: value for name, value in row.items() if name != column} for row in rows]


def notes_of(sizing: Sizing) -> list[str]:
    """Return what else must be known of the answer: more nodes that do worse."""
    return [reversal_words(sizing, one) for one in reversals(sizing)[:3]]


def cautions_of(sizing: Sizing, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, a search that ran out, jobs left out, the edge of a range; old answers."""
    found = violation_cautions(violations(sizing))
    if sizing.answer is not None and sizing.reasons:
        found.append(Caution("orange", f"{capital(listed(sizing.reasons))}: a cheaper size may be left."))
    if words := left_out_words(sizing):
        found.append(Caution("orange", words))
    if sizing.answer is not None:
        edges = [vm for vm, count in zip(sizing.types, sizing.answer, strict=True) if count == vm.least > 1]
        if edges:
            least = ", ".join(f"{vm.least:,} {f'{vm.name} ' if vm.name else ''}nodes" for vm in edges)
            text = f"The answer has the least nodes that were allowed ({least}): fewer were not tried."
            found.append(Caution("orange", text, "Allow fewer and search again"))
    return [*found, *origin_cautions(sizing.scenario_name, stale=stale, elsewhere=elsewhere)]


def violations(sizing: Sizing) -> list[tuple[str, str]]:
    """Return the sizes of whose runs the auditor complains, each run with its first complaint."""
    return [(sizing.words(size.counts), draw.audit[0]) for size in sizing.sizes for draw in size.draws if draw.audit]


def caveats_of_goal(
    scenario: Scenario, policy: str, rule: Rule, vary: Mapping[str, Value], trust: Caveat | None = None
) -> tuple[Caveat, ...]:
    """Return what stands beside an answer about targets and cost; ``trust``: what a calibration says."""
    metrics = [*(target.metric for target in rule.targets), "cost_month"]
    return caveats_of(scenario, [find(policy)], trust=trust, resampled="days" in vary, metrics=metrics)


def premises_of(sizing: Sizing) -> list[Premise]:
    """Return what the answer takes for granted beyond its scenario."""
    found = rule_premises(sizing.rule, sizing.futures.vary)
    why = "Only these were tried, and of those not all: more nodes are supposed to serve better, and sizes that say "
    found.append(Premise(f"sizes: {ranges_words(sizing.types)}", why + "otherwise are told."))
    if sizing.cost_by in ("gpus", "nodes"):
        found.append(Premise("no prices", NO_PRICES, "Cluster"))
    return found


def rule_premises(rule: Rule, vary: Mapping[str, float | str]) -> list[Premise]:
    """Return what the claim, the draws and what varies between them take for granted."""
    if rule.exact:
        return [exact_premise()]
    if rule.claim == "average":
        why = "The mean over draws, with its whole 95% interval, is within every target. Single months may be worse."
        found = [Premise("claim: the average month", why)]
    else:
        why = f"{share(rule.level)} of the draws seen meet all targets at once; a draw stands for a month."
        found = [Premise("claim: nearly every month", why)]
    return [*found, *draw_premises(vary)]


def metric_names(sizing: Sizing) -> dict[str, str]:
    """Return the targets' metrics with their labels, the one the frontier begins with first."""
    targets = sorted(sizing.rule.targets, key=lambda target: target.rises_with_size)
    return {target.metric: KPIS[target.metric].label for target in targets}


# ---- headroom ----------------------------------------------------------------------------------------


def headroom_words(sizing: Sizing, room: Headroom) -> str:
    """Return how many jobs a size can handle: "28 nodes can handle 75% more jobs; with 80% more jobs: unsure."."""
    size = ("Today's " if room.counts == sizing.today else "") + sizing.words(room.counts)
    if room.first is None:
        return f"{size} can handle {jobs_words(room.last or 1.0)}, the most that were tried."
    if room.last is None:
        return f"{size} cannot meet the targets even with {jobs_words(room.first)}, the fewest that were tried."
    no_more = "no more jobs than today" if room.last == 1 else jobs_words(room.last)
    return f"{size} can handle {no_more}; with {jobs_words(room.first)}: {_at(sizing, room)}."


def _at(sizing: Sizing, room: Headroom) -> str:
    """Return the verdict at the first load that does not meet the targets."""
    first = next((load for load in room.loads if load.factor == room.first), None)
    return VERDICTS["fails" if first is None else check_load(sizing, first).verdict]


def room_of(sizing: Sizing, counts: Counts) -> Headroom | None:
    """Return the headroom of a size; None where it was not looked for."""
    return next((room for room in sizing.headroom if room.counts == counts), None)


def headroom_card(room: Headroom) -> str:
    """Return how many more jobs a size can handle: "+18% jobs"; "none", or how many fewer it would take."""
    if room.last is None:
        return f"under {factor(room.first)} jobs"
    percent = round(100 * (room.last - 1))
    at_least = "at least " if room.first is None and percent > 0 else ""
    return f"{at_least}{signed(percent)}% jobs" if percent else "none"


def headroom_cards(sizing: Sizing) -> list[tuple[str, str, str]]:
    """Return two cards a size: the headroom, and what the next load says."""
    found = []
    for room in sizing.headroom:
        whose = "today" if room.counts == sizing.today else "answer"
        found.append((f"Headroom, {whose}", headroom_card(room), f"{sizing.words(room.counts)}: the last load tried "
                      "that meets all targets, against the present one."))  # fmt: skip
        first = next((load for load in room.loads if load.factor == room.first), None)
        if first is not None:
            verdict = VERDICTS[check_load(sizing, first).verdict]
            hint = "The first load tried that does not meet all targets: it fails, or the draws do not tell."
            found.append((f"With {jobs_words(first.factor)}, {whose}", verdict, hint))
    return found


def headroom_rows(sizing: Sizing) -> list[dict[str, str]]:
    """Return every load tried as a row."""
    rows = []
    for room in sizing.headroom:
        for load in room.loads:
            check = check_load(sizing, load)
            rows.append(
                {"Size": sizing.words(room.counts), "Jobs": f"{load.factor:g}x"}
                | {one.target.words: reached_words(one) for one in check.targets}
                | {"All targets": VERDICTS[check.verdict]}
                | ({} if sizing.rule.exact else {"Draws held": f"{check.hits} of {check.n}"})
            )
    return rows
