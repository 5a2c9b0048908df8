import streamlit as st

from dlsched.policies.registry import policies
from dlsched.ui.frame import page, run_state, session
from dlsched.ui.home import home

current = page.begin(run_state.HOME_TITLE, url=())
st.markdown(
    f"dlsched simulates your jobs on any cluster under {len(policies())} scheduling policies: how long jobs wait, "
    "which are late, and what it costs."
)
on_top = st.container(border=True) if home.is_busy() else None
runs = session.listed_runs()
any_run = bool((runs["state"] == "stored").any())
home.questions(current, runs)
left, right = st.columns([2, 1], gap="medium")
with left:
    home.demo_card(primary=not any_run)
with right:
    home.drop_zone()
    home.other_ways()
    home.recent(primary=any_run)
if on_top:
    with on_top:
        home.running()
