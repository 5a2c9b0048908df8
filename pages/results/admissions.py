import streamlit as st

from dlsched.studies.inspect.admissions.answer import Admission
from dlsched.ui.frame import loaders, page
from dlsched.ui.results import admissions_view, admissions_work
from dlsched.ui.results.decision_inspector import decisions as decisions_of

page.begin("Admissions", url=("scenario", "run"))
replays = admissions_work.REPLAYS
found = replays.runs()
replays.refuse_unknown(found, "Show the newest run that admits jobs")
if found.empty:
    replays.offer_demo(
        "No run of this scenario admits jobs by intervals. SMD, ESW and Optimus do, for jobs with parameter servers: "
        "run one here, or open the sample: 50 jobs on three units of capacity, some seconds.",
        "Run the sample of parameter-server jobs", admissions_work.run_demo,
    )  # fmt: skip

run_id = replays.run_of(found)
info, scenario, decisions = loaders.info(run_id), loaders.scenario_of(run_id), decisions_of(run_id)
if decisions.empty:
    st.info("Nobody waited at any interval of this run: there was nothing to decide.", icon="ℹ️")
    st.stop()
number = admissions_view.choice(info, decisions, found)
spec = replays.question_of(info, number, len(decisions))
stale = bool(found.loc[found["run_id"] == run_id, "stale"].iloc[0])
places = replays.bring(
    spec,
    number,
    lambda: admissions_work.ask(info, spec),
    lambda plain: admissions_view.interval(
        Admission.from_plain(plain), info, decisions.iloc[number - 1], scenario, stale=stale
    ),
)
admissions_view.whole_run(info, decisions, number)
admissions_view.how()
if places:
    replays.work.follow(places)
