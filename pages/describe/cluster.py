import numpy as np
import streamlit as st

from dlsched.figures.cluster import capacity
from dlsched.metrics.findings import cluster_sentence
from dlsched.metrics.formats import count, money, share
from dlsched.placement import can_ever_fit
from dlsched.ui import charts, cluster_view, page, parts, session
from dlsched.ui.parts import mistakes_shown
from dlsched.ui.text import dollars
from dlsched.workload.catalogue import vm_examples
from dlsched.workload.doctor import load_of

current = page.begin("Cluster")
cluster, jobs = current.cluster, current.workload
fits = can_ever_fit(jobs, cluster, current.options.placement)
parts.sentence(cluster_sentence(cluster, float(jobs.gpus.max()), fits=bool(np.all(fits))))
load = load_of(jobs, cluster)
hourly = cluster.usd_per_h
parts.cards([
    ("Nodes", count(cluster.num_nodes), "Nodes, or free slots."),
    ("GPUs", count(cluster.num_gpus), "GPUs of all fixed nodes."),
    ("Price", "no price set" if hourly is None else f"{money(hourly)}/h", "All fixed nodes together, while they are up."),
    ("Load", share(load), "GPU time jobs ask for over GPU time there is while jobs arrive. Above 100% the queue only grows."),
])  # fmt: skip
free = st.segmented_control("Machines", ["Fixed nodes", "Free machine types"], key="cluster-kind", required=True,
                            default="Free machine types" if cluster.free_slots else "Fixed nodes",
                            help="Free machine types: N slots, and the policy chooses what to rent on each")  # fmt: skip
edited = None
with mistakes_shown():
    if free == "Free machine types":
        edited = cluster_view.free_slots_form(current)
    else:
        tag = current.content_hash[:8]
        pools = cluster_view.pools_frame(cluster)
        with st.expander("Add a machine type from the examples"):
            offers = {vm.name: vm for vm in vm_examples()}
            name = st.selectbox("Machine type", list(offers), key="vm-example", format_func=lambda n: dollars(
                f"{n}: {offers[n].gpus} {offers[n].gpu_type}, {money(offers[n].usd_per_h)}/h (example)"))  # fmt: skip
            nodes = st.number_input("Nodes", 1, 10_000, 1, key="vm-example-nodes")
            if st.button("Add to the table", key="vm-add"):
                vm = offers[name]
                st.session_state.setdefault(f"added-{tag}", []).append(
                    (vm.name, nodes, vm.gpu_type, vm.gpus, vm.cpus, vm.mem_gib, vm.usd_per_h, "")
                )
        for row in st.session_state.get(f"added-{tag}", []):
            pools.loc[len(pools)] = row
        st.markdown("**Pools of equal nodes**")
        pools = st.data_editor(
            pools,
            num_rows="dynamic",
            hide_index=True,
            column_config=cluster_view.pool_columns(),
            key=f"pools-{tag}-{len(pools)}",
        )
        st.markdown("**Capacity over time** (optional): nodes that arrive, leave, are maintained, or fail")
        events = st.data_editor(cluster_view.events_frame(cluster), num_rows="dynamic", hide_index=True,
                                column_config=cluster_view.event_columns(), key=f"events-{tag}")  # fmt: skip
        if st.button("Save cluster", type="primary", key="save-cluster", help="Makes a new version of the scenario"):
            edited = cluster_view.cluster_of(pools, events)
    if edited is not None:
        kept = tuple(text for text in current.assumptions if not text.startswith("cluster"))
        info = session.keep(current.replace(cluster=edited, assumptions=kept), based_on=current.content_hash)
        st.query_params.clear()
        st.toast(f"Saved as version {info.version}.")
        st.rerun()
if not cluster.free_slots:
    horizon_s = max(float((jobs.submit_s + jobs.work).max()), *[a.start_s * 1.1 for a in cluster.absences], 1.0)
    charts.show(capacity(cluster, horizon_s, charts.page_theme()), "capacity", caption=True)
if st.button("Next: choose policies", key="to-run"):
    session.go("run/run.py")
