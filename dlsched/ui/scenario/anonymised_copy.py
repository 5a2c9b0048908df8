"""The button of the page Jobs that downloads a copy of the scenario without names and dates."""

from __future__ import annotations

import io

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.ui.frame.text import safe
from dlsched.workload.anonymise import anonymised, key_of

TOLD = (
    "A copy that may be shown to others: names of jobs, users, groups, partitions and nodes are replaced, dates move "
    "by a whole number of weeks, and texts such as file names are left out. A replay of it gives the same numbers. "
    "**Still visible**: how many jobs each (unnamed) user has, when they arrive, run times and time limits, what they "
    "request, recorded outcomes, GPU types."
)


def button(scenario: Scenario) -> None:
    """Offer the copy of a scenario whose jobs were not generated."""
    if scenario.generator is not None:
        return
    with st.popover("Anonymised copy", key="anonymised-copy"):
        st.markdown(TOLD)
        types = sorted({vm.gpu_type for vm in scenario.cluster.vm_types} - {"", "GPU"})
        if types:
            st.markdown(f"Names of GPU types stay: {safe(', '.join(types), 300)}.")
        with st.container(horizontal=True):
            st.download_button(
                "Scenario file", lambda: _scenario_file(scenario), file_name="anonymised.json", on_click="ignore",
                mime="application/json", key="anonymised-scenario", help="Jobs and cluster",
            )  # fmt: skip
            st.download_button(
                "Jobs (Parquet)", lambda: _table(scenario), file_name="anonymised.parquet", on_click="ignore",
                mime="application/octet-stream", key="anonymised-jobs", help="The jobs alone, as a table",
            )  # fmt: skip


def _scenario_file(scenario: Scenario) -> bytes:
    from dlsched.workload.scenario_file import scenario_bytes

    return scenario_bytes(anonymised(scenario, key_of()).scenario)


def _table(scenario: Scenario) -> bytes:
    from dlsched.workload.readers import write_native

    content = io.BytesIO()
    write_native(anonymised(scenario, key_of()).scenario.workload, content, "parquet", dates=True)
    return content.getvalue()
