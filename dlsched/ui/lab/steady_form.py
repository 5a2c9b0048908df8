"""The controls of the Steady state page: jobs, nodes, loads, policies, and how sure."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.studies.steady import SteadySpec
from dlsched.studies.steady.words import spec_words
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.text import safe
from dlsched.ui.lab import stream_network
from dlsched.ui.lab.steady_question import CAPS, LABELS, ORDERED, OWN, SHOWN, SteadyQuestion, asked_of, experiment_of

PREFIX = "steady-"
LINKS = {"hybrid": "hybrid", "exact": "shared (exact)", "fcfs": "one at a time (FCFS)"}
TARGETS = (0.02, 0.05, 0.1, 0.2)


def fill(spec: SteadySpec) -> None:
    """Make the form ask what an answer answers; before it is shown."""
    for name, value in asked_of(spec).model_dump().items():
        st.session_state[PREFIX + name] = list(value) if isinstance(value, tuple) else value


def form(shown: SteadySpec) -> SteadySpec | None:
    """Show the form; return what it asks, None where that cannot be computed (it says why).

    ``shown`` is the question of the answer on the page: jobs of no preset stay a choice while they are shown.
    """
    handed = stream_network.kept()
    if stream_network.just_came():
        st.session_state[PREFIX + "networks"] = OWN
    own = shown.stream if asked_of(shown).networks == SHOWN else None
    line = st.empty()
    with st.expander("Change the question", key="steady-form"):
        asked = _fields(
            own_name=None if handed is None else handed.networks[0].name,
            shown_name=None if own is None else "those of this answer",
        )
        try:
            spec = experiment_of(asked, handed, own)
        except DlschedError as error:
            error_box(error)
            line.markdown(":orange[**Question**: it cannot be computed as it stands.]")
            return None
    line.markdown(f"**Question**: {safe(spec_words(spec), 200)}")
    return spec


def _fields(*, own_name: str | None, shown_name: str | None) -> SteadyQuestion:
    values: dict[str, Any] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values |= _jobs(own_name, shown_name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values |= _loads()
    values["policies"] = tuple(
        st.multiselect(
            "Policies",
            list(LABELS),
            list(SteadyQuestion().policies),
            format_func=LABELS.__getitem__,
            key=PREFIX + "policies",
            persist_state="session",
            help="All see the same jobs, each at every load",
        )
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values |= _policy_fields(values["policies"])
        values |= _how_sure()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values |= _model(disabled=values["networks"] in (OWN, SHOWN))
    return SteadyQuestion(**values)


def _jobs(own_name: str | None, shown_name: str | None) -> dict[str, Any]:
    names = {"table-iii": "four of the study", "large": "two large ones"}
    if own_name is not None:
        names[OWN] = f"{own_name[:30]} (Throughput)"
    if shown_name is not None:
        names[SHOWN] = shown_name
    if st.session_state.get(PREFIX + "networks", "table-iii") not in names:
        st.session_state.pop(PREFIX + "networks")
    networks = st.segmented_control(
        "Networks", list(names), default="table-iii", required=True, key=PREFIX + "networks", persist_state="session",
        format_func=lambda name: safe(names[name]), help="What jobs train. Your own network comes from Throughput.",
    )  # fmt: skip
    nodes = st.number_input(
        "Nodes", 1, 1024, SteadyQuestion().nodes, key=PREFIX + "nodes", persist_state="session", width=110,
        help="Nodes of the cluster, one GPU each",
    )  # fmt: skip
    return {"networks": networks, "nodes": nodes}


def _loads() -> dict[str, Any]:
    hint = "Work asked for over work possible, were every job on one node. Below 1: at 1 and above every queue grows."
    asked = SteadyQuestion()
    fields = {
        "first_load": ("Load from", asked.first_load, hint),
        "last_load": ("to", asked.last_load, hint),
        "step": ("by", asked.step, "From one load to the next; at most 20 loads"),
    }
    return {
        name: st.number_input(
            label, 0.0, 2.0, value, 0.05, key=PREFIX + name, persist_state="session", width=120, format="%g", help=hint
        )
        for name, (label, value, hint) in fields.items()
    }  # fmt: skip


def _policy_fields(policies: tuple[str, ...]) -> dict[str, Any]:
    asked = SteadyQuestion()
    gammas = st.text_input(
        "Early termination (gamma)", asked.gammas, key=PREFIX + "gammas", persist_state="session", width=190,
        disabled=not ORDERED & set(policies),
        help="A job that has done a share of its work counts as (1 / (1 - share)) to the power of gamma longer, so "
        "that new jobs soon show early results. 0 = off; several, as in 0, 1, are compared.",
    )  # fmt: skip
    chunk = st.number_input(
        "Chunk (nodes)", 0, 1024, asked.chunk, key=PREFIX + "chunk", persist_state="session", width=130,
        disabled="jsq-chunk" not in policies,
        help="Nodes of each part that JSQ-Chunk cuts the cluster into; 0 = the best of several, tried on other jobs",
    )  # fmt: skip
    return {"gammas": gammas, "chunk": chunk}


def _how_sure() -> dict[str, Any]:
    asked = SteadyQuestion()
    target = st.selectbox(
        "Sure within", TARGETS, TARGETS.index(asked.target), key=PREFIX + "target", persist_state="session", width=120,
        format_func=lambda share: f"± {share:.0%}",
        help="Jobs are doubled until half the 95% interval is at most this share of the mean",
    )  # fmt: skip
    cap = st.selectbox(
        "Jobs, at most", CAPS, CAPS.index(asked.cap), key=PREFIX + "cap", persist_state="session", width=140,
        format_func="{:,}".format, help="Of a point; the interval reached by then is shown as it is",
    )  # fmt: skip
    return {"target": target, "cap": cap}


def _model(*, disabled: bool) -> dict[str, Any]:
    asked, why = SteadyQuestion(), " (it comes with the networks chosen)" if disabled else ""
    links = st.selectbox(
        "Links", list(LINKS), key=PREFIX + "links", persist_state="session", format_func=LINKS.__getitem__, width=200,
        disabled=disabled, help=f"How transfers meet on the server's link: hybrid is the study's model{why}",
    )  # fmt: skip
    servers = st.number_input(
        "Servers of a job", 1, 64, asked.servers, key=PREFIX + "servers", persist_state="session", width=140,
        disabled=disabled, help=f"Server nodes of a job on several nodes{why}",
    )  # fmt: skip
    seed = st.number_input(
        "Seed", 0, 10**6, asked.seed, key=PREFIX + "seed", persist_state="session", width=120,
        help="Another seed draws other jobs of the same kind",
    )  # fmt: skip
    shared = st.checkbox(
        "Servers share nodes with workers", key=PREFIX + "shared_server", persist_state="session", disabled=disabled,
        help=f"All nodes have a worker, servers run beside them{why}",
    )  # fmt: skip
    return {"links": links, "servers": servers, "seed": seed, "shared_server": shared}
