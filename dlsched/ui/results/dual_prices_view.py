"""What the page Prices and admissions shows: the run, prices by machine and slot, one job, bookings, all jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.dual_prices import bookings_chart, price_map, price_parts
from dlsched.store.runs import RunInfo
from dlsched.studies.inspect.dual_prices import why_not
from dlsched.studies.inspect.dual_prices.answer import Decided, Hindsight, PricedRun
from dlsched.studies.inspect.dual_prices.words import (
    cards_of,
    chips_of,
    guards_of,
    hindsight_words,
    jobs_frame,
    more_of,
    reckoning_of,
    sentence_of,
)
from dlsched.ui.frame import charts, loaders, session
from dlsched.ui.frame.parts import cards, chips, guard_rails, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.results import dual_prices_work, result_job
from dlsched.wording.formats import amount
from dlsched.wording.gangs import RESOURCE_WORDS


def choose_run(info: RunInfo, found: pd.DataFrame) -> None:
    """Show the runs there are; start the page anew when another one is picked."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if (picked := dual_prices_work.REPLAYS.pick_run(found, info.run_id)) != info.run_id:
            session.look_at_run(picked)
            st.rerun()
        st.space("stretch")
        if st.button("Open the Gantt of this run", type="primary", key="price-gantt"):
            session.look_at_run(info.run_id)
            session.go("results/result.py", tab="Gantt")


def whole_run(run: PricedRun, info: RunInfo, scenario: Scenario, *, stale: bool) -> None:
    """Show the run: banners, sentence, cards, prices, the chosen job, bookings, and all jobs."""
    if not run.first_decisions:
        st.info("No job came to this run: there was nothing to decide.", icon="ℹ️")
        return
    one = _chosen(run, info)
    jobs = loaders.jobs(info.run_id)
    guard_rails(guards_of(run, set(jobs.loc[jobs["status"] == "rejected", "row"].tolist()), stale=stale))
    sentence(sentence_of(run, one))
    cards(cards_of(run, loaders.metrics(info.run_id).get("utility_total")))
    _prices(run, one)
    chips(chips_of(scenario.assumptions), "prices")
    _job(run, one, info)
    _bookings(run, one)
    _jobs(run, one, info)


def _chosen(run: PricedRun, info: RunInfo) -> Decided:
    """Return the decision about the job that is looked at, the same as in Result; a telling one where there is none."""
    row = result_job.chosen_row(info.scenario_hash)
    one = run.decision_of(row) if row is not None else None
    if one is None:
        return run.telling()
    if st.query_params.get("job") != str(one.row):
        st.query_params["job"] = str(one.row)
    return one


def _prices(run: PricedRun, one: Decided) -> None:
    """Show the prices that the chosen job met, of one resource."""
    names = {place: RESOURCE_WORDS[name] for place, name in enumerate(run.resources)}
    found = run.dearest(one)
    place = st.segmented_control(
        "Price of", list(names), default=found.resource if found else 0, required=True, key=f"price-of-{one.number}",
        format_func=names.__getitem__, help="As the chosen job met them, before it was booked itself",
    )  # fmt: skip
    chart = price_map(run, one, place, charts.page_theme())
    if chart is not None:
        charts.show(chart, "price-map", caption=True)
    elif one.best is None and one.why:
        st.info(f"No prices were looked at for {safe(one.job)}: it could not finish even on empty machines.", icon="ℹ️")
    else:
        st.info("The run is so large that prices are kept of its first decisions only.", icon="ℹ️")


def _job(run: PricedRun, one: Decided, info: RunInfo) -> None:
    """Show one job's reckoning, what its price is made of, and the way to its story."""
    st.subheader(safe(reckoning_of(one), 300), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        rows = [decided.row for decided in run.first_decisions]
        names = {decided.row: decided.job for decided in run.first_decisions}
        picked = st.selectbox("Job", rows, index=rows.index(one.row), key=f"price-job-{info.run_id}-{one.row}",
                              width=200, format_func=names.__getitem__)  # fmt: skip
        if picked != one.row:
            result_job.choose(info.scenario_hash, picked)
            st.rerun()
        if st.button("Read its story", key="price-story", help="Why it waited, where it ran, when it was done"):
            dual_prices_work.REPLAYS.story(info.run_id, one.job)
    if more := more_of(one):
        st.markdown(safe(more, 600))
    chart = price_parts(run, one, charts.page_theme())
    if chart is not None:
        charts.show(chart, "price-parts")


def _bookings(run: PricedRun, one: Decided) -> None:
    """Show what is booked on each machine."""
    st.subheader("Bookings by machine", anchor=False)
    chart = bookings_chart(run, one.row, charts.page_theme())
    if chart is None:
        st.markdown(":gray[Nothing is booked: no job was admitted.]")
    else:
        charts.show(chart, "price-bookings", caption=True)


def _jobs(run: PricedRun, one: Decided, info: RunInfo) -> None:
    """Show all jobs; a ticked row is looked at."""
    st.subheader("All jobs", anchor=False)
    frame = jobs_frame(run)
    shown = frame.head(charts.MAX_TABLE_ROWS)
    event = st.dataframe(
        shown, hide_index=True, key=f"price-jobs-{info.run_id}", placeholder="–", on_select="rerun",
        selection_mode="single-row", column_config=_formats(),
        alt=f"{amount(len(frame), 'job')} with worth, price and outcome",
    )  # fmt: skip
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.download_button("CSV", lambda: charts.csv(frame), file_name="price-jobs.csv", mime="text/csv",
                           key="csv-price-jobs", type="tertiary", on_click="ignore")  # fmt: skip
        more = f" First {len(shown):,} of {len(frame):,}; the CSV has all." if len(frame) > len(shown) else ""
        st.markdown(f":gray[Tick a row to see why; click a heading to sort.{more}]")
    rows = event.selection.rows
    seen = st.session_state.get("price-ticked")
    st.session_state["price-ticked"] = (info.run_id, tuple(rows))
    if rows and seen != (info.run_id, tuple(rows)):  # a tick that stays does not undo a choice made elsewhere
        picked = run.first_decisions[rows[0]].row
        if picked != one.row:
            result_job.choose(info.scenario_hash, picked)
            st.rerun()


HELP = {
    "arrives, slot": "First slot it could use; slot 1 is that of the first decision",
    "worth": "Its utility at the end of its best schedule",
    "price": "What the machines of that schedule cost when it came",
    "payoff": "Worth less price; admitted where above 0",
    "alternative, payoff": "Of the best schedule with another last slot",
    "together": "Slots in which all of the job is on one machine",
}


def _formats() -> Mapping[str, Any]:
    numbers = ("worth", "price", "payoff", "alternative, payoff")
    found = {name: st.column_config.NumberColumn(format="%.4g", help=HELP.get(name)) for name in numbers}
    return {name: found.get(name, st.column_config.Column(help=text)) for name, text in HELP.items()}


def hindsight(info: RunInfo, scenario: Scenario, horizon: int) -> dict[str, Any]:
    """Show how far the run is from the best in hindsight, or why that is not computed; return where progress goes."""
    st.subheader("Best in hindsight", anchor=False)
    if why := why_not(scenario, horizon):
        st.markdown(f":gray[Computed for tiny cases only. {why}]")
        return {}

    def show(plain: Mapping[str, Any]) -> None:
        found = Hindsight(**{field.name: plain[field.name] for field in fields(Hindsight)})
        st.markdown(safe(hindsight_words(found), 400))

    work = dual_prices_work.HINDSIGHT
    waits = dual_prices_work.answer("hindsight", info) is None and not work.is_waiting() and not work.ended()
    if waits and not st.button(
        "Compute the best in hindsight", key="price-hindsight", help="All plans of all jobs, as if they had been known"
    ):
        return {}
    return dual_prices_work.bring("hindsight", info, work, show, at_once=waits)


def how() -> None:
    """Show how the page comes to its numbers."""
    with st.expander("How it is computed", key="price-how"):
        st.markdown(HOW)


HOW = """
When a job arrives, every resource of every machine has a **price** in every slot to come: low where nothing is booked,
rising by the same factor with every share that is booked, up to what the best-paying job would give for it. The policy
looks for the cheapest schedule that ends in each slot. What the job is **worth** then, less what the schedule costs, is
its payoff; the best one counts. Above 0 the job is admitted and its machines are booked, for good; else it is turned
away.

The prices shown are those that the chosen job met, before it was booked itself. Prices of different resources are
compared for the same share of what all machines have.

**Together**: all workers and servers of the job are on one machine in that slot and use its faster links. **Spread**:
over several machines.

A stored run does not hold its prices: the simulation is repeated and every decision is kept. A banner tells where that
gives another outcome than the run has stored. Bookings are as decided; what a failure, a cancellation or an early end
gave back is in the Gantt of the run.
"""
