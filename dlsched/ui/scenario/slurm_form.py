"""The settings of a Slurm on the page Cluster: files that give them, tables in Slurm's own notation, saving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.assumptions import Assumption
from dlsched.domain.errors import InputError, validated
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import DEFAULTS, OPTIONS, SlurmOptions, SlurmReservation, SlurmSetup
from dlsched.domain.units import DAY_S
from dlsched.studies.design import Variant
from dlsched.ui.fields.policy_and_params import say_todays_policy, todays_policy
from dlsched.ui.frame import session, tables, writing
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.tables import number_of, text_of
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import read_once, tag_of
from dlsched.wording.formats import amount, capital
from dlsched.workload.readers.exports import SLURM_SETTINGS
from dlsched.workload.readers.slurm_settings.found import SlurmFound, over_each_other, read_slurm, with_slurm
from dlsched.workload.readers.slurm_settings.texts import (
    ACCOUNT,
    PARTITION,
    QOS,
    Texts,
    options_text,
    setup_of,
    texts_of,
)

POLICY = "slurm"
MOST_ROWS = 2_000
"""Rows of a table that can be edited; of more, the first are shown."""
BY_HAND = "changed by hand"
_text, _select, _number = st.column_config.TextColumn, st.column_config.SelectboxColumn, st.column_config.NumberColumn
_MODES = _select("PreemptMode", options=["OFF", "CANCEL", "REQUEUE"], help="Empty = as the option PreemptMode says")
_TIME = "Minutes, H:M:S, D-H or D-H:M:S; empty = none"
_TRES = "As in cpu=64,mem=512G,node=4,gres/gpu=8"
OPTION_COLUMNS: Mapping[str, Any] = {
    "option": _text("Option", disabled=True, help="Name in slurm.conf; those with small letters are items of "
                    "SchedulerParameters"),
    "value": _text("Value", max_chars=500, help="As slurm.conf has it; empty = Slurm's default"),
    "default": _text("Slurm's default", disabled=True, help="What holds where nothing is given"),
    "what": _text("What it does", disabled=True, width="large"),
}  # fmt: skip
PARTITION_COLUMNS: Mapping[str, Any] = {
    **{name: _text(name, max_chars=1000) for name in PARTITION},
    "PriorityTier": _text("PriorityTier", help="Jobs of a higher tier go first, and may stop those of lower ones"),
    "PriorityJobFactor": _text("PriorityJobFactor", help="Counts for the priority with PriorityWeightPartition"),
    "MaxTime": _text("MaxTime", help=f"Longest time limit. {_TIME}"),
    "DefaultTime": _text("DefaultTime", help=f"Time limit of jobs that state none. {_TIME}"),
    "QOS": _text("QOS", help="QOS whose limits hold for all jobs of the partition"),
    "TRESBillingWeights": _text("TRESBillingWeights", help="What use counts, as in cpu=1,mem=0.25G,gres/gpu=8"),
    "PreemptMode": _MODES,
    "OverSubscribe": _select("OverSubscribe", options=["EXCLUSIVE"], help="EXCLUSIVE: jobs get whole nodes"),
}
QOS_COLUMNS: Mapping[str, Any] = {
    **{name: _text(name, max_chars=1000) for name in QOS},
    "Preempt": _text("Preempt", help="QOS whose jobs it may stop, separated by commas"),
    "PreemptMode": _MODES,
    "UsageFactor": _text("UsageFactor", help="What its use counts for fair share: 1 = as it is"),
    "GrpTRES": _text("GrpTRES", help=f"Most of all its jobs together. {_TRES}"),
    "MaxTRESPU": _text("MaxTRESPU", help=f"Most of one user. {_TRES}"),
    "MaxTRES": _text("MaxTRES", help=f"Most of one job. {_TRES}"),
    "MaxWall": _text("MaxWall", help=_TIME),
}
ACCOUNT_COLUMNS: Mapping[str, Any] = {
    **{name: _text(name, max_chars=1000) for name in ACCOUNT},
    "User": _text("User", help="Empty = the account itself"),
    "Partition": _text("Partition", help="Empty = all partitions"),
    "ParentName": _text("Parent", help="Account above; empty = root"),
    "Share": _text("Share", help="Shares among its neighbours, or parent for those of the account above"),
    "RawUsage": _text("RawUsage", help="Past use that fair share starts from, as sshare prints it"),
    "QOS": _text("QOS", help="QOS that its jobs may have, separated by commas"),
    "GrpTRES": _text("GrpTRES", help=f"Most of all its jobs together. {_TRES}"),
    "MaxTRES": _text("MaxTRES", help=f"Most of one job. {_TRES}"),
    "MaxWall": _text("MaxWall", help=_TIME),
}
RESERVATION_COLUMNS: Mapping[str, Any] = {
    "name": _text("Name", max_chars=120, help="Name of the reservation"),
    "nodes": _text("Nodes", help="Host list, as in n[01-04]; ALL = every node"),
    "from day": _number("From day", min_value=0.0, help="Days from the first job"),
    "to day": _number("Until day", min_value=0.0, help="Days from the first job"),
    "users": _text(
        "Users", help="Users whose jobs may run there, separated by commas; without users and accounts no job"
    ),
    "accounts": _text("Accounts", help="Accounts whose jobs may run there, separated by commas"),
}


@dataclass(frozen=True)
class _Draft:
    """Settings that are not saved yet, with what was read and what is said of it."""

    setup: SlurmSetup
    found: SlurmFound
    told: str = ""


def part(current: Scenario, *, disabled: bool = False) -> None:
    """Show the settings of a Slurm that the scenario holds and the ways to others; saving makes a new version.

    ``disabled``: nothing can be saved, as something else on the page is not.
    """
    tag = current.content_hash[: session.HASH_DIGITS]
    draft: _Draft | None = st.session_state.get(f"slurm-draft-{tag}")
    start = current.slurm if draft is None else draft.setup
    st.subheader("Slurm", anchor=False, help="Priorities, limits and reservations as in your Slurm. The policy Slurm "
                 "obeys them; other policies do not")  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _from_files(current, tag)
        if start is None and st.button("Start from Slurm's defaults", key="slurm-empty", disabled=disabled,
                                       help="Settings to fill in by hand"):  # fmt: skip
            _start_over(tag, _Draft(SlurmSetup(), SlurmFound(SlurmSetup(), ())))
        if current.slurm is not None and writing.button("Remove Slurm settings", key="slurm-remove", disabled=disabled,
                                                   help="Reverted with “Undo last edit”"):  # fmt: skip
            _save(current.replace(slurm=None, assumptions=_other_assumptions(current)), current, tag)
        if start is not None:
            _runs_here(current)
    if start is None:
        words = "Run these two lines on the cluster and drop the files here; slurm.conf replaces the first two."
        st.markdown(f":gray[No settings of Slurm. {words}]")
        st.code(SLURM_SETTINGS, language="bash", wrap_lines=True)
        return
    with mistakes_shown():
        made = _edited(start, tag)
        unsaved = made != current.slurm
        if draft is not None and draft.told:
            st.markdown(f":gray[{safe(draft.told, 1500)}.]")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if writing.button("Save Slurm settings", type="primary" if unsaved else "secondary", key="slurm-save",
                         disabled=not unsaved or disabled, help="Makes a new version of the scenario"):  # fmt: skip
                _save(_with(current, made, draft), current, tag)
            if draft is not None and st.button("Discard", key="slurm-discard", help="Back to the saved settings"):
                _start_over(tag, None)
            st.markdown(f":gray[{'Not saved yet' if unsaved else 'Saved'}: {setup_words(made)}.]")


def setup_words(setup: SlurmSetup) -> str:
    """Return how much of each is set: "12 options, 2 partitions, 4 QOS, …"."""
    options = len(setup.options.model_dump(exclude_none=True))
    users = sum(bool(one.user) for one in setup.associations)
    counts = (
        (options, "option", ""), (len(setup.partitions), "partition", ""), (len(setup.qos), "QOS", "QOS"),
        (len(setup.associations) - users, "account", ""), (users, "user", ""),
        (len(setup.reservations), "reservation", ""), (len(setup.node_weights), "node weight", ""),
        (len(setup.switches), "switch", "switches"),
    )  # fmt: skip
    return ", ".join(amount(many, one, *([plural] if plural else [])) for many, one, plural in counts if many) or (
        "Slurm's defaults"
    )


# ---- where settings come from ------------------------------------------------------------------------


def _from_files(current: Scenario, tag: str) -> None:
    key = tables.widget_key(f"slurm-files-{tag}")  # another one once the files are used: it closes, and is empty
    help_text = "What slurm.conf, scontrol, sacctmgr and sshare say of your Slurm"
    with st.popover("Read from files", help=help_text, key=f"read-{key}"):
        st.code(SLURM_SETTINGS, language="bash", wrap_lines=True)
        files = st.file_uploader(
            "slurm.conf, and what scontrol, sacctmgr -P and sshare -P print", accept_multiple_files=True,
            key=key, help="One or several files; what they give replaces what is set, the rest stays",
        )  # fmt: skip
        if not files:
            return
        with mistakes_shown():
            given = [(file.getvalue(), file.name) for file in files]
            found = read_once(files[0].name, tag_of(*(content for content, _ in given)), read_slurm, given)
            st.markdown("\n".join(f"- {safe(source, 200)}" for source in found.sources))
            if st.button("Use these settings", type="primary", key="slurm-use"):
                read = with_slurm(current, found)
                told = next(one.text for one in read.assumptions if one.kind == "slurm")
                setup = over_each_other(current.slurm or SlurmSetup(), read.slurm or found.setup)
                _start_over(tag, _Draft(setup, found, capital(told)))


def _start_over(tag: str, draft: _Draft | None) -> None:
    """Show other settings from now on, the saved ones for None."""
    for name in ("files", "options", "partitions", "qos", "accounts", "reservations"):
        tables.forget(f"slurm-{name}-{tag}")
    if draft is None:
        st.session_state.pop(f"slurm-draft-{tag}", None)
    else:
        st.session_state[f"slurm-draft-{tag}"] = draft
    st.rerun()


def _with(current: Scenario, made: SlurmSetup, draft: _Draft | None) -> Scenario:
    """Return the scenario with the settings, and where they come from."""
    if draft is not None and draft.found.sources:
        return with_slurm(current, replace(draft.found, setup=made)).replace(slurm=made)
    told = next((one.text for one in current.assumptions if one.kind == "slurm"), "settings entered by hand")
    words = told if told.endswith(("by hand", BY_HAND)) else f"{told}. Then {BY_HAND}"
    note = Assumption(kind="slurm", text=words)
    return current.replace(slurm=made, assumptions=(*_other_assumptions(current), note))


def _other_assumptions(current: Scenario) -> tuple[Assumption, ...]:
    return tuple(one for one in current.assumptions if one.kind != "slurm")


def _save(made: Scenario, current: Scenario, tag: str) -> None:
    info = session.keep(made, based_on=current.content_hash)
    st.toast(f"Saved as version {info.version}.")
    _start_over(tag, None)


def _runs_here(current: Scenario) -> None:
    """Offer to say that Slurm is what runs on the cluster today."""
    if current.slurm is None:
        return
    said = todays_policy(current)
    if said is not None and said.policy == POLICY:
        st.markdown(":green[✓ Slurm runs here today: other policies are compared with it.]")
        return
    writing.button(
        "Slurm runs here today", key="slurm-today", on_click=say_todays_policy, args=(current, Variant(policy=POLICY)),
        help="The policy Slurm, with these settings, is what other policies are compared with",
    )  # fmt: skip


# ---- tables and back ---------------------------------------------------------------------------------


def _edited(start: SlurmSetup, tag: str) -> SlurmSetup:
    """Show the settings as tables and return what they say; InputError for a cell that cannot be read."""
    texts = texts_of(start)
    names = ["Options", "Partitions", "QOS", "Accounts and users", "Reservations"]
    at = st.tabs(names, key=f"slurm-tabs-{tag}")
    with at[0]:
        table = tables.editor(options_frame(texts.options), f"slurm-options-{tag}", OPTION_COLUMNS, live=_with_cells,
                              alt="Options of slurm.conf with their defaults", height=360)  # fmt: skip
        values = table["value"].tolist()
        options = {name: text_of(value) for name, value in zip(OPTIONS, values, strict=True)}
    rows = []
    for place, (name, columns, alt) in enumerate((
        ("partitions", PARTITION_COLUMNS, "Partitions with their priorities and time limits"),
        ("qos", QOS_COLUMNS, "QOS with their priorities and limits"),
        ("accounts", ACCOUNT_COLUMNS, "Accounts and users with shares and limits"),
    ), 1):  # fmt: skip
        with at[place]:
            rows.append(_rows(getattr(texts, name), f"slurm-{name}-{tag}", columns, alt))
    with at[4]:
        booked = tables.editor(reservations_frame(start.reservations), f"slurm-reservations-{tag}", RESERVATION_COLUMNS,
                               alt="Reservations: nodes kept for some jobs for a time")  # fmt: skip
        st.markdown(":gray[Their nodes run only jobs of these users and accounts. Only the policy Slurm obeys this.]")
    made = setup_of(Texts(options, *rows), start)
    return made.model_copy(update={"reservations": reservations_of(booked, start.reservations)})


def _with_cells(frame: pd.DataFrame, edited: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    return frame  # nothing follows from the values; the rows stay those of the options


def _rows(
    given: Sequence[Mapping[str, str]], key: str, columns: Mapping[str, Any], alt: str
) -> Sequence[Mapping[str, str]]:
    """Show the rows as a table and return what it says; too many of them are shown in part, and stay."""
    frame = pd.DataFrame([list(row.values()) for row in given[:MOST_ROWS]], columns=[*columns])
    if len(given) > MOST_ROWS:
        st.dataframe(frame, hide_index=True, key=f"{key}-first", alt=alt)
        words = f"The first {MOST_ROWS:,} of {len(given):,}: too many to edit here"
        st.markdown(f":gray[{words}. Change the file and read it again.]")
        return given
    shown = tables.editor(frame, key, columns, alt=alt)
    records = shown.astype(object).to_dict("records")
    return [{str(name): text_of(value) for name, value in record.items()} for record in records]


def options_frame(texts: Mapping[str, str]) -> pd.DataFrame:
    """Return the options as a table: name, value, Slurm's default, what it does."""
    defaults = options_text(DEFAULTS)
    rows = [
        (name.removesuffix("_s"), texts[name], defaults[name] or "–", SlurmOptions.model_fields[name].description or "")
        for name in OPTIONS
    ]
    return pd.DataFrame(rows, columns=[*OPTION_COLUMNS])


def reservations_frame(reservations: Sequence[SlurmReservation]) -> pd.DataFrame:
    """Return reservations as an editable table, times in days."""
    rows = [
        (one.name, one.nodes, one.start_s / DAY_S, one.end_s / DAY_S, ",".join(one.users), ",".join(one.accounts))
        for one in reservations
    ]
    return pd.DataFrame(rows, columns=[*RESERVATION_COLUMNS]).astype({"from day": float, "to day": float})


def reservations_of(table: pd.DataFrame, before: Sequence[SlurmReservation]) -> tuple[SlurmReservation, ...]:
    """Return the reservations of the rows that are finished, with the exact times of before where they are the same.

    Raises
    ------
    InputError
        Naming the row, the column and the rule.
    """
    exact = {(one.name, round(one.start_s, 3), round(one.end_s, 3)): one for one in before}
    found: list[SlurmReservation] = []
    for row, record in tables.filled_rows(table):
        days = number_of(record["from day"]), number_of(record["to day"])
        if not text_of(record["name"]) or not text_of(record["nodes"]) or days[0] is None or days[1] is None:
            continue
        times = round(days[0] * DAY_S, 3), round(days[1] * DAY_S, 3)
        if times[1] <= times[0]:
            where = tables.place(f"reservation row {row}", "to day", RESERVATION_COLUMNS)
            raise InputError(where, f"must be after day {days[0]:g}, got {days[1]:g}", "Correct one of the two days")
        given: dict[str, Any] = {"nodes": text_of(record["nodes"]), "start_s": times[0], "end_s": times[1]}
        if (same := exact.get((text_of(record["name"]), *times))) is not None:
            given |= {"start_s": same.start_s, "end_s": same.end_s}
        for name in ("users", "accounts"):
            given[name] = [one.strip() for one in text_of(record[name]).split(",") if one.strip()]
        given["name"] = text_of(record["name"])
        found.append(validated(SlurmReservation, given, f"reservation row {row}"))
    validated(SlurmSetup, {"reservations": [one.model_dump() for one in found]}, "reservations")
    return tuple(found)
