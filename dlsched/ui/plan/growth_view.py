"""What the part Growth shows of an answer: when a target breaks, by when to order, every month."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.growth import by_month
from dlsched.metrics.kpi import KPIS
from dlsched.studies.growth import GrowthSpec
from dlsched.studies.growth.answer import Growth
from dlsched.studies.growth.words import ASSUMED, cards_of, cautions_of, certainty, sentence, table_rows
from dlsched.studies.sizing.words import rule_premises
from dlsched.ui.answers import Shown
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, chips, guard_rails
from dlsched.ui.frame.parts import sentence as show_sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.plan.size_view import policy_chips
from dlsched.wording.formats import amount


def show(shown: Shown[GrowthSpec, Growth], scenario: Scenario, _: bool) -> None:
    """Show an answer."""
    answer = shown.answer
    guard_rails(cautions_of(answer, stale=shown.stale, elsewhere=shown.elsewhere))
    show_sentence(sentence(answer))
    cards(cards_of(answer))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all months run under")
        st.badge(certainty(answer), color="gray", help="All months meet the same random jobs at a draw")
        own = [] if shown.elsewhere else policy_chips(scenario, answer.policy)
        chips([*ASSUMED, *rule_premises(answer.rule, answer.vary), *own], "growth")
    names = {target.metric: KPIS[target.metric].label for target in answer.rule.targets}
    metric = next(iter(names))
    if len(names) > 1:
        metric = str(st.segmented_control("Target", list(names), default=metric, required=True,
                                          key=f"growth-metric-{'-'.join(names)}", format_func=names.__getitem__,
                                          label_visibility="collapsed"))  # fmt: skip
    charts.show(by_month(answer, metric, charts.page_theme()), "growth-months", caption=True)
    _table(answer)


def _table(answer: Growth) -> None:
    frame = pd.DataFrame(table_rows(answer))
    st.dataframe(frame, hide_index=True, key="growth-table", placeholder="–",
                 alt=f"{amount(len(frame), 'month')}: arrivals, nodes, each target with its verdict")  # fmt: skip
    st.download_button("CSV", lambda: charts.csv(frame), file_name="growth.csv", mime="text/csv", key="growth-csv",
                       type="tertiary", on_click="ignore", help="One line for each month")  # fmt: skip
