import streamlit as st

from dlsched.studies.code_version import code_version
from dlsched.ui.frame import page, run_state, session
from dlsched.ui.home import start_view

current = page.begin(run_state.START_TITLE, url=())
on_top = st.container(border=True) if start_view.is_busy() else None
runs = session.store().list_runs(code_version=code_version())
any_run, own = bool((runs["state"] == "stored").any()), start_view.has_own_runs(runs)
left, right = st.columns([3, 2], gap="large")
with right if own else left:
    start_view.demo_card(primary=not any_run)
    if not own:
        start_view.other_ways()
    start_view.starter_policies()
with left if own else right:
    start_view.recent(runs, primary=any_run)
    if own:
        start_view.other_ways()
    start_view.steps(current)
if on_top:
    with on_top:
        start_view.running()
