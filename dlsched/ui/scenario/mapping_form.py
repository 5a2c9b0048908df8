"""Which column of a table means what: a form with the units, and what they make of the first rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import streamlit as st

from dlsched.ui.frame import identity, session, writing
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import duration
from dlsched.workload.readers import TARGETS, ColumnMapping, FieldMap, load_mapping
from dlsched.workload.readers.canonical import iso_time
from dlsched.workload.readers.mapping import UNITS, FieldMeaning, Unit
from dlsched.workload.readers.tabular import instants, looks_like_epoch, spans

SAVED = "mapping/"
"""Where saved mappings are among the store's settings."""
UNIT_WORDS: dict[str, str] = {
    "s": "seconds", "ms": "milliseconds", "us": "microseconds", "min": "minutes", "h": "hours", "d": "days",
    "unix": "seconds since 1970", "timestamp": "date and time",
    "clock": "h:min:s", "gib": "GiB", "mib": "MiB", "kib": "KiB", "bytes": "bytes",
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
PREVIEWED = 3
"""First rows whose times are shown as they are read."""
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
    with st.container(border=True):
        st.markdown(
            "**Which column means what?** Needed: submission, run time (or start and end), and GPUs or CPU cores."
        )
        guess_tag = blake2b(guess.model_dump_json().encode(), digest_size=4).hexdigest()
        chosen = _choices(header, sample, guess, f"{tag}-{guess_tag}")
        left, right = st.columns([2, 3], vertical_alignment="bottom")
        keep_as = right.text_input(
            "Save this mapping as", key=f"save-map-{tag}", max_chars=60, placeholder="optional: a name to use it again"
        )
        confirmed = left.button("Read with these columns", key=f"map-{tag}", type="primary" if needed else "secondary")
    if not confirmed:
        return None
    mapping = ColumnMapping(fields=chosen)
    if lacks := mapping.missing():
        st.error(f"Still needed: {', '.join(lacks)}.", icon="⛔")
        return None
    if keep_as.strip() and identity.may_write():
        said = f"saved column mapping {keep_as.strip()}"
        session.store().set_setting(SAVED + keep_as.strip(), mapping.model_dump(mode="json"), said)
    return mapping


def _choices(header: tuple[str, ...], sample: list[list[str]], guess: ColumnMapping, key: str) -> dict[str, FieldMap]:
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
            if chosen and target.kind in ("time", "span"):
                at = header.index(chosen)
                first = [row[at] for row in sample[:PREVIEWED] if at < len(row)]
                st.caption(safe(" · ".join(first_times(first, target, unit)), 200))
        if chosen:
            fields[target.key] = FieldMap(column=chosen, unit=unit)
    return fields


def first_times(cells: Sequence[str], target: FieldMeaning, unit: Unit) -> list[str]:
    """Return the first cells of a column of times or durations in words, as they will be read in this unit."""
    column = pa.array(list(cells), pa.string())
    if target.kind == "span":
        seconds, is_date = spans(column, unit, decimal_comma=True).values, False
    else:
        read, is_date = instants(column, unit, decimal_comma=True)
        seconds, is_date = read.values, is_date or looks_like_epoch(read.values)
    words = []
    for value in seconds.tolist():
        if np.isnan(value):
            words.append("not readable")
        elif is_date:
            words.append(iso_time(round(value)).replace("T", " "))
        else:
            words.append(duration(value) + (" from zero" if target.kind == "time" else ""))
    return words


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
    if writing.button("Delete this saved mapping", key=f"forget-map-{tag}", type="tertiary"):
        session.store().set_setting(SAVED + chosen, None, f"deleted column mapping {chosen}")
        st.rerun()
    return mappings[chosen]
