"""What the page Pool size shows of an answer: finding, charts by size, what goes wrong, decisions, all numbers."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.pool_sizes import by_size, decision_histogram, gain_by_size, what_goes_wrong
from dlsched.studies.pool_sizes.answer import MEASURES, PoolSizes, rows_of
from dlsched.studies.pool_sizes.words import (
    GAIN,
    cards_of,
    cautions_of,
    changes_of,
    finding,
    focus,
    has_gains,
    premises_of,
    variant_words,
)
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import pool_size_work
from dlsched.ui.plan.pool_size_work import Shown
from dlsched.wording.formats import amount


def show(shown: Shown, scenario: Scenario) -> None:
    """Show an answer."""
    answer = shown.answer
    guard_rails(cautions_of(answer, stale=shown.stale, elsewhere=shown.elsewhere))
    variant = _variant(answer)
    sentence(finding(answer, variant))
    cards(cards_of(answer, variant))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if variant in answer.exact:
            st.badge("exact for these jobs", color="gray", help="Nothing in them is random: no interval, no forecast")
        else:
            st.badge(amount(answer.draws, "draw"), color="gray", help="All sizes and policies see the same draws")
        chips(premises_of(answer), "pool")
    _by_size(answer, variant)
    if has_gains(answer, variant):
        charts.show(gain_by_size(answer, variant, charts.page_theme()), "pool-gain", caption=True)
    _wrong(answer, variant)
    _decisions(answer, variant)
    if not shown.elsewhere:
        _runs(answer, scenario, variant)
    _all_numbers(answer)


def _variant(answer: PoolSizes) -> str:
    """Return the variant that is looked at; ask where there are several."""
    if len(answer.variants) < 2:
        return answer.variants[0]
    chosen = st.segmented_control(
        "Goes wrong", answer.variants, default=answer.variants[0], required=True, format_func=variant_words,
        key=f"pool-variant-{'-'.join(answer.variants)}",
    )  # fmt: skip
    return str(chosen)


def _by_size(answer: PoolSizes, variant: str) -> None:
    keys = [key for key in MEASURES if key != "additional" or answer.others]
    names = {key: MEASURES[key].label for key in keys}
    measure = st.segmented_control(
        "By size of the pool", keys, default="total", required=True, format_func=names.__getitem__,
        key=f"pool-measure-{len(keys)}",
    )  # fmt: skip
    chosen = MEASURES[str(measure)]
    charts.show(by_size(answer, variant, chosen, charts.page_theme()), "pool-by-size", caption=True)
    st.markdown(f":gray[{chosen.hint}]")


def _wrong(answer: PoolSizes, variant: str) -> None:
    if len(answer.variants) < 2:
        return
    st.subheader("What goes wrong", anchor=False)
    policy = focus(answer, variant)
    charts.show(what_goes_wrong(answer, policy, variant_words, charts.page_theme()), "pool-wrong", caption=True)
    if words := changes_of(answer, policy):
        st.markdown(f":gray[{safe(words, 1200)}]")


def _decisions(answer: PoolSizes, variant: str) -> None:
    cells = [cell for cell in answer.cells if cell.variant == variant and cell.decisions is not None]
    if not cells:
        return
    st.subheader("Time of decisions", anchor=False)
    sizes = sorted({cell.nodes for cell in cells})
    policies = list(dict.fromkeys(cell.policy for cell in cells))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        nodes = st.segmented_control("Nodes", sizes, default=_near(answer, sizes), required=True,
                                     key=f"pool-decided-{sizes}", format_func="{:,}".format)  # fmt: skip
        policy = policies[0]
        if len(policies) > 1:
            policy = st.selectbox("Policy", policies, key="pool-decided-policy", format_func=answer.labels.__getitem__)
    cell = next((one for one in cells if one.nodes == nodes and one.policy == policy), None)
    if cell is not None:
        charts.show(
            decision_histogram(cell, answer.labels[policy], charts.page_theme()), "pool-decisions", caption=True
        )


def _near(answer: PoolSizes, sizes: list[int]) -> int:
    """Return the size nearest to the present one."""
    return min(sizes, key=lambda nodes: (abs(nodes - answer.present), nodes))


def _runs(answer: PoolSizes, scenario: Scenario, variant: str) -> None:
    st.subheader("See the runs", anchor=False)
    st.markdown("The Gantt by job of Result shows who held how many nodes when, Look-ahead why.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sizes = list(answer.nodes)
        nodes = st.selectbox("Size", sizes, sizes.index(_near(answer, sizes)), key=f"pool-run-{sizes}", width=130,
                             format_func=lambda one: amount(one, "node"))  # fmt: skip
        if st.button(
            f"Run {amount(len(answer.policies), 'policy', 'policies')} on {amount(nodes, 'node')}", key="pool-see",
            help="The first draw, as a scenario of its own; kept runs open at once",
        ):  # fmt: skip
            with mistakes_shown():
                pool_size_work.look_at_runs(scenario, answer, nodes, variant)


def _all_numbers(answer: PoolSizes) -> None:
    frame = pd.DataFrame(rows_of(answer))
    frame["goes wrong"] = frame["goes wrong"].map(variant_words)
    with st.expander("All numbers", key="pool-all"):
        alt = f"{amount(len(frame), 'line')}: sizes, what goes wrong, policies; ± is half a 95% interval"
        st.dataframe(frame, hide_index=True, key="pool-table", placeholder="–", alt=alt)
        st.download_button("CSV", lambda: charts.csv(frame), file_name="pool-sizes.csv", mime="text/csv",
                           key="pool-csv", type="tertiary", on_click="ignore")  # fmt: skip


def how() -> None:
    """Show how the numbers are made."""
    with st.expander("How it is computed", key="pool-how"):
        st.markdown(f"{HOW}\n\n{GAIN}")


HOW = """
The pool gets each number of nodes in turn; jobs, arrivals and rules of the simulation stay. At every size each policy
runs the same jobs to the end, and every run is audited.

**Draws**: where the scenario draws its jobs, each draw has new ones; given jobs stay, and a draw is one of estimate
errors, bug jobs and cancelled jobs. All sizes and policies meet the same draws, so that what makes jobs long in
themselves cancels in the **gain**: its interval is much narrower than those of the times.

**Additional jobs** are counted at the last submission: later on every policy completes what there is.
"""
