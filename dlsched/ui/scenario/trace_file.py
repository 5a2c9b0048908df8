"""A trace file on the page Jobs: upload, format in doubt, what columns mean, reading choices."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError, InputError, from_validation
from dlsched.domain.scenario import Scenario
from dlsched.runner.reading import about_s, is_quick, read_upload
from dlsched.ui.frame import session
from dlsched.ui.frame.forms import field
from dlsched.ui.frame.parts import error_box, mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, file_of, kept_file
from dlsched.ui.scenario.jobs import import_report, on_cluster
from dlsched.wording.formats import about_seconds, amount
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import (
    TARGETS,
    ColumnMapping,
    FieldMap,
    FormatUnsure,
    MappingNeeded,
    ReadOptions,
    TraceRead,
    guess_mapping,
    load_mapping,
    preview,
    read_cluster,
    table_head,
    template_csv,
)
from dlsched.workload.readers.gpuaas import InstanceRead, is_instance_zip, read_instance_zip
from dlsched.workload.readers.mapping import UNITS, Unit
from dlsched.workload.readers.registry import FORMATS, find_format
from dlsched.workload.readers.source import open_trace

DROP, READ = "upload", "upload-read"
LONGEST_NAME = 60
TABLES = ("csv", "native")
EVERY_FORMAT = ("cpu_jobs", "zero_run", "duplicates")


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
                ":gray[Found by content: Philly job log, Helios, Alibaba openb, SWF, Slurm sacct, or any table with "
                "submission, run time and GPUs; also a zip with the three tables of a GPU-as-a-service instance. "
                "Nothing changes before you press “Use these jobs”.]"
            )
            st.download_button("Template CSV", template_csv(), "dlsched-template.csv", "text/csv", key="template",
                               on_click="ignore", help="A small table with every column name")  # fmt: skip
            return None
        if is_instance_zip(file.content):
            return _instance(file, right)
        result = _read(file, options_of(file.tag))
    if isinstance(result, TraceRead):
        with right:
            import_report(result.report, find_format(result.format_key).label, workload=result.workload)
        with left:
            described = _description(file.tag)
            if described is not None:
                result = replace(result, cluster=described.completed_by(result.cluster))
            made = scenario_of(result, scenario_name(file.name))
            return on_cluster(made, current, result.cluster, file.tag)
    error_box(result)
    if isinstance(result, FormatUnsure):
        _choose_format(result, file)
    return None


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
    key = f"{file.tag}-{options.model_dump_json()}"
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


# ---- choices about the file ----------------------------------------------------------------------


def options_of(tag: str) -> ReadOptions:
    """Return the reading choices made for a file so far."""
    names = dict.fromkeys(name for group in (EVERY_FORMAT, *(one.choices for one in FORMATS)) for name in group)
    given = {name: st.session_state.get(_key(name, tag)) for name in names}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    fixed = st.session_state.get(_key("format", tag), "auto")
    if fixed in ("auto", *TABLES):
        chosen["mapping"] = st.session_state.get(_key("mapping", tag))
    try:
        return ReadOptions(format=fixed, **chosen)
    except ValidationError as error:
        error_box(from_validation("reading choices", error))
        return ReadOptions()


def _key(name: str, tag: str) -> str:
    return f"read-{name}-{tag}"


def choices() -> None:
    """Show how the file was or should be read: what the columns of a table mean, and the choices of its format."""
    file = file_of(DROP)
    result = st.session_state.get(READ, ("", None))[1]
    if file is None or result is None:
        return
    tag, format_key = file.tag, result.format_key if isinstance(result, TraceRead) else ""
    is_table = format_key in TABLES or isinstance(result, MappingNeeded) or _key("mapping", tag) in st.session_state
    if is_table:
        _mapping(file, needed=not format_key)
    with st.expander("Reading choices", key=f"choices-{tag}", expanded=not format_key and not is_table):
        own = find_format(format_key).choices if format_key else ()
        columns = st.columns(3)
        columns[0].selectbox(
            "Format", ["auto", *(one.key for one in FORMATS if one.read)], key=_key("format", tag),
            persist_state="session", help="How the file is read",
            format_func=lambda key: "found by content" if key == "auto" else find_format(key).label,
        )  # fmt: skip
        for place, name in enumerate((*EVERY_FORMAT, *own), 1):
            info = ReadOptions.model_fields[name]
            with columns[place % 3]:
                field(name, info, info.default, _key(name, tag))


def _mapping(file: File, *, needed: bool) -> None:
    with st.expander("What the columns mean", key=f"columns-{file.tag}", expanded=needed, on_change="rerun") as box:
        if not box.open:
            return
        with mistakes_shown():
            header, sample = table_head(open_trace(file.content, file.name))
            before: ColumnMapping | None = st.session_state.get(_key("mapping", file.tag))
            guess = before or guess_mapping(header, sample)
            mapping = mapping_form(header, sample, guess, file.tag, needed=needed)
            if mapping is not None:
                st.session_state[_key("mapping", file.tag)] = mapping
                st.rerun()


def _choose_format(unsure: FormatUnsure, file: File) -> None:
    for candidate_rows in preview(file.content, file.name, [candidate.format_key for candidate in unsure.candidates]):
        with st.container(border=True):
            st.markdown(f"**Read as {candidate_rows.label}**")
            if candidate_rows.problem:
                st.markdown(safe(candidate_rows.problem, 300))
                continue
            rows = pd.DataFrame(candidate_rows.rows, columns=[*candidate_rows.header])
            st.dataframe(
                rows,
                hide_index=True,
                key=f"preview-{file.tag}-{candidate_rows.format_key}",
                alt="The first jobs read so",
            )
            st.button(
                f"Read as {candidate_rows.label}", key=f"as-{file.tag}-{candidate_rows.format_key}",
                on_click=st.session_state.__setitem__, args=(_key("format", file.tag), candidate_rows.format_key),
            )  # fmt: skip


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


# ---- which column of a table means what -----------------------------------------------------------

SAVED = "mapping/"
"""Where saved mappings are among the store's settings."""
UNIT_WORDS: dict[str, str] = {
    "s": "seconds", "ms": "milliseconds", "us": "microseconds", "min": "minutes", "h": "hours", "d": "days",
    "timestamp": "date and time", "clock": "h:min:s", "gib": "GiB", "mib": "MiB", "kib": "KiB", "bytes": "bytes",
}  # fmt: skip
COLUMN_LABELS = {
    "job_id": "Job name", "submit": "Submission", "run": "Run time", "gpus": "GPUs", "mem": "Memory",
    "mem_per_worker": "Memory per worker", "cpus": "CPUs", "cpus_per_worker": "CPUs per worker",
    "gpus_per_worker": "GPUs per worker", "gpu_types": "GPU types", "due": "Due date", "weight": "Cost of lateness",
    "status": "Final state",
}  # fmt: skip
FIRST = ("submit", "run", "gpus", "job_id", "start", "end", "workers", "gpus_per_worker")
MOST_COLUMNS = 300
PER_ROW = 4
LONGEST_COLUMN_NAME = 80


def mapping_form(
    header: tuple[str, ...], sample: list[list[str]], guess: ColumnMapping, tag: str, *, needed: bool
) -> ColumnMapping | None:
    """Show the first rows and a choice of column per meaning; return the mapping that was confirmed just now.

    ``needed`` says that the file cannot be read without it.
    """
    header = header[:MOST_COLUMNS]
    rows = pd.DataFrame([(row + [""] * len(header))[: len(header)] for row in sample[:5]], columns=[*header])
    st.dataframe(rows, hide_index=True, key=f"head-{tag}", alt="The first rows of the file")
    guess = _saved(header, guess, tag)
    with st.form(f"map-{tag}", border=True):
        st.markdown("**Which column means what?** Needed: submission, run time (or start and end), and GPUs.")
        guess_tag = blake2b(guess.model_dump_json().encode(), digest_size=4).hexdigest()
        chosen = _choices(header, guess, f"{tag}-{guess_tag}")
        left, right = st.columns([2, 3], vertical_alignment="bottom")
        keep_as = right.text_input(
            "Save this mapping as", key=f"save-map-{tag}", max_chars=60, placeholder="optional: a name to use it again"
        )
        confirmed = left.form_submit_button("Read with these columns", type="primary" if needed else "secondary")
    if not confirmed:
        return None
    mapping = ColumnMapping(fields=chosen)
    if lacks := mapping.missing():
        st.error(f"Still needed: {', '.join(lacks)}.", icon="⛔")
        return None
    if keep_as.strip():
        session.store().set_setting(SAVED + keep_as.strip(), mapping.model_dump(mode="json"))
    return mapping


def _choices(header: tuple[str, ...], guess: ColumnMapping, key: str) -> dict[str, FieldMap]:
    fields: dict[str, FieldMap] = {}
    offered = [t for t in TARGETS if t.near or t.key in guess.fields]  # rare columns only where their name is there
    targets = sorted(offered, key=lambda t: FIRST.index(t.key) if t.key in FIRST else len(FIRST))
    for place, target in enumerate(targets):
        if place % PER_ROW == 0:
            columns = st.columns(PER_ROW)
        now = guess.fields.get(target.key)
        names = ["", *(name for name in dict.fromkeys(header) if len(name) <= LONGEST_COLUMN_NAME)]
        index = names.index(now.column) if now and now.column in names else 0
        sure = f" Guess, {now.confidence:.0%} sure." if now and now.confidence < 1 else ""
        label = COLUMN_LABELS.get(target.key, target.key.replace("_", " ").capitalize())
        with columns[place % PER_ROW]:
            chosen = st.selectbox(
                label, names, index=index, help=target.help + sure, key=f"map-{key}-{target.key}",
                format_func=lambda column: column or "none",
            )  # fmt: skip
            unit = _unit(target.kind, now.unit if now else "", label, f"unit-{key}-{target.key}")
        if chosen:
            fields[target.key] = FieldMap(column=chosen, unit=unit)
    return fields


def _unit(kind: Any, now: Unit, label: str, key: str) -> Unit:
    units = UNITS[kind]
    unit = now if now in units else units[0]
    if len(units) == 1:
        return unit
    return st.selectbox(
        f"Unit of {label}", units, index=units.index(unit), key=key, label_visibility="collapsed",
        format_func=lambda u: UNIT_WORDS.get(u, u),
    )  # fmt: skip


def _saved(header: tuple[str, ...], guess: ColumnMapping, tag: str) -> ColumnMapping:
    """Return the saved mapping that is chosen: the first that suits the columns, when the guess is not sure."""
    saved = session.store().list_settings(SAVED)
    if not saved:
        return guess
    mappings = {name.removeprefix(SAVED): load_mapping(json.dumps(value)) for name, value in saved.items()}
    suits = [name for name, mapping in mappings.items() if set(mapping.columns) <= set(header)]
    names = ["", *mappings]
    chosen = st.selectbox(
        "Mapping", names, index=names.index(suits[0]) if suits and guess.missing() else 0, key=f"saved-map-{tag}",
        format_func=lambda name: f"saved mapping “{name}”" if name else "the guess from names and values",
    )  # fmt: skip
    if not chosen:
        return guess
    if st.button("Delete this saved mapping", key=f"forget-map-{tag}", type="tertiary"):
        session.store().set_setting(SAVED + chosen, None)
        st.rerun()
    return mappings[chosen]
