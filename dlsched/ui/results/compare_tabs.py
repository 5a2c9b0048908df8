"""The parts of the page Compare below its table: differences, savings, bounds, distributions, who wins, settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from dlsched.figures import compare as figures
from dlsched.figures.bounds import runs_and_bound
from dlsched.figures.costs import cost_split
from dlsched.figures.palette import policy_colour
from dlsched.metrics.fairness_change import fairness_change
from dlsched.metrics.job_classes import groupings_of
from dlsched.metrics.limits import LIMITS, Limit, common_bound, limited_runs
from dlsched.metrics.money import COSTS, cost_key
from dlsched.metrics.savings import RunCost, Saving, Savings, run_costs, saving_words, savings
from dlsched.metrics.stats.compare import Comparison, what_differs
from dlsched.metrics.summary import Metrics
from dlsched.metrics.winners import winners
from dlsched.ui.frame import charts, loaders
from dlsched.ui.frame.runs_of import Series, SeriesNumbers, shared_seeds
from dlsched.ui.frame.text import safe
from dlsched.ui.results import winners as winners_view
from dlsched.wording.counted import counted_of, room_words
from dlsched.wording.formats import amount, capital

FOREST = (
    "wait_p95", "wait_mean", "jct_mean", "slowdown_mean", "late_share", *COSTS, "allocation_ratio",
)  # fmt: skip
QUANTITIES = {"wait_s": "Wait", "jct_s": "Turnaround time"}
MOST_COLUMNS = 6
"""Runs up to which charts are drawn and the table is set as text."""
TABLE_ONLY = ("Savings", "What differs")
"""Parts that are shown of any number of runs."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What is compared: the series, the baseline first, with their numbers by future; ``only_common`` jobs or all."""

    chosen: list[Series]
    numbers: SeriesNumbers
    comparison: Comparison
    only_common: bool = False

    @property
    def told(self) -> list[tuple[str, list[Metrics]]]:
        """Label and numbers that are told by their means: of the recorded month alone where there is one."""
        most = 1 if self.numbers.basis.is_recorded else None
        return [(label, futures[:most]) for label, futures in self.numbers.metrics.items()]

    @property
    def is_exact(self) -> bool:
        """Whether the runs in full say all of the jobs they are about: no draws."""
        return self.numbers.basis.kind != "drawn"

    @property
    def seeds(self) -> list[int]:
        """Seeds of the runs in full that all have: the recorded month alone where there is one."""
        seeds = shared_seeds(self.chosen)
        return seeds[:1] if self.is_exact else seeds

    def one_run(self) -> dict[str, str]:
        """Return the run of each series in the first future that all have in full."""
        return {series.label: series.run_of(self.seeds[0]) for series in self.chosen}

    def say_which(self) -> None:
        """Say of which future a chart is."""
        if self.numbers.basis.is_recorded:
            st.markdown(":gray[The recorded month.]")
        elif not self.is_exact:
            st.markdown(f":gray[Future {self.seeds[0]} only; the table above covers all futures.]")


def colours_of(chosen: list[Series]) -> dict[str, str]:
    """Return label -> colour; a policy keeps its colour on all pages."""
    theme = charts.page_theme()
    used: dict[str, str] = {}
    for series in chosen:
        colour = policy_colour(series.policy, theme)
        free = [mark for mark in theme.marks if mark not in used.values()]
        used[series.label] = colour if colour not in used.values() or not free else free[0]
    return used


def tabs_of(shown: Compared, *, money_first: bool) -> dict[str, Callable[[Compared], None]]:
    """Return the parts that say something of these runs, in their order."""
    tabs: dict[str, Callable[[Compared], None]] = {
        "Savings": savings_tab, "Differences": differences, "Bounds": bounds_tab, "Distributions": distributions,
        "Over time": over_time, "Who gains, who loses": who_wins, "What differs": settings_that_differ,
    }  # fmt: skip
    if shown.only_common or not shown.comparison.row("total_cost"):
        del tabs["Savings"]
    elif not money_first:  # where machines are not rented, times come first
        tabs["Savings"] = tabs.pop("Savings")
    if shown.only_common:  # a bound is about all jobs of a run
        del tabs["Bounds"]
    return {name: tab for name, tab in tabs.items() if len(shown.chosen) <= MOST_COLUMNS or name in TABLE_ONLY}


def differences(shown: Compared) -> None:
    """Show the forest chart."""
    comparison, changes = shown.comparison, []
    base = comparison.baseline
    for key in (key for key in FOREST if key not in COSTS or key == cost_key(comparison)):
        row = comparison.row(key)
        before = row.of(base).value.value if row and row.of(base).value else None  # type: ignore[union-attr]
        if row is None or not before:
            continue
        for cell in row.cells:
            if cell.name == base or cell.delta is None:
                continue
            percent = [100 * share for share in cell.delta.shares_of(before)]
            changes.append(
                figures.Change(
                    row.kpi.label, cell.name, percent[0], percent[1], percent[2], cell.verdict, cell.delta_text
                )
            )
    if not changes:
        st.info("The runs do not differ in these metrics.")
        return
    chart = charts.drawn(figures.forest, changes, colours_of(shown.chosen), charts.page_theme(), base)
    charts.show(chart, "forest")


def distributions(shown: Compared) -> None:
    """Show the distribution of wait or turnaround time over jobs."""
    quantity = str(
        st.segmented_control(
            "Quantity", list(QUANTITIES), default="wait_s", required=True, key="ecdf-quantity",
            format_func=QUANTITIES.__getitem__,
        )
    )  # fmt: skip
    values = {name: loaders.jobs(run)[quantity].to_numpy(float) for name, run in shown.one_run().items()}
    chart = charts.drawn(
        figures.ecdf, values, colours_of(shown.chosen), charts.page_theme(), quantity=QUANTITIES[quantity]
    )
    charts.show(chart, "ecdf", caption=True)
    shown.say_which()


def over_time(shown: Compared) -> None:
    """Show the queue of each run over time."""
    series = {name: loaders.series(run) for name, run in shown.one_run().items()}
    clock = loaders.clock(next(iter(shown.one_run().values())))
    chart = charts.drawn(figures.queues, series, colours_of(shown.chosen), charts.page_theme(), clock)
    charts.show(chart, "queues", caption=True)
    shown.say_which()


def who_wins(shown: Compared) -> None:
    """Show which users, groups or classes of jobs gain and lose, and how fair both runs are."""
    base, others = shown.chosen[0], {series.label: series for series in shown.chosen[1:]}
    facts = loaders.jobs(base.run_ids[0])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Run", list(others), key="wins-run", width=200, help="Compared with the baseline")
        choice = winners_view.choose(groupings_of(facts), winners_view.quantities_of(facts), "wins")
        hide = st.checkbox("Show names as A, B, C", key="wins-hide", help="Hides the names here and in the table")
    runs = [(base.run_of(seed), others[name].run_of(seed)) for seed in shown.seeds]
    pairs = [(loaders.jobs(before), loaders.jobs(after)) for before, after in runs]
    names, exact = (base.label, name), shown.is_exact
    answer = winners(pairs, choice.by, choice.quantity, names=names, exact=exact, noticed=choice.noticed)
    winners_view.show_winners(answer, "wins", hide_names=hide)
    metrics = [(loaders.metrics(before), loaders.metrics(after)) for before, after in runs]
    winners_view.show_fairness(fairness_change(pairs, metrics, names=names, exact=exact))
    winners_view.show_how(shown.numbers.counted)


def settings_that_differ(shown: Compared) -> None:
    """Show only parameters and scenario settings in which the runs differ."""
    settings = {}
    for series in shown.chosen:
        info, scenario = loaders.info(series.run_ids[0]), loaders.scenario_of(series.run_ids[0])
        settings[series.label] = {
            "policy": series.label, "parameter": info.params, "option": scenario.options.model_dump(mode="json"),
            "speed": scenario.speed.model_dump(mode="json"), "cluster": {"nodes": scenario.cluster.num_nodes,
            "size": room_words(scenario.cluster, counted_of(scenario)), "$/h": scenario.cluster.usd_per_h},
            "runs in full": len(series.seeds),
            "code version": info.code_version, "plug-in": info.plugin or None,
        }  # fmt: skip
    rows = pd.DataFrame(what_differs(settings)).rename(columns={"setting": "Setting"})
    rows = rows.map(lambda value: "–" if value is None else str(value))
    st.dataframe(rows, hide_index=True, key="differs", alt=f"{amount(len(rows), 'setting')} in which the runs differ")
    st.markdown(":gray[All other parameters, options and the jobs are the same.]")


def limits_of(chosen: Sequence[Series]) -> list[Limit]:
    """Return the limits whose bound is known of a run, in their order."""
    metrics = [loaders.metrics(series.run_ids[0]) for series in chosen]
    return [limit for limit in LIMITS if any(limit.bound_key in of and of[limit.bound_key] for of in metrics)]


def bounds_tab(shown: Compared) -> None:
    """Show a chosen number of every run with the bound, over the draws that all of them have."""
    limits = limits_of(shown.chosen)
    if not limits:
        st.info("No metric of these runs has a useful bound. Runs made by an older version have none; run them again.")
        return
    keys = [limit.key for limit in limits]
    key = st.segmented_control("Metric", keys, default=keys[0], required=True, key="bound-number",
                               help="Metrics with a limit that no policy can beat",
                               format_func=lambda key: limits[keys.index(key)].kpi.label)  # fmt: skip
    limit = limits[keys.index(str(key))]
    runs = limited_runs(limit, shown.told, exact=shown.is_exact)
    if not runs:
        st.info(f"No run has a value for {limit.kpi.label} in every future.")
        return
    word = "" if shown.is_exact else f", means over {shown.numbers.count} futures"
    chart = charts.drawn(runs_and_bound, limit, runs, colours_of(shown.chosen), charts.page_theme(), word=word)
    charts.show(chart, "bound", caption=True)
    notes = ["The line is proven: no policy can beat it with these jobs and machines."]
    if any(run.value.half_width for run in runs):
        notes.append(
            "It is the mean of the bounds over the same futures. The whiskers show the uncertainty of a mean: they may "
            "cross the line, but no single future does."
        )
    if common_bound(runs) is None and len(runs) > 1:
        notes.append("Runs that completed different jobs have different bounds, so each has its own line.")
    st.markdown(f":gray[{' '.join(notes)}]")


@dataclass(frozen=True, slots=True)
class Costs:
    """What the runs that have prices cost, and what each saves against the others."""

    runs: list[RunCost]
    savings: Savings

    def __bool__(self) -> bool:
        return len(self.runs) > 1


def costs_of(shown: Compared) -> Costs:
    """Return the costs in all futures; empty where fewer than two have prices."""
    metrics, basis = [*shown.numbers.metrics.items()], shown.numbers.basis
    return Costs(run_costs(metrics, basis), savings(metrics, basis))


def savings_tab(shown: Compared) -> None:
    """Show total costs in their parts with the bound, and what each run saves against each other."""
    costs = costs_of(shown)
    if not costs:
        st.info("Savings need at least two runs with a price for every machine.")
        return
    charts.show(charts.drawn(cost_split, costs.runs, charts.page_theme()), "costs", caption=True)
    st.subheader("Cost difference, row vs. column", anchor=False)
    alt = f"Share of the total cost that each of {amount(len(costs.runs), 'run')} saves against the others"
    st.table(saving_table(costs), hide_index=True, border="horizontal", alt=alt)
    colours = "" if shown.is_exact else " Blue saves, orange costs more, grey: too close to call."
    of = "of the recorded month" if shown.numbers.basis.is_recorded else capital(shown.comparison.interval_note)
    st.markdown(
        f":gray[Share of the other policy's total cost, machines and lateness, {of}. A saving is positive.{colours}]"
    )


def saving_table(costs: Costs) -> pd.DataFrame:
    """Return run x other run in markdown: blue saves, orange costs more, grey too close to call."""
    names = [cost.name for cost in costs.runs]
    return pd.DataFrame(
        [
            {"Policy": safe(name, 40)}
            | {
                f"against {safe(other, 30)}": "–" if other == name else _saving(costs.savings.get((name, other)))
                for other in names
            }
            for name in names
        ]
    )


def _saving(of: Saving | None) -> str:
    text = saving_words(of)
    if of is None or of.change.verdict == "rough":
        return text
    if of.change.verdict == "same":
        return ":gray[same]"
    colour = ("blue" if of.share > 0 else "orange") if of.is_told else "gray"
    return f":{colour}[{text}]"
