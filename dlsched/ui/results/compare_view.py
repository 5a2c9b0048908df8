"""Compare runs: table with deltas and best marked, differences, distributions, over time, who wins, what differs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.figures import compare as figures
from dlsched.figures.palette import policy_colour
from dlsched.metrics.fairness_change import fairness_change
from dlsched.metrics.job_classes import groupings_of
from dlsched.metrics.stats.compare import Cell, Comparison, Row, what_differs
from dlsched.metrics.winners import winners
from dlsched.ui.frame import charts, loaders, session
from dlsched.ui.frame.runs_of import Series, shared_seeds
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.results import winners_view
from dlsched.wording.formats import amount, count

FOREST = (
    "wait_p95", "wait_mean", "jct_mean", "slowdown_mean", "late_share", "cost_month", "total_cost", "allocation_ratio",
)  # fmt: skip
TABLE_ROWS = (
    "completed", "rejected", "unfinished", "wait_p95", "wait_p50", "not_running_mean", "jct_mean", "slowdown_mean",
    "late_share", "tardiness_cost", "utility_total", "vm_cost", "cost_month", "total_cost", "idle_cost",
    "allocation_ratio", "goodput", "preemptions", "resizes",
)  # fmt: skip
MONEY_ROWS = ("completed", "total_cost", "vm_cost", "tardiness_cost", "late_share", "idle_cost")
"""What comes first where the policy rents the machines. A cost per month of the time in which jobs arrive would flatter
a policy that rents little then and runs the jobs later."""
COLOURS = {"better": "blue", "worse": "orange", "same": "gray", "not distinguishable": "gray", "rough": "gray"}
QUANTITIES = {"wait_s": "Wait", "jct_s": "Time in system"}
MOST_COLUMNS = 6
"""Runs up to which charts are drawn and the table is set as text."""


def colours_of(chosen: list[Series]) -> dict[str, str]:
    """Return label -> colour; a policy keeps its colour on all pages."""
    theme = charts.page_theme()
    used: dict[str, str] = {}
    for series in chosen:
        colour = policy_colour(series.policy, theme)
        free = [mark for mark in theme.marks if mark not in used.values()]
        used[series.label] = colour if colour not in used.values() or not free else free[0]
    return used


def table(comparison: Comparison, *, money_first: bool = False) -> None:
    """Show metric x run: the baseline's value, and the difference of each other run with its interval and word."""
    keys = [key for key in TABLE_ROWS if key not in MONEY_ROWS and key != "cost_month"] if money_first else TABLE_ROWS
    keys = [*MONEY_ROWS, *keys] if money_first else keys
    rows = [row for key in keys if (row := comparison.row(key)) is not None]
    shown = [row for row in rows if row.kpi.key == "completed" or not _is_same(row)]
    records = [
        {"Number": row.kpi.label, **{_heading(cell.name, comparison): _words(cell) for cell in row.cells}}
        for row in shown
    ]
    alt = f"{count(len(shown))} numbers of {amount(len(comparison.names), 'run')}; differences from the baseline"
    if len(comparison.names) <= MOST_COLUMNS:
        st.table(pd.DataFrame(records), hide_index=True, border="horizontal", alt=alt)
    else:
        st.dataframe(pd.DataFrame(records), hide_index=True, key="compare-table", alt=alt)
    same = [f"{row.kpi.label} {row.cells[0].text}" for row in rows if row not in shown]
    folded = f" The same in all runs: {dollars(' · '.join(same))}." if same else ""
    star = "★ best of its row, shared where the draws do not tell runs apart." if _has_star(shown) else ""
    st.markdown(
        f":gray[(B) is the baseline, the others show the difference from it; {_draws(comparison)}. {star}{folded}]"
    )


def _is_same(row: Row) -> bool:
    return all(cell.verdict in ("same", "baseline") for cell in row.cells)


def _has_star(rows: list[Row]) -> bool:
    return any(cell.best for row in rows for cell in row.cells)


def _draws(comparison: Comparison) -> str:
    if comparison.exact:
        return "exact for this trace, nothing is random"
    if comparison.draws == 1:
        return "1 draw, so no intervals"
    return f"± is 95% over {comparison.draws} paired draws"


def _heading(name: str, comparison: Comparison) -> str:
    return f"{safe(name, 40)} (B)" if name == comparison.baseline else safe(name, 40)


def _words(cell: Cell) -> str:
    """Return a cell in markdown: blue better, orange worse, grey where nothing can be told; best in bold."""
    text = dollars(cell.delta_text or cell.text)
    if cell.best:
        text = f"**{text}** ★"
    colour = COLOURS.get(cell.verdict)
    return f":{colour}[{text}]" if colour else text


def differences(comparison: Comparison, chosen: list[Series]) -> None:
    """Show the forest chart."""
    base = comparison.baseline
    changes = []
    for key in FOREST:
        row = comparison.row(key)
        before = row.of(base).value.mean if row and row.of(base).value else None  # type: ignore[union-attr]
        if row is None or not before:
            continue
        for cell in row.cells:
            if cell.name == base or cell.delta is None or cell.delta.mean is None:
                continue
            low = cell.delta.mean if cell.delta.low is None else cell.delta.low
            high = cell.delta.mean if cell.delta.high is None else cell.delta.high
            percent = [100 * value / abs(before) for value in (cell.delta.mean, low, high)]
            changes.append(
                figures.Change(
                    row.kpi.label, cell.name, percent[0], percent[1], percent[2], cell.verdict, cell.delta_text
                )
            )
    if not changes:
        st.info("The runs do not differ in these numbers.")
        return
    chart = figures.forest(changes, colours_of(chosen), charts.page_theme(), base)
    charts.show(chart, "forest")


def distributions(comparison: Comparison, chosen: list[Series]) -> None:
    """Show the distribution of wait or time in system over jobs."""
    quantity = str(
        st.segmented_control(
            "Quantity", list(QUANTITIES), default="wait_s", required=True, key="ecdf-quantity",
            format_func=QUANTITIES.__getitem__,
        )
    )  # fmt: skip
    values = {name: loaders.jobs(run)[quantity].to_numpy(float) for name, run in _one_draw(chosen).items()}
    chart = figures.ecdf(values, colours_of(chosen), charts.page_theme(), quantity=QUANTITIES[quantity])
    charts.show(chart, "ecdf", caption=True)
    _say_one_draw(comparison)


def over_time(comparison: Comparison, chosen: list[Series]) -> None:
    """Show the queue of each run over time."""
    series = {name: loaders.series(run) for name, run in _one_draw(chosen).items()}
    chart = figures.queues(series, colours_of(chosen), charts.page_theme())
    charts.show(chart, "queues", caption=True)
    _say_one_draw(comparison)


def _one_draw(chosen: list[Series]) -> dict[str, str]:
    """Return the run of each series in the first draw that all of them have."""
    seed = shared_seeds(chosen)[0]
    return {series.label: series.run_of(seed) for series in chosen}


def _say_one_draw(comparison: Comparison) -> None:
    if comparison.draws > 1:
        st.markdown(f":gray[Of the first of {comparison.draws} draws; the table above uses all of them.]")


def who_wins(comparison: Comparison, chosen: list[Series]) -> None:
    """Show which users, groups or classes of jobs gain and lose, and how fair both runs are."""
    base, others = chosen[0], {series.label: series for series in chosen[1:]}
    facts = loaders.jobs(base.run_ids[0])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Run", list(others), key="wins-run", width=200, help="Compared with the baseline")
        choice = winners_view.choose(groupings_of(facts), winners_view.quantities_of(facts), "wins")
        hide = st.checkbox("Show names as A, B, C", key="wins-hide", help="Hides who is who, here and in the table")
    runs = [(base.run_of(seed), others[name].run_of(seed)) for seed in shared_seeds(chosen)]
    pairs = [(loaders.jobs(before), loaders.jobs(after)) for before, after in runs]
    names = (base.label, name)
    answer = winners(pairs, choice.by, choice.quantity, names=names, exact=comparison.exact, noticed=choice.noticed)
    winners_view.show_winners(answer, "wins", hide_names=hide)
    metrics = [(loaders.metrics(before), loaders.metrics(after)) for before, after in runs]
    winners_view.show_fairness(fairness_change(pairs, metrics, names=names, exact=comparison.exact))
    winners_view.show_how()


def settings_that_differ(comparison: Comparison, chosen: list[Series]) -> None:
    """Show only parameters and scenario settings in which the runs differ."""
    settings = {}
    for series in chosen:
        info, scenario = loaders.info(series.run_ids[0]), loaders.scenario_of(series.run_ids[0])
        settings[series.label] = {
            "policy": series.label, "parameter": info.params, "option": scenario.options.model_dump(mode="json"),
            "speed": scenario.speed.model_dump(mode="json"), "cluster": {"nodes": scenario.cluster.num_nodes,
            "GPUs": scenario.cluster.num_gpus, "$/h": scenario.cluster.usd_per_h}, "draws": len(series.seeds),
            "code version": info.code_version,
        }  # fmt: skip
    rows = pd.DataFrame(what_differs(settings)).rename(columns={"setting": "Setting"})
    rows = rows.map(lambda value: "–" if value is None else str(value))
    st.dataframe(rows, hide_index=True, key="differs", alt=f"{amount(len(rows), 'setting')} in which the runs differ")
    st.markdown(":gray[All other parameters, options and the jobs are the same.]")


def most_stars(comparison: Comparison) -> str:
    """Return the run that is best in most numbers; the baseline when none is best in any."""
    stars = {name: sum(row.of(name).best for row in comparison.rows) for name in comparison.names}
    best = max(stars, key=lambda name: (stars[name], name == comparison.baseline))
    return best if stars[best] else comparison.baseline


def follow_runs() -> None:
    """Look at the scenario of the runs that are compared, so that the scenario bar does not name another."""
    named = st.query_params.get("runs")
    ids = sorted(named.split(","), key=lambda run: run != st.query_params.get("base")) if named else None
    hashes = []
    for run in session.ticked_runs() if ids is None else ids:
        try:
            hashes.append(session.store().run_info(run).scenario_hash)
        except StoreError:
            continue
    looked_at = st.query_params.get("scenario") or st.session_state.get(session.SCENARIO) or "none"
    if hashes and not any(known.startswith(looked_at) for known in hashes):
        st.query_params.pop("scenario", None)
        st.session_state[session.SCENARIO] = hashes[0]
