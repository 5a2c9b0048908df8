"""How a trace file is read: the format, choices of each format, and what its reader asks."""

from __future__ import annotations

from typing import get_origin

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.errors import DlschedError, InputError, from_validation
from dlsched.ui.frame.forms import field
from dlsched.ui.frame.parts import error_box, mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, read_once, tag_of
from dlsched.ui.scenario.mapping_form import mapping_form
from dlsched.wording.formats import capital
from dlsched.workload.readers import (
    ColumnMapping,
    FormatUnsure,
    MappingNeeded,
    Reading,
    ReadOptions,
    TraceRead,
    file_head,
    guess_mapping,
    preview,
)
from dlsched.workload.readers.exports import SACCT_COMMAND
from dlsched.workload.readers.formats import NotJobs
from dlsched.workload.readers.options import parse_choice
from dlsched.workload.readers.registry import find_format, formats, groups

TABLES = ("csv", "native")
EVERY_FORMAT = ("cpu_jobs", "zero_run", "duplicates")
MOST_CORES = 1024


def options_of(tag: str) -> ReadOptions:
    """Return the reading choices made for a file so far."""
    names = dict.fromkeys(name for group in (EVERY_FORMAT, *(one.choices for one in formats())) for name in group)
    given = {name: st.session_state.get(_key(name, tag)) for name in names}
    fixed = st.session_state.get(_key("format", tag), "auto")
    try:
        chosen = {
            name: parse_choice(name, value) if isinstance(value, str) else value
            for name, value in given.items()
            if value is not None
        }
        if fixed in ("auto", *TABLES):
            chosen["mapping"] = st.session_state.get(_key("mapping", tag))
        return ReadOptions(format=fixed, **chosen)
    except InputError as error:
        error_box(error)
    except ValidationError as error:
        error_box(from_validation("reading choices", error))
    return ReadOptions()


def key_of(file: File, options: ReadOptions) -> str:
    """Return a text that differs where a file would be read differently."""
    files = [content for content in (options.cluster, options.throughputs, *options.queues) if content]
    return f"{file.tag}-{options.model_dump_json()}-{tag_of(*files)}"


def _key(name: str, tag: str) -> str:
    return f"read-{name}-{tag}"


# ---- what a reader asks --------------------------------------------------------------------------


def ask(error: DlschedError, file: File) -> None:
    """Show the error of a file that could not be read, and what would let it be read: a choice or an export."""
    if isinstance(error, MappingNeeded) and error.readings:
        st.info(f"**{safe(error.what, 200)}**  \n{safe(error.why, 600)}", icon=":material/help:")
        for place, one in zip(st.columns(len(error.readings)), error.readings, strict=True):
            with place:
                _reading(one, file.tag)
    elif isinstance(error, InputError) and SACCT_COMMAND in error.do:
        error_box(InputError(error.what, error.why, error.do.replace(SACCT_COMMAND, "the command below")))
        st.code(f"{SACCT_COMMAND} > jobs.txt", language="bash", wrap_lines=True)
    else:
        error_box(error)
    if isinstance(error, FormatUnsure):
        _choose_format(error, file)
    elif isinstance(error, NotJobs) and error.needs:
        _choice(error.needs, file.tag)


def _reading(one: Reading, tag: str) -> None:
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{safe(capital(one.means), 120)}**  \n{safe(capital(one.gives), 120)}")
        cores = 1
        if (one.choice, one.value) == ("processors", "gpus"):
            cores = int(st.number_input("Cores that count as one GPU", 1, MOST_CORES, key=f"cores-{tag}"))
        st.button(f"Read as {one.means}", key=f"reading-{tag}-{one.value}", on_click=_decide, args=(one, cores, tag))


def _decide(one: Reading, cores: int, tag: str) -> None:
    st.session_state[_key(one.choice, tag)] = one.value
    if cores != 1:
        st.session_state[_key("gpus_per_processor", tag)] = 1 / cores


def _choose_format(unsure: FormatUnsure, file: File) -> None:
    keys = [candidate.format_key for candidate in unsure.candidates]
    for candidate_rows in read_once(file.name, f"{file.tag}-{keys}", preview, file.content, file.name, keys):
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


# ---- choices -------------------------------------------------------------------------------------


def choices(file: File, result: TraceRead | DlschedError) -> None:
    """Show how the file was or should be read: what the columns of a table mean, and the choices of its format."""
    tag, format_key = file.tag, result.format_key if isinstance(result, TraceRead) else ""
    is_table = format_key in TABLES or isinstance(result, MappingNeeded) or _key("mapping", tag) in st.session_state
    if is_table:
        asks = isinstance(result, MappingNeeded) and bool(result.readings)
        _mapping(file, needed=not format_key and not asks)
    is_open = not format_key and not is_table and not isinstance(result, NotJobs)
    with st.expander("Reading choices", key=f"choices-{tag}", expanded=is_open):
        own = find_format(format_key).choices if format_key else ()
        columns = st.columns(3)
        words = {one.key: f"{name}: {one.label}" for name, group in groups().items() for one in group if one.read}
        columns[0].selectbox(
            "Format", ["auto", *words], key=_key("format", tag), persist_state="session",
            help="How the file is read",
            format_func=lambda key: words.get(key, "found by content"),
        )  # fmt: skip
        for place, name in enumerate((*EVERY_FORMAT, *own), 1):
            with columns[place % 3]:
                _choice(name, tag)


def _choice(name: str, tag: str) -> None:
    """Show one reading choice: an upload for the content of a file, a text for pairs, else the field of its type."""
    info = ReadOptions.model_fields[name]
    key, label = _key(name, tag), info.title or name.replace("_", " ").capitalize()
    if info.exclude:
        given = st.file_uploader(label, key=f"file-{key}", help=info.description)
        content = given.getvalue() if given is not None else None
        if content is not None and content != st.session_state.get(key):
            st.session_state[key] = content
            st.rerun()
    elif get_origin(info.annotation) is dict:
        st.text_input(label, key=key, help=info.description, placeholder="name:number, name:number")
    else:
        field(name, info, info.default, key)


def _mapping(file: File, *, needed: bool) -> None:
    with st.expander("What the columns mean", key=f"columns-{file.tag}", expanded=needed, on_change="rerun") as box:
        if not box.open:
            return
        with mistakes_shown():
            header, sample = read_once(file.name, file.tag, file_head, file.content, file.name)
            before: ColumnMapping | None = st.session_state.get(_key("mapping", file.tag))
            guess = before or guess_mapping(header, sample)
            mapping = mapping_form(header, sample, guess, file.tag, needed=needed)
            if mapping is not None:
                st.session_state[_key("mapping", file.tag)] = mapping
                st.rerun()
