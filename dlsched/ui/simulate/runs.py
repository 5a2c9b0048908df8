"""The list of runs: its table, notes, delete with undo, import."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.metrics.kpi import KPIS
from dlsched.runner.background import RunTask
from dlsched.ui.frame import run_state, session
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.scenario_bar import policy_label
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import amount

PER_PAGE = 50


def table_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs in the words of the page."""

    def metric(key: str) -> list[str]:
        values = runs[key] if key in runs else [None] * len(runs)
        return [KPIS[key].show(None if pd.isna(value) else value) for value in values]

    versions = runs["version"].astype("Int64").astype(str).map(lambda text: "" if text == "<NA>" else f" v{text}")
    names = (runs["scenario_name"].fillna("") + versions).tolist()
    audit = [_audit(row) for row in runs.itertuples()]
    return pd.DataFrame(
        {
            "Scenario": names,
            "Policy": [policy_label(str(key)) for key in runs["policy"]],
            "Future": [_future(row) for row in runs.itertuples()],
            "p95 wait": metric("wait_p95"),
            "Late": metric("late_share"),
            "Cost/month": metric("cost_month"),
            "Completed": metric("completed"),
            "Audit": audit,
            "When (UTC)": pd.to_datetime(runs["created_at"]).dt.strftime("%Y-%m-%d %H:%M"),
            "Note": runs["note"].fillna(""),
            "MB": (runs["size_bytes"] / 1e6).round(1),
        }
    )


def _future(run: object) -> str:
    seed, draws = getattr(run, "seed", 0), getattr(run, "draws", None)
    return str(seed) if draws is None or pd.isna(draws) or draws < 2 else f"{seed} (of {int(draws)})"


def _audit(run: object) -> str:
    state, stale = getattr(run, "state", "stored"), bool(getattr(run, "stale", False))
    if state != "stored":
        return "running" if state == "running" else "interrupted, nothing kept"
    verdict = "failed" if (getattr(run, "violations", 0) or 0) > 0 else "ok"
    return f"{verdict}, older version: run again" if stale else verdict


def actions(rows: pd.DataFrame, chosen: list[str]) -> None:
    """Offer what can be done with the ticked runs; ``rows`` are their lines, ``chosen`` the ids of stored ones."""
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Compare {len(chosen)} ticked" if len(chosen) > 1 else "Compare ticked"
        hint = "Tick at least two rows; the first is the baseline"
        if st.button(label, type="primary", disabled=len(chosen) < 2, key="runs-compare", help=hint):
            session.tick(chosen)
            session.look_at(str(rows["scenario_hash"].iloc[0]))
            session.go("Compare")
        if st.button("Open", disabled=len(chosen) != 1, key="runs-open", help="Tick one row"):
            session.look_at(str(rows["scenario_hash"].iloc[0]))
            session.look_at_run(chosen[0])
            session.go("Run details")
        st.download_button(
            "Export ticked", lambda: session.store().export_runs(chosen), "dlsched-runs.zip", "application/zip",
            disabled=not chosen, key="runs-export", on_click="ignore", help="One file that another store can import",
        )  # fmt: skip
        again = again_of(rows)
        label = f"Run {len(again)} again" if len(again) else "Run again"
        hint = "Tick rows that were interrupted or made by an older version"
        if st.button(label, disabled=again.empty, key="runs-again", help=hint):
            with mistakes_shown():
                run_state.start([_task_of(row) for _, row in again.iterrows()])
                session.go("Run")
        if st.button(f"Delete {len(chosen)}…" if chosen else "Delete…", disabled=not chosen, key="runs-delete"):
            delete_dialog(rows[rows["state"] == "stored"])


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
    st.markdown("These runs leave the list. You can undo it until the app is started a day later.")
    for row in rows.head(20).itertuples():
        st.markdown(f"- {safe(policy_label(str(row.policy)))}, future {row.seed}, {safe(row.scenario_name)}")
    if len(rows) > 20:
        st.markdown(f"… and {len(rows) - 20} more")
    if st.button(f"Delete {len(rows)}", type="primary", key="delete-sure"):
        ids = [run for run in rows["run_id"].tolist() if not pd.isna(run)]
        session.store().delete_runs(ids)
        session.tick([run for run in session.ticked_runs() if run not in ids])
        if session.run_id() in ids:
            session.look_at_run("")
        st.session_state["undo-delete"] = ids
        st.rerun()


def notes_box(run_id: str) -> None:
    """Edit the note of one run."""
    note = session.store().run_info(run_id).note
    text = st.text_area("Note of the ticked run", note, key=f"note-{run_id}", max_chars=4000)
    if text != note and st.button("Save note", key="save-note"):
        session.store().set_note(run_id, text)
        st.rerun()


def import_box() -> None:
    """Take in an export file."""
    if said := st.session_state.pop("imported", None):
        st.toast(said)
    with st.expander("Import runs from a file"):
        file = st.file_uploader("Export file of another store (.zip)", type=["zip"], key="runs-import")
        if file is not None and st.button("Import", key="import-now"):
            with mistakes_shown():
                report = session.store().import_runs(file.getvalue())
                st.session_state["imported"] = (
                    f"{amount(len(report.added), 'run')} added, {len(report.known)} were here already."
                )
                st.rerun()
