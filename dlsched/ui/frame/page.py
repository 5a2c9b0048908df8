"""The frame of every page: guard, scenario bar, title."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import glossary, identity, link, run_state, scenario_bar, scenario_menu, session, writing
from dlsched.ui.frame.navigation import HAS_QUEUES
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.text import safe

STYLE = """<style>
[data-testid=stMainBlockContainer]{max-width:1360px;padding:4.2rem 2rem 3rem}
[data-testid=stMetricValue]{font-variant-numeric:tabular-nums}
:is([data-testid=stMetricValue],[data-testid=stMetricLabel]) .stMarkdownEllipsis{white-space:normal}
[data-testid=stMain] h1{padding:0 0 .25rem}
[data-testid=stMain] h2{padding:.25rem 0;line-height:1.3}
.st-key-recent a{padding-left:0}
[data-testid=stMetricDeltaDescription],[data-testid=stMetricDeltaDescription] *{color:inherit;opacity:1}
.st-key-open-glossary button{padding-left:.6rem}
[data-testid=stSidebar] a:focus-visible{outline:2px solid currentColor;outline-offset:-2px}
body:has([data-testid=stPopoverButton][aria-expanded=true]):not(:has([data-testid=stPopoverBody]:is(:hover,:focus-within)))
[data-testid=stTooltipContent]{display:none}
[class*=st-key-cards-]{display:grid;grid-template-columns:repeat(auto-fit,minmax(11.5rem,1fr))}
[class*=st-key-cards-]>*,[class*=st-key-cards-]>*>*{height:100%}
@media(max-width:1240px){
[data-testid=stHorizontalBlock]:has(>[data-testid=stColumn]>[data-testid=stVerticalBlock]>*>[data-testid=stMetric]){
flex-wrap:wrap}
[data-testid=stColumn]:has(>[data-testid=stVerticalBlock]>*>[data-testid=stMetric]){min-width:45%}
[data-testid=stMetricValue]{font-size:20px}}
@media print{[data-testid=stSidebar],[data-testid=stHeader],.st-key-scenario-bar{display:none}}
</style>"""
DARK_STYLE = "<style>:is([data-testid=stBaseButton-primary],[data-tag],[data-tag] *){color:#0e1117}</style>"
"""White on the blue of the dark theme has too little contrast: ink on buttons and on what is chosen of a list."""
IMAGES = Path(__file__).parent / "images"
KEPT_WIDGETS = ("policy-", "param-", "memo-")
"""Keys of widgets that hold what a user has set up on a page; it is still there when he comes back."""


def begin(title: str, *, url: Sequence[str] = ("scenario",), bar: bool = True, assumed: bool = True) -> Scenario:
    """Open a page: style, store, scenario bar, title; return the scenario that is looked at.

    ``url`` names what the address bar keeps of the page: scenario, run, runs, base. ``assumed``: the bar lists the
    scenario's assumptions; not where the page lists those behind its answer.
    """
    _style()
    _keep_widgets()
    session.open_asked_part()
    run_state.page_opened(title)
    try:
        session.follow_url()
        current = session.scenario()
        name = session.scenario_info().name
    except StoreError as error:
        _lost(title, error)
    if st.session_state.get(HAS_QUEUES, False) != (current.queues is not None):
        st.session_state[HAS_QUEUES] = current.queues is not None
        st.rerun()  # the sidebar was built before the scenario was known
    session.write_url(*url)
    name_tab(title, name)
    if bar:
        scenario_bar.show(current, assumed=assumed)
    identity.reader_line()
    st.title(title, anchor=False)
    glossary.drawer()
    return current


def name_tab(*parts: str) -> None:
    """Name the browser's tab by what it shows, such as "SJF · Run details · Demo · dlsched": ten tabs are ten names."""
    st.set_page_config(page_title=" · ".join((*(part[:40] for part in parts), "dlsched")))


def store_is_open() -> bool:
    """Whether the app has its store; if not, say why on a page of its own: no half-working app."""
    try:
        session.store()
    except StoreError as error:
        _style()
        st.title("The result store is not available", anchor=False)
        error_box(error)
        st.button("Try again", type="primary", key="store-again")
        return False
    return True


def _style() -> None:
    st.html(STYLE + (DARK_STYLE if st.context.theme.type == "dark" else ""))


def _keep_widgets() -> None:
    """Streamlit forgets widgets that a run of the script does not show, unless their values are set anew."""
    for key in [key for key in st.session_state if str(key).startswith(KEPT_WIDGETS)]:
        st.session_state[key] = st.session_state[key]


def _lost(title: str, error: StoreError) -> None:
    st.title(title, anchor=False)
    if isinstance(error, session.ScenarioDeleted):
        _deleted(error)
    error_box(error)
    if not identity.may_write():
        st.button("Try again", key="lost-again", on_click=st.query_params.clear)
        link.stop()
    with st.container(horizontal=True):
        if st.button("Continue with the demo", type="primary"):
            st.query_params.clear()
            session.keep(session.demo())
            st.rerun()
        if st.button("Import an export file"):
            session.keep(session.demo())
            session.go("Run", part="History")
    link.stop()


def _deleted(error: session.ScenarioDeleted) -> None:
    """Offer to restore what a link names, or to go on with what was used last."""
    st.warning(safe(error, 200))
    with st.container(horizontal=True):
        if writing.button("Restore it", type="primary", key="restore-linked"):
            scenario_menu.bring_back(error.deletion)
        if st.button("Continue with another scenario", key="leave-deleted"):
            st.query_params.clear()
            scenario_menu.open_scenario(session.start_scenario().scenario_hash)
    link.stop()
