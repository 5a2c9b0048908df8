"""Elastic training on the Workload page: the synthetic ModelArts trace, or the scenario's jobs on whole nodes."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import number
from dlsched.workload.generators.drawing import plain
from dlsched.workload.import_report import arrival_window_s
from dlsched.workload.studies.modelarts import (
    VARIANTS,
    ModelArtsSpec,
    modelarts_scenario,
    node_hours_of,
    on_whole_nodes,
)
from dlsched.workload.studies.registry import parse

TRACE, OWN = "Synthetic trace", "Jobs of the scenario"
ON_NODES = ", whole nodes"
WHICH = {False: "all", True: "5 minutes and more"}
VARIANT_LABELS = {
    "baseline": "nothing (as in the base case)",
    "estimates": "estimates off by up to 10%",
    "mishaps": "estimates, 15% bug jobs, 10% cancelled",
    "delay": "starts and scale-ups take 15 s",
}
WIDTHS = (1, 2, 4, 8, 16, 32, 64)


def generate(current: Scenario) -> Scenario:
    """Show the form and return the scenario it makes: jobs, 8-GPU nodes, scaling law, rules of the simulation.

    Raises
    ------
    InputError
        When the form does not make a workload; it names the field.
    """
    source = st.segmented_control(
        "Which jobs", (TRACE, OWN), default=TRACE, required=True, key="elastic-source", persist_state="session",
        help="Drawn with the published statistics of the study's private trace, or those of the scenario as if they "
        "ran on whole nodes of 8 GPUs",
    )  # fmt: skip
    made = _trace() if source == TRACE else _own(current)
    _sentence(made)
    return made


def _trace() -> Scenario:
    numbers, variant, seed = _numbers()
    spec = parse({"kind": "modelarts", **numbers})
    with st.spinner("Drawing"):
        return _drawn(json.dumps(plain(spec)), variant, seed)


def _numbers() -> tuple[dict[str, Any], str, int]:
    """Return what the form says of the trace, what goes wrong, and the seed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        nodes = st.number_input("Nodes", 1, 10_000, 70, key="elastic-nodes", persist_state="session", width=120,
                                help="Nodes of the cluster, with 8 GPUs each; the study has 70 to 190")  # fmt: skip
        jobs = st.number_input("Jobs", 1, 100_000, 1252, key="elastic-jobs", persist_state="session", width=130,
                               help="Of the trace; 447 of 1,252 run 5 minutes and more")  # fmt: skip
        only_long = st.segmented_control(
            "Of them", list(WHICH), default=False, required=True, key="elastic-long", persist_state="session",
            format_func=WHICH.__getitem__, help="The study's base case has the jobs of 5 minutes and more only",
        )  # fmt: skip
        load_scale = st.number_input(
            "Load scale (x)", 0.1, 20.0, 1.0, 0.5, key="elastic-scale", persist_state="session", width=140,
            help="Arrivals this many times as dense as published; the jobs stay the same",
        )  # fmt: skip
        most = _most_nodes()
        variant = st.selectbox(
            "What goes wrong", list(VARIANT_LABELS), key="elastic-variant", persist_state="session", width=300,
            format_func=VARIANT_LABELS.__getitem__,
            help="Sets the rules of the simulation as in the study: its Figs. 9 to 12, 13, 14 and 15",
        )  # fmt: skip
        seed = st.number_input("Seed", 0, 10**6, 1, key="elastic-seed", persist_state="session", width=120,
                               help="Another seed draws other jobs of the same kind")  # fmt: skip
    numbers = {"nodes": nodes, "jobs": jobs, "only_long": only_long, "load_scale": load_scale, "max_nodes": most}
    return numbers, variant, int(seed)


def _most_nodes() -> int:
    return st.selectbox(
        "Most nodes of a job", WIDTHS, WIDTHS.index(16), key="elastic-most", persist_state="session", width=170,
        help="Jobs may run on 1, 2, 4, ... nodes up to this many",
    )  # fmt: skip


def _own(current: Scenario) -> Scenario:
    """Return the scenario's jobs on whole nodes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        nodes = st.number_input(
            "Nodes", 1, 100_000, None, placeholder="as it is", key="elastic-own-nodes", persist_state="session",
            width=140, help="Nodes of the cluster, with 8 GPUs each; empty = the scenario's if its nodes have 8 GPUs, "
            "else the default for these jobs",
        )  # fmt: skip
        most = _most_nodes()
    st.markdown(
        f"Jobs of **{safe(current.name)}**: GPUs become whole nodes of 8, rounded up to a power of two. A job runs on "
        "the nodes it asks for as long as before; on others as the law below says."
    )
    return on_whole_nodes(current, nodes, most).replace(name=current.name.removesuffix(ON_NODES) + ON_NODES)


def _sentence(made: Scenario) -> None:
    """Say how much work the jobs are, and what more nodes bring."""
    hours = node_hours_of(made)
    busy = hours / (arrival_window_s(made.workload) / 3600)
    st.markdown(
        f"On one node each, the jobs take **{number(hours)} node-hours**: as much as **{number(busy)} nodes** "
        f"do while jobs arrive; there are {made.cluster.num_nodes:,}. Twice the nodes make a job 1.6 times as fast: "
        "2.56 on 4 nodes, 6.55 on 16."
    )


@st.cache_resource(max_entries=3, show_spinner=False)
def _drawn(spec: str, variant: str, seed: int) -> Scenario:
    return modelarts_scenario(ModelArtsSpec.model_validate_json(spec), seed, options=VARIANTS[variant])
