"""The part History of the page Run: experiments, their runs, and what can be done with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.metrics.kpi import KPIS
from dlsched.policies.registry import policy_label
from dlsched.runner.background import RunTask
from dlsched.studies.code_version import code_version, plugin_versions
from dlsched.ui.frame import parts, run_state, session, writing
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.simulate.experiments import Experiment, experiments_of, experiments_table, runs_table
from dlsched.wording.formats import amount

PER_PAGE = 25
DELETED = "undo-delete"


def show() -> None:
    """Show all runs of the store, one line an experiment."""
    _undo_line()
    runs = session.store().list_runs(code_version=code_version(), plugins=plugin_versions())
    if runs.empty:
        parts.empty("No run yet. Run the recommended policies: a few seconds for the demo.", "Choose policies",
                    lambda: session.go("Run", part="Policies"), "history-empty")  # fmt: skip
        _import_box()
        return
    found = experiments_of(runs)
    stored = runs[runs["state"] == "stored"]
    parts.sentence(
        f"{amount(len(found), 'experiment')} with {amount(len(stored), 'run')} of "
        f"{amount(stored['scenario_hash'].nunique(), 'scenario')} in {session.store().path.name}.",
        (),
    )
    shown = _page_of(_filtered(found, runs))
    actions = st.container()
    chosen = _chosen(shown)
    if chosen:
        listed = pd.concat([one.runs for one in chosen]).reset_index(drop=True)
        marked = _runs(listed)
        with actions:
            _actions(chosen, listed, marked)
    else:
        actions.markdown(":gray[Select an experiment to see its runs and to compare, open, name or delete them.]")
    _interrupted(runs)
    _import_box()


# ---- which ones --------------------------------------------------------------------------------------


def _filtered(found: list[Experiment], runs: pd.DataFrame) -> list[Experiment]:
    """Show the filters and return the experiments with a run that passes them all."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        scenarios = st.multiselect("Scenario", sorted(runs["scenario_name"].dropna().unique()), key="history-scenario",
                                   width=280)  # fmt: skip
        policies = st.multiselect("Policy", sorted(runs["policy"].unique()), format_func=policy_label,
                                  key="history-policy", width=280)  # fmt: skip
        text = st.text_input("Text in name or note", key="history-text", width=220)
    return [one for one in found if passes(one.runs, scenarios, policies, text)]


def passes(runs: pd.DataFrame, scenarios: Sequence[str], policies: Sequence[str], text: str) -> bool:
    """Whether one of these runs is of such a scenario and policy, with this text in a name or a note."""
    of = runs[runs["scenario_name"].isin(scenarios)] if scenarios else runs
    of = of[of["policy"].isin(policies)] if policies else of
    texts = of["name"].fillna("") + " " + of["note"].fillna("") + " " + of["scenario_name"].fillna("")
    return bool(texts.str.contains(text, case=False, regex=False).any())


def _page_of(found: list[Experiment]) -> list[Experiment]:
    pages = max(1, -(-len(found) // PER_PAGE))
    key = f"history-page-{pages}"
    label = f"Page {st.session_state.get(key, 1)} of {pages}"
    number = st.number_input(label, 1, pages, 1, key=key, width=140) if pages > 1 else 1
    return found[(number - 1) * PER_PAGE : number * PER_PAGE]


def _chosen(shown: list[Experiment]) -> list[Experiment]:
    """Show the experiments and return the selected ones."""
    newest = "" if not shown else str(shown[0].runs["key"].iloc[0])
    event = st.dataframe(
        experiments_table(shown), hide_index=True, on_select="rerun", selection_mode="multi-row",
        key=f"history-table-{len(shown)}-{newest}", alt=amount(len(shown), "experiment"),
        column_config={
            "Policies": st.column_config.TextColumn(width="large"),
            "Futures": st.column_config.TextColumn(help="0 is the month as recorded, or the first draw"),
        },
    )  # fmt: skip
    return [shown[row] for row in event.selection.rows if row < len(shown)]


def _runs(listed: pd.DataFrame) -> pd.DataFrame:
    """Show the runs of the selected experiments and return the selected ones."""
    st.subheader(f"{amount(len(listed), 'run')} of the selection", anchor=False)
    event = st.dataframe(
        runs_table(listed), hide_index=True, on_select="rerun", selection_mode="multi-row",
        key=f"history-runs-{len(listed)}-{listed['key'].iloc[0]}", alt=amount(len(listed), "run"),
        column_config={"p95 wait": st.column_config.TextColumn(help=KPIS["wait_p95"].tooltip)},
    )  # fmt: skip
    return listed.iloc[[row for row in event.selection.rows if row < len(listed)]]


# ---- what can be done with them ----------------------------------------------------------------------


def _actions(chosen: list[Experiment], listed: pd.DataFrame, marked: pd.DataFrame) -> None:
    """Offer what can be done with the selected runs, with all runs of the selected experiments where none is."""
    rows = listed if marked.empty else marked
    ids = [str(run) for run in rows["run_id"].dropna()]
    to_compare = [run for one in chosen for run in one.of_policies] if marked.empty else ids
    with st.container(horizontal=True, vertical_alignment="center", key="history-actions"):
        label = f"Compare {len(to_compare)}" if len(to_compare) > 1 else "Compare"
        hint = "Runs of two policies at least; the first is the baseline"
        if st.button(label, type="primary", disabled=len(to_compare) < 2, key="history-compare", help=hint):
            session.tick(to_compare)
            session.look_at(str(rows["scenario_hash"].iloc[0]))
            session.go("Compare")
        if st.button("Open", disabled=not ids, key="history-open", help="The first of them on Run details"):
            session.look_at(str(rows["scenario_hash"].iloc[0]))
            session.look_at_run(ids[0])
            session.go("Run details")
        _name_and_note(chosen, rows, ids)
        st.download_button(
            "Export", lambda: session.store().export_runs(ids), "dlsched-runs.zip", "application/zip",
            disabled=not ids, key="history-export", on_click="ignore", help="One file that another store can import",
        )  # fmt: skip
        again = again_of(rows)
        if len(again) and writing.button(f"Run {len(again)} again", key="history-again",
                                    help="Interrupted, or made by an older version"):  # fmt: skip
            with mistakes_shown():
                run_state.start([_task_of(row) for _, row in again.iterrows()])
                session.go("Run", part="Policies")
        if writing.button(f"Delete {len(ids)}…" if ids else "Delete…", disabled=not ids, key="history-delete"):
            delete_dialog(rows[rows["state"] == "stored"])


def _name_and_note(chosen: list[Experiment], rows: pd.DataFrame, ids: list[str]) -> None:
    """Edit the name of an experiment, and the note of the selected runs."""
    if len(chosen) > 1 or not ids:
        return
    of = Experiment(rows)
    with st.popover("Name and note", key=f"history-words-{ids[0]}-{len(ids)}"):
        name = st.text_input("Name of the experiment", chosen[0].name, key=f"name-{ids[0]}", max_chars=80)
        note = st.text_area(f"Note of {amount(len(ids), 'run')}", of.note, key=f"note-{ids[0]}-{len(ids)}",
                            max_chars=4000)  # fmt: skip
        if writing.button("Save", key="save-words"):
            store = session.store()
            for run in chosen[0].runs["run_id"].dropna():
                store.rename_run(str(run), name)
            for run in ids:
                store.set_note(run, note)
            st.rerun()


def again_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that it makes sense to run again: interrupted, or made by an older version."""
    return rows[(rows["state"] == "interrupted") | rows["stale"].fillna(False).astype(bool)]


def _task_of(row: pd.Series[Any]) -> RunTask:
    scenario = session.load_scenario(str(row["scenario_hash"]))
    policy = str(row["policy"])
    return RunTask(scenario, policy, json.loads(row["params"]), int(row["seed"]), policy_label(policy))


@st.dialog("Delete runs")
def delete_dialog(rows: pd.DataFrame) -> None:
    """List what will go and ask."""
    st.markdown("These runs leave the history. You can restore them for one day.")
    for row in rows.head(20).itertuples():
        st.markdown(f"- {safe(policy_label(str(row.policy)))}, future {row.seed}, {safe(row.scenario_name)}")
    if len(rows) > 20:
        st.markdown(f"… and {len(rows) - 20} more")
    if writing.button(f"Delete {len(rows)}", type="primary", key="delete-sure"):
        ids = [run for run in rows["run_id"].tolist() if not pd.isna(run)]
        session.store().delete_runs(ids)
        session.tick([run for run in session.ticked_runs() if run not in ids])
        if session.run_id() in ids:
            session.look_at_run("")
        st.session_state[DELETED] = ids
        st.rerun()


def _undo_line() -> None:
    if gone := st.session_state.get(DELETED):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(f"{amount(len(gone), 'run')} deleted.")
            if writing.button("Undo", key="undo"):
                session.store().restore_runs(gone)
                st.session_state.pop(DELETED)
                st.rerun()


def _interrupted(runs: pd.DataFrame) -> None:
    """Say which runs an end of the app has interrupted, of all that are in the store."""
    interrupted = runs[runs["state"] == "interrupted"]
    if len(interrupted):
        st.warning(
            f"{amount(len(interrupted), 'run')} interrupted when the app ended; nothing was kept. Select them to run "
            "them again."
        )
        if writing.button("Forget them", key="forget-interrupted"):
            session.store().clear_running(interrupted["key"].tolist())
            st.rerun()


def _import_box() -> None:
    """Take in an export file."""
    if said := st.session_state.pop("imported", None):
        st.toast(said)
    with st.expander("Import runs from a file"):
        file = writing.uploader("Export file of another store (.zip)", type=["zip"], key="runs-import")
        if file is not None and writing.button("Import", key="import-now"):
            with mistakes_shown():
                report = session.store().import_runs(file.getvalue())
                st.session_state["imported"] = (
                    f"{amount(len(report.added), 'run')} added, {len(report.known)} already in the history."
                )
                st.rerun()
