"""Inside a run that admits jobs: the choice of an interval, the interval itself, its jobs, and the whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.admissions import over_run, room_chart
from dlsched.studies.inspect.admissions import STUDY, AdmissionsSpec
from dlsched.studies.inspect.admissions.answer import Admission, busiest, counts_of
from dlsched.studies.inspect.admissions.words import (
    besides_frame,
    cards_of,
    cautions_of,
    in_unit,
    jobs_frame,
    named,
    optimus_words,
    sentence_of,
    useful_unit,
)
from dlsched.ui.answers import Answers
from dlsched.ui.frame import charts, link, loaders, session, tables, writing
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.parts import cards, guard_rails, sentence
from dlsched.ui.results.decision_inspector import DecisionInspector, Jump, OpenedRun, decisions
from dlsched.ui.scenario import trust
from dlsched.wording.formats import Kind, amount, small
from dlsched.workload.studies.smd import sample_server_jobs

KINDS: Mapping[str, Kind | Callable[[float], str]] = {
    "Worth": small, "Worth per 1%": small, "Opportunity cost": small, "Run time": "duration",
    "Worth, first come": small, "Worth, knapsack": small,
}  # fmt: skip


ADMISSIONS = DecisionInspector[Admission](
    title="Admissions",
    answers=Answers(STUDY, prefix="admit"),
    policies=AdmissionsSpec.policies,
    run_demo="Admit jobs: parameter servers (5 s)",
    demo_help="50 jobs with parameter servers on three units of capacity, under three policies that admit jobs",
    demo=lambda: (sample_server_jobs(), AdmissionsSpec.policies),
    spec=AdmissionsSpec,
)


def admissions_part(run: OpenedRun) -> None:
    """Show the intervals of a run at which jobs were admitted."""
    run_id, rows = run.info.run_id, decisions(run.info.run_id)
    if rows.empty:
        st.info("No job waited at any interval of this run: there was nothing to decide.", icon="ℹ️")
        link.stop()
    counts = _counts(run_id)
    most = busiest(counts)
    jump = Jump("Most jobs", most, f"Interval {most:,}: most jobs wait for admission")
    hint = "Jobs are admitted at intervals only; intervals without a waiting job are not counted"
    number = ADMISSIONS.choose(run, rows, jump, hint)
    stored = float(rows["objective"].astype(float).iloc[number - 1])
    places = ADMISSIONS.bring(run, number, len(rows), lambda one: _interval(one, run, stored), lambda: run.scenario)
    _whole_run(run_id, counts, number)
    ADMISSIONS.how(HOW)
    if places:
        ADMISSIONS.answers.work.follow(places)


@shared
def _counts(run_id: str) -> pd.DataFrame:
    return counts_of(
        decisions(run_id), loaders.jobs(run_id), session.store().segments(run_id), session.store().waits(run_id)
    )


def _interval(one: Admission, run: OpenedRun, stored: float) -> None:
    """Show one interval: banners, sentence, cards, resources, jobs, and what the other rules would do."""
    guard_rails(cautions_of(one, stored if stored == stored else None, run.scenario, stale=run.is_stale))
    if one.worthless:
        _other_unit(run.scenario)
    told = trust.caveats(run.scenario, [run.info.policy])
    sentence(sentence_of(one), told, trust.premises(run.scenario), key="admissions")
    cards(cards_of(one))
    charts.show(room_chart(one, charts.page_theme()), "admit-room")
    _jobs(one, run)
    _besides(one)


def _other_unit(scenario: Scenario) -> None:
    """Offer the scenario with a unit of time in which jobs are worth something, as a new version."""
    unit = useful_unit(scenario)
    if unit and writing.button(f"Count worth in {unit} and run again", key="admit-unit"):
        session.keep(in_unit(scenario, unit), scenario.content_hash)
        session.go("Run")


def _jobs(one: Admission, run: OpenedRun) -> None:
    """Show the jobs by worth for what they reserve, another rule's choice beside, and ways to a job's own pages."""
    st.subheader("Jobs, by worth for what they reserve", anchor=False)
    others = [(beside.rule, beside.admission) for beside in one.besides]
    others.remove((one.rule, one.admission))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        beside = st.selectbox("Compare with", [None, *others], key="admit-beside", width=230, persist_state="session",
                              format_func=lambda rule: named(rule) if rule else "no other rule",
                              help="Which jobs another rule would admit in the same state")  # fmt: skip
        _job_links(one, run)
    frame = jobs_frame(one, beside)
    st.dataframe(
        tables.in_words(frame.head(charts.MAX_TABLE_ROWS), KINDS), hide_index=True, key="admit-jobs", placeholder="–",
        column_config={name: st.column_config.Column(help=text) for name, text in HELP.items()},
        alt=f"{amount(len(frame), 'job')}, by worth for a percent of what each reserves most of",
    )  # fmt: skip
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        charts.csv_button(frame, "admit-jobs")
        st.markdown(f":gray[{SORTED}]")


def _job_links(one: Admission, run: OpenedRun) -> None:
    job = st.selectbox("Job", list(one.jobs), key=f"admit-job-{run.info.run_id}-{one.number}", width=200)
    ADMISSIONS.story_button(job)
    ids = run.scenario.workload.job_id.tolist()
    is_drawn_anew = run.scenario.generator is not None and run.info.seed != 0  # there its name is another job's
    if (
        job in ids
        and not is_drawn_anew
        and st.button("Compare its workers and servers", key="admit-servers", help="Its run time with each number")
    ):
        session.go("Speed-up", part="Parameter servers", job=str(ids.index(job)))


def _besides(one: Admission) -> None:
    """Show what each rule admits in the same state, by first come and by the knapsack."""
    st.subheader("The other rules in the same state", anchor=False)
    frame = besides_frame(one)
    st.dataframe(tables.in_words(frame, KINDS), hide_index=True, key="admit-besides", placeholder="–",
                 alt="; ".join(f"{line.iloc[0]}: {line.iloc[1]} admitted by first come, {line.iloc[3]} by the knapsack"
                               for _, line in frame.iterrows()))  # fmt: skip
    st.markdown(optimus_words(one))


SORTED = "Sorted by worth per 1% of the resource of which a job reserves the largest share; running jobs come last."
HELP = {
    "Outcome": "Admitted, waiting for the next interval, rejected, or running since before",
    "Workers and servers": "What the policy chooses for it",
    "Run time": "From start to completion with these workers and servers, as estimated",
    "Worth": "Its utility when it completes, started now; of running jobs as decided when they started",
    "Reserves most of": "The resource of which its limit is the largest share",
    "Worth per 1%": "Worth for one percent of that resource",
    "Opportunity cost": "What it reserves, at the prices of the linear relaxation. If jobs could be admitted in parts, "
    "those worth more than this would be admitted.",
}


def _whole_run(run_id: str, counts: pd.DataFrame, number: int) -> None:
    """Show jobs admitted, waiting and rejected over the run; a click on a mark opens its interval."""
    st.subheader("The whole run", anchor=False)

    def clicked(customdata: object) -> None:
        value = customdata[0] if isinstance(customdata, list | tuple) else customdata
        if isinstance(value, int | float):
            ADMISSIONS.go_to(run_id, int(value))

    chart = over_run(counts, number, charts.page_theme(), loaders.clock(run_id))
    charts.show(chart, "admit-run", caption=True, on_point=clicked)
    st.markdown(":gray[Click a mark to open its interval.]")


HOW = """
Once per interval the policy looks at every waiting job. It chooses workers and servers for each, within the user's
limit; with them it knows when the job would complete if it started now, and what that is **worth**. Then it admits: by
the **knapsack**, the jobs that are worth most together and whose limits fit what is free, or by **first come**, in
order of submission up to the first that does not fit. An admitted job reserves its user's limit until its end and uses
part of it.

The **bound** is that of the knapsack for the same jobs, workers and servers: no choice of jobs is worth more. Where a
choice reaches it, it is proven to be the best for this interval; over a whole run it may still lose, because future
jobs are unknown.

**What one more unit is worth** comes from the linear relaxation, in which jobs could be admitted in parts, of what was
free before. One more GiB admits no whole job: read it as which resource decides, not as what it would earn.

Jobs that are not admitted wait for the next interval while starting now would keep a share of their worth (a parameter
of the policy); otherwise they are rejected.

A stored run does not hold the state of its intervals: the simulation is repeated up to here, and the three rules are
asked with both admissions in the same state. A banner says where that gives another worth than the run has stored.
Rules other than the run's own use the run's interval and knapsack; SMD, compared with another rule, chooses exactly.
"""
