"""Bundled sample traces on the Workload page, labelled as examples."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.ui.workload_view import doctor, on_cluster
from dlsched.workload.catalogue import SAMPLES, data_path
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import TraceRead, read_trace
from dlsched.workload.readers.detection import LABELS


def sample(current: Scenario) -> Scenario:
    """Let the reader pick a sample and a cluster for it; return its jobs on it."""
    place = st.radio(
        "Sample", range(len(SAMPLES)), key="sample", persist_state="session", horizontal=True,
        format_func=lambda n: SAMPLES[n].label, captions=[one.words for one in SAMPLES],
        help="Made up by this project: no real users or jobs",
    )  # fmt: skip
    left, right = st.columns([3, 2], gap="medium")
    chosen = SAMPLES[place]
    trace = _read(chosen.file)
    with right:
        doctor(trace.report, LABELS[trace.format_key])
    made = scenario_of(trace, chosen.label).replace(data_kind="example")
    with left:
        return on_cluster(made, current, trace.cluster_hint, chosen.label)


@st.cache_resource(max_entries=len(SAMPLES), show_spinner=False)
def _read(file: str) -> TraceRead:
    return read_trace(data_path(file))
