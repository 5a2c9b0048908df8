"""Inside a run that admits jobs at prices: prices by machine and slot, one job, bookings, all jobs."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dlsched.figures.dual_prices import bookings_chart, price_map, price_parts
from dlsched.store.runs import RunInfo
from dlsched.studies.inspect.dual_prices import HINDSIGHT_STUDY, STUDY, DualPricesSpec, why_not
from dlsched.studies.inspect.dual_prices.answer import Hindsight, JobDecision, PricedRun
from dlsched.studies.inspect.dual_prices.words import (
    cards_of,
    cautions_of,
    hindsight_words,
    jobs_frame,
    more_of,
    premises_of,
    reckoning_of,
    sentence_of,
    signed_small,
)
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.frame import charts, loaders, tables, writing
from dlsched.ui.frame.parts import cards, guard_rails, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.results.decision_inspector import Inspector, OpenedRun
from dlsched.ui.results.jobs import choose, chosen_row
from dlsched.ui.scenario import trust
from dlsched.ui.study_page import bring
from dlsched.wording.formats import amount
from dlsched.wording.resources import RESOURCE_WORDS
from dlsched.workload.studies.pd_ors import sample_slotted_jobs

DEMO_POLICIES = ("pd-ors-drf", "pd-ors-fifo", "oasis", "pd-ors")
"""The one that the page opens with comes last: it is the newest run then."""


HINDSIGHT = Answers(HINDSIGHT_STUDY)
DUAL_PRICES = Inspector(
    title="Prices and admissions",
    answers=Answers(STUDY, prefix="price"),
    policies=DualPricesSpec.policies,
    run_demo="Set prices: booked machines (5 s)",
    demo_help="50 jobs that book time on 30 machines at prices, under four policies",
    demo=lambda: (sample_slotted_jobs(), DEMO_POLICIES),
)


def dual_prices_part(run: OpenedRun) -> None:
    """Show the prices of a run, and the jobs that were admitted or rejected at them."""
    spec = STUDY.read_spec(run.question)
    work = DUAL_PRICES.answers.work
    places = bring(
        DUAL_PRICES.answers, spec, lambda shown: _whole_run(shown.answer, run),
        lambda: DUAL_PRICES.answers.ask([spec], run.scenario, "Prices"),
    )  # fmt: skip
    if not places and DUAL_PRICES.answers.stored_id(spec) is not None:
        work = HINDSIGHT.work
        places = _hindsight(spec, run)
    DUAL_PRICES.how(HOW)
    if places:
        work.follow(places)


def _whole_run(run: PricedRun, opened: OpenedRun) -> None:
    """Show the run: banners, sentence, cards, prices, the chosen job, bookings, and all jobs."""
    if not run.first_decisions:
        st.info("No job came to this run: there was nothing to decide.", icon="ℹ️")
        return
    info = opened.info
    one, jobs = _chosen(run, info), loaders.jobs(info.run_id)
    rejected = set(jobs.loc[jobs["status"] == "rejected", "row"].tolist())
    guard_rails(cautions_of(run, rejected, stale=opened.is_stale))
    own = premises_of(opened.scenario.assumptions)
    told = trust.caveats(opened.scenario, [info.policy])
    sentence(sentence_of(run, one), told, [*own, *trust.premises(opened.scenario)], key="prices")
    cards(cards_of(run, loaders.metrics(info.run_id).get("utility_total")))
    _prices(run, one)
    _job(run, one, info)
    _bookings(run, one)
    _jobs(run, one, info)


def _chosen(run: PricedRun, info: RunInfo) -> JobDecision:
    """Return the decision about the job that is looked at, the same as in Result; a telling one where there is none."""
    row = chosen_row(info.scenario_hash)
    one = run.decision_of(row) if row is not None else None
    if one is None:
        return run.telling()
    if st.query_params.get("job") != str(one.row):
        st.query_params["job"] = str(one.row)
    return one


def _prices(run: PricedRun, one: JobDecision) -> None:
    """Show the prices that the chosen job met, of one resource."""
    names = {place: RESOURCE_WORDS[name] for place, name in enumerate(run.resources)}
    dearest = run.dearest(one)
    place = st.segmented_control(
        "Price of", list(names), default=dearest.resource if dearest else 0, required=True,
        key=f"price-of-{one.number}", format_func=names.__getitem__,
        help="As the chosen job met them, before it was booked itself",
    )  # fmt: skip
    chart = price_map(run, one, place, charts.page_theme())
    if chart is not None:
        charts.show(chart, "price-map", caption=True)
    elif one.best is None and one.why:
        st.info(f"No prices were looked at for {safe(one.job)}: it could not finish even on empty machines.", icon="ℹ️")
    else:
        st.info("The run is so large that prices are kept of its first decisions only.", icon="ℹ️")


def _job(run: PricedRun, one: JobDecision, info: RunInfo) -> None:
    """Show one job's reckoning, what its price is made of, and the way to its story."""
    st.subheader(safe(reckoning_of(one), 300), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        rows = [decided.row for decided in run.first_decisions]
        names = {decided.row: decided.job for decided in run.first_decisions}
        picked = st.selectbox("Job", rows, index=rows.index(one.row), key=f"price-job-{info.run_id}-{one.row}",
                              width=200, format_func=names.__getitem__)  # fmt: skip
        if picked != one.row:
            choose(info.scenario_hash, picked)
            st.rerun()
        DUAL_PRICES.story_button(one.job)
    if more := more_of(one):
        st.markdown(safe(more, 600))
    chart = price_parts(run, one, charts.page_theme())
    if chart is not None:
        charts.show(chart, "price-parts")


def _bookings(run: PricedRun, one: JobDecision) -> None:
    """Show what is booked on each machine."""
    st.subheader("Bookings by machine", anchor=False)
    chart = bookings_chart(run, one.row, charts.page_theme())
    if chart is None:
        st.markdown(":gray[Nothing is booked: no job was admitted.]")
    else:
        charts.show(chart, "price-bookings", caption=True)


def _jobs(run: PricedRun, one: JobDecision, info: RunInfo) -> None:
    """Show all jobs; a ticked row is looked at."""
    st.subheader("All jobs", anchor=False)
    frame = jobs_frame(run)
    shown = frame.head(charts.MAX_TABLE_ROWS)
    event = st.dataframe(
        tables.in_words(shown, dict.fromkeys(PRICES, signed_small)), hide_index=True, on_select="rerun",
        key=f"price-jobs-{info.run_id}", placeholder="–", selection_mode="single-row",
        column_config={name: st.column_config.Column(help=text) for name, text in HELP.items()},
        alt=f"{amount(len(frame), 'job')} with worth, price and outcome",
    )  # fmt: skip
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        charts.csv_button(frame, "price-jobs")
        more = f" First {len(shown):,} of {len(frame):,}; the CSV has all." if len(frame) > len(shown) else ""
        st.markdown(f":gray[Tick a row to see why; click a heading to sort.{more}]")
    rows = event.selection.rows
    seen = st.session_state.get("price-ticked")
    st.session_state["price-ticked"] = (info.run_id, tuple(rows))
    if rows and seen != (info.run_id, tuple(rows)):  # a tick that stays does not undo a choice made elsewhere
        picked = run.first_decisions[rows[0]].row
        if picked != one.row:
            choose(info.scenario_hash, picked)
            st.rerun()


PRICES = ("Worth", "Price", "Payoff", "Payoff of the alternative")
HELP = {
    "First slot": "First slot it could use; slot 1 is that of the first decision",
    "Worth": "Its utility at the end of its best schedule",
    "Price": "What the machines of that schedule cost when it came",
    "Payoff": "Worth less price; admitted where above 0",
    "Payoff of the alternative": "Of the best schedule with another last slot",
    "On a single machine": "Slots in which all of the job is on one machine",
}


def _hindsight(spec: DualPricesSpec, run: OpenedRun) -> dict[str, Any]:
    """Show how far the run is from the best in hindsight, or why that is not computed; return where progress goes."""
    st.subheader("Best in hindsight", anchor=False)
    if why := why_not(run.scenario, int(run.info.params["horizon_slots"])):
        st.markdown(f":gray[This comparison needs a very small run. {why}]")
        return {}
    work = HINDSIGHT.work
    begins = HINDSIGHT.stored_id(spec) is None and not work.is_waiting() and not work.ended()
    if begins and not writing.button(
        "Compute the best in hindsight", key="price-hindsight", help="Searches all plans of all jobs"
    ):
        return {}

    def show(shown: Shown[DualPricesSpec, Hindsight]) -> None:
        st.markdown(safe(hindsight_words(shown.answer), 400))

    return bring(
        HINDSIGHT, spec, show, lambda: HINDSIGHT.ask([spec], run.scenario, "Best in hindsight"), at_once=begins,
    )  # fmt: skip


HOW = """
When a job arrives, every resource of every machine has a **price** in every slot to come: low where nothing is booked,
rising by the same factor with every share that is booked, up to what the best-paying job would give for it. The policy
looks for the cheapest schedule that ends in each slot. What the job is **worth** then, less what the schedule costs, is
its payoff; the best one counts. Above 0 the job is admitted and its machines are booked, for good; else it is
rejected.

The prices shown are those that the chosen job met, before it was booked itself. Prices of different resources are
compared for the same share of what all machines have.

**On a single machine**: all workers and servers of the job are on one machine in that slot and use its faster links.
**Spread**: over several machines.

A stored run does not hold its prices: the simulation is repeated and every decision is kept. A banner tells where that
gives another outcome than the run has stored. Bookings are as decided; what a failure, a cancellation or an early end
gave back is on the Timeline of the run.
"""
