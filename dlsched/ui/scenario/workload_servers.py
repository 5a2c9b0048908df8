"""Jobs with parameter servers on the Workload page: the SMD study's batches on units of capacity."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session
from dlsched.wording.gangs import UPDATES_WORDS
from dlsched.workload.generators.drawing import plain
from dlsched.workload.studies.registry import parse
from dlsched.workload.studies.smd import ServerJobsSpec, server_jobs_scenario

KIND = "Parameter-server jobs (SMD study)"
KIND_KEY = "gen-kind"
"""Key of the choice of a kind of jobs on the page Workload."""
OVERLAP = {"sequential": "not at all", "wait-free": "wait-free", "priority": "wait-free, first layer first"}
INSTANCE = (
    ("instance_gpus", "Instance: GPUs", 1024.0, "Assumed."),
    ("instance_cpus", "CPUs", 1e4, "The largest C4 instance has 36."),
    ("instance_mem_gib", "Memory (GiB)", 1e5, "The largest C4 instance has 60 GiB."),
    ("instance_disk_gib", "Disk (GiB)", 1e6, "Assumed."),
)
"""Field, label, largest value, and where the value to begin with is from."""
MINUTE_S = 60.0


def open_form() -> None:
    """Open the page Workload at this form."""
    st.session_state[KIND_KEY] = KIND
    session.go("scenario/workload.py", source="Generate")


def generate() -> Scenario:
    """Show the form and return the scenario it makes: jobs, units of capacity, step times, utilities.

    Raises
    ------
    InputError
        When the form does not make a workload; it names the field.
    """
    numbers, seed = _numbers()
    spec = parse({"kind": "server-jobs", **numbers})
    with st.spinner("Drawing"):
        return _drawn(json.dumps(plain(spec)), seed)


def _numbers() -> tuple[dict[str, Any], int]:
    """Return what the form says, and the seed."""
    given: dict[str, Any] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        given["jobs"] = st.number_input(
            "Jobs", 1, 20_000, 50, key="servers-jobs", persist_state="session", width=120, help="How many to draw"
        )
        given["units"] = st.number_input(
            "Units of capacity", 1, 1000, 3, key="servers-units", persist_state="session", width=150,
            help="Each has 600 GPUs, 3,400 CPUs, 1,400 GiB of memory and 1,200 GiB of disk; taken together",
        )  # fmt: skip
        given["updates"] = st.segmented_control(
            "Updates", list(UPDATES_WORDS), default="async", required=True, key="servers-updates",
            persist_state="session", format_func=UPDATES_WORDS.__getitem__,
            help="Asynchronous: each worker makes steps on its own. Synchronous: all make one step together, on a "
            "batch of fixed size",
        )  # fmt: skip
        given["overlap"] = st.selectbox(
            "Transfers overlap", list(OVERLAP), 1, key="servers-overlap", persist_state="session", width=230,
            format_func=OVERLAP.__getitem__,
            help="Whether layers are sent while others are computed: not at all; each as soon as it is ready; or with "
            "the layers needed first going first. Assumed: the study does not say",
        )  # fmt: skip
        given["forward_per"] = st.selectbox(
            "Forward time is per", ("sample", "mini-batch"), key="servers-forward", persist_state="session", width=170,
            help="What the forward time of a layer, 1 to 500 ms, is of; the study does not say",
        )  # fmt: skip
        seed = st.number_input("Seed", 0, 10**6, 1, key="servers-seed", persist_state="session", width=120,
                               help="Another seed draws other jobs of the same kind")  # fmt: skip
    given |= _when()
    return given, int(seed)


def _when() -> dict[str, Any]:
    """Return intervals and instances."""
    given: dict[str, Any] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        given["intervals"] = st.number_input(
            "Intervals", 1, 1000, 1, key="servers-intervals", persist_state="session", width=120,
            help="Scheduling intervals over which jobs arrive; 1 = all come at once",
        )  # fmt: skip
        minutes = st.number_input(
            "Interval (min)", 0.1, 100_000.0, 60.0, key="servers-minutes", persist_state="session", width=140,
            help="Length of a scheduling interval: who gets in is decided at each",
        )  # fmt: skip
        given["interval_s"] = float(minutes) * MINUTE_S
        for name, label, most, source in INSTANCE:
            given[name] = st.number_input(
                label, 0.1, most, float(ServerJobsSpec.model_fields[name].default), key=f"servers-{name}",
                persist_state="session", width=140,
                help=f"Of one instance: a user's limit for a job is 1 to 20 instances. {source}",
            )  # fmt: skip
    return given


@st.cache_resource(max_entries=3, show_spinner=False)
def _drawn(spec: str, seed: int) -> Scenario:
    return server_jobs_scenario(ServerJobsSpec.model_validate_json(spec), seed)
