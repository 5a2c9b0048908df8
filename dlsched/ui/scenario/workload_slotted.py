"""Jobs that book machines by the slot on the Workload page: the PD-ORS study's jobs on its machines."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session
from dlsched.ui.scenario.workload_servers import KIND_KEY, MINUTE_S
from dlsched.workload.generators.drawing import plain
from dlsched.workload.studies.pd_ors import SlottedJobsSpec, slotted_jobs_scenario, with_arrivals_of
from dlsched.workload.studies.registry import parse

KIND = "Jobs that book machines (PD-ORS study)"
ARRIVALS = {"drawn": "as in the study", "current": "as the current jobs"}
BANDWIDTHS = (
    ("slowest_mb_per_slot", "Bandwidth, least (MB/slot)", "Between machines; the study does not say, so it is assumed"),
    ("fastest_mb_per_slot", "Bandwidth, most (MB/slot)", "Drawn evenly between the least and this; assumed"),
    ("inside_factor", "Inside a machine (x)", "Bandwidth inside one machine over that between machines; assumed"),
)


def open_form() -> None:
    """Open the page Workload at this form."""
    st.session_state[KIND_KEY] = KIND
    session.go("scenario/workload.py", source="Generate")


def generate(current: Scenario) -> Scenario:
    """Show the form and return the scenario it makes: jobs, machines, slots, utilities.

    Raises
    ------
    InputError
        When the form does not make a workload; it names the field.
    """
    given, seed, arrivals = _numbers()
    spec = parse({"kind": "slotted-jobs", **given, **_time_and_network()})
    assert isinstance(spec, SlottedJobsSpec)
    with st.spinner("Drawing"):
        if arrivals == "current":
            return with_arrivals_of(current, spec, seed)
        return _drawn(json.dumps(plain(spec)), seed)


def _numbers() -> tuple[dict[str, Any], int, str]:
    """Return how many of what, the seed, and where arrivals come from."""
    given: dict[str, Any] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        given["jobs"] = st.number_input(
            "Jobs", 1, 20_000, 50, key="slotted-jobs", persist_state="session", width=120, help="How many to draw"
        )
        given["machines"] = st.number_input(
            "Machines", 1, 10_000, 30, key="slotted-machines", persist_state="session", width=120,
            help="Each has 36 GPUs, 99 CPUs, 306 GiB of memory and 135 GiB of disk: 18 mean workers. The study has 100",
        )  # fmt: skip
        given["slots"] = st.number_input(
            "Slots", 1, 10_000, 20, key="slotted-slots", persist_state="session", width=120,
            help="Slots over which jobs arrive; every second one gets twice as many as the others",
        )  # fmt: skip
        minutes = st.number_input(
            "Slot (min)", 0.1, 100_000.0, 60.0, key="slotted-minutes", persist_state="session", width=130,
            help="Length of a slot; the study names no unit", format="%g",
        )  # fmt: skip
        given["slot_s"] = float(minutes) * MINUTE_S
        arrivals = st.segmented_control(
            "Arrivals", list(ARRIVALS), default="drawn", required=True, key="slotted-arrivals",
            persist_state="session", format_func=ARRIVALS.__getitem__,
            help="As the current jobs: the time from the first to the last job of the current scenario is scaled to "
            "the slots; the jobs are then fixed, and every draw has the same",
        )  # fmt: skip
        seed = st.number_input("Seed", 0, 10**6, 1, key="slotted-seed", persist_state="session", width=120,
                               help="Another seed draws other jobs of the same kind")  # fmt: skip
    return given, int(seed), str(arrivals)


def _time_and_network() -> dict[str, Any]:
    """Return to how many jobs time matters how much, and bandwidths."""
    fields, given = SlottedJobsSpec.model_fields, {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shares = {
            "insensitive": ("Time does not matter (%)", "Share of the jobs that are worth the same whenever they end"),
            "critical": (
                "Time is critical (%)",
                "Share of the jobs that lose nearly all their worth within a slot of their deadline; the rest lose it "
                "little by little",
            ),
        }
        for name, (label, help_text) in shares.items():
            percent = st.number_input(
                label, 0.0, 100.0, 100 * float(fields[name].default), key=f"slotted-{name}", persist_state="session",
                width=190, help=help_text, format="%g",
            )  # fmt: skip
            given[name] = float(percent) / 100
        for name, label, help_text in BANDWIDTHS:
            given[name] = st.number_input(
                label, 1.0, 1e12, float(fields[name].default), key=f"slotted-{name}", persist_state="session",
                width=190, help=help_text, format="%g",
            )  # fmt: skip
    if given["insensitive"] + given["critical"] > 1 + 1e-12:
        raise InputError(
            "time matters",
            f"not to {given['insensitive']:.0%} and critically to {given['critical']:.0%} of the jobs, more than all",
            "Make one of the shares smaller",
        )
    return given


@st.cache_resource(max_entries=3, show_spinner=False)
def _drawn(spec: str, seed: int) -> Scenario:
    return slotted_jobs_scenario(SlottedJobsSpec.model_validate_json(spec), seed)
