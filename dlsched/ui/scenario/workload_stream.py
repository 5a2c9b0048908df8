"""Training jobs of the HELL/KNEE study on the Workload page: a stream for equal nodes; a whole scenario at once."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.wording.formats import duration, factor
from dlsched.workload.generators.drawing import plain
from dlsched.workload.studies.hell_knee import StreamSpec, mean_alone_s, mean_gap_s, stream_scenario
from dlsched.workload.studies.registry import parse

NETWORKS = {"table-iii": "four", "large": "two large"}
LINKS = {"hybrid": "hybrid", "exact": "shared (exact)", "fcfs": "one at a time (FCFS)"}
SHOWN_NODES = (4, 10, 40)


def generate() -> Scenario:
    """Show the form and return the scenario it makes: jobs, nodes, speed curves.

    Raises
    ------
    InputError
        When the form does not make a workload; it names the field.
    """
    numbers, seed = _numbers()
    spec = parse({"kind": "training-stream", **numbers})
    assert isinstance(spec, StreamSpec)
    st.markdown(
        f"Alone on one node a job runs **{duration(mean_alone_s(spec))}** in the mean; "
        f"one comes every **{duration(mean_gap_s(spec))}** in the mean. "
        "On several nodes, one is the parameter server."
    )
    _networks(spec)
    with st.spinner("Drawing"):
        return _drawn(json.dumps(plain(spec)), seed)


def _numbers() -> tuple[dict[str, Any], int]:
    """Return what the form says, and the seed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        nodes = st.number_input("Nodes", 1, 1024, 100, key="stream-nodes", persist_state="session", width=120,
                                help="Nodes of the cluster, with one GPU each (Grid K520)")  # fmt: skip
        jobs = st.number_input("Jobs", 1, 100_000, 4000, key="stream-jobs", persist_state="session", width=130,
                               help="How many to draw")  # fmt: skip
        seed = st.number_input("Seed", 0, 10**6, 1, key="stream-seed", persist_state="session", width=120,
                               help="Another seed draws other jobs of the same kind")  # fmt: skip
        load = st.slider(
            "Load, mean", 0.05, 0.95, 0.7, 0.05, key="stream-load", persist_state="session", format="percent",
            width=260,
            help="Node time asked for, were each job on one node, over node time there is; in the mean of many draws",
        )  # fmt: skip
        networks = st.segmented_control(
            "Networks", list(NETWORKS), default="table-iii", required=True, key="stream-networks",
            persist_state="session", format_func=NETWORKS.__getitem__,
            help="The four of Table III of the study, equally likely, or its two large ones",
        )  # fmt: skip
        model = st.selectbox(
            "Links", list(LINKS), key="stream-links", persist_state="session", format_func=LINKS.__getitem__, width=200,
            help="How transfers to and from the server meet on its link of 1 Gbit/s: hybrid is the study's model, "
            "shared when busy and one at a time when not",
        )  # fmt: skip
    return {"nodes": nodes, "jobs": jobs, "load": load, "networks": networks, "network_model": model}, int(seed)


def _networks(spec: StreamSpec) -> None:
    """Show how long jobs of each network run on one node, and how they speed up."""
    widths = [nodes for nodes in SHOWN_NODES if nodes <= spec.nodes]
    rows = []
    for one in spec.networks:
        speed_up = spec.curve(one) * spec.one_node_s(one)
        on_one = duration(one.mean_epochs * one.steps_per_epoch * spec.one_node_s(one))
        rows.append((one.name, on_one, *(factor(float(speed_up[nodes - 1])) for nodes in widths)))
    columns = ["Network", "Run time on one node, mean", *(f"Speed-up on {nodes} nodes" for nodes in widths)]
    st.dataframe(
        pd.DataFrame(rows, columns=columns), hide_index=True, key="stream-table",
        alt="Networks: mean run time on one node, how much faster on more nodes",
    )  # fmt: skip


@st.cache_resource(max_entries=3, show_spinner=False)
def _drawn(spec: str, seed: int) -> Scenario:
    return stream_scenario(StreamSpec.model_validate_json(spec), seed)
