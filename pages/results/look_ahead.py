import streamlit as st

from dlsched.studies.inspect.look_ahead.answer import LookAhead
from dlsched.ui.frame import loaders, page
from dlsched.ui.results import look_ahead_view, look_ahead_work
from dlsched.ui.results.decision_inspector import decisions as decisions_of

page.begin("Look-ahead", url=("scenario", "run"))
replays = look_ahead_work.REPLAYS
found = replays.runs()
replays.refuse_unknown(found, "Show the newest run that plans ahead")
if found.empty:
    replays.offer_demo(
        "No run of this scenario plans ahead. ModelArts, optimal does: run it here, or open the demo of elastic "
        "training: 447 jobs on 110 nodes, about a minute.",
        "Run the demo of elastic training", look_ahead_work.run_demo,
    )  # fmt: skip

run_id = replays.run_of(found)
info, scenario, decisions = loaders.info(run_id), loaders.scenario_of(run_id), decisions_of(run_id)
if decisions.empty:
    st.info("This run decided nothing about widths: it was over before the first decision.", icon="ℹ️")
    st.stop()
number = look_ahead_view.choice(info, decisions, found)
spec = replays.question_of(info, number, len(decisions))
stale = bool(found.loc[found["run_id"] == run_id, "stale"].iloc[0])
places = replays.bring(
    spec,
    number,
    lambda: look_ahead_work.ask(info, spec),
    lambda plain: look_ahead_view.decision(
        LookAhead.from_plain(plain), info, decisions.iloc[number - 1], scenario, stale=stale
    ),
)
look_ahead_view.whole_run(info, decisions, number, scenario)
look_ahead_view.how()
if places:
    replays.work.follow(places)
