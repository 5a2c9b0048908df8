"""The page Load test: jobs, nodes, loads, policies and how sure; the answer over all loads, and behind one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.figures.steady import response_by_load
from dlsched.figures.steady_detail import early_results, over_time, response_cdf
from dlsched.policies.registry import spoken
from dlsched.studies.steady import STUDY, SteadyAnswer, SteadySpec
from dlsched.studies.steady.bundled import bundled_answer
from dlsched.studies.steady.short_spec import CAPS, CHUNKED, LABELS, ORDERED, OWN, SHOWN, ShortSpec, short_of, spec_of
from dlsched.studies.steady.words import (
    focus_load,
    spec_words,
    state_words,
    steady_cards,
    steady_cautions,
    steady_premises,
    steady_sentence,
)
from dlsched.ui import answers
from dlsched.ui.frame import charts, session, writing
from dlsched.ui.frame.forms import Choices, model_fields
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown, sentence
from dlsched.ui.frame.tables import in_words
from dlsched.ui.frame.text import safe
from dlsched.ui.lab import stream_network
from dlsched.ui.study_page import Asked
from dlsched.wording.formats import about_seconds, amount, load_words
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario

PREFIX = "steady-"
CHOICES: Mapping[str, Choices] = {
    "target": {target: f"± {target:.0%}" for target in (0.02, 0.05, 0.1, 0.2)},
    "cap": {cap: f"{cap:,}" for cap in CAPS},
    "links": {"hybrid": "hybrid", "exact": "shared (exact)", "fcfs": "one at a time (FCFS)"},
}
LOOK_AT = {"spread": "Distribution", "early": "Early results", "nodes": "Nodes per job", "jobs": "Jobs in the system"}
NEXT_JOBS = 400
NO_MEAN = "Every queue grows at this load. The table above says how fast."

Shown = answers.Shown[SteadySpec, SteadyAnswer]


def _bundled() -> Shown:
    answer = bundled_answer()
    return Shown(answer.spec, answer, "")


STEADY = answers.Answers(STUDY, _bundled)

# ---- the form --------------------------------------------------------------------------------------------


def fill(scenario: Scenario, shown: SteadySpec | None) -> None:
    """Make the form ask what an answer answers; before it is shown."""
    for name, value in (ShortSpec() if shown is None else short_of(shown)).model_dump().items():
        st.session_state[PREFIX + name] = list(value) if isinstance(value, tuple) else value


def fields(scenario: Scenario, shown: SteadySpec | None) -> Asked[SteadySpec]:
    """Show the form; return what it asks.

    ``shown`` is the question of the answer on the page: jobs of no preset stay a choice while they are shown.

    Raises
    ------
    InputError
        Where that cannot be computed.
    """
    own = stream_network.own_network()
    if stream_network.just_came():
        st.session_state[PREFIX + "networks"] = OWN
    shown_stream = shown.stream if shown is not None and short_of(shown).networks == SHOWN else None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        networks = _networks(own, shown_stream)
        values = _fields("nodes")
    values |= _row("first_load", "last_load", "step")
    policies = st.multiselect(
        "Policies", list(LABELS), key=PREFIX + "policies", persist_state="session", format_func=LABELS.__getitem__,
        help="All see the same jobs, each at every load",
    )  # fmt: skip
    gammas = ["gammas"] if ORDERED & set(policies) else []
    chunk = ["chunk"] if CHUNKED & set(policies) else []
    values |= _row(*gammas, *chunk, "target", "cap")
    # A network of one's own brings its links and servers.
    values |= _row("seed") if networks in (OWN, SHOWN) else _row("links", "servers", "seed", "shared_server")
    spec = spec_of(ShortSpec(networks=networks, policies=tuple(policies), **values), own, shown_stream)
    question, points = spec_words(spec), amount(len(spec.loads) * len(spec.policies), "point")

    def button(stored: bool) -> str:
        return (
            f"Show {points} from the store" if stored else f"Compute {points}, {about_seconds(STUDY.estimate_s(spec))}"
        )

    return Asked(spec, question, f"Load test, {question}", button)


def _networks(own: StreamSpec | None, shown: StreamSpec | None) -> str:
    names = {"table-iii": "four examples", "large": "two large examples"}
    if own is not None:
        names[OWN] = f"{own.networks[0].name[:30]} (Speed-up)"
    if shown is not None:
        names[SHOWN] = "as in this answer"
    if st.session_state.get(PREFIX + "networks", "table-iii") not in names:
        st.session_state[PREFIX + "networks"] = "table-iii"
    chosen = st.segmented_control(
        "Networks", list(names), required=True, key=PREFIX + "networks", persist_state="session",
        format_func=lambda name: safe(names[name]), help="What the jobs train. Your own one comes from Speed-up.",
    )  # fmt: skip
    return str(chosen)


def _row(*names: str) -> dict[str, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        return _fields(*names)


def _fields(*names: str) -> dict[str, Any]:
    others = ShortSpec.model_fields.keys() - set(names)
    return model_fields(ShortSpec, STUDY.kind, hidden=others, choices=CHOICES, in_row=True)


# ---- the answer ------------------------------------------------------------------------------------------


def show(shown: Shown, scenario: Scenario, is_current: bool) -> None:
    """Show banners, sentence, cards, states, the main chart, and what lies behind the means at one load."""
    answer = shown.answer
    guard_rails(steady_cautions(answer, stale=shown.stale))
    sentence(steady_sentence(answer), ())
    cards(steady_cards(answer))
    load = focus_load(answer)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge("generated", color="orange", help="The jobs are drawn, none was recorded")
        for point in answer.points:
            if point.load == load:
                words, colour = state_words(point)
                st.badge(safe(words), color=colour, help=f"At load {load_words(load)}: {point.words}")  # type: ignore[arg-type]
        chips(steady_premises(answer), "steady")
    charts.show(charts.drawn(response_by_load, answer, charts.page_theme()), "steady-response")
    _one_load(answer)


def _one_load(answer: SteadyAnswer) -> None:
    st.subheader("At one load", anchor=False)
    loads = list(answer.spec.loads)
    question = answer.spec.model_dump_json()
    if st.session_state.get("steady-load") not in loads or st.session_state.get("steady-load-of") != question:
        st.session_state["steady-load"], st.session_state["steady-load-of"] = focus_load(answer), question
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control("Load", loads, required=True, key="steady-load", format_func=load_words)
        look_at = st.segmented_control("Look at", list(LOOK_AT), default="spread", required=True, key="steady-look",
                                       format_func=LOOK_AT.__getitem__)  # fmt: skip
    load, theme = float(chosen or loads[0]), charts.page_theme()
    if look_at == "spread":
        chart = charts.drawn(response_cdf, answer, load, theme)
    elif look_at == "early":
        chart = charts.drawn(early_results, answer, load, theme)
    else:
        chart = charts.drawn(over_time, answer, load, "nodes" if look_at == "nodes" else "jobs", theme)
    if chart is None:
        st.info(NO_MEAN)
    charts.show(chart, f"steady-{look_at}", caption=True)
    _differences(answer, load)


def _differences(answer: SteadyAnswer, load: float) -> None:
    """Show the difference of each two policies with a mean at a load, paired by job."""
    rows = [
        {
            "Policy": spoken(pair.label), "minus": spoken(pair.other), "Difference": HOUR_S * pair.difference_h.mean,
            "± (95%)": None if pair.difference_h.half_width is None else HOUR_S * pair.difference_h.half_width,
            "Jobs": pair.difference_h.n, "Verdict": "clearly different" if pair.tells_apart else "about the same",
        }
        for pair in answer.pairs
        if pair.load == load
    ]  # fmt: skip
    if rows:
        st.markdown(
            "**Differences of the mean turnaround time**, over jobs measured under both. Each interval is a 95% one by "
            "itself: of 20 equal policies, one would seem to differ."
        )
        table = in_words(pd.DataFrame(rows), {"Difference": "duration", "± (95%)": "duration", "Jobs": "count"})
        st.dataframe(table, hide_index=True, key="steady-pairs", placeholder="–",
                     alt=f"{amount(len(rows), 'difference')} between policies at load {load_words(load)}")  # fmt: skip


def next_step(shown: Shown) -> None:
    """Offer a short stream of these jobs as a scenario, to see what the policies do with them."""
    answer = shown.answer
    load = focus_load(answer)
    pressed = writing.button(
        f"Simulate {NEXT_JOBS} of these jobs", type="primary", key="steady-next",
        help=f"Makes a scenario of {NEXT_JOBS} jobs at load {load_words(load)} and opens Run; the timeline of "
        "a run shows how many nodes each job gets",
    )  # fmt: skip
    if pressed:
        with mistakes_shown():
            session.keep(stream_scenario(answer.spec.stream_at(load, NEXT_JOBS), answer.spec.seed))
            session.go("Run")
