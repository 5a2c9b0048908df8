import streamlit as st

from dlsched.domain.errors import InputError, StoreError
from dlsched.report.memo import MOST_OPTIONS
from dlsched.ui.frame import futures_numbers, link, page, parts, runs_of, session
from dlsched.ui.plan import memo, memo_build, memo_options
from dlsched.ui.results.compare import follow_runs
from dlsched.wording.formats import amount

if not memo_options.is_wanted():
    follow_runs()
current = page.begin("Memo", url=("scenario", "runs", "base"))
everything = runs_of.series_of(session.runs_of(current.content_hash))
first_runs = [series.run_ids[0] for series in everything]
ticked = session.ticked_runs()
kept = memo_options.kept_of(current)
left, right = st.columns([1, 1.7], gap="medium")

if kept:
    with left:
        condition = memo.condition(current)
    frame = memo_options.frame_of(kept, condition)
    mine = [series for series in everything if set(series.run_ids) & set(ticked)]
    beside = memo_options.beside(current, mine, frame)
    fitting = [one.name for one in beside if memo_options.runs_fit(one, frame, current)]
    with left:
        is_joined = memo.source(ticked, kept_first=len(fitting) == len(beside))
    if is_joined:
        with left:
            options = memo.kept_options(kept, memo_options.beside(current, everything, frame), fitting)
        memo.show_kept(current, options, frame, left, right)
        link.stop()

ticked = ticked or first_runs[:MOST_OPTIONS]
if not ticked:
    parts.empty(
        "This scenario has no runs yet. A memo is written from finished runs, or from answers kept on What if and "
        "Capacity.",
        "Go to Run", lambda: session.go("Run"), "report-empty",
    )  # fmt: skip
    link.stop()
try:
    with left:
        chosen = memo.options(ticked)
except StoreError as error:
    parts.error_box(error)
    if st.button("Use this scenario's runs instead", type="primary", key="report-instead"):
        session.tick([])
        st.rerun()
    link.stop()
if len(chosen) < 2:
    others = [run for run in first_runs if run not in {one for series in chosen for one in series.run_ids}]
    way_on = f"Add the {amount(len(others), 'other policy', 'other policies')}" if others else "Go to Run"
    with left:
        parts.empty(
            f"A memo needs at least two options; only {chosen[0].label} is selected.", way_on,
            lambda: memo.take([*ticked, *others]) if others else session.go("Run"), "report-one",
        )  # fmt: skip
    link.stop()

try:
    numbers = runs_of.numbers_of(chosen)
    plain, known = memo_build.memo_of_runs(chosen, numbers, memo_build.Wanted()), numbers.futures
    with left:
        if known is not None:
            futures_numbers.offer_missing(known, "report")
        names = [run for series in chosen for run in series.run_ids]
        wanted = memo.form(names, plain, has_situations=plain.sensitivity is not None)
    written = memo_build.memo_of_runs(chosen, numbers, wanted)
    with right:
        memo.downloads(written, memo_build.scenario_of(chosen))
        memo.preview(written)
    if known is not None:
        futures_numbers.follow(known)
except InputError as error:
    parts.error_box(error)
    memo.ways_out(chosen)
