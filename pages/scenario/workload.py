import streamlit as st

from dlsched.ui.frame import page, session
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import calibration, drawn, fill, jobs, samples, trace_file
from dlsched.wording.formats import amount

SOURCES = ("Current", "Upload", "Sample", "Generate")

current = page.begin("Workload")
if st.session_state.pop("jobs-used", False) and "source" not in st.query_params:
    st.session_state["source"] = "Current"  # the jobs taken over last time are the scenario's now
with st.container(horizontal=True, vertical_alignment="bottom"):
    source = st.segmented_control(
        "Jobs from", SOURCES, default="Current", required=True, key="source", bind="query-params",
        help="The jobs of the scenario, a file of yours, a bundled sample, or a drawn mix",
    )  # fmt: skip
    st.space("stretch")
    action = st.container(width="content")
shown = current if source == "Current" else None
based_on = None
with mistakes_shown():
    if source == "Upload":
        shown = trace_file.upload(current)
    elif source == "Sample":
        shown = samples.sample(current)
    elif source == "Generate":
        shown = drawn.generate(current)
        is_next = (current.generator or {}).get("kind") == (shown.generator or {}).get("kind")
        based_on = current.content_hash if current.data_kind == "generated" and is_next else None

if source == "Current":
    if action.button("Next: the cluster", type="primary", key="to-cluster"):
        session.go("scenario/cluster.py")
elif shown is None:
    action.button("Use these jobs", disabled=True, key="use-none", help="There are no jobs to use yet")
elif action.button(
    f"Use these {amount(len(shown.workload), 'job')}", type="primary", key="use-jobs",
    help=f"Becomes a scenario of its own and opens the page Cluster; “{safe(current.name)}” stays as it is",
):  # fmt: skip
    session.keep(shown, based_on)
    st.session_state["jobs-used"] = True
    session.go("scenario/cluster.py")
places = {}
if shown is not None:
    jobs.profile(shown)
    if source == "Current":
        places = calibration.part(current)
    jobs.jobs_table(shown)
if source == "Upload":
    trace_file.choices()
elif source == "Current":
    fill.boxes(current)
if places:
    calibration.WORK.follow(places)
