import pandas as pd
import streamlit as st

from dlsched.experiments.code_version import code_version
from dlsched.metrics.kpi import KPIS
from dlsched.ui import page, parts, session
from dlsched.ui.runs_view import PER_PAGE, delete_dialog, import_box, notes_box, table_of

page.begin("Runs", url=("scenario",))
if gone := st.session_state.get("undo-delete"):
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info(f"{len(gone)} runs deleted.")
        if st.button("Undo", key="undo"):
            session.store().restore_runs(gone)
            st.session_state.pop("undo-delete")
            st.rerun()

runs = session.store().list_runs(code_version=code_version())
if runs.empty:
    parts.empty("No run yet. Choose policies for the demo scenario and run them: a few seconds.", "Go to Run",
                lambda: session.go("run/run.py"), "runs-empty")  # fmt: skip
    import_box()
    st.stop()

stored = runs[runs["state"] == "stored"]
parts.sentence(
    f"{len(stored):,} runs of {runs['scenario_hash'].nunique():,} scenarios are kept in {session.store().path.name}."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    names = st.multiselect("Scenario", sorted(runs["scenario_name"].dropna().unique()), key="runs-scenario", width=280)
    policies = st.multiselect("Policy", sorted(runs["policy"].unique()), key="runs-policy", width=280)
    text = st.text_input("Text in name or note", key="runs-text", width=220)
shown = runs
if names:
    shown = shown[shown["scenario_name"].isin(names)]
if policies:
    shown = shown[shown["policy"].isin(policies)]
if text:
    both = shown["name"].fillna("") + " " + shown["note"].fillna("") + " " + shown["scenario_name"].fillna("")
    shown = shown[both.str.contains(text, case=False, regex=False)]
pages = max(1, -(-len(shown) // PER_PAGE))
number = st.number_input(f"Page (of {pages})", 1, pages, 1, key=f"runs-page-{pages}", width=140) if pages > 1 else 1
part = shown.iloc[(number - 1) * PER_PAGE : number * PER_PAGE].reset_index(drop=True)
event = st.dataframe(
    table_of(part), hide_index=True, on_select="rerun", selection_mode="multi-row", key=f"runs-table-{number}-{len(shown)}",
    column_config={"Wait, p95": st.column_config.TextColumn(help=KPIS["wait_p95"].tooltip)}, alt=f"{len(shown)} runs",
)  # fmt: skip
rows = part.iloc[event.selection.rows]
chosen: list[str] = [run for run in rows["run_id"].tolist() if not pd.isna(run)]

with st.container(horizontal=True, vertical_alignment="center"):
    if st.button(f"Compare {len(chosen)} ticked" if len(chosen) > 1 else "Compare ticked", type="primary",
                 disabled=len(chosen) < 2, key="runs-compare", help="Tick at least two rows; the first is the baseline"):  # fmt: skip
        session.tick(chosen)
        session.go("understand/compare.py", runs=",".join(chosen), base=chosen[0])
    if st.button("Open", disabled=len(chosen) != 1, key="runs-open", help="Tick one row"):
        session.look_at(rows["scenario_hash"].iloc[0])
        session.look_at_run(chosen[0])
        session.go("understand/result.py", run=chosen[0], scenario=rows["scenario_hash"].iloc[0][:8])
    st.download_button("Export ticked", lambda: session.store().export_runs(chosen), "dlsched-runs.zip", "application/zip",
                       disabled=not chosen, key="runs-export", on_click="ignore", help="One file that another store can import")  # fmt: skip
    if st.button(f"Delete {len(chosen)}…" if chosen else "Delete…", disabled=not chosen, key="runs-delete"):
        delete_dialog(rows)
interrupted = runs[runs["state"] == "interrupted"]
if len(interrupted):
    st.warning(f"{len(interrupted)} runs were interrupted when the app ended; nothing of them was kept.")
    if st.button("Forget them", key="forget-interrupted"):
        session.store().clear_running(interrupted["key"].tolist())
        st.rerun()
if len(chosen) == 1:
    notes_box(chosen[0])
import_box()
