import streamlit as st

from dlsched.ui.frame import page, session
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import (
    calibration_view,
    calibration_work,
    fill_view,
    workload_generate,
    workload_gpuaas,
    workload_modelarts,
    workload_sample,
    workload_servers,
    workload_slotted,
    workload_stream,
    workload_upload,
    workload_view,
)
from dlsched.wording.formats import amount

SOURCES = ("Current", "Upload", "Sample", "Generate")
KINDS = (
    "Job mix",
    "GPU as a service",
    "Training jobs on a cluster (HELL/KNEE study)",
    "Elastic training (ModelArts study)",
    workload_servers.KIND,
    workload_slotted.KIND,
)

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
        shown = workload_upload.upload(current)
    elif source == "Sample":
        shown = workload_sample.sample(current)
    elif source == "Generate":
        kind = st.segmented_control(
            "Kind of jobs", KINDS, default=KINDS[0], required=True, key=workload_servers.KIND_KEY,
            persist_state="session",
            help="Classes of jobs on the current cluster, jobs with due times for rented machines of any type, or "
            "training jobs that speed up with the nodes they get: one GPU each and a parameter server, or 8 GPUs each; "
            "or jobs of workers and parameter servers that a full cluster lets in or not, at once or slot by slot",
        )  # fmt: skip
        forms = (
            lambda: workload_generate.generate(current),
            workload_gpuaas.generate,
            workload_stream.generate,
            lambda: workload_modelarts.generate(current),
            workload_servers.generate,
            lambda: workload_slotted.generate(current),
        )
        shown = forms[KINDS.index(kind)]()
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
    workload_view.profile(shown)
    if source == "Current":
        places = calibration_view.part(current)
    workload_view.jobs_table(shown)
if source == "Upload":
    workload_upload.choices()
elif source == "Current":
    fill_view.boxes(current)
if places:
    calibration_work.WORK.follow(places)
