"""A new scenario: its cluster is asked for first and kept in the address of the page Jobs, then come its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.ui.frame import link, session
from dlsched.ui.frame.text import dollars, safe
from dlsched.wording.formats import amount, money
from dlsched.workload.catalogue import EXAMPLES, price_list, vm_examples
from dlsched.workload.prices.price_list import price_notes

NAME, NODES, GPUS, KIND, USD = "name", "nodes", "gpus", "gpu", "usd"
"""Parameters of the address: name, nodes, GPUs of a node, type of GPU, $ per GPU-hour."""
USUAL_CLUSTER = {NODES: "8", GPUS: "8", KIND: "A100", USD: "2.1"}
WAYS = (("Generate", "Generate jobs"), ("Upload", "Upload a log"), ("Sample", "Use a sample"))
"""Source of jobs on the page Jobs -> its button."""


@st.dialog("New scenario", width="medium")
def dialog() -> None:
    """Ask for the cluster, then open the page Jobs at one of the ways to jobs."""
    asked = st.query_params.to_dict()
    before = (cluster_of(asked) or cluster_of(USUAL_CLUSTER) or Cluster()).pools[0]
    was, was_usd = (before.vm.gpu_type, before.vm.gpus), before.vm.usd_per_h
    st.markdown("**1. The cluster.** You can change it later.")
    nodes_at, gpus_at, kind_at, usd_at = st.columns(4)
    nodes = nodes_at.number_input("Nodes", 1, 100_000, before.count, key="new-nodes")
    gpus = gpus_at.number_input("GPUs per node", 1, 1024, before.vm.gpus, key="new-gpus")
    kinds = list(dict.fromkeys([vm.gpu_type for vm in vm_examples() if vm.gpus] + [before.vm.gpu_type]))
    kind = kind_at.selectbox("GPU", kinds, kinds.index(before.vm.gpu_type), key="new-gpu", accept_new_options=True,
                             help="Matched against jobs that require a GPU type; you can type another one")  # fmt: skip
    start_usd = _example_usd(str(kind), int(gpus))
    if (kind, gpus) == was:
        start_usd = None if was_usd is None else was_usd / before.vm.gpus
    usd = usd_at.number_input(
        dollars("$ per GPU-hour"), 0.0, 1e6, start_usd,
        format="%.2f", placeholder="not known", key=f"new-usd-{kind}-{gpus}",
        help="Example price until you enter yours; empty = costs stay unknown",
    )  # fmt: skip
    name = st.text_input(
        "Name (optional)", asked.get(NAME, "")[:80], max_chars=80, key="new-name", placeholder="named after its jobs"
    )
    st.markdown("**2. Its jobs.**")
    with st.container(horizontal=True):
        for source, label in WAYS:
            kind_of = "primary" if source == "Generate" else "secondary"
            if st.button(label, key=f"new-{source.lower()}", type=kind_of):  # type: ignore[arg-type]
                cluster = {NODES: str(nodes), GPUS: str(gpus), KIND: str(kind), USD: "" if usd is None else f"{usd:g}"}
                session.go("Jobs", source=source, name=name.strip() or None, **cluster)


def _example_usd(kind: str, gpus: int) -> float | None:
    """Return the example price of a GPU of this type, of a node of this size where there is one; None without one."""
    priced = {vm.gpus: vm.usd_per_h / vm.gpus for vm in vm_examples()
              if vm.gpu_type == kind and vm.gpus and vm.usd_per_h is not None}  # fmt: skip
    return priced.get(gpus, min(priced.values(), default=None))


def cluster_of(params: Mapping[str, str]) -> Cluster | None:
    """Return the cluster that an address names; None if it names none, or one that cannot be."""
    if NODES not in params:
        return None
    kind, gpus, usd = params.get(KIND, USUAL_CLUSTER[KIND]), params.get(GPUS, USUAL_CLUSTER[GPUS]), params.get(USD)
    try:
        vm = VmType.model_validate({"name": f"{gpus} x {kind}"[:80], "gpu_type": kind, "gpus": gpus})
        if not vm.gpus:
            return None
        alike = next((one for one in vm_examples() if (one.gpu_type, one.gpus) == (vm.gpu_type, vm.gpus)), vm)
        price = None if not usd else round(float(usd) * vm.gpus, 6)
        priced: dict[str, Any] = {**alike.model_dump(), "usd_per_h": price}
        return Cluster(pools=(Pool.model_validate({"vm": priced, "count": params[NODES]}),))
    except (ValidationError, ValueError):
        return None


def begun(current: Scenario) -> Scenario | None:
    """Return what jobs are put on while a new scenario is being made: its cluster with neutral rules; else None.

    Its jobs are those of ``current``: what is drawn may follow them.
    """
    cluster = cluster_of(st.query_params.to_dict())
    if cluster is None:
        link.misread(NODES, GPUS, KIND, USD)
        return None
    notes = price_notes(cluster.vm_types, price_list(EXAMPLES), len(cluster.vm_types))
    return current.replace(
        cluster=cluster, name=st.query_params.get(NAME) or "the new scenario", options=SimulationRules(),
        speed=SpeedSpec(), assumptions=notes, read={}, copy_number=0,
    )  # fmt: skip


def banner(new: Scenario) -> None:
    """Say which scenario is being made, with the ways to change its cluster and to give it up."""
    pool = new.cluster.pools[0]
    price = "no price set" if new.cluster.usd_per_h is None else f"{money(new.cluster.usd_per_h)}/h"
    with st.container(horizontal=True, vertical_alignment="center", key="new-banner"):
        size = f"{amount(pool.count, 'node')} with {pool.vm.gpus} {safe(pool.vm.gpu_type)} each"
        st.markdown(dollars(f"**New scenario** on {size}, {price}."), width="content")
        if st.button("Change", key="new-change"):
            dialog()
        if st.button("Cancel", key="new-cancel", type="tertiary"):
            for name in (NAME, NODES, GPUS, KIND, USD):
                st.query_params.pop(name, None)
            st.rerun()


def named(made: Scenario) -> Scenario:
    """Return a scenario under the name that was asked for, if one was."""
    name = st.query_params.get(NAME, "").strip()
    return made.replace(name=name[:80]) if name else made
