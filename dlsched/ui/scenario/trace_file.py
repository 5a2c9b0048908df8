"""A trace file on the page Jobs: the upload, how to get such a file, and the jobs that were read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.runner.reading import about_s
from dlsched.ui.frame import writing
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, file_of, kept_file, read_once, tag_of
from dlsched.ui.scenario import reading_choices
from dlsched.ui.scenario.jobs import import_report, on_cluster
from dlsched.wording.formats import about_seconds, amount
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import (
    ReadOptions,
    TraceRead,
    read_cluster,
    read_trace,
    template_csv,
)
from dlsched.workload.readers.exports import EXPORTS
from dlsched.workload.readers.gpuaas import is_instance_zip, read_instance_zip
from dlsched.workload.readers.kubernetes.queue_objects import EXPORT
from dlsched.workload.readers.kubernetes.workloads import KUEUE
from dlsched.workload.readers.registry import find_format
from dlsched.workload.readers.slurm_settings.found import SlurmFound, settings_of

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
        beside = tuple(one.getvalue() for one in st.session_state.get(_queues_key(file.tag)) or ())
        options = reading_choices.options_of(file.tag).model_copy(update={"queues": beside})
        st.session_state[READ] = options
        result = _read(file, options)
        if beside and isinstance(result, InputError):
            _queues(file.tag)
    if isinstance(result, TraceRead):
        with right:
            import_report(result.report, find_format(result.format_key).label, workload=result.workload)
        with left:
            if beside or (result.format_key == KUEUE.key and result.queues is None):
                _queues(file.tag)
            described = _description(file.tag)
            if described is not None:
                cluster, settings = described
                slurm = settings if result.slurm is None else result.slurm
                result = replace(result, cluster=cluster.completed_by(result.cluster), slurm=slurm)
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
    options = st.session_state.get(READ)
    if file is not None and options is not None:
        reading_choices.choices(file, _read(file, options))


def _instance(file: File, report_at: DeltaGenerator) -> Scenario | None:
    """Return the scenario of a GPU-as-a-service instance; it brings its own slots, machine types and run times."""
    st.session_state.pop(READ, None)
    try:
        with st.spinner("Reading"):
            read = read_once(file.name, file.tag, read_instance_zip, file.content, file.name)
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


def scenario_name(file_name: str) -> str:
    """Return a name for the scenario of a file: without folders and endings, not too long."""
    return Path(file_name).name.split(".")[0].strip()[:LONGEST_NAME] or "trace"


def _read(file: File, options: ReadOptions) -> TraceRead | DlschedError:
    seconds = about_s(file.content)
    try:
        with st.spinner("Reading" if seconds < 1 else f"Reading, {about_seconds(seconds)}"):
            key = reading_choices.key_of(file, options)
            return read_once(file.name, key, read_trace, file.content, file.name, options)
    except DlschedError as error:
        return error


def _queues_key(tag: str) -> str:
    return f"queues-beside-{tag}"


def _queues(tag: str) -> None:
    """Take the queues beside a list of Workloads; they are read with it."""
    st.file_uploader(
        "Queues of Kueue (optional)", accept_multiple_files=True, key=_queues_key(tag),
        help=f"Output of `{EXPORT}`: quotas, which the policy Quota tree obeys, and the nodes where none are given",
    )  # fmt: skip


def _description(tag: str) -> tuple[ClusterFound, SlurmFound | None] | None:
    """Take a description of the cluster that the jobs ran on, with the settings of Slurm that a slurm.conf has."""
    file = writing.uploader(
        "Description of the cluster (optional)", key=f"description-{tag}",
        help="Output of `scontrol show nodes -o`, `sinfo -N -o \"%N|%P|%c|%m|%G|%f|%T\"` or `pbsnodes -a`, a "
        "slurm.conf (its settings are read too), or the node list of a published trace",
    )  # fmt: skip
    if file is None:
        return None
    content = file.getvalue()
    try:
        cluster = read_once(file.name, tag_of(content), read_cluster, content, file.name)
        return cluster, read_once(file.name, tag_of(content), settings_of, (), content)
    except InputError as error:
        error_box(error)
        return None
