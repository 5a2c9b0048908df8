"""What months ahead say in words: when a target breaks, by when to order; cards, table, banners, assumptions."""

from __future__ import annotations

from typing import Any

from dlsched.studies.growth.answer import Growth, GrowthStep, breaks_at, first_of, order_by, recovers_at
from dlsched.studies.growth.spec import GrowthSpec
from dlsched.studies.sizing.words import VERDICTS, reached_words, without_empty
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.certainty import EXACT, ROUGH
from dlsched.wording.formats import MISSING, amount, capital, listed, money, money_per_month, signed
from dlsched.wording.settings import of_these_days

BEFORE = "Until when does the cluster meet my targets, and by when must more be ordered?"
"""What stands in the place of an answer before there is one."""
ASSUMED = (
    Premise(
        "each month by itself",
        "Every month is a run of its own. No queue is carried over from the month before: a month that fails leaves "
        "jobs behind which the next one does not have.",
    ),
    Premise(
        "today's job mix",
        "More jobs like today's over the same time: those added are copies of jobs that are there, on other days.",
    ),
    Premise(
        "growth by more jobs alone",
        "Nothing else changes but what is delivered and retired, from the begin of a month on.",
    ),
)


def speed_words(percent: float) -> str:
    """Return how fast demand grows: "+3% a month"."""
    return f"{signed(percent)}% a month"


def asked_words(spec: GrowthSpec) -> str:
    """Return what grows for how long: "demand +3% a month, 12 months, 2 deliveries or retirements"."""
    steps = f", {amount(len(spec.steps), 'delivery or retirement', 'deliveries or retirements')}" if spec.steps else ""
    return f"demand {speed_words(spec.percent)}, {amount(spec.months, 'month')}{steps}"


def sentence(growth: Growth) -> str:
    """Return what the answer says: until when the targets hold, which one breaks, when to order."""
    last, broken, unsure = growth.months[-1].month, breaks_at(growth), first_of(growth, "unsure")
    speed, sure = f"at {speed_words(growth.percent)}", f" ({certainty(growth)})"
    claim = "on average" if growth.rule.claim == "average" else f"in {growth.rule.level:.0%} of draws"
    if broken is None and unsure is None:
        return f"The targets hold through {growth.name_of(last)} {speed}, {claim}{sure}."
    if broken is None:
        assert unsure is not None
        return (
            f"No month through {growth.name_of(last)} surely breaks a target {speed}, but from "
            f"{growth.name_of(unsure)} on it is not sure that they hold{sure}. {_order_words(growth)}"
        )
    check = growth.check(broken)
    failing = [] if check.why else [one.target.words for one in check.targets if one.verdict == "fails"]
    said = f"{listed(failing)} {'breaks' if len(failing) == 1 else 'break'}" if failing else "The targets break"
    why = f": {check.why}" if check.why else ""
    when = "today" if broken == 0 else f"in {growth.name_of(broken)} (demand {growth.load_of(broken)})"
    before = f", not sure from {growth.name_of(unsure)} on" if unsure is not None and unsure < broken else ""
    after = recovers_at(growth)
    again = f" They hold again from {growth.name_of(after)}." if after is not None else ""
    return f"{said} {when} {speed}{before}{sure}{why}. {_order_words(growth)}{again}"


def certainty(growth: Growth) -> str:
    """Return how sure the numbers are, in a few words."""
    if growth.rule.exact:
        return EXACT
    draws = f"{amount(len(growth.futures.seeds), 'draw')}{of_these_days(growth.futures.vary)} a month"
    return draws if len(growth.futures.seeds) > 1 else ROUGH


def _order_words(growth: Growth) -> str:
    by = order_by(growth)
    if by is None:
        return ""
    lead = amount(growth.lead_months, "month")
    if by < 0:
        return f"With {lead} of delivery, the order is {amount(-by, 'month')} late."
    return f"Order by {growth.name_of(by)} ({lead} of delivery)."


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
    """Return four cards: when it breaks, by when to order, the load and the cost then."""
    broken, unsure, by = breaks_at(growth), first_of(growth, "unsure"), order_by(growth)
    at = broken if broken is not None else unsure if unsure is not None else growth.months[-1].month
    when = f"in {growth.name_of(at)}" + (", the last" if broken is None and unsure is None else "")
    if broken is not None:
        value = "today" if broken == 0 else growth.name_of(broken)
        first = ("Breaks in", value, "The first month that surely fails a target.")
    elif unsure is not None:
        first = ("Unsure from", growth.name_of(unsure), "From here on the draws do not tell whether the targets hold.")
    else:
        first = ("Holds through", growth.name_of(at), "The last month that was played.")
    lead = amount(growth.lead_months, "month")
    order = MISSING if by is None else growth.name_of(by) if by >= 0 or growth.begin else f"{-by} months ago"
    late = ", late" if by is not None and by < 0 else ""
    why = "Every month surely meets the targets." if by is None else (
        f"The first month that does not surely meet the targets, less {lead} of delivery."
    )  # fmt: skip
    nodes = amount(sum(growth.months[at].counts), "node")
    return [
        first,
        (f"Order by{late}", order, why),
        ("Demand then", growth.load_of(at), f"Times today's, {when}."),
        ("Cost per month then", money(growth.months[at].usd_month),
         f"{nodes} times their prices over 30.4 days, {when}."),
    ]  # fmt: skip


def rows_of(growth: Growth) -> list[dict[str, Any]]:
    """Return the months as rows of texts: month, load, nodes, cost, each target with its verdict, draws that hold."""
    rows = []
    for one in growth.months:
        check = growth.check(one.month)
        nodes = {vm.name or "nodes": count for vm, count in zip(growth.types, one.counts, strict=True)}
        rows.append(
            {"month": growth.name_of(one.month), "demand": growth.load_of(one.month), **nodes}
            | {"price of the nodes": money_per_month(one.usd_month)}
            | {each.target.kpi.label: reached_words(each) for each in check.targets}
            | {"draws that hold": f"{check.hits} of {check.n}", "verdict": VERDICTS[check.verdict], "why": check.why}
        )
    return rows


def table_rows(growth: Growth) -> list[dict[str, str]]:
    """Return the months as rows that are read; columns that say nothing are left out."""
    hidden = {"draws that hold"} if growth.rule.exact else set()
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
