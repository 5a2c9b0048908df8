"""Bundled samples on the page Jobs, labelled as examples: traces, and whole scenarios of five studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.text import dollars
from dlsched.ui.scenario.jobs import import_report, on_cluster
from dlsched.wording.formats import amount
from dlsched.wording.queues import queue_words
from dlsched.workload.catalogue import SAMPLES, SampleTrace, data_path
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import TraceRead, read_trace
from dlsched.workload.readers.registry import find_format
from dlsched.workload.scenario_file import read_scenario
from dlsched.workload.studies.gpu_as_a_service import sample_gpuaas
from dlsched.workload.studies.hell_knee import sample_stream
from dlsched.workload.studies.modelarts import sample_elastic
from dlsched.workload.studies.pd_ors import sample_slotted_jobs
from dlsched.workload.studies.smd import sample_server_jobs

KEY = "sample"
GRID = """<style>.st-key-sample [role=radiogroup]{display:grid;gap:.75rem 1.5rem;
grid-template-columns:repeat(auto-fill,minmax(17rem,1fr))}</style>"""
"""Samples in columns of one width, however long their words are."""


@dataclass(frozen=True)
class StudySample:
    """A whole scenario of a study: what it is called, its makers, and how the page Home offers it.

    ``about`` returns what the page says of the scenario; ``start`` and ``hint`` are the button on Home.
    """

    label: str
    words: str
    make: Callable[[], Scenario]
    about: Callable[[Scenario], str]
    key: str
    start: str
    hint: str

    def open(self) -> None:
        """Open the page Jobs at this sample."""
        st.session_state[KEY] = self.label
        session.go("Jobs", source="Sample")


def _about_service(made: Scenario) -> str:
    machines = made.cluster.catalogue
    prices = [vm.usd_per_h for vm in machines if vm.usd_per_h is not None]
    return (
        f"**Up to {made.cluster.slots} rented machines**: each is one of {len(machines)} machine types at "
        + dollars(f"${min(prices):.2f} to ${max(prices):.2f} per hour")
        + ", which the policy rents, changes and returns. Run times depend on GPU type and number; being late costs "
        "money too. Try the renting policies on it."
    )


def _about_stream(made: Scenario) -> str:
    return (
        f"**{made.cluster.num_nodes} nodes** of one GPU train four networks with a parameter server. More nodes make a "
        "job faster, with diminishing returns. How many nodes should each job get? Try the policies HELL and KNEE."
    )


def _about_elastic(made: Scenario) -> str:
    return (
        f"**{made.cluster.num_nodes} nodes** of 8 GPUs; a job may run on 1, 2, 4, 8 or 16 of them, and change while it "
        "runs. Doubling the nodes makes it 1.6 times as fast. Synthetic, with the published statistics of the "
        "ModelArts study at twice its arrivals."
    )


def _about_servers(made: Scenario) -> str:
    return (
        f"**{amount(len(made.workload), 'job')}** with parameter servers arrive at once; {made.cluster.num_nodes} "
        "units of capacity cannot hold them all, and each loses value the later it finishes. Which jobs should be "
        "admitted, and with how many workers and servers? Drawn from the ranges published in the SMD study."
    )


def _about_slotted(made: Scenario) -> str:
    return (
        f"**{amount(len(made.workload), 'job')}** with parameter servers arrive over 20 slots of an hour on "
        f"{made.cluster.num_nodes} machines; some lose all value after their hour, others can wait. Which "
        "jobs should be admitted, and which machines booked for which hour? Drawn from the ranges published in the "
        "PD-ORS study."
    )


def _sample_quotas() -> Scenario:
    return read_scenario(data_path("quotas.toml"))


def _about_quotas(made: Scenario) -> str:
    assert made.queues is not None
    return (
        f"**{amount(len(made.workload), 'job')}** of three teams on {made.cluster.num_nodes} nodes of 8 GPUs, with "
        f"{queue_words(made.queues)}. A team may borrow what the others leave idle. Run the policy Quota tree, then "
        "open the page Queues. Made up for this project."
    )


SERVICE = StudySample(
    "GPU as a service", "100 jobs with due dates for 10 rented machines.", sample_gpuaas, _about_service,
    "service", "Rent GPUs by the hour", "which machines, when, for which job",
)  # fmt: skip
STREAM = StudySample(
    "Training jobs", "400 jobs that speed up with the nodes they get, on 100 nodes.", sample_stream, _about_stream,
    "stream", "Speed up training jobs", "HELL and KNEE on 100 nodes: how training jobs speed up",
)  # fmt: skip
ELASTIC = StudySample(
    "Elastic training", "447 jobs on 1 to 16 of 110 nodes.", sample_elastic, _about_elastic,
    "elastic", "Resize jobs as they run", "which job gets how many of 110 nodes, and when",
)  # fmt: skip
SERVERS = StudySample(
    "Parameter-server jobs", "50 jobs with parameter servers; the cluster cannot hold them all.", sample_server_jobs,
    _about_servers, "servers", "Admit jobs to a full cluster",
    "50 jobs with parameter servers: which to admit, with how many workers and servers",
)  # fmt: skip
SLOTTED = StudySample(
    "Jobs that book machines", "50 jobs over 20 slots of an hour; some cannot wait.", sample_slotted_jobs,
    _about_slotted, "slotted", "Book machines ahead",
    "50 jobs over 20 hours: which to admit, and which machines to book when",
)  # fmt: skip
QUOTAS = StudySample(
    "Teams with quotas", "700 jobs of three teams that lend one another what they do not use.", _sample_quotas,
    _about_quotas, "quotas", "Share a cluster by quotas",
    "three teams with quotas: who borrows, who waits, and what another rule would change",
)  # fmt: skip
OF_STUDIES = (SERVICE, STREAM, ELASTIC, SERVERS, SLOTTED, QUOTAS)


def sample(current: Scenario) -> Scenario:
    """Let the reader pick a sample and, for a trace, a cluster for it; return its jobs on it."""
    st.html(GRID)
    samples = {one.label: one for one in (*SAMPLES, *OF_STUDIES)}
    label = st.radio(
        "Sample", list(samples), key=KEY, persist_state="session", horizontal=True, width="stretch",
        captions=[one.words for one in samples.values()], help="Made up for this project; no real users or jobs",
    )  # fmt: skip
    chosen = samples[label]
    if isinstance(chosen, SampleTrace):
        return _trace(chosen, current)
    made = _made(label)
    st.markdown(chosen.about(made))
    return made


def _trace(chosen: SampleTrace, current: Scenario) -> Scenario:
    left, right = st.columns([3, 2], gap="medium")
    trace = _read(chosen.file)
    with right:
        import_report(trace.report, find_format(trace.format_key).label, workload=trace.workload)
    made = scenario_of(trace, chosen.label).replace(data_kind="example")
    with left:
        return on_cluster(made, current, trace.cluster, chosen.label)


@shared
def _made(label: str) -> Scenario:
    return next(one for one in OF_STUDIES if one.label == label).make()


@shared
def _read(file: str) -> TraceRead:
    return read_trace(data_path(file))
