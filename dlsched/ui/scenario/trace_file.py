"""A trace file on the page Jobs: the upload, how to get such a file, and the jobs that were read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.runner.reading import about_s, is_quick, read_upload
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, file_of, kept_file
from dlsched.ui.scenario import reading_choices
from dlsched.ui.scenario.jobs import import_report, on_cluster
from dlsched.wording.formats import about_seconds, amount
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import (
    ReadOptions,
    TraceRead,
    read_cluster,
    template_csv,
)
from dlsched.workload.readers.exports import EXPORTS
from dlsched.workload.readers.gpuaas import InstanceRead, is_instance_zip, read_instance_zip
from dlsched.workload.readers.registry import find_format

DROP, READ = "upload", "upload-read"
LONGEST_NAME = 60


def upload(current: Scenario) -> Scenario | None:
    """Show the drop zone and what became of the file; return the jobs read, None until there are some."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        file = kept_file(
            "Drop a job trace: a log, CSV, JSON or Parquet, also .gz .zip .bz2 .xz", DROP,
            "Up to 200 MB, or 512 MB when unpacked. It stays on this host.",
        )  # fmt: skip
        if file is None:
            st.markdown(
                "**Read by content:** logs of Slurm, PBS, LSF, SGE and Kueue; Standard Workload Format; public traces; "
                "files of simulators; any table with submission, run time and GPUs or cores."
            )
            st.markdown(":gray[Nothing changes before you press “Use these jobs”.]")
            st.download_button("Template CSV", template_csv(), "dlsched-template.csv", "text/csv", key="template",
                               on_click="ignore", help="A small table with every column name")  # fmt: skip
            with right:
                _export_help()
            return None
        if is_instance_zip(file.content):
            return _instance(file, right)
        result = _read(file, reading_choices.options_of(file.tag))
    if isinstance(result, TraceRead):
        with right:
            import_report(result.report, find_format(result.format_key).label, workload=result.workload)
        with left:
            described = _description(file.tag)
            if described is not None:
                result = replace(result, cluster=described.completed_by(result.cluster))
            made = scenario_of(result, scenario_name(file.name))
            return on_cluster(made, current, result.cluster, file.tag)
    reading_choices.ask(result, file)
    return None


def _export_help() -> None:
    """Show the command for Slurm, and behind a line those of the other schedulers with their notes."""
    st.markdown("**Slurm:** run this, then drop the file.")
    st.code(EXPORTS[0].command, language="bash", wrap_lines=True)
    with st.expander("How do I export my log?", key="export-help"):
        scheduler = st.segmented_control(
            "Scheduler", [one.scheduler for one in EXPORTS], default=EXPORTS[0].scheduler, required=True,
            key="export-scheduler", label_visibility="collapsed",
        )  # fmt: skip
        one = next(one for one in EXPORTS if one.scheduler == scheduler)
        if one is not EXPORTS[0]:
            st.code(one.command, language="bash", wrap_lines=True)
        st.markdown("\n".join(f"- {safe(note, 300)}" for note in one.notes))
        st.markdown("The nodes, to give beside the jobs:")
        st.code(one.nodes, language="bash", wrap_lines=True)


def choices() -> None:
    """Show how the file in the drop zone was or should be read."""
    file = file_of(DROP)
    result = st.session_state.get(READ, ("", None))[1]
    if file is not None and result is not None:
        reading_choices.choices(file, result)


def _instance(file: File, report_at: DeltaGenerator) -> Scenario | None:
    """Return the scenario of a GPU-as-a-service instance; it brings its own slots, machine types and run times."""
    st.session_state.pop(READ, None)
    try:
        with st.spinner("Reading"):
            read = _instance_of(file.tag, file)
    except DlschedError as error:
        error_box(error)
        return None
    with report_at:
        import_report(read.report, "an instance of GPU as a service", workload=read.scenario.workload)
    cluster = read.scenario.cluster
    types = amount(len(cluster.catalogue), "machine type")
    st.markdown(
        f"A whole scenario: up to {amount(cluster.slots, 'rented machine')}, {types} and their run times come with it."
    )
    return read.scenario.replace(name=scenario_name(file.name))


@st.cache_resource(max_entries=2, show_spinner=False)
def _instance_of(tag: str, _file: File) -> InstanceRead:
    return read_instance_zip(_file.content, _file.name)


def scenario_name(file_name: str) -> str:
    """Return a name for the scenario of a file: without folders and endings, not too long."""
    return Path(file_name).name.split(".")[0].strip()[:LONGEST_NAME] or "trace"


def _read(file: File, options: ReadOptions) -> TraceRead | DlschedError:
    key = reading_choices.key_of(file, options)
    last = st.session_state.get(READ)
    if last is None or last[0] != key:
        st.session_state[READ] = last = (key, _read_now(file, options))
    result: TraceRead | DlschedError = last[1]
    return result


def _read_now(file: File, options: ReadOptions) -> TraceRead | DlschedError:
    wait = "Reading" if is_quick(file.content) else f"Reading, {about_seconds(about_s(file.content))}"
    try:
        with st.spinner(wait):
            return read_upload(file.content, file.name, options)
    except DlschedError as error:
        return error


def _description(tag: str) -> ClusterFound | None:
    """Take a description of the cluster that the jobs ran on."""
    file = st.file_uploader(
        "Description of the cluster (optional)", key=f"description-{tag}",
        help="Output of `scontrol show nodes -o`, `sinfo -N -o \"%N|%P|%c|%m|%G|%f|%T\"` or `pbsnodes -a`, a "
        "slurm.conf, or the node list of a published trace",
    )  # fmt: skip
    if file is None:
        return None
    try:
        return read_cluster(file.getvalue(), file.name)
    except InputError as error:
        error_box(error)
        return None
