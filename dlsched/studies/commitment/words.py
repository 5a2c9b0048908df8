"""What a search for a commitment says in words: sentence, cards, table, break-even, banners, assumptions."""

from __future__ import annotations

from typing import Any

from dlsched.studies.commitment.answer import (
    HOURS_PER_YEAR,
    Commitment,
    Cost,
    Nodes,
    Saving,
    break_even_nodes,
    break_even_share,
    cost_at,
    none_above,
    regrets,
    rents_nothing,
    saving_to_all_committed,
    saving_to_all_rented,
    usd_all_committed,
    usd_by_kind,
    use_shares,
)
from dlsched.studies.commitment.spec import CommitmentSpec
from dlsched.studies.sizing.rule import estimate_of
from dlsched.studies.sizing.words import (
    VERDICTS,
    claim_asked,
    condition_words,
    hits_words,
    reached_words,
    rule_premises,
    without_empty,
)
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.certainty import EXACT, months_words, value_words
from dlsched.wording.formats import MISSING, amount, capital, duration, listed, money, number, price, share

BEFORE = "What should we own or commit to, and what should we rent?"
"""What stands in the place of an answer before there is one."""
VERBS = {"owned": "own", "reserved": "reserve"}
"""What is done to nodes of a kind that is committed to."""
HOW_RENTED = {"on-demand": "on demand", "spot": "on spot"}
RULE_IGNORES = (
    "The rule counts the nodes in use when everything is rented. It ignores queueing, boots, idle time and placement, "
    "which the simulation includes."
)
CENT = 0.005
NO_INTERVAL = "1 future: no interval"


def _usd(usd: float) -> str:
    return "$0" if abs(usd) < CENT else money(usd)


def money_year(usd: float | None) -> str:
    """Return dollars a year: "$310,000/year"."""
    return MISSING if usd is None else f"{money(usd)}/year"


def question_words(spec: CommitmentSpec, goal: str) -> str:
    """Return what is asked; ``goal``: targets, policy and conditions in words."""
    most = f", up to {spec.most:,}," if spec.most else ""
    what = f"How many nodes{most} should we commit to, renting the rest"
    if spec.or_after_s:
        own = "that of the scenario" if spec.rent_after_s is None else duration(spec.rent_after_s)
        what += f" after whichever wait is cheapest ({', '.join([own, *map(duration, sorted(spec.or_after_s))])})"
    return f"{what}, to keep {goal}, at the lowest yearly cost?"


def sentence(found: Commitment) -> str:
    """Return the answer: what to commit to, what to rent, the cost of a year, and against renting all or nothing."""
    verb, nothing = VERBS[found.base.kind], rents_nothing(found)
    if nothing:
        mine = f"{verb} {amount(found.all_committed or 0, 'node')} and rent nothing"
        cost = money_year(usd_all_committed(found)) + _with_others(found)
        return _under(found, f"{mine}: {cost}, the cheapest found that meets {_targets(found)}{_claim(found)}. "
                             f"{_mix_words(found)}".strip())  # fmt: skip
    if found.best is None:
        return _under(found, _none_meets(found))
    best = cost_at(found, found.best)
    assert best is not None  # what meets the targets has one
    more = f"rent up to {found.rented.most:,}{' more' if found.best else ''} {_how(found.rented)}"
    if found.waits:
        more += f" {_after(found.rent_after_s)}"
    first = f"{verb} {amount(found.best, 'node') if found.best else 'none'} and {more}"
    cost_text = f"{cost_words(best)}{_with_others(found)} {over_words(found)}"
    text = f"{first}: {cost_text}, the cheapest mix simulated that meets {_targets(found)}"
    return _under(found, f"{text}{_claim(found)}. {against_words(found)}".strip())


def _with_others(found: Commitment) -> str:
    """Return that a cost includes the nodes that are not asked about; "" without any."""
    return ", other nodes included" if any(usd > 0 for usd in found.fixed_usd_per_h.values()) else ""


def _claim(found: Commitment) -> str:
    return claim_asked(found.rule) if found.rule.claim == "nearly-every" else ""


def _mix_words(found: Commitment) -> str:
    """Return what the best mix with renting costs where renting nothing costs less, and why that can be."""
    cost = None if found.best is None else cost_at(found, found.best)
    if cost is None:
        return f"{capital(_none_meets(found))}"
    mix = f"{amount(found.best or 0, 'node')} {'owned' if found.base.kind == 'owned' else 'reserved'}"
    return (
        f"The cheapest mix, {mix} with nodes rented {_after(found.rent_after_s)}, costs {cost_words(cost)} "
        f"{over_words(found)}: it rents to avoid waits that the target allows. Let jobs wait longer before nodes are "
        "rented for them."
    )


def _after(wait_s: float) -> str:
    return f"for jobs that have waited {duration(wait_s)}" if wait_s else "as soon as a job waits"


def waits_words(found: Commitment) -> str:
    """Return what the cheapest mix costs by when nodes are rented; "" where only one wait was searched."""
    if not found.waits:
        return ""
    told = [
        f"{_after(one.rent_after_s)}: "
        + ("no mix meets" if one.usd_year is None else f"{amount(one.nodes or 0, 'node')}, {money_year(one.usd_year)}")
        for one in sorted(found.waits, key=lambda one: one.rent_after_s)
    ]
    return f"Cheapest mix by when nodes are rented: {'; '.join(told)}."


def _under(found: Commitment, text: str) -> str:
    condition = condition_words(found.condition)
    return f"With {listed(condition)}, {text}" if condition else capital(text)


def _none_meets(found: Commitment) -> str:
    return (
        f"no number of committed nodes simulated, up to {found.base.most:,}, with up to {found.rented.most:,} rented "
        f"meets {_targets(found)}{claim_asked(found.rule)}."
    )


def _targets(found: Commitment) -> str:
    targets = found.rule.targets
    return f"the target ({targets[0].words})" if len(targets) == 1 else f"all {len(targets)} targets"


def _how(nodes: Nodes) -> str:
    return HOW_RENTED.get(nodes.kind, nodes.kind)


def cost_words(cost: Cost) -> str:
    """Return the cost of a year with its interval: "$310,000/year (95% interval $290,000 to $330,000)"."""
    if cost.low is None or cost.high is None or money(cost.low) == money(cost.high):
        return money_year(cost.usd)
    return f"{money_year(cost.usd)} (95% interval {money(cost.low)} to {money(cost.high)})"


def over_words(found: Commitment) -> str:
    """Return what the numbers are of: "on average over 40 months reshuffled from its days"."""
    if found.rule.exact:
        return f"in this trace ({NO_INTERVAL})"
    n = len(found.uses) - found.rule.recorded
    what = amount(n, "simulated version") + " of the workload"
    if found.rule.recorded:
        what = months_words(found.rule.basis, n)
    return f"in {what} ({NO_INTERVAL})" if n == 1 else f"on average over {what}"


def against_words(found: Commitment) -> str:
    """Return the best mix against renting all and against renting nothing."""
    told = []
    if found.best != 0 and (less := saving_to_all_rented(found)) is not None:
        missed = "" if found.check(0).verdict == "meets" else ", which misses the target"
        told.append((less, f"renting all{missed}"))
    if (less := saving_to_all_committed(found)) is not None:
        verb = "owning" if found.base.kind == "owned" else "reserving"
        told.append((less, f"{verb} {amount(found.all_committed or 0, 'node')} and renting nothing"))
    texts = [f"{_less(less)} than {other}{_cheaper_in(less)}" for less, other in told]
    return f"That is {' and '.join(texts)}." if texts else ""


def _less(less: Saving) -> str:
    return f"{money(abs(less.usd))} a year {'less' if less.usd >= 0 else 'more'}"


def _cheaper_in(less: Saving) -> str:
    return f" (cheaper in {less.cheaper:,} of {amount(less.n, 'future')})" if less.n > 1 else ""


def _saved(less: Saving, other: str) -> str:
    """Return a saving with its interval: "Against all rented $395,000 a year less, 95% interval $376,000 to …"."""
    text = f"Against {other}: {_less(less)}{_cheaper_in(less)}"
    if less.low is None or less.high is None or less.n < 2:
        return f"{text}."
    return f"{text}, 95% interval of what is saved {money(less.low)} to {money(less.high)}."


def reached_lines(found: Commitment) -> list[str]:
    """Return the best that was reached of every target that no number of nodes meets."""
    lines = []
    for target in found.rule.targets:
        checks = [found.check(one.nodes).of(target.metric) for one in found.tried]
        sign = 1.0 if target.side == "at most" else -1.0
        values = [
            (sign * value.value, one.nodes, value)
            for one in found.tried
            if (value := estimate_of(found.rule, one.draws, target.metric)) is not None
        ]
        if found.best is None and values and not any(check.verdict == "meets" for check in checks):
            _, nodes, value = min(values, key=lambda one: one[:2])
            end = "lowest" if sign > 0 else "highest"
            reached = value_words(target.kpi.kind, value.value, value.low, value.high)
            lines.append(f"{target.kpi.label}: the {end} reached is {reached}, with {amount(nodes, 'node')} committed.")
    return lines


def break_even_words(found: Commitment) -> str:
    """Return the break-even share of hours, the nodes it gives, and what that rule leaves out."""
    at = break_even_share(found)
    if at is None:
        return "Rented nodes cost nothing: no commitment pays."
    prices = f"{price(found.base.usd_per_h, 'h')} against {price(found.rented.usd_per_h, 'h')}"
    if at >= 1:
        return f"Break-even: a committed node costs as much as a rented one or more ({prices}), so none pays."
    nodes = break_even_nodes(found)
    best = "" if found.best is None else f" Simulated: {found.best:,}."
    return (
        f"Break-even: a committed node pays when it is needed more than {share(at)} of the hours ({prices}). "
        f"{capital(amount(nodes, 'node'))} {'is' if nodes == 1 else 'are'} needed that often.{best} {RULE_IGNORES}"
    )


def simulated_words(found: Commitment) -> str:
    """Return which numbers of nodes were simulated, and what follows for the others."""
    numbers = [one.nodes for one in found.tried]
    if found.every:
        text = f"Every number of committed nodes from 0 to {found.base.most:,} was simulated."
    else:
        text = (
            f"Simulated: {listed([f'{nodes:,}' for nodes in numbers])} committed nodes. The cost may have several "
            "dips; one between these numbers would not be seen."
        )
    if none_above(found):
        text += f" More than {found.base.most:,} cannot cost less: the commitment alone would cost as much."
    elif found.best == found.base.most:
        text += " More nodes than these may cost less still."
    return text


# ---- cards, table, banners ------------------------------------------------------------------------------


def cards_of(found: Commitment) -> list[tuple[str, str, str]]:
    """Return what to commit to, the cost of a year, the savings and the regret; what was tried without an answer."""
    nothing, known = rents_nothing(found), regrets(found)
    cost = None if found.best is None else cost_at(found, found.best)
    if cost is None and not nothing:
        return [("Numbers tried", f"{len(found.tried):,}", f"{amount(found.runs, 'run')} in all.")]
    nodes = found.all_committed if nothing else found.best
    text = f"{found.base.name}, {terms_words(found.base)}; today {found.today:,}."
    cards = [(capital(VERBS[found.base.kind]), amount(nodes or 0, "node"), text)]
    if nothing:
        cards.append(("Cost per year", money(usd_all_committed(found)), "Nodes times their price over 8,760 hours."))
    if cost is not None:
        mix = f"Best mix, {amount(found.best or 0, 'node')}" if nothing else "Cost per year"
        cards.append((mix, money(cost.usd), f"{capital(cost_words(cost))}, {over_words(found)}."))
    savings = {"all rented": saving_to_all_rented(found), "all committed": saving_to_all_committed(found)}
    saved = {label: less for label, less in savings.items() if less and (found.best or label != "all rented")}
    if saved and not nothing:
        least = min(saved.values(), key=lambda less: less.usd)
        words = " ".join(_saved(less, label) for label, less in saved.items())
        cards.append(("Saved, at least", money(least.usd), words))
    if not found.rule.exact and found.best is not None and not nothing:
        regret = known[found.best]
        text = (
            f"Worst: {_usd(regret.worst_usd)}. What this number costs more than the best number of each future, known "
            f"afterwards; it is the best in {share(regret.best_in)} of them."
        )
        cards.append(("Mean regret per year", _usd(regret.mean_usd), text))
    return cards


def terms_words(nodes: Nodes) -> str:
    """Return the terms of nodes and their price: "reserved for 1 year, $1.20/h"."""
    years = f" for {amount(nodes.years, 'year')}" if nodes.years else ""
    return f"{nodes.kind}{years}, {price(nodes.usd_per_h, 'node-h')}"


def rows_of(found: Commitment) -> list[dict[str, Any]]:
    """Return every number of committed nodes as a row of texts: cost of a year, by kind, targets, regret."""
    known, even = regrets(found), break_even_nodes(found)
    best = "cheapest mix" if rents_nothing(found) else "best"
    rows = []
    for one in found.tried:
        check, cost, kinds = found.check(one.nodes), cost_at(found, one.nodes), usd_by_kind(found, one.nodes)
        regret = known.get(one.nodes)
        notes = {best: one.nodes == found.best, "break-even": one.nodes == even, "all rented": one.nodes == 0,
                 "today": one.nodes == found.today}  # fmt: skip
        names = [found.base.kind, *(kind for kind in found.fixed_usd_per_h if kind != found.base.kind),
                 found.rented.kind]  # fmt: skip
        rows.append(
            {"Committed": f"{one.nodes:,}", "Note": ", ".join(name for name, holds in notes.items() if holds)}
            | {"Cost/year": MISSING if cost is None else money(cost.usd)}
            | ({} if found.rule.exact else {"95% interval": _interval(cost)})
            | {capital(kind): MISSING if kinds is None else _usd(kinds[kind]) for kind in names}
            | {target.target.words: reached_words(target) for target in check.targets}
            | {"All targets": VERDICTS[check.verdict]}
            | ({} if found.rule.exact else {
                "Met": hits_words(check),
                "Mean regret": MISSING if regret is None else _usd(regret.mean_usd),
                "Worst regret": MISSING if regret is None else _usd(regret.worst_usd),
                "Best in": MISSING if regret is None else share(regret.best_in),
            })
            | {"Why": check.why}
        )  # fmt: skip
    rows = without_empty(rows, "Why")
    return rows if found.rule.exact else without_empty(rows, "95% interval")


def _interval(cost: Cost | None) -> str:
    return "" if cost is None or cost.low is None or cost.high is None else f"{money(cost.low)} to {money(cost.high)}"


def numbers_of(found: Commitment) -> dict[str, Any]:
    """Return what the rows say as plain numbers, for programs."""
    known = regrets(found)

    def row(nodes: int) -> dict[str, Any]:
        cost, regret = cost_at(found, nodes), known.get(nodes)
        return {
            "committed": nodes,
            "usd_year": None if cost is None else cost.usd,
            "low": None if cost is None else cost.low,
            "high": None if cost is None else cost.high,
            "usd_year_by_kind": usd_by_kind(found, nodes),
            "verdict": found.check(nodes).verdict,
            "mean_regret_usd": None if regret is None else regret.mean_usd,
            "worst_regret_usd": None if regret is None else regret.worst_usd,
            "best_in": None if regret is None else regret.best_in,
        }

    return {
        "mixes": [row(one.nodes) for one in found.tried],
        "all_committed_usd_year": usd_all_committed(found),
        "break_even_share": break_even_share(found),
        "break_even_nodes": break_even_nodes(found),
        "hours_per_year_at_or_above": [HOURS_PER_YEAR * used for used in use_shares(found)],
    }


def cautions_of(found: Commitment, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, a search that ran out of runs, types left out; old answers, foreign scenarios."""
    broken = [
        (f"{amount(one.nodes, 'node')} committed", draw.audit[0])
        for one in found.tried for draw in one.draws if draw.audit
    ]  # fmt: skip
    cautions = violation_cautions(broken)
    if found.stopped:
        text = f"The search ran out of runs after {found.runs:,}: a cheaper number may be left."
        cautions.append(Caution("orange", text, "Allow more runs"))
    if found.left_out:
        cautions.append(Caution("orange", f"Left out of the cluster: {', '.join(found.left_out)}."))
    return [*cautions, *origin_cautions(found.scenario_name, stale=stale, elsewhere=elsewhere)]


def violations(found: Commitment) -> list[tuple[str, str]]:
    """Return the numbers of nodes of whose runs the auditor complains, each run with its first complaint."""
    return [
        (f"{amount(one.nodes, 'node')} committed", draw.audit[0])
        for one in found.tried for draw in one.draws if draw.audit
    ]  # fmt: skip


def premises_of(found: Commitment) -> list[Premise]:
    """Return the assumptions of the answer beyond those of its scenario."""
    period_h = sum(use.period_h for use in found.uses) / len(found.uses)
    length = duration(3600 * period_h)
    rented = found.rented
    return [
        Premise(
            f"a year is {number(HOURS_PER_YEAR / period_h)} times these {length}",
            "What is rented is scaled from the time in which jobs arrive to 8,760 hours: the year is taken to be like "
            "these days, without seasons. Rent after the last submission counts too.",
        ),
        Premise(
            "committed nodes are paid for the whole year",
            f"{found.base.name}, {terms_words(found.base)}: used or not. A reservation for 3 years also binds the two "
            "years after; this is the cost of one.",
        ),
        Premise(
            f"rented: {terms_words(rented)}",
            f"Paid from the request on. Boot {duration(rented.boot_s)}, given back when idle for "
            f"{duration(rented.idle_timeout_s)}, at most {rented.most:,} at once"
            + (f", {number(rented.evictions_per_h)} evictions per node and hour." if rented.evictions_per_h else "."),
        ),
        *rule_premises(found.rule, found.futures.vary),
    ]


def certainty(found: Commitment) -> str:
    """Return how sure the answer is, in a few words."""
    if found.rule.exact:
        return EXACT
    return f"{amount(len(found.futures.seeds), 'future')} a mix"
