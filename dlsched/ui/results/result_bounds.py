"""What proven bounds leave to gain on the numbers of a result: a chart with a sentence for each, and badges."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dlsched.figures.bounds import bounds_of_run
from dlsched.metrics.limits import COST, Limited, all_limited
from dlsched.ui.frame import charts
from dlsched.ui.frame.text import dollars
from dlsched.wording.formats import Number, amount

ASSUMED = (
    "The bounds let every job run at its best width on the fastest machine and pay the cheapest one, let all GPUs "
    "(CPUs, memory) be one that is shared without loss and never down, and forget all that keeps jobs apart. So less "
    "may be left to gain than they say, never more."
)
MOST_BADGES = 2


def bounds_part(metrics: Mapping[str, Number]) -> None:
    """Show the numbers with a bound beside it, what is left to gain, and what the bounds rest on."""
    st.subheader("Bounds", anchor=False)
    found = all_limited(metrics)
    if not found:
        st.markdown(":gray[No number of this run has a bound that says something.]")
        return
    charts.show(bounds_of_run(found, charts.page_theme()), "bounds")
    st.markdown(dollars("\n".join(f"- {one.limit.kpi.label}: {one.words} (proven)." for one in found)))
    left_out = int(metrics.get("jobs") or 0) - int(metrics.get("completed") or 0)
    jobs = ""
    if left_out:
        jobs = (
            f" {amount(left_out, 'job')} did not complete here: bounds on time in system are about the others, and a "
            "policy that completes other jobs has another bound."
        )
    st.markdown(f":gray[{ASSUMED}{jobs}]")


def badges(metrics: Mapping[str, Number], *, without_cost: bool) -> list[Limited]:
    """Return what badges say: the bounds on what the run is about, cost and service, at most :data:`MOST_BADGES`.

    ``without_cost``: the sentence of the page tells it already.
    """
    found = {one.limit.key: one for one in all_limited(metrics) if not (without_cost and one.limit == COST)}
    order = (COST.key, "utility_total", "tardiness_total", "jct_mean")
    return [found[key] for key in order if key in found][:MOST_BADGES]
