import streamlit as st

from dlsched.ui.frame import page, session, writing
from dlsched.ui.frame.parts import mistakes_shown, part_of_page
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import (
    anonymised_copy,
    calibration,
    drawn,
    fill,
    fit,
    happened,
    jobs,
    new_scenario,
    samples,
    trace_file,
)
from dlsched.wording.formats import amount
from dlsched.workload.fill import missing

SOURCES = ("Current", "Upload", "Sample", "Generate")
PARTS = ("Profile", "What happened", "Trust", "Missing data")

current = page.begin("Jobs")
if st.session_state.pop("jobs-used", False) and "source" not in st.query_params:
    st.session_state["source"] = "Current"  # the jobs taken over last time are the scenario's now
with st.container(horizontal=True, vertical_alignment="bottom"):
    source = st.segmented_control(
        "Jobs from", SOURCES, default="Current", required=True, key="source", bind="query-params",
        help="The scenario's jobs, your own file, a bundled sample, or generated jobs",
    )  # fmt: skip
    st.space("stretch")
    action = st.container(width="content")
begun = new_scenario.begun(current)
new = None if source == "Current" else begun
base = new or current
if new is not None:
    new_scenario.banner(new)
shown = current if source == "Current" else None
based_on = None
with mistakes_shown():
    if source == "Upload":
        shown = trace_file.upload(base)
    elif source == "Sample":
        shown = samples.sample(base)
    elif source == "Generate":
        shown = drawn.generate(base)
        is_next = new is None and (current.generator or {}).get("kind") == (shown.generator or {}).get("kind")
        based_on = current.content_hash if current.data_kind == "generated" and is_next else None

if source == "Current":
    if action.button("Next: the cluster", type="primary", key="to-cluster"):
        session.go("Cluster")
elif shown is None:
    action.button("Use these jobs", disabled=True, key="use-none", help="No jobs yet")
elif writing.button(
    f"Use these {amount(len(shown.workload), 'job')}", type="primary", inside=action, key="use-jobs",
    help=f"Makes a new scenario; “{safe(current.name)}” stays unchanged",
):  # fmt: skip
    session.keep(new_scenario.named(shown) if new else shown, based_on)
    st.session_state["jobs-used"] = True
    session.go("Run" if new else "Cluster")
part = part_of_page(PARTS) if source == "Current" else "Profile"
places, work = {}, calibration.WORK
if shown is not None and part == "Profile":
    if source != "Current":
        jobs.on_which_cluster(shown, base, is_new=new is not None)
    jobs.profile(shown)
    jobs.jobs_table(shown)
    if source == "Current":
        anonymised_copy.button(current)
elif part == "What happened":
    places, work = happened.part(current), happened.WORK
elif part == "Trust":
    jobs.import_counts(current)
    fitted, as_they_are = st.tabs(["Your scheduler", "Policies as they are"])
    with as_they_are:
        places = calibration.part(current)
    with fitted:
        if fit_places := fit.part(current):
            places, work = fit_places, fit.WORK
elif part == "Missing data":
    fill.boxes(current)
    if not missing(current):
        st.markdown("No data is missing.")
    fill.time_limits(current)
if source == "Upload":
    trace_file.choices()
if places:
    work.follow(places)
