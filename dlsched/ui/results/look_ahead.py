"""Inside a run that plans ahead: the choice of a decision, the decision itself, waiting jobs, and the whole run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.figures.bars import REASONS
from dlsched.figures.look_ahead import decision_times, plan_chart, widths_over_time
from dlsched.studies.inspect.look_ahead import STUDY, LookAheadSpec, StoredRun, StoredWidths
from dlsched.studies.inspect.look_ahead.answer import LookAhead, changes_at, unit_of
from dlsched.studies.inspect.look_ahead.words import (
    cards_of,
    cautions_of,
    named_of,
    order_of,
    sentence_of,
    unlike,
    waiting_of,
)
from dlsched.ui.answers import Answers
from dlsched.ui.frame import charts, link, loaders, session
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.parts import cards, guard_rails, sentence
from dlsched.ui.results.decision_inspector import DecisionInspector, Jump, OpenedRun, decisions
from dlsched.ui.scenario import trust
from dlsched.wording.formats import amount, duration
from dlsched.workload.studies.modelarts import sample_elastic

OPTIMAL, GREEDY = LookAheadSpec.policies


LOOK_AHEAD = DecisionInspector[LookAhead](
    title="Look-ahead",
    answers=Answers(STUDY, prefix="look"),
    policies=LookAheadSpec.policies,
    run_demo="Plan ahead: elastic training (1 min)",
    demo_help="447 jobs that change their GPU count, on 110 nodes, under two policies that plan their widths",
    demo=lambda: (sample_elastic(), LookAheadSpec.policies),
    spec=LookAheadSpec,
)


def look_ahead_part(run: OpenedRun) -> None:
    """Show the decisions of a run about the widths of its jobs."""
    run_id, rows = run.info.run_id, decisions(run.info.run_id)
    if rows.empty:
        st.info("This run decided nothing about widths: it was over before the first decision.", icon="ℹ️")
        link.stop()
    busiest = _busiest(run_id)
    jump = Jump("Largest change", busiest, f"Decision {busiest:,}: most nodes change hands")
    number = LOOK_AHEAD.choose(run, rows, jump, "Widths change every few minutes; between, jobs only start")
    row = rows.iloc[number - 1]
    places = LOOK_AHEAD.bring(
        run, number, len(rows), lambda one: _decision(one, run, row),
        lambda: StoredRun(run.scenario, StoredWidths.of(rows, _pieces(run_id))),
    )  # fmt: skip
    _whole_run(run, rows, row)
    LOOK_AHEAD.how(HOW)
    if places:
        LOOK_AHEAD.answers.work.follow(places)


@shared
def _pieces(run_id: str) -> pd.DataFrame:
    """Return the run's pieces, as metrics.tables.segments_of."""
    return session.store().segments(run_id)


@shared
def _busiest(run_id: str) -> int:
    """Return the decision at which most workers change hands, the first of them."""
    changes = changes_at(_pieces(run_id), decisions(run_id)["time_s"].to_numpy(float))
    return int(np.argmax(changes)) + 1


def _decision(one: LookAhead, run: OpenedRun, row: pd.Series) -> None:
    """Show one decision: banners, sentence, cards, the plan with greedy's widths beside it, and who waits."""
    follows, unit = run.info.policy == OPTIMAL, unit_of(run.scenario)
    guard_rails(cautions_of(one, _number(row["objective"]), stale=run.is_stale, follows_plan=follows))
    told = trust.caveats(run.scenario, [run.info.policy])
    sentence(sentence_of(one, unit, follows_plan=follows), told, trust.premises(run.scenario), key="look-ahead")
    cards(cards_of(one, _number(row["cpu_s"]), follows_plan=follows))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(f"{one.status or 'no solver'}, {one.method or 'no jobs to plan'}", color="gray",
                 help="What the solver says of the plan, and how it was found")  # fmt: skip
        st.badge(f"greedy: {one.scenarios or 'nothing to do'}", color="gray", help=SCENARIOS)
        st.badge(f"1 of {amount(one.steps, 'step')} of {duration(one.step_s)} is carried out", color="gray",
                 help="Then everything is planned again with what has changed since")  # fmt: skip
        if others := unlike(one, follows_plan=follows):
            st.badge(f"{amount(others, 'job')} not as decided", color="orange", help=UNLIKE)
    rows, always = order_of(one, follows_plan=follows)
    if len(rows) > always and st.toggle(
        f"Show all {len(rows):,} jobs",
        key="look-all",
        help="Shown first: jobs that change now or differ between the plans",
    ):
        always = len(rows)
    if rows:
        chart = plan_chart(one, rows[:always], charts.page_theme(), unit=unit, follows_plan=follows)
        charts.show(chart, "look-plan", caption=True)
        if always < len(rows):
            st.markdown(f":gray[{amount(len(rows) - always, 'more job')} not shown.]")
        _jobs(one, run.info.run_id, rows[:always])
    _waiting(one, run.info.run_id, follows_plan=follows)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None


def _jobs(one: LookAhead, run_id: str, rows: list[int]) -> None:
    """Offer the story of one of the jobs shown; first the one that the sentence names."""
    named = named_of(one)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        job = st.selectbox("Job", [one.jobs[row] for row in rows], index=rows.index(named) if named in rows else 0,
                           key=f"look-job-{run_id}-{one.number}", width=230)  # fmt: skip
        LOOK_AHEAD.story_button(job)


UNLIKE = (
    "Fewer than decided where no nodes had room for as many; more where the decision leaves idle what a job holds, or "
    "where a job of the queue starts with what is left."
)
SCENARIOS = (
    "1: idle nodes go to the queue. 2: no job waits, the youngest job grows. 3: a job waits, the oldest job that can "
    "be is halved. 4: nothing to do."
)


def _waiting(one: LookAhead, run_id: str, *, follows_plan: bool) -> None:
    """Show which jobs wait after the decision, with the reason that the policy recorded."""
    mine, _ = waiting_of(one, follows_plan=follows_plan)
    if not mine:
        return
    waits = session.store().waits(run_id)
    now = waits[(waits["from_s"] <= one.time_s + 1e-6) & (waits["to_s"] > one.time_s + 1e-6)]
    others = one.greedy if follows_plan else one.first
    other = dict(zip(one.jobs, others, strict=True))
    frame = pd.DataFrame(
        {
            "job": now["job_id"],
            "reason recorded": [REASONS.get(str(reason), str(reason)) for reason in now["reason"]],
            ("with greedy" if follows_plan else "with the plan"): [other.get(str(job), 0) for job in now["job_id"]],
        }
    )
    with st.expander(f"{amount(mine, 'job')} {'waits' if mine == 1 else 'wait'} after this decision", key="look-waits"):
        st.markdown(":gray[Reasons are those the policy recorded. The last column: workers the other allocator gives.]")
        st.dataframe(frame, hide_index=True, key="look-waiting", placeholder="–",
                     alt=f"{amount(len(frame), 'waiting job')} with the recorded reason")  # fmt: skip
        charts.csv_button(frame, "look-waiting")


def _whole_run(run: OpenedRun, rows: pd.DataFrame, row: pd.Series) -> None:
    """Show the time that decisions took, or the nodes held by jobs of each width over time."""
    st.subheader("The whole run", anchor=False)
    unit = unit_of(run.scenario)
    labels = {"time": "Time of decisions", "widths": f"{unit.capitalize()}s over time"}
    look_at = st.segmented_control("Look at", list(labels), default="time", required=True, key="look-at",
                                   format_func=labels.__getitem__)  # fmt: skip
    if look_at == "time":
        chart = decision_times(rows, charts.page_theme(), float(row["cpu_s"]))
    else:
        cluster = run.scenario.cluster
        most = cluster.num_nodes if unit == "node" and not cluster.free_slots else None
        chart = widths_over_time(
            _pieces(run.info.run_id), most, charts.page_theme(), float(row["time_s"]), unit=unit,
            clock=loaders.clock(run.info.run_id),
        )  # fmt: skip
    charts.show(chart, f"look-{look_at}", caption=True)


HOW = """
The optimal allocator looks at all jobs that run and at the queue in order, as far as their smallest widths fit
together. For each of the next steps it chooses a width for each job; the **objective** adds, over jobs and steps, the
share of the job's remaining work that is done by then. Only the first step is carried out; a few minutes later all is
planned anew.

The **bound** is a value no plan of this decision can pass. A plan is called optimal only where objective and bound meet
within 0.001%. It is the best plan for the next steps by what is believed of the jobs, not the best run.

What is decided is then placed on nodes, first who shrinks, then who starts, then who grows. Where jobs take parts of
nodes, or nodes differ, there may be no room for as many as decided: the picture then shows what jobs got beside it.

The greedy allocator sees the same jobs and nodes at the same moment. Where the run is its own, the plan is what the
optimal allocator would have done in its place.

A stored run does not hold the state of its decisions: the simulation is repeated up to here, with the widths that are
stored, and both allocators are asked again. A banner tells where that gives another plan than the run has stored.
"""
