"""What months ahead say in words: when a target is missed, by when to order; cards, table, banners, assumptions."""

from __future__ import annotations

from typing import Any

from dlsched.studies.growth.answer import (
    Growth,
    GrowthStep,
    breaks_at,
    first_of,
    order_by,
    recovers_at,
    to_order,
)
from dlsched.studies.growth.spec import GrowthSpec
from dlsched.studies.sizing.answer import counts_words
from dlsched.studies.sizing.words import (
    VERDICTS,
    claim_asked,
    condition_words,
    hits_words,
    reached_words,
    without_empty,
)
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.certainty import EXACT, ROUGH
from dlsched.wording.formats import amount, capital, listed, money, money_per_month, signed

BEFORE = "Until when does the cluster meet my targets, and by when must more be ordered?"
"""What stands in the place of an answer before there is one."""
ASSUMED = (
    Premise(
        "each month by itself",
        "Every month is a run of its own. No queue is carried over: jobs that a month leaves unfinished are not in the "
        "next one.",
    ),
    Premise(
        "today's job mix",
        "More jobs like today's over the same time: those added are copies of today's jobs, on other days.",
    ),
    Premise(
        "only the number of jobs grows",
        "Nothing else changes, except what is delivered and retired, from the start of a month on.",
    ),
)


def speed_words(percent: float) -> str:
    """Return how fast demand grows: "+3% a month"."""
    return f"{signed(percent)}% a month"


def question_words(spec: GrowthSpec, goal: str) -> str:
    """Return what is asked; ``goal``: targets, policy and conditions in words."""
    changes = amount(len(spec.steps), "delivery or retirement", "deliveries or retirements")
    steps = f" and {changes}" if spec.steps else ""
    grows = f"{speed_words(spec.percent)}{steps} over {amount(spec.months, 'month')}"
    return f"Until when does the cluster keep {goal}, at {grows}?"


def sentence(growth: Growth) -> str:
    """Return what the answer says: until when the targets hold, which one is missed, what to order and when."""
    last, broken, unsure = growth.months[-1].month, breaks_at(growth), first_of(growth, "unsure")
    speed = f"at {speed_words(growth.percent)}"
    one = len(growth.rule.targets) == 1
    targets, are, they = ("the target", "is", "It holds") if one else ("the targets", "are", "They hold")
    if broken is None and unsure is None:
        often = claim_asked(growth.rule).strip()
        held = f"{targets} {'holds' if one else 'hold'} through {growth.name_of(last)} {speed}"
        return _under(growth, f"{often}, {held}." if often else f"{held}.")
    if broken is None:
        return _under(growth, f"{targets} {are} {_at_risk(growth, unsure)} {speed}. {order_words(growth)}")
    check = growth.check(broken)
    failing = [] if check.why else [one.target.words for one in check.targets if one.verdict == "fails"]
    if failing:
        named = "the target" if len(failing) == 1 else f"{len(failing)} targets"
        targets, are = f"{named} ({listed(failing)})", "is" if len(failing) == 1 else "are"
    when = f"first missed in {growth.name_of(broken)} (demand {growth.load_of(broken)})"
    if broken == 0:
        when = f"already missed {_now(growth)}"
    before = f", and {_at_risk(growth, unsure)}" if unsure is not None and unsure < broken else ""
    why = f" ({check.why})" if check.why else ""
    after = recovers_at(growth)
    again = f" {they} again from {growth.name_of(after)} on." if after is not None else ""
    return _under(growth, f"{targets} {are} {when} {speed}{before}{why}.{again} {order_words(growth)}")


def _under(growth: Growth, text: str) -> str:
    """Return a sentence, with the conditions before it."""
    condition = condition_words(growth.condition)
    return f"With {listed(condition)}, {text[:1].lower()}{text[1:]}" if condition else capital(text)


def _at_risk(growth: Growth, month: int | None) -> str:
    return f"at risk from {growth.name_of(month)} on" if month else f"already at risk {_now(growth)}"


def _now(growth: Growth) -> str:
    """Return today's month: "in November 2026", "today" without a date."""
    return f"in {growth.name_of(0)}" if growth.begin else "today"


def certainty(growth: Growth) -> str:
    """Return how sure the numbers are, in a few words."""
    if growth.rule.exact:
        return EXACT
    futures = f"{amount(len(growth.futures.seeds), 'future')} a month"
    return futures if len(growth.futures.seeds) > 1 else ROUGH


def order_words(growth: Growth) -> str:
    """Return what to order, by when, for how much: "Order 4 more nodes by February 2027: 32 nodes hold through …"."""
    by, order = order_by(growth), to_order(growth)
    if by is None:
        return ""
    late = f"now ({amount(-by, 'month')} overdue)" if by < 0 else f"by {growth.name_of(by)}"
    if order is None or order.counts is None:
        asked = [one for one in growth.orders if one.counts is None]
        most = f": no size up to {growth.words(asked[0].most)} holds" if asked else ""
        return f"Order {late}{most}."
    more = tuple(a - b for a, b in zip(order.counts, order.planned, strict=True))
    extra = counts_words(growth.types, more, more="more ")
    usd = "" if order.usd_more is None else f", {money_per_month(order.usd_more)} more"
    hold = "holds" if sum(order.counts) == 1 and not growth.rented_nodes else "hold"
    until = f"{'in' if len(growth.orders) == 1 else 'through'} {growth.name_of(order.month)}"
    return f"Order {extra} {late}: {growth.words(order.counts)} {hold} {until}{usd}."


def nodes_words(growth: Growth, month: int) -> str:
    """Return the nodes of a month: "12 nodes", "8 A100, 4 H100"."""
    counts = growth.months[month].counts
    if len(counts) == 1:
        name = growth.types[0].name
        return amount(counts[0], f"{name} node" if name else "node")
    return ", ".join(f"{count:,} {vm.name}" for count, vm in zip(counts, growth.types, strict=True))


def step_words(growth: Growth, step: GrowthStep) -> str:
    """Return what comes or goes: "+4 A100"."""
    name = next((vm.name for vm in growth.types if vm.key == step.key), "") or "nodes"
    return f"{signed(step.nodes)} {name}"


def cards_of(growth: Growth) -> list[tuple[str, str, str]]:
    """Return four cards: when a target is missed, what to order by when, the demand then, what it costs more."""
    broken, unsure, by = breaks_at(growth), first_of(growth, "unsure"), order_by(growth)
    at = broken if broken is not None else unsure if unsure is not None else growth.months[-1].month
    if broken is not None:
        value = "today" if broken == 0 and not growth.begin else growth.name_of(broken)
        first = ("First missed", value, "The first month that misses a target.")
    elif unsure is not None:
        first = (
            "At risk from",
            growth.name_of(unsure),
            "The first month that may miss a target.",
        )
    else:
        first = ("Holds through", growth.name_of(at), "The last month that was projected.")
    found = [first, ("Demand then", growth.load_of(at), f"Times today's, in {growth.name_of(at)}.")]
    if by is None:
        return [*found, ("Order", "nothing", "Every month meets the targets.")]
    lead = amount(growth.lead_months, "month")
    why = f"{capital(lead)} of delivery before the first month that misses a target or is at risk."
    found.append(("Order by", "now" if by < 0 else growth.name_of(by), why + _overdue(by)))
    order = to_order(growth)
    if order is not None and order.counts is not None and order.usd_more is not None:
        found.append(("Extra cost", f"{money(order.usd_more)}/month", order_words(growth)))
    return found


def _overdue(by: int) -> str:
    return f" {amount(-by, 'month')} overdue." if by < 0 else ""


def rows_of(growth: Growth) -> list[dict[str, Any]]:
    """Return the months as rows of texts: month, load, nodes, cost, each target with its verdict, futures that hold."""
    rows = []
    priced = any(one.usd_month is not None for one in growth.months)
    for one in growth.months:
        check = growth.check(one.month)
        nodes = {vm.name or "nodes": count for vm, count in zip(growth.types, one.counts, strict=True)}
        rows.append(
            {"month": growth.name_of(one.month), "demand": growth.load_of(one.month), **nodes}
            | ({"price of the nodes": money_per_month(one.usd_month)} if priced else {})
            | {each.target.kpi.label: reached_words(each) for each in check.targets}
            | {"met": hits_words(check) if check.n > 1 else "", "verdict": VERDICTS[check.verdict], "why": check.why}
        )
    return rows


def table_rows(growth: Growth) -> list[dict[str, str]]:
    """Return the months as rows that are read; columns that say nothing are left out."""
    hidden = {"met"} if growth.rule.exact else set()
    rows = without_empty(rows_of(growth), "why")
    return [{capital(name): str(value) for name, value in row.items() if name not in hidden} for row in rows]


def cautions_of(growth: Growth, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, months that cannot be run; old answers and foreign scenarios."""
    found = violation_cautions(violations(growth))
    failed = [one for one in growth.months if one.error]
    if failed:
        first = f"{growth.name_of(failed[0].month)}: {failed[0].error}"
        found.append(Caution("orange", f"{amount(len(failed), 'month')} cannot be run. First, {first}."))
    return [*found, *origin_cautions(growth.scenario_name, stale=stale, elsewhere=elsewhere)]


def violations(growth: Growth) -> list[tuple[str, str]]:
    """Return the months of whose runs the auditor complains, each run with its first complaint."""
    return [(growth.name_of(one.month), draw.audit[0]) for one in growth.months for draw in one.draws if draw.audit]
