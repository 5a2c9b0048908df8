"""What the Steady state page shows of an answer: sentence, cards, the main chart, one load in detail, next step."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.figures.base import Chart
from dlsched.figures.steady import response_by_load
from dlsched.figures.steady_detail import early_results, over_time, response_cdf
from dlsched.studies.steady import SteadyAnswer
from dlsched.studies.steady.words import (
    focus_load,
    named,
    state_words,
    steady_assumptions,
    steady_cards,
    steady_guards,
    steady_sentence,
)
from dlsched.ui.frame import charts, session
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown, sentence
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import amount, load_words
from dlsched.workload.studies.hell_knee import stream_scenario

LOOK_AT = {"spread": "Distribution", "early": "Early results", "nodes": "Nodes per job", "jobs": "Jobs in the system"}
NEXT_JOBS = 400
NO_MEAN = "Every queue grows at this load: there is nothing to show but how fast, in the table above."


def show(answer: SteadyAnswer, *, stale: bool) -> None:
    """Show banners, sentence, cards, states and the main chart."""
    guard_rails(steady_guards(answer, stale=stale))
    sentence(steady_sentence(answer).replace("± ", "±\N{NO-BREAK SPACE}"))
    cards(steady_cards(answer))
    load = focus_load(answer)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge("generated", color="orange", help="The jobs are drawn, none was recorded")
        for point in answer.points:
            if point.load == load:
                words, colour = state_words(point)
                st.badge(safe(words), color=colour, help=f"At load {load_words(load)}: {point.words}")  # type: ignore[arg-type]
        chips(steady_assumptions(answer), "steady")
    charts.show(response_by_load(answer, charts.page_theme()), "steady-response")


def one_load(answer: SteadyAnswer) -> None:
    """Show what lies behind the means at one load."""
    st.subheader("At one load", anchor=False)
    loads = list(answer.spec.loads)
    asked = answer.spec.model_dump_json()
    if st.session_state.get("steady-load") not in loads or st.session_state.get("steady-load-of") != asked:
        st.session_state["steady-load"], st.session_state["steady-load-of"] = focus_load(answer), asked
    with st.container(horizontal=True, vertical_alignment="bottom"):
        load = st.segmented_control("Load", loads, required=True, key="steady-load", format_func=load_words)
        look_at = st.segmented_control("Look at", list(LOOK_AT), default="spread", required=True, key="steady-look",
                                       format_func=LOOK_AT.__getitem__)  # fmt: skip
    chart = _chart(answer, float(load or loads[0]), str(look_at))
    if chart is None:
        st.info(NO_MEAN)
    charts.show(chart, f"steady-{look_at}", caption=True)
    _differences(answer, float(load or loads[0]))


def _chart(answer: SteadyAnswer, load: float, look_at: str) -> Chart | None:
    theme = charts.page_theme()
    if look_at == "spread":
        return response_cdf(answer, load, theme)
    if look_at == "early":
        return early_results(answer, load, theme)
    return over_time(answer, load, "nodes" if look_at == "nodes" else "jobs", theme)


def _differences(answer: SteadyAnswer, load: float) -> None:
    """Show the difference of each two policies with a mean at a load, paired by job."""
    rows = [
        {
            "Policy": named(pair.label), "minus": named(pair.other), "Hours": round(pair.difference_h.mean, 2),
            "± h (95%)": None if pair.difference_h.half_width is None else round(pair.difference_h.half_width, 2),
            "Jobs": pair.difference_h.n, "Verdict": "differs" if pair.tells_apart else "not distinguishable",
        }
        for pair in answer.pairs
        if pair.load == load
    ]  # fmt: skip
    if rows:
        st.markdown(
            "**Differences of the mean time in system**, over jobs measured under both. Each interval is a 95% one by "
            "itself: of 20 policies that are alike, one would seem to differ."
        )
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="steady-pairs", placeholder="–",
                     alt=f"{amount(len(rows), 'difference')} between policies at load {load_words(load)}")  # fmt: skip


def next_step(answer: SteadyAnswer) -> None:
    """Offer a short stream of these jobs as a scenario, to see in a Gantt what the policies do."""
    load = focus_load(answer)
    pressed = st.button(
        f"Run {NEXT_JOBS} of these jobs", type="primary", key="steady-next",
        help=f"Makes a scenario of {NEXT_JOBS} jobs at load {load_words(load)} and opens Run: its Gantt shows who gets "
        "how many nodes",
    )  # fmt: skip
    if pressed:
        with mistakes_shown():
            session.keep(stream_scenario(answer.spec.stream_at(load, NEXT_JOBS), answer.spec.seed))
            session.go("simulate/run.py")


def how() -> None:
    """Show how means and intervals are made."""
    with st.expander("How it is computed", key="steady-how"):
        st.markdown(HOW)


HOW = """
Jobs come in a Poisson stream that fits the load, the same jobs at every policy. **Load** is the time all jobs would
take on one node each, over the node time there is: jobs on many nodes use more than that, so queues may grow far below
load 1.

**Time in system** is submission to completion. The first tenth of the jobs meets a cluster that is still filling up and
is left out; so are the last ones, which meet fewer others. The 95% **interval** is made of means of consecutive jobs,
widened where neighbours are alike. Jobs are doubled until the interval is narrow enough or the cap is reached.

A queue **grows** where jobs in the system increase with every hundred arrivals, by more than chance and by half a job
at the least; its mean would say how long was simulated, so there is none. Close to the border a slow growth and a long
stable queue cannot be told apart within the cap.

**Differences** are taken job by job between two policies: what makes a job long in itself cancels.
"""
