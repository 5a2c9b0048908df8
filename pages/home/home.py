import streamlit as st

from dlsched.studies.code_version import code_version
from dlsched.ui.frame import page, run_state, session
from dlsched.ui.home import home

current = page.begin(run_state.HOME_TITLE, url=())
on_top = st.container(border=True) if home.is_busy() else None
runs = session.store().list_runs(code_version=code_version())
any_run, own = bool((runs["state"] == "stored").any()), home.has_own_runs(runs)
left, right = st.columns([3, 2], gap="large")
with right if own else left:
    home.demo_card(primary=not any_run)
    if not own:
        home.other_ways()
    home.starter_policies()
with left if own else right:
    home.recent(runs, primary=any_run)
    if own:
        home.other_ways()
    home.steps(current)
if on_top:
    with on_top:
        home.running()
