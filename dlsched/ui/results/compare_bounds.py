"""One number of the runs that are compared, beside its proven bound."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dlsched.figures.bounds import runs_and_bound
from dlsched.metrics.limits import LIMITS, Limit, common_bound, limited_runs
from dlsched.metrics.stats.compare import Comparison
from dlsched.ui.frame import charts, loaders, runs_of
from dlsched.ui.frame.runs_of import Series
from dlsched.ui.results.compare_view import colours_of


def limits_of(chosen: Sequence[Series]) -> list[Limit]:
    """Return the limits whose bound is known of a run, in their order."""
    metrics = [loaders.metrics(series.run_ids[0]) for series in chosen]
    return [limit for limit in LIMITS if any(limit.bound_key in of and of[limit.bound_key] for of in metrics)]


def bounds_tab(comparison: Comparison, chosen: list[Series]) -> None:
    """Show a chosen number of every run with the bound, over the draws that all of them have."""
    limits = limits_of(chosen)
    if not limits:
        st.info(
            "No number of these runs has a bound that says something. Runs of an older version have none: run again."
        )
        return
    keys = [limit.key for limit in limits]
    key = st.segmented_control("Number", keys, default=keys[0], required=True, key="bound-number",
                               help="Numbers of which no policy can pass a known bound",
                               format_func=lambda key: limits[keys.index(key)].kpi.label)  # fmt: skip
    limit = limits[keys.index(str(key))]
    seeds = runs_of.shared_seeds(chosen)
    draws = [(series.label, [loaders.metrics(series.run_of(seed)) for seed in seeds]) for series in chosen]
    runs = limited_runs(limit, draws, exact=runs_of.are_exact(chosen))
    if not runs:
        st.info(f"No run has {limit.kpi.label} in every draw.")
        return
    word = f", means over {comparison.draws} draws" if comparison.draws > 1 else ""
    charts.show(runs_and_bound(limit, runs, colours_of(chosen), charts.page_theme(), word=word), "bound", caption=True)
    notes = ["The line is proven: no policy gets past it, on these jobs and machines."]
    if any(run.value.half_width for run in runs):
        notes.append(
            "It is the mean of the bounds of the same draws. ± is how much draws differ: an interval may reach past "
            "the line, no draw does."
        )
    if common_bound(runs) is None and len(runs) > 1:
        notes.append("Runs that completed other jobs have other bounds, so each has a line of its own.")
    st.markdown(f":gray[{' '.join(notes)}]")
