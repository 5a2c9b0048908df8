"""What a search for a size says in words: sentence, cards, tables, headroom, banners, assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.domain.scenario import Scenario
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.intervals import binomial_interval
from dlsched.metrics.stats.statements import Change
from dlsched.policies.registry import find
from dlsched.studies.design import FACTORS
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
    counts_words,
    jobs_words,
    left_out,
    reachable,
    reversals,
    tightest,
    usd_more,
)
from dlsched.studies.sizing.rule import Check, Claim, Rule, TargetCheck, Verdict
from dlsched.studies.sizing.spec import TypeRange
from dlsched.studies.sizing.targets import Target
from dlsched.wording.assumptions import Premise, draw_premises, exact_premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.caveats import Caveat, caveats_of
from dlsched.wording.certainty import EXACT, EXACT_WHY, count_words, months_words, value_words
from dlsched.wording.counted import COUNTED
from dlsched.wording.formats import (
    MISSING,
    amount,
    capital,
    listed,
    money,
    money_per_month,
    number,
    share,
    show_delta,
    signed,
)
from dlsched.wording.settings import NODES_OF, Value, setting_words

BEFORE = "What is the cheapest cluster that meets my targets?"
"""What stands in the place of an answer before there is one."""
COST_COLUMN: Mapping[CostBy, str] = {"price": "Cost/month", "runs": "Cost/month", "gpus": "GPUs", "nodes": "Nodes"}
NO_PRICES = "No price is set on these machines: sizes are compared by their GPUs, or by nodes without them."
VERDICTS: Mapping[Verdict, str] = {"meets": "ok", "fails": "fails", "unsure": "borderline"}
SMALLEST: Mapping[CostBy, str] = {"gpus": "GPUs", "nodes": "nodes"}
"""Without prices, what the smallest size has fewest of."""
MARGIN = (
    "Other months can differ more than months reshuffled from these days. Only a longer trace helps: in tests on "
    "traces of 28 days, 50% more nodes still missed the target in up to 6% of them, and in 38% of those in which "
    "single users submitted their work in bursts."
)
"""What a margin on top of a size found on a recorded trace is worth (decision 030)."""

LOAD_ASSUMED = Premise(
    "only the number of jobs grows",
    "More jobs like today's over the same time: copies of jobs of the trace on other days. Tried in steps of 5% of the "
    "jobs; more jobs are assumed never to wait less.", "",
)  # fmt: skip
NO_HEADROOM = "The headroom of this answer was not computed: it was not asked for, or the search ran out of runs."


def sentence(sizing: Sizing) -> str:
    """Return the answer as one or two sentences."""
    answer = sizing.answer
    if answer is None:
        return _no_size(sizing)
    today = "today's " if answer == sizing.today else ""
    are = "is" if sum(answer) == 1 and not sizing.rented_nodes else "are"
    return _under(sizing, capital(f"{today}{sizing.words(answer)} {are} {claim_words(sizing, answer)}"))


def claim_words(sizing: Sizing, answer: Counts) -> str:
    """Return what the answer says of the size found: "the cheapest size tried that would have met … in this month"."""
    fewest = SMALLEST.get(sizing.cost_by)
    smallest = fewest is not None or (sizing.cost_by == "runs" and not _meets_below(sizing, answer))
    would = "meets" if sizing.rule.basis.kind == "drawn" else "would have met"
    which = f"the {'smallest' if smallest else 'cheapest'} size tried that {would}"
    unpriced = "" if fewest is None else f" No prices are set: the smallest has the fewest {fewest}."
    if sizing.cost_by == "runs":
        unpriced = " No other size that does is clearly cheaper."
    held = held_words(sizing.rule, check_at(sizing, answer))
    return f"{which} {_all_targets(sizing)} {held}{_price(sizing, answer)}.{unpriced}"


def held_words(rule: Rule, check: Check) -> str:
    """Return when a size meets the targets: "in this month and in 47 of 50 months reshuffled from its days"."""
    if rule.exact:
        return "in this trace"
    drawn = "simulated versions of the workload"
    if rule.claim == "average":
        over = months_words(rule.basis, check.n) if rule.recorded else f"{check.n:,} {drawn}"
        return f"{'in this month and ' if rule.recorded else ''}on average over {over}"
    if rule.recorded:
        return f"in this month and in {check.hits:,} of {months_words(rule.basis, check.n)}"
    return f"in {check.hits:,} of {check.n:,} {drawn}"


def condition_words(condition: Mapping[str, Value]) -> list[str]:
    """Return what happens to every size: "30% more jobs", "run times +20%"."""
    factors = {one.key: one for one in FACTORS}
    return [
        jobs_words(float(value))
        if key == "demand"
        else setting_words(key, factors[key].label, factors[key].unit, value)
        for key, value in condition.items()
    ]


def _under(sizing: Sizing, text: str) -> str:
    """Return a sentence with the conditions before it."""
    condition = condition_words(sizing.condition)
    return f"With {listed(condition)}, {text[:1].lower() + text[1:]}" if condition else text


def _meets_below(sizing: Sizing, answer: Counts) -> bool:
    """Whether a smaller size meets the targets too: the answer was chosen for what its runs cost."""
    return any(check_at(sizing, one.counts).verdict == "meets" for one in sizing.sizes if one.counts < answer)


def _no_size(sizing: Sizing) -> str:
    tried = [size.counts for size in sizing.sizes]
    most = sizing.words(max(tried, key=lambda counts: (sum(counts), counts))) if tried else ""
    largest = most.removeprefix("up to ")
    what = f"No size tried, up to {largest}, meets" if most else "No size was tried that meets"
    return _under(sizing, f"{what} {_all_targets(sizing)}{claim_asked(sizing.rule)}.")


def _all_targets(sizing: Sizing) -> str:
    targets = sizing.rule.targets
    if len(targets) == 1:
        return f"the target ({targets[0].words})"
    return "both targets" if len(targets) == 2 else f"all {len(targets)} targets"


def claim_asked(rule: Rule) -> str:
    """Return how often the targets must hold: " on average", " in 95% of months", "" where nothing is random."""
    return "" if rule.exact else f" {claim_label(rule.claim, rule.level).lower()}"


def claim_label(claim: Claim, level: float) -> str:
    """Return a claim as a form offers it: "On average", "In 95% of months"."""
    return "On average" if claim == "average" else f"In {share(level)} of months"


def _price(sizing: Sizing, answer: Counts) -> str:
    cost, more = cost_at(sizing, answer), usd_more(sizing, answer, sizing.today)
    if cost is None:
        return ""
    text = f": {money_per_month(cost.value)}"
    if more is None or answer == sizing.today:
        return text
    if not more:
        return f"{text}, as much as today"
    return f"{text}, {_more_or_less(more)} than today"


def _more_or_less(usd: float) -> str:
    return f"{money_per_month(abs(usd))} {'less' if usd < 0 else 'more'}"


def why_none(sizing: Sizing) -> list[str]:
    """Return what is known of why there is no answer: reasons, what was reached, sizes that are borderline."""
    if sizing.answer is not None:
        return []
    found = [*sizing.reasons]
    for target in sizing.rule.targets:
        best = reachable(sizing, target.metric)
        checks = [check_at(sizing, size.counts).of(target.metric) for size in sizing.sizes]
        if best is None or any(check.verdict == "meets" for check in checks):
            continue
        counts, value = best
        end = "lowest" if target.side == "at most" else "highest"
        reached = value_words(target.kpi.kind, value.value, value.low, value.high)
        found.append(f"{target.kpi.label}: the {end} reached is {reached}, with {sizing.words(counts)}")
    unsure = [size.counts for size in sizing.shown if check_at(sizing, size.counts).verdict == "unsure"]
    if unsure:
        found.append(f"borderline: {listed([sizing.words(counts) for counts in unsure])}")
    return found


def certainty(sizing: Sizing) -> str:
    """Return how sure the answer is, in a few words."""
    if sizing.rule.exact:
        return EXACT
    if sizing.answer is None:
        return f"{amount(len(sizing.futures.seeds), 'future')} a size"
    return f"met {hits_words(check_at(sizing, sizing.answer))}"


def sure_words(sizing: Sizing) -> str:
    """Return in how many futures the answer meets the targets, and what that says of other months."""
    rule = sizing.rule
    if rule.exact:
        return EXACT_WHY
    futures = f"All sizes shown ran the same {amount(len(sizing.futures.seeds), 'future')}"
    if sizing.answer is None:
        return f"{futures}."
    check = check_at(sizing, sizing.answer)
    if rule.recorded:
        return f"{futures}. This one met the targets {hits_words(check)}. {MARGIN}"
    many = ""
    if rule.claim == "nearly-every":
        low, high = binomial_interval(check.hits, check.n)
        many = f", so in {share(low)} to {share(high)} of all months (95% sure)"
    return f"{futures}. This one met the targets {hits_words(check)}{many}."


def hits_words(check: Check) -> str:
    """Return in how many futures a size met all targets: "as recorded and in 39 of 40 futures"."""
    many = f"in {check.hits:,} of {amount(check.n, 'future')}"
    if check.recorded is None:
        return many
    return f"{'as recorded and' if check.recorded else 'not as recorded,'} {many}"


def reached_words(one: TargetCheck) -> str:
    """Return what a size reached of a target: "35 min (20 min to 2 h), ok"."""
    kpi, value = one.target.kpi, one.value
    reached = MISSING if value is None else value_words(kpi.kind, value.value, value.low, value.high)
    return f"{reached}, {VERDICTS[one.verdict]}"


def verdict_words(check: Check) -> str:
    """Return a verdict with what it rests on: "fails (not as recorded, in 12 of 40 futures)", "borderline (…)"."""
    met = "" if check.recorded is False else "met "
    why = check.why or (f"{met}{hits_words(check)}" if check.n > 1 else "")
    return f"{VERDICTS[check.verdict]}{f' ({why})' if why else ''}"


def neighbour_words(sizing: Sizing) -> str:
    """Return the sizes just below the answer with their verdicts: "27 nodes: borderline (…)."; "" without any."""
    parts = [f"{sizing.words(counts)}: {verdict_words(check_at(sizing, counts))}" for counts in sizing.neighbours]
    return f"{capital('; '.join(parts))}." if parts else ""


def one_more_words(sizing: Sizing, more: OneMore) -> str:
    """Return what one node more costs and changes; that it would not help where nothing gets better."""
    what = "rented machine" if more.vm.rented else f"node of {more.vm.name}" if more.vm.name else "node"
    usd = "" if more.usd_month is None else f" ({_more_or_less(more.usd_month)})"
    better = [
        f"{KPIS[metric].label} {change_words(KPIS[metric], change, sizing.rule.basis)}"
        for metric, change in more.changes.items()
        if change is not None and change.verdict in ("better", "likely better")
    ]
    return f"One more {what}{usd}: {'; '.join(better)}." if better else f"One more {what}{usd} would not help."


def change_words(kpi: KPI, change: Change, basis: Basis) -> str:
    """Return a change with the futures behind it: "−12 min, better in 38 of 40 futures"."""
    delta = show_delta(kpi.kind, change.value)
    if basis.is_recorded:
        return f"{delta}, {count_words(change.verdict, change.better, change.worse, change.n)} futures"
    return f"{delta}, {change.verdict}"


def reversal_words(sizing: Sizing, one: Reversal) -> str:
    """Return where more nodes did worse: that is real, as both sizes met the same futures."""
    where = "in this trace" if sizing.rule.exact else f"in {one.change.worse:,} of {amount(one.change.n, 'future')}"
    sizes = f"{sizing.words(one.larger)} do worse than {sizing.words(one.smaller)} {where}"
    return f"{capital(sizes)} ({KPIS[one.metric].label}): more is not always better here."


def left_out_words(sizing: Sizing) -> str:
    """Return how many jobs the answer leaves out; "" where all are done."""
    left = None if sizing.answer is None else left_out(sizing, sizing.answer)
    if sizing.answer is None or left is None or left <= 0:
        return ""
    many = f"{number(left)} jobs are rejected or unfinished at the end"
    return f"With {sizing.words(sizing.answer)}, {many}: about as many as with today's cluster, or fewer."


def ranges_words(types: Sequence[VmRange | TypeRange], *, rented: bool) -> str:
    """Return how many nodes may be tried: "1 to 32 nodes", "0 to 4 nodes of A100 and 1 to 8 nodes of H100"."""
    what = "rented machines" if rented else "nodes"
    kinds = [f" of {one.key.removeprefix(NODES_OF)}" if one.key.startswith(NODES_OF) else "" for one in types]
    return listed([f"{one.least:,} to {one.most:,} {what}{kind}" for one, kind in zip(types, kinds, strict=True)])


# ---- cards and tables --------------------------------------------------------------------------------


def goal_words(targets: tuple[Target, ...], claim: Claim, level: float, label: str, *, exact: bool) -> str:
    """Return what is asked of every size: targets, how often, policy."""
    often = "" if exact else f" {claim_label(claim, level).lower()}"
    return f"{listed([target.words for target in targets])}{often}, under {label}"


def cards_of(sizing: Sizing) -> list[tuple[str, str, str]]:
    """Return four cards at most: nodes, cost, tightest target, headroom; what was reached where nothing does."""
    answer = sizing.answer
    if answer is None:
        return _cards_of_none(sizing)
    label = "Rented machines, at most" if sizing.types[0].rented else "Nodes"
    sizes = f"{capital(sizing.words(answer))}; today {sizing.words(sizing.today)}."
    found = [(label, nodes_card(sizing, answer), sizes)]
    cost = cost_at(sizing, answer)
    if cost is not None:
        more = usd_more(sizing, answer, sizing.today)
        text = "Nodes times their prices over 30.4 days." if sizing.cost_by == "price" else "What its runs cost."
        against = "" if more is None else f" Against today: {show_delta('usd_per_month', more)}."
        found.append(("Cost per month", money(cost.value), text + against))
    elif sizing.cost_by == "gpus":
        found.append(("GPUs", f"{sizing.size(answer).gpus:,}", NO_PRICES))
    tight = tightest(sizing, answer)
    if tight is not None and tight.value is not None:
        kpi = tight.target.kpi
        value = f"{kpi.show(tight.value.value)} (limit {kpi.show(tight.target.limit)})"
        text = f"{reached_words(tight)}. The target that uses most of its limit. {kpi.tooltip}"
        found.append((kpi.label, value, text))
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
            text = f"The {end} of all sizes that ran all futures, with {sizing.words(best[0])}. Target: {target.words}."
            found.append((f"{target.kpi.label}, {end} reached", target.kpi.show(best[1].value), text))
    return found


def nodes_card(sizing: Sizing, counts: Counts) -> str:
    """Return the nodes of a size with the difference to today: "10 (+2)"; by type where several vary."""
    if len(counts) > 1:
        there = [f"{count:,} {vm.name}" for vm, count in zip(sizing.types, counts, strict=True) if count]
        return " + ".join(there) or "none"
    more = counts[0] - sizing.today[0]
    return f"{counts[0]:,} ({signed(more) if more else 'as today'})"


def rows_of(sizing: Sizing) -> list[dict[str, Any]]:
    """Return every size as a row: cost, each target with its verdict, futures that held, what it is.

    Today's first, then those that ran all futures, then those whose verdict was certain before, without numbers.
    """
    priced = sizing.cost_by in ("price", "runs")
    rows = []
    for size in sorted(sizing.sizes, key=lambda one: (one.counts != sizing.today, one.stopped)):
        check, cost = check_at(sizing, size.counts), cost_at(sizing, size.counts)
        names = {"answer": size.counts == sizing.answer, "today": size.counts == sizing.today,
                 "just below": size.counts in sizing.neighbours}  # fmt: skip
        usd = MISSING if cost is None else money_per_month(cost.value)
        rows.append(
            {"Size": sizing.words(size.counts), "Note": ", ".join(name for name, holds in names.items() if holds)}
            | ({COST_COLUMN[sizing.cost_by]: usd} if priced else {"GPUs": f"{size.gpus:,}"} if size.gpus else {})
            | {one.target.words: "" if size.stopped else reached_words(one) for one in check.targets}
            | {"All targets": VERDICTS[check.verdict]}
            | ({} if sizing.rule.exact else {"Met": "" if size.stopped or size.error else hits_words(check)})
            | {"Why": check.why}
        )
    return without_empty(rows, "Why")


def without_empty(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    """Return rows without a column that none of them has a value in."""
    if any(row[column] for row in rows):
        return rows
    return [{name: value for name, value in row.items() if name != column} for row in rows]


def notes_of(sizing: Sizing) -> list[str]:
    """Return what else must be known of the answer: more nodes that do worse, what a margin on top is worth."""
    found = [reversal_words(sizing, one) for one in reversals(sizing)[:3]]
    return [*found, MARGIN] if sizing.rule.recorded and sizing.answer is not None else found


def cautions_of(sizing: Sizing, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, a search that ran out, bursts of users, jobs left out, the edge of a range."""
    found = violation_cautions(violations(sizing))
    if sizing.answer is not None and sizing.reasons:
        found.append(Caution("orange", f"{capital(listed(sizing.reasons))}: a cheaper size may be left."))
    if words := burst_words(sizing):
        found.append(Caution("orange", words, "Take a longer trace"))
    if words := left_out_words(sizing):
        found.append(Caution("orange", words))
    if sizing.answer is not None:
        edges = [vm for vm, count in zip(sizing.types, sizing.answer, strict=True) if count == vm.least > 1]
        if edges:
            least = listed([counts_words([vm], (vm.least,)) for vm in edges])
            text = f"The answer is the smallest size that was allowed ({least}): fewer were not tried."
            found.append(Caution("orange", text, "Allow fewer and search again"))
    return [*found, *origin_cautions(sizing.scenario_name, stale=stale, elsewhere=elsewhere)]


def burst_words(sizing: Sizing) -> str:
    """Return that single users bring bursts, so that no margin tried is safe; "" where they do not."""
    one = sizing.campaign
    if one is None or not one.is_burst or sizing.rule.basis.kind == "drawn":
        return ""
    days = f"as much as all users on {one.share * one.days:.1f} average days"
    hours = COUNTED[one.counted].say("GPU-hours")
    many = f"One user submitted {share(one.share)} of all {hours} on a single day, {days}."
    return f"{many} With bursts like this, no margin on top of a size was safe in our tests."


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
    """Return the assumptions of the answer beyond those of its scenario."""
    found = rule_premises(sizing.rule, sizing.futures.vary)
    why = "Only these were tried, and not all of them: more nodes usually serve better, and the page shows sizes that "
    found.append(Premise(f"sizes: {ranges_words(sizing.types, rented=sizing.types[0].rented)}", why + "do not."))
    if sizing.cost_by in ("gpus", "nodes"):
        found.append(Premise("no prices", NO_PRICES, "Cluster"))
    return [*found, *rented_premises(sizing.rented_nodes)]


def rented_premises(rented_nodes: int) -> list[Premise]:
    """Return the assumption about nodes that come and go beside those that vary."""
    if not rented_nodes:
        return []
    label = f"up to {amount(rented_nodes, 'rented node')}"
    why = "They come and go as jobs need them, whatever the size, and cost what its runs pay. For a cheaper mix, ask "
    return [Premise(label, why + "Commit or rent.", "Cluster")]


def rule_premises(rule: Rule, vary: Mapping[str, Value]) -> list[Premise]:
    """Return the assumptions of the claim, the futures and what varies between them."""
    if rule.exact:
        return [exact_premise()]
    if rule.claim == "average" and rule.recorded:
        why = "Met in what was recorded, and by the mean over the futures reshuffled from it. Single months may miss."
    elif rule.claim == "average":
        why = "The mean over futures, with its whole 95% interval, is within every target. Single months may be worse."
    else:
        first = "Met in what was recorded, and " if rule.recorded else ""
        why = f"{first}{share(rule.level)} of the futures meet all targets at once; a future stands for a month."
    found = [Premise(f"claim: {claim_label(rule.claim, rule.level).lower()}", capital(why)), *draw_premises(vary)]
    return [*found, Premise("other months", MARGIN)] if rule.recorded else found


def bars_words(rule: Rule) -> str:
    """Return what a chart shows: "as recorded, bars: 8 of 10 futures", "mean of 21 futures with 95% bars"."""
    if rule.exact:
        return EXACT
    futures = amount(rule.basis.futures + (not rule.recorded), "future")
    return f"as recorded, bars: 8 of 10 of {futures}" if rule.recorded else f"mean of {futures} with 95% bars"


def metric_names(sizing: Sizing) -> dict[str, str]:
    """Return the targets' metrics with their labels, the first one of the chart first."""
    labels = sizing.rule.labels
    return {
        target.metric: labels[target.metric]
        for target in sorted(sizing.rule.targets, key=lambda target: target.rises_with_size)
    }


# ---- headroom ----------------------------------------------------------------------------------------


def headroom_words(sizing: Sizing, room: Headroom) -> str:
    """Return how many jobs a size can handle: "28 nodes can handle 75% more jobs"."""
    size = capital(("today's " if room.counts == sizing.today else "") + sizing.words(room.counts))
    if room.last is None:
        targets = "target" if len(sizing.rule.targets) == 1 else "targets"
        return f"{size} already {'misses' if sum(room.counts) == 1 else 'miss'} the {targets} with today's jobs."
    jobs = "no more jobs than today's" if room.last == 1 else jobs_words(room.last)
    most = "" if room.first is not None else ", the most tried"
    return f"{size} can handle {jobs}{most}."


def room_of(sizing: Sizing, counts: Counts) -> Headroom | None:
    """Return the headroom of a size; None if it was not looked for."""
    return next((room for room in sizing.headroom if room.counts == counts), None)


def headroom_card(room: Headroom) -> str:
    """Return how many more jobs a size can handle: "+18% jobs", "none"."""
    if room.last is None:
        return "none"
    percent = round(100 * (room.last - 1))
    at_least = "at least " if room.first is None and percent > 0 else ""
    return f"{at_least}{signed(percent)}% jobs" if percent else "none"


def headroom_cards(sizing: Sizing) -> list[tuple[str, str, str]]:
    """Return two cards a size: the headroom, and what the next load says."""
    found = []
    for room in sizing.headroom:
        size = ("today's " if room.counts == sizing.today else "") + sizing.words(room.counts)
        found.append((f"Headroom of {size}", headroom_card(room), f"{capital(size)}: the most jobs tried "
                      "with which all targets are met, compared with today."))  # fmt: skip
        first = next((load for load in room.loads if load.factor == room.first), None)
        if first is not None:
            check = check_load(sizing, first)
            jobs = "today's jobs" if first.factor == 1 else jobs_words(first.factor)
            label = f"{capital(sizing.words(room.counts))} with {jobs}"
            found.append((label, VERDICTS[check.verdict], verdict_words(check)))
    return found


def headroom_rows(sizing: Sizing) -> list[dict[str, str]]:
    """Return every load as a row: those that were stopped early without numbers."""
    rows = []
    for room in sizing.headroom:
        for load in room.loads:
            check = check_load(sizing, load)
            rows.append(
                {"Size": sizing.words(room.counts), "Jobs": f"{load.factor:g}x"}
                | {one.target.words: "" if load.stopped else reached_words(one) for one in check.targets}
                | {"All targets": VERDICTS[check.verdict], "Met": hits_words(check) if check.n > 1 else ""}
                | {"Why": check.why}
            )
    return without_empty(without_empty(rows, "Why"), "Met")
