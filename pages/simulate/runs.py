import pandas as pd
import streamlit as st

from dlsched.metrics.kpi import KPIS
from dlsched.studies.code_version import code_version
from dlsched.ui.frame import page, parts, session
from dlsched.ui.frame.scenario_bar import policy_label
from dlsched.ui.simulate import runs as runs_page
from dlsched.wording.formats import amount

page.begin("Runs", url=("scenario",))
if gone := st.session_state.get("undo-delete"):
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info(f"{amount(len(gone), 'run')} deleted.")
        if st.button("Undo", key="undo"):
            session.store().restore_runs(gone)
            st.session_state.pop("undo-delete")
            st.rerun()

runs = session.store().list_runs(code_version=code_version())
if runs.empty:
    parts.empty("No run yet. Choose policies for the demo scenario and run them: a few seconds.", "Go to Run",
                lambda: session.go("Run"), "runs-empty")  # fmt: skip
    runs_page.import_box()
    st.stop()

stored = runs[runs["state"] == "stored"]
parts.sentence(
    f"{amount(len(stored), 'run')} of {amount(stored['scenario_hash'].nunique(), 'scenario')} "
    f"{'is' if len(stored) == 1 else 'are'} kept in {session.store().path.name}.",
    (),
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    names = st.multiselect("Scenario", sorted(runs["scenario_name"].dropna().unique()), key="runs-scenario", width=280)
    policies = st.multiselect(
        "Policy", sorted(runs["policy"].unique()), format_func=policy_label, key="runs-policy", width=280
    )
    text = st.text_input("Text in name or note", key="runs-text", width=220)
shown = runs
if names:
    shown = shown[shown["scenario_name"].isin(names)]
if policies:
    shown = shown[shown["policy"].isin(policies)]
if text:
    both = shown["name"].fillna("") + " " + shown["note"].fillna("") + " " + shown["scenario_name"].fillna("")
    shown = shown[both.str.contains(text, case=False, regex=False)]
pages = max(1, -(-len(shown) // runs_page.PER_PAGE))
key = f"runs-page-{pages}"
label = f"Page {st.session_state.get(key, 1)} of {pages}"
number = st.number_input(label, 1, pages, 1, key=key, width=140) if pages > 1 else 1
part = shown.iloc[(number - 1) * runs_page.PER_PAGE : number * runs_page.PER_PAGE].reset_index(drop=True)
event = st.dataframe(
    runs_page.table_of(part),
    hide_index=True,
    on_select="rerun",
    selection_mode="multi-row",
    key=f"runs-table-{number}-{len(shown)}",
    column_config={"p95 wait": st.column_config.TextColumn(help=KPIS["wait_p95"].tooltip)},
    alt=f"{len(shown)} runs",
)
rows = part.iloc[event.selection.rows]
chosen: list[str] = [run for run in rows["run_id"].tolist() if not pd.isna(run)]

runs_page.actions(rows, chosen)
interrupted = runs[runs["state"] == "interrupted"]
if len(interrupted):
    st.warning(
        f"{amount(len(interrupted), 'run')} interrupted when the app ended, nothing kept. Tick them to run them again."
    )
    if st.button("Forget them", key="forget-interrupted"):
        session.store().clear_running(interrupted["key"].tolist())
        st.rerun()
if len(chosen) == 1:
    runs_page.notes_box(chosen[0])
runs_page.import_box()
