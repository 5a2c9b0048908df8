"""What runs save against each other on Compare: total costs in their parts, the bound, and every pair of policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from dlsched.figures.costs import cost_split
from dlsched.metrics.savings import RunCost, Savings, run_costs, saving_words, savings, savings_sentence
from dlsched.metrics.stats.compare import Comparison
from dlsched.metrics.stats.intervals import Interval
from dlsched.ui.frame import charts, loaders, runs_of
from dlsched.ui.frame.runs_of import Series
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import amount

SAME_SHARE = 5e-4


@dataclass(frozen=True, slots=True)
class Costs:
    """What the runs that have prices cost, and what each saves against each other."""

    runs: list[RunCost]
    savings: Savings

    def __bool__(self) -> bool:
        return len(self.runs) > 1


def costs_of(chosen: Sequence[Series]) -> Costs:
    """Return the costs over the draws that all series have; empty where fewer than two have prices."""
    seeds = runs_of.shared_seeds(list(chosen))
    draws = [(series.label, [loaders.metrics(series.run_of(seed)) for seed in seeds]) for series in chosen]
    exact = runs_of.are_exact(chosen)
    return Costs(run_costs(draws, exact=exact), savings(draws, exact=exact))


def sentence(comparison: Comparison, costs: Costs) -> str:
    """Return what each run saves against the baseline; "" where the baseline has no cost."""
    if not costs or comparison.baseline not in {cost.name for cost in costs.runs}:
        return ""
    row = comparison.row("total_cost")
    cells = [cell for cell in row.cells if cell.verdict in ("better", "worse")] if row else []
    dollars = {cell.name: cell.delta.mean for cell in cells if cell.delta is not None}
    return savings_sentence(costs.runs, costs.savings, comparison.baseline, comparison.certainty(), dollars)


def cheapest(costs: Costs) -> str:
    """Return the run with the least mean total cost."""
    return min(costs.runs, key=lambda cost: cost.total.mean).name


def savings_tab(comparison: Comparison, chosen: list[Series]) -> None:
    """Show total costs in their parts with the bound, and what each run saves against each other."""
    costs = costs_of(chosen)
    if not costs:
        st.info("Fewer than two of these runs have a price for every machine, so no saving can be told.")
        return
    charts.show(cost_split(costs.runs, charts.page_theme()), "costs", caption=True)
    st.subheader("What the run of a row saves against the one of a column", anchor=False)
    alt = f"Share of the total cost that each of {amount(len(costs.runs), 'run')} saves against the others"
    st.table(saving_table(costs), hide_index=True, border="horizontal", alt=alt)
    st.markdown(f":gray[Share of the other run's total cost, machines and lateness. {_sure(comparison)}]")


def saving_table(costs: Costs) -> pd.DataFrame:
    """Return run x other run in markdown: blue saves, orange costs more, grey not to be told."""
    names = [cost.name for cost in costs.runs]
    return pd.DataFrame(
        [
            {"Run": safe(name, 40)}
            | {
                f"against {safe(other, 30)}": "–" if other == name else _words(costs.savings.get((name, other)))
                for other in names
            }
            for name in names
        ]
    )


def _words(of: Interval | None) -> str:
    text = saving_words(of)
    if of is None or of.half_width is None:
        return text
    if abs(of.mean) < SAME_SHARE and not of.half_width:
        return ":gray[same]"
    if not of.tells_apart():
        return f":gray[{text}]"
    return f":blue[{text}]" if of.mean > 0 else f":orange[{text}]"


def _sure(comparison: Comparison) -> str:
    if comparison.exact:
        return "Exact for this trace, nothing is random."
    if comparison.draws == 1:
        return "1 draw, so no intervals: rough."
    pairs = f"Mean over {comparison.draws} paired draws, ± is 95%"
    return f"{pairs}; blue saves, orange costs more, grey: the draws do not tell the two apart."
