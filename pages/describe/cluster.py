import streamlit as st

from dlsched.ui import cluster_form, fill_view, page, session, tables
from dlsched.ui.cluster_view import notes_of
from dlsched.ui.parts import mistakes_shown

current = page.begin("Cluster")
head = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    kind = st.segmented_control(
        "Machines", [cluster_form.FIXED, cluster_form.FREE], required=True,
        default=cluster_form.FREE if current.cluster.free_slots else cluster_form.FIXED,
        key=f"machines-{current.content_hash[: session.HASH_DIGITS]}", persist_state="session",
    )  # fmt: skip
    st.markdown(f":gray[{cluster_form.MEANING[kind]}]")
    st.space("stretch")
    actions = st.container(horizontal=True, width="content")
edited = None
with mistakes_shown():
    edited = cluster_form.free(current) if kind == cluster_form.FREE else cluster_form.fixed(current)

shown = current.replace(cluster=edited) if edited else current
unsaved = edited is not None and edited != current.cluster
with head:
    cluster_form.headline(shown)
if actions.button(
    "Save cluster", type="primary" if unsaved else "secondary", key="save-cluster", disabled=not unsaved,
    help="Makes a new version of the scenario; “Undo last edit” in the scenario's menu goes back",
):  # fmt: skip
    notes = notes_of(current.assumptions, current.cluster, shown.cluster)
    info = session.keep(shown.replace(assumptions=notes), based_on=current.content_hash)
    for key in cluster_form.keys(current):
        tables.forget(key)
    st.toast(f"Saved as version {info.version}.")
    st.rerun()
if actions.button("Next: choose policies", type="secondary" if unsaved else "primary", key="to-run", disabled=unsaved):
    session.go("run/run.py")
fill_view.boxes(current, disabled=unsaved)
