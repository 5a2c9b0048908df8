"""What the part Growth shows of an answer: when a target breaks, by when to order, every month."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.growth import by_month
from dlsched.metrics.kpi import KPIS
from dlsched.studies.growth import GrowthSpec
from dlsched.studies.growth.answer import Growth, breaks_at, first_of, order_by, rows_of, sentence
from dlsched.studies.what_if.words import of_these_days
from dlsched.ui.answers import Shown
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, chips, guard_rails
from dlsched.ui.frame.parts import sentence as show_sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.plan.size_view import policy_chips
from dlsched.ui.plan.size_words import origin_guards, rule_chips
from dlsched.wording.assumptions import Assumption
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import MISSING, amount, money

ASSUMED = (
    Assumption(
        "each month by itself",
        "Every month is a run of its own. No queue is carried over from the month before: a "
        "month that fails leaves jobs behind which the next one does not have.",
        "",
    ),
    Assumption("today's job mix", "The same jobs as today's arrive faster. Their sizes, run times and users stay.", ""),
    Assumption(
        "growth by arrivals alone",
        "Nothing else changes but what is delivered and retired, from the begin of a month on.",
        "",
    ),
)


def show(shown: Shown[GrowthSpec, Growth], scenario: Scenario, _: bool) -> None:
    """Show an answer."""
    answer = shown.answer
    guard_rails(guards_of(answer, stale=shown.stale, elsewhere=shown.elsewhere))
    show_sentence(sentence(answer))
    cards(cards_of(answer))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all months run under")
        st.badge(certainty(answer), color="gray", help="All months meet the same random jobs at a draw")
        own = [] if shown.elsewhere else policy_chips(scenario, answer.policy)
        chips([*ASSUMED, *rule_chips(answer.rule, answer.vary), *own], "growth")
    names = {target.metric: KPIS[target.metric].label for target in answer.rule.targets}
    metric = next(iter(names))
    if len(names) > 1:
        metric = str(st.segmented_control("Target", list(names), default=metric, required=True,
                                          key=f"growth-metric-{'-'.join(names)}", format_func=names.__getitem__,
                                          label_visibility="collapsed"))  # fmt: skip
    charts.show(by_month(answer, metric, charts.page_theme()), "growth-months", caption=True)
    _table(answer)


def certainty(answer: Growth) -> str:
    """Return how sure the numbers are, in a few words."""
    if answer.rule.exact:
        return "exact for this trace, not a forecast"
    days = of_these_days(answer.vary)
    return f"{amount(len(answer.seeds), 'draw')}{days} a month" if len(answer.seeds) > 1 else "rough, 1 draw"


def guards_of(answer: Growth, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, months that cannot be run; old answers and foreign scenarios."""
    found = []
    bad = [(one.month, draw) for one in answer.months for draw in one.draws if draw.audit]
    if bad:
        text = f"The auditor found violations in {amount(len(bad), 'run')}. First, {answer.name_of(bad[0][0])}: "
        found.append(Caution("red", text + bad[0][1].audit[0], "Do not use this answer"))
    failed = [one for one in answer.months if one.error]
    if failed:
        text = f"{amount(len(failed), 'month')} cannot be run. First, {answer.name_of(failed[0].month)}: "
        found.append(Caution("orange", text + failed[0].error))
    return [*found, *origin_guards(answer.scenario_name, stale=stale, elsewhere=elsewhere)]


def cards_of(answer: Growth) -> list[tuple[str, str, str]]:
    """Return four cards: when it breaks, by when to order, the load and the cost then."""
    broken, unsure, by = breaks_at(answer), first_of(answer, "unsure"), order_by(answer)
    at = broken if broken is not None else unsure if unsure is not None else answer.months[-1].month
    when = f"in {answer.name_of(at)}" + (", the last" if broken is None and unsure is None else "")
    if broken is not None:
        value = "today" if broken == 0 else answer.name_of(broken)
        first = ("Breaks in", value, "The first month that surely fails a target.")
    elif unsure is not None:
        first = ("Unsure from", answer.name_of(unsure), "From here on the draws do not tell whether the targets hold.")
    else:
        first = ("Holds through", answer.name_of(at), "The last month that was played.")
    lead = amount(answer.lead_months, "month")
    order = MISSING if by is None else answer.name_of(by) if by >= 0 or answer.begin else f"{-by} months ago"
    late = ", late" if by is not None and by < 0 else ""
    why = "Every month surely meets the targets." if by is None else (
        f"The first month that does not surely meet the targets, less {lead} of delivery."
    )  # fmt: skip
    month = answer.months[at]
    cost = MISSING if month.usd_month is None else money(month.usd_month)
    return [
        first,
        (f"Order by{late}", order, why),
        ("Arrivals then", answer.load_of(at), f"Times today's, {when}."),
        ("Cost per month then", cost, f"{month_nodes(answer, at)} times their prices over 30.4 days, {when}."),
    ]  # fmt: skip


def month_nodes(answer: Growth, month: int) -> str:
    """Return how many nodes there are in a month, all types together."""
    return amount(sum(answer.months[month].counts), "node")


def _table(answer: Growth) -> None:
    frame = pd.DataFrame(table_rows(answer))
    st.dataframe(frame.map(str), hide_index=True, key="growth-table", placeholder="–",
                 alt=f"{amount(len(frame), 'month')}: arrivals, nodes, each target with its verdict")  # fmt: skip
    st.download_button("CSV", lambda: charts.csv(frame), file_name="growth.csv", mime="text/csv", key="growth-csv",
                       type="tertiary", on_click="ignore", help="One line for each month")  # fmt: skip


def table_rows(answer: Growth) -> list[dict[str, str]]:
    """Return the months as rows; columns that say nothing are left out."""
    rows = [{name[:1].upper() + name[1:]: str(value) for name, value in row.items()} for row in rows_of(answer)]
    if answer.rule.exact:
        for row in rows:
            row.pop("Draws that hold")
    if not any(row["Why"] for row in rows):
        for row in rows:
            row.pop("Why")
    return rows
