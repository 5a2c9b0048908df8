"""Bundled samples on the Workload page, labelled as examples: traces, and whole scenarios of five studies."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.ui.frame.text import dollars
from dlsched.ui.scenario.workload_view import doctor, on_cluster
from dlsched.wording.formats import amount
from dlsched.workload.catalogue import SAMPLES, data_path
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import TraceRead, read_trace
from dlsched.workload.readers.detection import LABELS
from dlsched.workload.studies.gpu_as_a_service import sample_gpuaas
from dlsched.workload.studies.hell_knee import sample_stream
from dlsched.workload.studies.modelarts import sample_elastic
from dlsched.workload.studies.pd_ors import sample_slotted_jobs
from dlsched.workload.studies.smd import sample_server_jobs

KEY = "sample"
SERVICE, STREAM, ELASTIC, SERVERS, SLOTTED = range(len(SAMPLES), len(SAMPLES) + 5)
"""Places of the samples that are whole scenarios."""
_LABELS = (*(one.label for one in SAMPLES), "GPU as a service", "Training jobs", "Elastic training",
           "Parameter-server jobs", "Jobs that book machines")  # fmt: skip
_WORDS = (
    *(one.words for one in SAMPLES),
    "100 jobs with due times for 10 rented machines.",
    "400 jobs that speed up with the nodes they get, on 100 nodes.",
    "447 jobs on 1 to 16 of 110 nodes.",
    "50 jobs of workers and servers that ask for more than there is.",
    "50 jobs over 20 slots of an hour; some cannot wait.",
)


def sample(current: Scenario) -> Scenario:
    """Let the reader pick a sample and, for a trace, a cluster for it; return its jobs on it."""
    place = st.radio(
        "Sample", range(len(_LABELS)), key=KEY, persist_state="session", horizontal=True,
        format_func=_LABELS.__getitem__, captions=_WORDS, help="Made up by this project: no real users or jobs",
    )  # fmt: skip
    if place == STREAM:
        return _training()
    if place == ELASTIC:
        return _elastic()
    if place == SERVERS:
        return _servers()
    if place == SLOTTED:
        return _slotted()
    return _service() if place == SERVICE else _trace(place, current)


def _training() -> Scenario:
    made = _made_stream()
    st.markdown(
        f"**{made.cluster.num_nodes} nodes** of one GPU train four networks with a parameter server. More nodes make a "
        "job faster, but by less and less. How many for whom? Try the policies HELL and KNEE on it."
    )
    return made


def _elastic() -> Scenario:
    made = _made_elastic()
    st.markdown(
        f"**{made.cluster.num_nodes} nodes** of 8 GPUs; a job may run on 1, 2, 4, 8 or 16 of them, and change while it "
        "runs. Twice the nodes make it 1.6 times as fast. Synthetic, with the published statistics of the ModelArts "
        "study at twice its arrivals."
    )
    return made


def _servers() -> Scenario:
    made = _made_servers()
    st.markdown(
        f"**{amount(len(made.workload), 'job')}** with parameter servers come at once; {made.cluster.num_nodes} units "
        "of capacity cannot hold them all, and each is worth less the later it is done. Who gets in, and with how "
        "many workers and servers? Drawn from the ranges published in the SMD study."
    )
    return made


def _slotted() -> Scenario:
    made = _made_slotted()
    st.markdown(
        f"**{amount(len(made.workload), 'job')}** with parameter servers arrive over 20 slots of an hour on "
        f"{made.cluster.num_nodes} machines; some are worth nothing once their hour has passed, others can wait. Whom "
        "to admit, and which machines to book for which hour? Drawn from the ranges published in the PD-ORS study."
    )
    return made


def _service() -> Scenario:
    made = _made()
    machines = made.cluster.catalogue
    prices = [vm.usd_per_h for vm in machines if vm.usd_per_h is not None]
    st.markdown(
        f"**{made.cluster.slots} free slots**: each holds one of {len(machines)} machine types at "
        + dollars(f"${min(prices):.2f} to ${max(prices):.2f} per hour")
        + ", which the policy chooses, changes and gives back. How long a job runs depends on GPU type and GPUs; "
        "being late costs money too. Try the renting policies on it."
    )
    return made


def _trace(place: int, current: Scenario) -> Scenario:
    left, right = st.columns([3, 2], gap="medium")
    chosen = SAMPLES[place]
    trace = _read(chosen.file)
    with right:
        doctor(trace.report, LABELS[trace.format_key])
    made = scenario_of(trace, chosen.label).replace(data_kind="example")
    with left:
        return on_cluster(made, current, trace.cluster_hint, chosen.label)


@st.cache_resource(show_spinner=False)
def _made() -> Scenario:
    return sample_gpuaas()


@st.cache_resource(show_spinner=False)
def _made_stream() -> Scenario:
    return sample_stream()


@st.cache_resource(show_spinner=False)
def _made_elastic() -> Scenario:
    return sample_elastic()


@st.cache_resource(show_spinner=False)
def _made_servers() -> Scenario:
    return sample_server_jobs()


@st.cache_resource(show_spinner=False)
def _made_slotted() -> Scenario:
    return sample_slotted_jobs()


@st.cache_resource(max_entries=len(SAMPLES), show_spinner=False)
def _read(file: str) -> TraceRead:
    return read_trace(data_path(file))
