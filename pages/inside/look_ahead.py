import streamlit as st

from dlsched.domain.errors import DlschedError, StoreError
from dlsched.ui import loaders, look_ahead_view, look_ahead_work, page, parts, session

page.begin("Look-ahead", url=("scenario", "run"))
found = look_ahead_work.runs()
named = session.run_id()
try:
    if named is not None and named not in set(found["run_id"]):
        loaders.info(named)  # a run of another policy is no mistake; one that is not there is
except StoreError as error:
    parts.error_box(error)
    if st.button("Show the newest run that plans ahead", type="primary", key="look-newest"):
        session.look_at_run("")
        st.rerun()
    st.stop()

statuses = look_ahead_work.WORK.under_way()
if found.empty:
    if statuses:
        look_ahead_work.WORK.follow(look_ahead_work.WORK.board(statuses))
    if look_ahead_work.WORK.ended():
        look_ahead_work.WORK.show_ended()
        st.stop()
    parts.empty(
        "No run of this scenario plans ahead. ModelArts, optimal does: run it here, or open the demo of elastic "
        "training: 447 jobs on 110 nodes, about a minute.",
        "Run the demo of elastic training", look_ahead_work.run_demo, "look-empty",
    )  # fmt: skip
    if look_ahead_work.WORK.is_waiting():
        st.rerun()
    st.stop()

ids = found["run_id"].tolist()
run_id = str(named if named in ids else ids[0])
st.query_params["run"] = run_id

info, scenario = loaders.info(run_id), loaders.scenario_of(run_id)
decisions = look_ahead_work.decisions(run_id)
if decisions.empty:
    st.info("This run decided nothing about widths: it was over before the first decision.", icon="ℹ️")
    st.stop()
number = look_ahead_view.choice(info, decisions, found)
spec = look_ahead_work.question_of(info, number, len(decisions))
places = {}
try:
    one = look_ahead_work.known(spec, number)
except DlschedError as error:
    parts.error_box(error)
    st.stop()
if one is not None:
    stale = bool(found.loc[found["run_id"] == run_id, "stale"].iloc[0])
    look_ahead_view.decision(one, info, decisions.iloc[number - 1], scenario, stale=stale)
elif look_ahead_work.WORK.ended():
    look_ahead_work.WORK.show_ended()
else:
    with parts.mistakes_shown():
        if not statuses:
            look_ahead_work.ask(info, spec)
            if not (statuses := look_ahead_work.WORK.under_way()):
                st.rerun()  # it is over already
        places = look_ahead_work.WORK.board(statuses)
look_ahead_view.whole_run(info, decisions, number, scenario)
look_ahead_view.how()
if places:
    look_ahead_work.WORK.follow(places)
