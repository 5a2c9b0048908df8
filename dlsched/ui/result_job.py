"""The Job tab of a result: one job's own story, and the table to find it in."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.jobs import job_timeline
from dlsched.metrics.formats import count, duration, money
from dlsched.metrics.story import job_story
from dlsched.policies.registry import find
from dlsched.ui import charts, loaders, session
from dlsched.ui.parts import cards, mistakes_shown, sentence
from dlsched.ui.text import safe

TABLE = {
    "job_id": "Job", "status": "Status", "user": "User", "job_class": "Class", "gpus": "GPUs", "submit_s": "Submitted (h)",
    "wait_s": "Wait (h)", "run_s": "Run (h)", "jct_s": "Time in system (h)", "tardiness_s": "Late by (h)", "slowdown": "Slowdown (x)",
    "cost": "Cost ($)", "preemptions": "Preemptions", "restarts": "Restarts",
}  # fmt: skip
MAX_ROWS = 1000


def job_tab(run_id: str, scenario: Scenario) -> None:
    """Show the chosen job's story and the filtered table of jobs."""
    chosen = st.session_state.get("job") or st.query_params.get("job")
    if chosen:
        with mistakes_shown():
            _story(run_id, str(chosen), scenario)
    else:
        st.markdown("Pick a job in the table to read its story: why it waited, where it ran, what it cost.")
    _table(run_id)


def _story(run_id: str, job_id: str, scenario: Scenario) -> None:
    jobs, pieces = loaders.jobs(run_id), loaders.segments(run_id)
    waits = session.store().waits(run_id, job=job_id)
    end_s = float(loaders.series(run_id)["time_s"].iloc[-1])
    story = job_story(job_id, jobs, pieces, waits, end_s)
    sentence(story.sentence)
    late = "–" if story.late_s is None else duration(story.late_s)
    cards([
        ("Wait", duration(story.wait_s), "Submission to the first start."),
        ("Run", duration(story.run_s), "Time it held its GPUs."),
        ("Late by", late, "Time past the due time; 0 s when in time, a dash without a due time."),
        ("Cost", money(story.cost), "Its part of the bill of the machines it used; a dash without prices."),
    ])  # fmt: skip
    own = jobs[jobs["job_id"] == job_id].iloc[0]
    timeline = job_timeline(own, pieces[pieces["job_id"] == job_id], waits, charts.page_theme(), end_s)
    charts.show(timeline, f"story-{run_id}-{job_id}", caption=True)
    with st.expander("Why it waited, entry by entry"):
        spans = pd.DataFrame(
            [
                {"from": duration(s.from_s), "to": duration(s.to_s), "lasted": duration(s.length_s), "what": s.kind,
                 "where or why": ", ".join(f"n{n}" for n in s.nodes) if s.nodes else s.reason, "GPUs": s.gpus or None}
                for s in story.spans
            ]
        )  # fmt: skip
        st.dataframe(spans, hide_index=True, key=f"spans-{run_id}")
    _under_other_runs(run_id, job_id)


def _under_other_runs(run_id: str, job_id: str) -> None:
    """The same job under the other runs of this scenario."""
    runs = session.runs_of(loaders.info(run_id).scenario_hash).head(8)
    rows = []
    for run in runs.itertuples():
        found = session.store().jobs(run.run_id, job=job_id)
        if len(found):
            row = found.iloc[0]
            rows.append({"policy": find(run.policy).label, "seed": run.seed, "status": row["status"], "wait": duration(row["wait_s"]),
                         "time in system": duration(row["jct_s"]), "late by": duration(row["tardiness_s"]), "cost": money(row["cost"]),
                         "": "this run" if run.run_id == run_id else ""})  # fmt: skip
    if len(rows) > 1:
        st.subheader("The same job under other runs", anchor=False)
        st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"others-{run_id}")


def _table(run_id: str) -> None:
    jobs = loaders.jobs(run_id)
    st.subheader("Jobs", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        text = st.text_input(
            "Filter by job or user", key="jobs-filter", width=220, help="Part of a job id or user name"
        )
        status = st.multiselect("Status", sorted(jobs["status"].unique()), key="jobs-status", width=260)
        only_late = st.checkbox("Late only", key="jobs-late", help="Jobs that finished after their due time")
        order = st.selectbox(
            "Sorted by", ["Longest wait", "Latest", "Dearest", "Submission"], key="jobs-order", width=180
        )
    shown = jobs
    if text:
        hit = shown["job_id"].str.contains(text, case=False, regex=False)
        if "user" in shown:
            hit |= shown["user"].fillna("").str.contains(text, case=False, regex=False)
        shown = shown[hit]
    if status:
        shown = shown[shown["status"].isin(status)]
    if only_late:
        shown = shown[shown["tardiness_s"] > 0]
    column = {"Longest wait": "wait_s", "Latest": "tardiness_s", "Dearest": "cost", "Submission": "submit_s"}[order]
    shown = shown.sort_values(column, ascending=order == "Submission", na_position="last", kind="stable")
    st.markdown(
        f":gray[{count(min(len(shown), MAX_ROWS))} of {count(len(shown))} jobs shown. Tick a row to read its story.]"
    )
    view = shown.head(MAX_ROWS)[[name for name in TABLE if name in shown and shown[name].notna().any()]].copy()
    for name in ("submit_s", "wait_s", "run_s", "jct_s", "tardiness_s"):
        if name in view:
            view[name] = view[name] / 3600
    view = view.rename(columns=TABLE)
    hours = {
        label: st.column_config.NumberColumn(format="%.2f")
        for label in view.columns
        if label.endswith(("(h)", "($)", "(x)"))
    }
    event = st.dataframe(view, hide_index=True, on_select="rerun", selection_mode="single-row", key=f"jobs-{run_id}",
                         column_config=hours, alt=f"{count(len(shown))} jobs")  # fmt: skip
    rows = event.selection.rows
    if rows:
        picked = str(shown["job_id"].iloc[rows[0]])
        if picked != st.session_state.get("job"):
            st.session_state["job"] = picked
            st.rerun()
