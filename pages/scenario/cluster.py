import streamlit as st

from dlsched.ui.frame import page, session, tables, writing
from dlsched.ui.scenario import cluster, energy_form, fill, price_lists, queue_tree_form, slurm_form

current = page.begin("Cluster")
head = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    kind = cluster.kind_of_machines(current)
    actions = st.container(horizontal=True, width="content")
said = cluster.free(current) if kind == cluster.FREE else cluster.fixed(current)

shown = current.replace(cluster=said.cluster) if said.cluster is not None else current
unsaved = said.cluster != current.cluster
with head:
    cluster.headline(shown, said, unsaved=unsaved)
if writing.button(
    "Save cluster", type="primary" if unsaved else "secondary", inside=actions, key="save-cluster",
    disabled=not unsaved or not said.can_be_saved,
    help="Makes a new version of the scenario; “Undo last edit” in the scenario menu reverts it",
):  # fmt: skip
    notes = cluster.notes_of(current.assumptions, current.cluster, shown.cluster, price_lists.all_lists())
    info = session.keep(shown.replace(assumptions=notes), based_on=current.content_hash)
    for key in cluster.keys(current):
        tables.forget(key)
    st.toast(f"Saved as version {info.version}.")
    st.rerun()
if actions.button("Next: choose policies", type="secondary" if unsaved else "primary", key="to-run", disabled=unsaved):
    session.go("Run")
fill.boxes(current, fill.OF_CLUSTER, disabled=unsaved)
queue_tree_form.part(current, disabled=unsaved)
slurm_form.part(current, disabled=unsaved)
energy_form.part(current, disabled=unsaved)
