"""Upload on the Workload page: file, format in doubt, column mapping, reading choices."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.errors import DlschedError, from_validation
from dlsched.experiments.reading import SMALL_BYTES, about_s, read_upload
from dlsched.metrics.formats import duration
from dlsched.ui import session
from dlsched.ui.parts import error_box
from dlsched.ui.text import safe
from dlsched.workload.readers import (
    TARGETS,
    ColumnMapping,
    FieldMap,
    FormatUnsure,
    MappingNeeded,
    ReadOptions,
    TraceRead,
    load_mapping,
    preview,
    template_csv,
)
from dlsched.workload.readers.detection import LABELS
from dlsched.workload.readers.mapping import UNITS
from dlsched.workload.readers.source import open_trace
from dlsched.workload.readers.tabular import table_head

CHOICES = ("cancelled", "censored", "cpu_jobs", "zero_run", "duplicates", "philly_run_time", "sacct_submit")


def upload() -> tuple[TraceRead, str] | None:
    """Show the drop zone and return the trace that was read, with its name; None until there is one."""
    file = st.file_uploader(
        "Drop a job trace here: Philly log, Helios, openb, SWF, sacct, CSV or Parquet; 200 MB, also .gz .zip .bz2 .xz",
        key="upload", help="The file stays on this host. The format is found by looking at the content.",
    )  # fmt: skip
    st.download_button("Template CSV", template_csv(), "dlsched-template.csv", "text/csv", key="template", type="tertiary",
                       on_click="ignore", help="A small table with every column name")  # fmt: skip
    if file is None:
        return None
    content = file.getvalue()
    tag = blake2b(content, digest_size=8).hexdigest()
    options = _options(tag)
    key = f"{tag}-{options.model_dump_json()}"
    known = st.session_state.get("upload-read")
    if known is None or known[0] != key:
        st.session_state["upload-read"] = known = (key, _read(content, file.name, options))
    result = known[1]
    if isinstance(result, FormatUnsure):
        _choose_format(result, content, file.name, tag)
    elif isinstance(result, MappingNeeded):
        error_box(result)
        _map_columns(result.guess, content, file.name, tag)
    elif isinstance(result, DlschedError):
        error_box(result)
    else:
        if result.format_key in ("csv", "native"):
            with st.expander("What the columns mean (guessed from names and values)"):
                _map_columns(options.mapping or _guess(content, file.name), content, file.name, tag)
        return result, file.name.rsplit("/", 1)[-1]
    return None


def _read(content: bytes, name: str, options: ReadOptions) -> TraceRead | DlschedError:
    wait = f"Reading {safe(name)}, about {duration(about_s(content))}" if len(content) > SMALL_BYTES else "Reading"
    try:
        with st.spinner(wait):
            return read_upload(content, name, options)
    except DlschedError as error:
        return error


def _options(tag: str) -> ReadOptions:
    """Return the reading choices; format and mapping may have been set by the boxes below the file."""
    mapping = st.session_state.get(f"mapping-{tag}")
    values: dict[str, Any] = {"format": st.session_state.get(f"format-{tag}", "auto"), "mapping": mapping}
    with st.expander("Reading choices"):
        columns = st.columns(4)
        for place, name in enumerate(CHOICES):
            info = ReadOptions.model_fields[name]
            from dlsched.ui.forms import field, label_of

            with columns[place % 4]:
                values[name] = field(label_of(name, info), info, info.default, f"read-{name}")
        with columns[3]:
            info = ReadOptions.model_fields["gpus_per_processor"]
            values["gpus_per_processor"] = st.number_input(
                "GPUs per processor (SWF)",
                min_value=0.001,
                max_value=64.0,
                value=1.0,
                help=info.description,
                key="read-gpp",
            )
    try:
        return ReadOptions(**values)
    except ValidationError as error:
        error_box(from_validation("reading choices", error))
        return ReadOptions()


def _choose_format(unsure: FormatUnsure, content: bytes, name: str, tag: str) -> None:
    error_box(unsure)
    keys = [candidate.format_key for candidate in unsure.candidates]
    for shown in preview(content, name, keys):  # type: ignore[arg-type]
        st.markdown(f"**Read as {shown.label}**")
        if shown.problem:
            st.markdown(safe(shown.problem, 300))
        else:
            st.dataframe(
                pd.DataFrame(shown.rows, columns=list(shown.header)),
                hide_index=True,
                key=f"preview-{tag}-{shown.format_key}",
            )
        if st.button(f"Read as {LABELS[shown.format_key]}", key=f"as-{tag}-{shown.format_key}"):
            st.session_state[f"format-{tag}"] = shown.format_key
            st.rerun()


def _guess(content: bytes, name: str) -> ColumnMapping:
    from dlsched.workload.readers import guess_mapping

    return guess_mapping(*table_head(open_trace(content, name)))


def _map_columns(guess: ColumnMapping, content: bytes, name: str, tag: str) -> None:
    """Confirm which column means what; a mapping can be saved in the store and used again."""
    try:
        header, sample = table_head(open_trace(content, name))
    except DlschedError as error:
        error_box(error)
        return
    st.dataframe(
        pd.DataFrame([row[: len(header)] for row in sample[:5]], columns=[*header]), hide_index=True, key=f"head-{tag}"
    )
    saved = session.store().list_settings("mapping/")
    guess = _saved_mapping(saved, guess, tag)
    with st.form(f"map-{tag}", border=True):
        st.markdown("**Which column means what?** Needed: submission, run time (or start and end), GPUs.")
        columns = st.columns(4)
        fields: dict[str, FieldMap] = {}
        for place, target in enumerate(TARGETS):
            now = guess.fields.get(target.key)
            with columns[place % 4]:
                options = ["", *header]
                index = options.index(now.column) if now and now.column in options else 0
                sure = f" Guess, {now.confidence:.0%} sure." if now and now.confidence < 1 else ""
                chosen = st.selectbox(target.key.replace("_", " "), options, index=index, help=target.help + sure,
                                      format_func=lambda c: c or "not there", key=f"map-{tag}-{target.key}-{_short(guess)}")  # fmt: skip
                units = UNITS[target.kind]
                unit = now.unit if now and now.unit in units else units[0]
                if len(units) > 1:
                    unit = st.selectbox(f"unit of {target.key.replace('_', ' ')}", units, index=units.index(unit),
                                        label_visibility="collapsed", key=f"unit-{tag}-{target.key}-{_short(guess)}")  # fmt: skip
                if chosen:
                    fields[target.key] = FieldMap(column=chosen, unit=unit)
        keep_as = st.text_input("Save this mapping as (optional)", key=f"save-map-{tag}", max_chars=60)
        if st.form_submit_button("Read with these columns", type="primary"):
            mapping = ColumnMapping(fields=fields)
            lacks = mapping.missing()
            if lacks:
                st.error(f"Still needed: {', '.join(lacks)}.")
                return
            if keep_as.strip():
                session.store().set_setting(f"mapping/{keep_as.strip()}", mapping.model_dump(mode="json"))
            st.session_state[f"mapping-{tag}"] = mapping
            st.session_state[f"format-{tag}"] = "csv"
            st.rerun()


def _saved_mapping(saved: dict[str, Any], guess: ColumnMapping, tag: str) -> ColumnMapping:
    if not saved:
        return guess
    names = ["", *[key.removeprefix("mapping/") for key in saved]]
    chosen = st.selectbox(
        "Use a saved mapping", names, format_func=lambda n: n or "no, the guess", key=f"saved-map-{tag}"
    )
    if not chosen:
        return guess
    import json

    return load_mapping(json.dumps(saved[f"mapping/{chosen}"]))


def _short(mapping: ColumnMapping) -> str:
    return blake2b(mapping.model_dump_json().encode(), digest_size=4).hexdigest()
