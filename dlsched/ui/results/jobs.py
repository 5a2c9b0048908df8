"""The part Jobs of Run details: one job's own story, and the table to find it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import GPU
from dlsched.figures.bars import gpus_and_cores
from dlsched.figures.job_timeline import JobOutcome, job_outcomes
from dlsched.figures.jobs import job_timeline
from dlsched.metrics.job_timeline import JobTimeline, timeline_of
from dlsched.studies.inspect.dual_prices import DualPricesSpec
from dlsched.ui.frame import charts, link, loaders, runs_of, session, tables
from dlsched.ui.frame.parts import cards, sentence
from dlsched.ui.results.decision_inspector import INSIDE
from dlsched.ui.scenario import trust
from dlsched.wording.clock import Clock
from dlsched.wording.counted import COUNTED, GPUS, Counted, counted_of
from dlsched.wording.formats import Kind, amount, count, duration, money, number

TABLE = {
    "job_id": "Job", "status": "Status", "user": "User", "job_class": "Class", "gpus": "GPUs", "cores": "Cores",
    "submit_s": "Submitted", "wait_s": "Wait", "run_s": "Run", "jct_s": "Turnaround",
    "tardiness_s": "Late by", "slowdown": "Slowdown", "cost": "Cost",
    "tardiness_usd": "Cost of lateness", "utility": "Utility", "preemptions": "Preemptions",
    "restarts": "Restarts", "energy_kwh": "Energy", "energy_usd": "Electricity", "carbon_kg": "Carbon",
}  # fmt: skip
KINDS: Mapping[str, Kind] = {
    "Wait": "duration", "Run": "duration", "Turnaround": "duration", "Late by": "duration", "Slowdown": "factor",
    "Cost": "usd", "Cost of lateness": "usd", "Utility": "number", "GPUs": "number",
    "Cores": "number", "GiB": "number", "Preemptions": "count", "Restarts": "count",
    "Energy": "kwh", "Electricity": "usd", "Carbon": "kg",
}  # fmt: skip
ORDERS = {"Longest wait": "wait_s", "Latest": "tardiness_s", "Most expensive": "cost", "Submission": "submit_s"}
MAX_ROWS = 1000
MAX_RUNS = 8
CHOSEN = "job_row"
EASY = "easy-backfill"
"""Reserves GPUs for the job that waits and was submitted first."""


def choose(scenario_hash: str, row: int) -> None:
    """Make a job (its row in the workload) the one whose story is told, here and in the URL."""
    st.session_state[CHOSEN] = (scenario_hash, row)
    st.query_params["job"] = str(row)


def forget() -> None:
    """Look at no job."""
    st.session_state.pop(CHOSEN, None)
    st.query_params.pop("job", None)


def choose_named(run_id: str, job_id: str) -> None:
    """Choose a job by its id."""
    jobs = loaders.jobs(run_id)
    rows = jobs.loc[jobs["job_id"] == job_id, "row"]
    if len(rows):
        choose(loaders.info(run_id).scenario_hash, int(rows.iloc[0]))


def chosen_row(scenario_hash: str) -> int | None:
    """Return the chosen job of this scenario: what the session remembers, else what the URL names."""
    chosen = st.session_state.get(CHOSEN)
    if chosen is not None and chosen[0] == scenario_hash:
        return int(chosen[1])
    named = st.query_params.get("job", "")
    if named.isascii() and named.isdecimal() and len(named) < 10:
        return int(named)
    link.misread("job")
    return None


def jobs_part(run_id: str, scenario: Scenario) -> None:
    """Show the chosen job's story and the filtered table of jobs."""
    row = chosen_row(loaders.info(run_id).scenario_hash)
    jobs = loaders.jobs(run_id)
    own = jobs[jobs["row"] == row]
    if row is None:
        sentence("Pick a job in the table to see why it waited, where it ran and what it cost.", ())
    elif own.empty:
        st.warning(f"This run has {amount(len(jobs), 'job')}, none with number {count(row)}. Pick one in the table.")
    else:
        if st.query_params.get("job") != str(row):
            st.query_params["job"] = str(row)
        _story(run_id, own.iloc[0], scenario)
    _table(run_id, row, counted_of(scenario))


def _story(run_id: str, job: pd.Series, scenario: Scenario) -> None:
    rented, job_id, pieces = scenario.cluster.free_slots, str(job["job_id"]), loaders.segments(run_id)
    waits, policy = loaders.waits(run_id), loaders.info(run_id).policy
    end_s = float(loaders.series(run_id)["time_s"].iloc[-1])
    timeline = timeline_of(
        job_id,
        loaders.jobs(run_id),
        pieces,
        waits,
        end_s,
        rented=rented,
        by_submission=policy == EASY,
        partitions=scenario.cluster.nodes.partition,
    )
    waits = waits[waits["row"] == job["row"]]
    told = trust.caveats(scenario, [policy])
    premises = trust.premises(scenario, [loaders.metrics(run_id)])
    sentence(f"Job {job_id}: {timeline.sentence}", told, premises, key="job")
    counted = COUNTED[int(job.get("counted", GPU))]
    cards(facts(timeline, counted, rented=rented))
    machines = loaders.groups(run_id, "gpu_type") if rented else None
    own = pieces[pieces["row"] == job["row"]]
    clock = loaders.clock(run_id)
    chart = charts.drawn(job_timeline, job, own, waits, charts.page_theme(), end_s, machines=machines, clock=clock)
    charts.show(chart.of(counted), "story")
    if policy in DualPricesSpec.policies and st.button(
        "Why admitted or not", key="job-price", help="What it was worth, what its machines cost, and the alternative"
    ):
        st.session_state[session.OPEN_PART] = INSIDE
        st.rerun()
    with st.expander(f"Timeline ({amount(len(timeline.spans), 'entry', 'entries')})"):
        entries = entries_of(timeline, clock, counted, rented=rented).head(MAX_ROWS)
        st.dataframe(entries, hide_index=True, key="spans", placeholder="–",
                     alt=f"{amount(len(timeline.spans), 'entry', 'entries')} in the story of this job")  # fmt: skip
    _under_other_runs(run_id, job)


def facts(timeline: JobTimeline, counted: Counted = GPUS, *, rented: bool = False) -> list[tuple[str, str, str]]:
    """Return a job's cards (label, value, help); on rented machines its two costs instead of its run time."""
    wait = ("Wait", duration(timeline.wait_s), "Submission to the first start.")
    if timeline.paused_s:
        hint = f"{duration(timeline.wait_s)} before the first start and {duration(timeline.paused_s)} in pauses."
        wait = ("Total waiting, incl. pauses", duration((timeline.wait_s or 0.0) + timeline.paused_s), hint)
    if rented and timeline.late_usd is not None:
        return [
            wait,
            ("Late by", duration(timeline.late_s), "Time past the due date; 0 s when on time."),
            (
                "Machine cost",
                money(timeline.cost),
                counted.say("Its part of the bill of the machines it used: by GPUs in use there."),
            ),
            (
                "Cost of lateness",
                money(timeline.late_usd),
                "Hours late times its weight: a planning weight, not money paid.",
            ),
        ]
    late = (
        "Late by",
        duration(timeline.late_s),
        "Time past the due date; 0 s when on time, a dash without a due date.",
    )
    if timeline.late_s is None and timeline.utility is not None:
        late = ("Utility", number(timeline.utility), "What it is worth that the job was done then; without a unit.")
    return [
        wait,
        ("Run", duration(timeline.run_s), counted.say("Time in which it had GPUs.")),
        late,
        ("Cost", money(timeline.cost), "Its part of the bill of the machines it used; a dash without prices."),
    ]


def entries_of(timeline: JobTimeline, clock: Clock, counted: Counted = GPUS, *, rented: bool) -> pd.DataFrame:
    """Return what a job did, entry by entry; machines only where they are rented, workers only beside servers."""
    rows = [
        {"From": clock.moment(span.from_s), "To": clock.moment(span.to_s), "Lasted": duration(span.length_s),
         "What": span.kind, "Where": node_ranges(span.nodes), "Machine": span.machine,
         "Workers": span.workers if span.nodes else None, "Servers": span.servers if span.nodes else None,
         counted.say("GPUs"): span.gpus if span.nodes else None,
         "Why, or how it ended": counted.say(span.reason) or span.end_reason.replace("_", " ")}
        for span in timeline.spans
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    hidden = [] if rented else ["Machine"]
    hidden += [] if any(span.servers for span in timeline.spans) else ["Workers", "Servers"]
    return table.drop(columns=hidden, errors="ignore")


def node_ranges(nodes: Sequence[int]) -> str:
    """Return nodes in words, neighbours together: n1, n4–n9."""
    ordered = sorted(nodes)
    runs = [[node for _, node in part] for _, part in groupby(enumerate(ordered), key=lambda at: at[1] - at[0])]
    return ", ".join(f"n{run[0]}" if len(run) == 1 else f"n{run[0]}–n{run[-1]}" for run in runs)


def _under_other_runs(run_id: str, job: pd.Series) -> None:
    """Show the same job in the same future under the other policies."""
    info = loaders.info(run_id)
    outcomes: list[JobOutcome] = []
    for series in runs_of.series_on(info.scenario_hash):
        if info.seed not in series.seeds or len(outcomes) == MAX_RUNS:
            continue
        other = series.run_of(info.seed)
        own = session.store().jobs(other, job=str(job["job_id"]))
        if len(own):
            row = own.iloc[0]
            left_s = float(row["left_s"] if pd.notna(row["left_s"]) else loaders.series(other)["time_s"].iloc[-1])
            outcomes.append(
                JobOutcome(series.label, str(row["status"]), left_s - float(row["submit_s"]), float(row["run_s"]),
                        float(row["tardiness_s"]), float(row["cost"]), other == run_id)
            )  # fmt: skip
    if len(outcomes) > 1:
        due_in_s = float(job["due_s"]) - float(job["submit_s"])
        chart = charts.drawn(job_outcomes, outcomes, due_in_s, charts.page_theme())
        charts.show(chart, "job-runs", caption=True)


def _table(run_id: str, chosen: int | None, counted: Counted) -> None:
    jobs = loaders.jobs(run_id)
    st.subheader("All jobs", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        text = st.text_input("Search job or user", key="jobs-filter", width=200, help="Part of a job id or user name")
        status = st.multiselect("Status", sorted(jobs["status"].unique()), key="jobs-status", width=260)
        orders = [name for name, column in ORDERS.items() if jobs[column].notna().any()]
        order = st.selectbox("Sorted by", orders, key="jobs-order", width=160)
        only_late = st.checkbox("Late only", key="jobs-late", help="Jobs that completed after their due date")
    shown = filtered(jobs, text, status, only_late)
    shown = shown.sort_values(ORDERS[order], ascending=order == "Submission", na_position="last", kind="stable")
    shown = shown.head(MAX_ROWS) if len(shown) > MAX_ROWS else shown
    hits = len(filtered(jobs, text, status, only_late))
    st.markdown(f":gray[{count(len(shown))} of {amount(hits, 'job')} shown. Tick a row to see why the job waited.]")
    view = readable(shown, counted)
    event = st.dataframe(
        tables.in_words(view, {**KINDS, "Submitted": loaders.clock(run_id).moment}), hide_index=True,
        on_select="rerun", selection_mode="single-row", key=f"jobs-{run_id}", placeholder="–",
        alt=f"{amount(hits, 'job')}; the first is {view['Job'].iloc[0] if len(view) else 'none'}",
    )  # fmt: skip
    rows = event.selection.rows
    if rows and rows[0] < len(shown) and (picked := int(shown["row"].iloc[rows[0]])) != chosen:
        choose(loaders.info(run_id).scenario_hash, picked)
        st.rerun()


def filtered(jobs: pd.DataFrame, text: str, status: list[str], only_late: bool) -> pd.DataFrame:
    """Return the jobs whose id or user has the text, with one of these statuses (none = all), late ones only."""
    keep = pd.Series(True, jobs.index)
    if text:
        keep &= jobs["job_id"].str.contains(text, case=False, regex=False)
        if "user" in jobs:
            keep |= jobs["user"].fillna("").str.contains(text, case=False, regex=False)
    if status:
        keep &= jobs["status"].isin(status)
    if only_late:
        keep &= jobs["tardiness_s"] > 0
    return jobs[keep]


def readable(jobs: pd.DataFrame, counted: Counted = GPUS) -> pd.DataFrame:
    """Return the columns a reader wants; columns that say nothing are left out. ``counted``: what sizes are told in."""
    jobs = gpus_and_cores(jobs)
    names = [name for name in TABLE if name in jobs and jobs[name].notna().any()]
    names = [name for name in names if name not in ("preemptions", "restarts") or jobs[name].any()]
    return jobs[names].rename(columns=TABLE | {"gpus": counted.say("GPUs")})
