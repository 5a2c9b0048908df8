"""The page Compare: a picture of three numbers, a table of values with the best marked, and the parts below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Scenario
from dlsched.figures.compare_bars import policy_bars
from dlsched.metrics.findings import compare_sentence
from dlsched.metrics.kpi import KPI
from dlsched.metrics.money import COSTS, RENTED, cost_key
from dlsched.metrics.savings import savings_sentence
from dlsched.metrics.stats.compare import Cell, Comparison, Row, check_same_workload, count_common_jobs
from dlsched.ui.frame import charts, futures_numbers, link, loaders, page, parts, runs_of, session
from dlsched.ui.frame.futures import futures_of
from dlsched.ui.frame.runs_of import Series
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import what_if_form, what_if_state
from dlsched.ui.results import cards
from dlsched.ui.results.compare_tabs import MOST_COLUMNS, Compared, Costs, colours_of, costs_of, tabs_of
from dlsched.ui.scenario import trust
from dlsched.wording.cautions import cautions, comparison_cautions
from dlsched.wording.certainty import range_words
from dlsched.wording.formats import amount, capital, count
from dlsched.wording.settings import VARY_LABELS
from dlsched.workload.import_report import in_seconds, offered_load

TABLE_ROWS = (
    "completed", "rejected", "unfinished", "wait_p95", "wait_mean", "wait_p50", "not_running_p95", "not_running_mean",
    "jct_mean", "slowdown_mean", "late_share", "tardiness_cost", "utility_total", *COSTS, "energy_kwh", "energy_usd",
    "carbon_kg", "allocation_ratio", "goodput", "preemptions", "resizes",
)  # fmt: skip
MONEY_ROWS = ("completed", *RENTED, "tardiness_cost", "late_share", "idle_cost")
"""What comes first where the policy rents the machines, of the same jobs."""
ONE_LINE_COLUMNS = 3
"""Policies up to which range and verdict stand in one line."""
NEW_LINE = "  \n"
PICTURES = 3
ELSE_PICTURED = ("wait_p95", "wait_mean", "slowdown_mean", "goodput")
"""What takes the place of a number of the picture that these runs do not have."""
COLOURS = {"better": "blue", "worse": "orange", "same": "gray", "not clear": "gray", "rough": "gray"}


def compare_page() -> None:
    """Show the page."""
    follow_runs()
    current = page.begin("Compare", url=("scenario", "runs", "base"), assumed=False)
    chosen = _chosen_runs(current)
    scenarios = {series.label: loaders.scenario_of(series.run_ids[0]) for series in chosen}
    is_same = len({scenario.workload.content_hash for scenario in scenarios.values()}) == 1
    if not is_same:
        _require_common_jobs(chosen, scenarios)
    with parts.mistakes_shown():
        _show_comparison(chosen, scenarios[chosen[0].label], is_same=is_same)


def _chosen_runs(current: Scenario) -> list[Series]:
    """Return the ticked runs, else one of each policy; stop the page, with a way on, where there are not two."""
    ticked = session.ticked_runs()
    if not ticked:
        everything = runs_of.series_on(current.content_hash)
        if len(everything) > 1:
            ticked = [series.run_ids[0] for series in everything][:MOST_COLUMNS]
            session.tick(ticked)
            session.write_url("runs", "base")
    if len(ticked) < 2:
        why = "A comparison needs at least two runs. Run several policies, or select runs under Run > History."
        parts.empty(why, "Go to Run", lambda: session.go("Run"), "compare-empty")
        link.stop()
    try:
        chosen = runs_of.chosen_of(ticked)
    except StoreError as error:
        parts.error_box(error)
        with st.container(horizontal=True):
            if st.button("Import an export file", key="compare-import"):
                session.go("Run", part="History")
            if st.button("Compare this scenario's runs instead", type="primary", key="compare-instead"):
                session.tick([])
                st.rerun()
        link.stop()
    if len(chosen) < 2:
        why = "All these runs use one policy. Run another policy on this scenario to compare them."
        parts.empty(why, "Go to Run", lambda: session.go("Run"), "compare-one")
        link.stop()
    return chosen


def _require_common_jobs(chosen: Sequence[Series], scenarios: Mapping[str, Scenario]) -> None:
    """Stop the page where the runs are of unlike jobs, unless the reader compares those that are in all of them."""
    # Jobs that were drawn have the same ids in every draw, but are not the same jobs.
    is_drawn = any(scenario.generator for scenario in scenarios.values())
    common = 0 if is_drawn else count_common_jobs({series.label: loaders.jobs(series.run_ids[0]) for series in chosen})
    with parts.mistakes_shown():
        workloads = {name: scenario.workload for name, scenario in scenarios.items()}
        check_same_workload([(name, jobs.content_hash, len(jobs)) for name, jobs in workloads.items()], common)
    if not common or not st.toggle(f"Compare the {amount(common, 'job')} they share", key="only-common"):
        if st.button("Choose other runs", type="primary", key="compare-choose"):
            session.go("Run", part="History")
        link.stop()


def _show_comparison(chosen: list[Series], scenario: Scenario, *, is_same: bool) -> None:
    """Show banners, sentence, next steps, the table, and the parts; ``is_same``: the runs are of the same jobs."""
    base, is_rented = chosen[0], scenario.cluster.free_slots
    only_common = bool(st.session_state.get("only-common"))
    numbers = runs_of.numbers_of(chosen)
    comparison = runs_of.compared_common(chosen, base)[1] if only_common else numbers.comparison(base.label)
    comparison = replace(comparison, rents=scenario.cluster.rents)
    shown = Compared(chosen, numbers, comparison, only_common)
    one_run = shown.one_run()
    metrics = {label: loaders.metrics(run) for label, run in one_run.items()}
    common = count_common_jobs({label: loaders.jobs(run) for label, run in one_run.items()})
    completed = {name: int(values["completed"] or 0) for name, values in metrics.items()}
    warnings = comparison_cautions(completed, common, {name: of.get("makespan") for name, of in metrics.items()})
    notes = [] if is_rented else [one for one in warnings if one.level == "info"]  # there a longer run costs no more
    warnings = [] if only_common else [one for one in warnings if one.level != "info"]
    overload = cautions(scenario, load=offered_load(in_seconds(scenario), scenario.cluster))
    parts.guard_rails([*(one for one in overload if one.level != "info"), *warnings])
    costs = costs_of(shown)
    saved = sentence_of_savings(comparison, costs) if is_rented and not only_common else ""
    caveats = trust.caveats(scenario, [series.policy for series in chosen], resampled=comparison.basis.days > 0)
    premises = trust.premises(scenario, list(metrics.values()))
    parts.sentence(saved or compare_sentence(comparison), caveats, premises, key="compare")
    if numbers.futures is not None and not only_common:
        futures_numbers.offer_missing(numbers.futures, "compare")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _choose_baseline(chosen)
        if is_same and any(done != common for done in completed.values()):
            st.toggle(f"Only the {amount(common, 'job')} completed in every run", key="only-common",
                      help="Averages over different sets of jobs mislead; this compares the same jobs")  # fmt: skip
        st.space("stretch")
        best = cheapest(costs) if saved else most_stars(comparison)
        _ways_on(base, next((series for series in chosen if series.label == best), base), scenario)
    if len(chosen) <= MOST_COLUMNS and (pictured := picture_rows(shown, rented=is_rented)):
        charts.show(
            charts.drawn(policy_bars, comparison, pictured, colours_of(chosen), charts.page_theme()), "policies"
        )
    table(comparison, money_first=bool(saved))
    for one in notes:
        st.markdown(f":gray[{one.text} {one.action}.]")
    usual = futures_of(scenario, base.policy)
    if usual.are_replays and usual != futures_of(scenario):
        st.markdown(
            f":gray[The values above are of one replay of this log. What if and `dlsched compare` tell means of "
            f"{len(usual.seeds)}, as Slurm depends on a second here and there. To see these here too, choose "
            f"{amount(usual.count, 'future')} and *{VARY_LABELS['shaking']}* under the futures in the scenario bar.]"
        )
    tabs = tabs_of(shown, money_first=bool(saved))
    tabs[parts.part_of_page(tabs)](shown)
    if numbers.futures is not None and not only_common:
        futures_numbers.follow(numbers.futures)


def _choose_baseline(chosen: Sequence[Series]) -> None:
    labels, base = [series.label for series in chosen], chosen[0]
    picked = st.selectbox("Baseline", labels, key=f"baseline-{base.run_ids[0]}", width=230,
                          format_func=lambda label: f"Baseline: {label}", label_visibility="collapsed")  # fmt: skip
    if picked != base.label:
        first = chosen[labels.index(picked)].run_ids
        session.tick(sorted(session.ticked_runs(), key=lambda run: run not in first))
        st.rerun()


def _ways_on(base: Series, best: Series, scenario: Scenario) -> None:
    """Show the ways to What if, to the memo and to the run that is best."""
    more = what_if_form.more_nodes(scenario, 2)
    if st.button("What if: 2 more nodes" if more else "What if …", key="compare-whatif",
                 help="Change nodes, demand and more, starting from the baseline"):  # fmt: skip
        what_if_state.open_about(base.run_ids[0], more)
    if st.button("Write memo", key="compare-memo", help="A one-page memo for decision makers: HTML, PPTX, XLSX"):
        session.go("Memo")
    if st.button(f"Open {best.label}", type="primary", key="compare-next", help="See why: the details of this run"):
        session.look_at_run(best.run_ids[0])
        session.go("Run details", run=best.run_ids[0])


def picture_rows(shown: Compared, *, rented: bool) -> list[Row]:
    """Return the three numbers of the picture: waits, lateness and money, as they suit the jobs and the policies."""
    comparison = shown.comparison
    metrics = dict(shown.numbers.metrics[comparison.baseline][0])
    for key in ("preemptions", "other_width_share"):  # one policy that does it is enough for all to be told alike
        metrics[key] = max((futures[0].get(key) or 0 for futures in shown.numbers.metrics.values()), default=0)
    keys = [cost_key(comparison) or key if key == "total_cost" else key for key in cards.card_keys(metrics)[:PICTURES]]
    keys = ["total_cost", keys[1], keys[0]] if rented and metrics.get("total_cost") is not None else keys
    rows = {row.kpi.key: row for key in (*keys, *ELSE_PICTURED) if (row := comparison.row(key)) is not None}
    return list(rows.values())[:PICTURES]


def table(comparison: Comparison, *, money_first: bool = False) -> None:
    """Show metric x policy: values first, their ranges small and grey, and the verdict against the baseline."""
    first = MONEY_ROWS if money_first else ()
    rest = (key for key in TABLE_ROWS if key not in COSTS or key == cost_key(comparison))
    keys = dict.fromkeys((*first, *rest))
    rows = [row for key in keys if (row := comparison.row(key)) is not None]
    rows = [row for row in rows if not _repeats_wait(row, comparison)]
    same = [
        row for row in rows
        if row.kpi.key != "completed" and all(cell.verdict in ("same", "baseline") for cell in row.cells)
    ]  # fmt: skip
    differ = [row for row in rows if row not in same]
    headings = {name: safe(name, 40) for name in comparison.names}
    headings[comparison.baseline] += " (B)"
    columns = len(comparison.names)
    records = [
        {"Metric": row.kpi.label} | {headings[cell.name]: _cell_words(row.kpi, cell, columns) for cell in row.cells}
        for row in differ
    ]
    alt = f"{count(len(differ))} metrics of {amount(len(comparison.names), 'policy', 'policies')}, with their ranges"
    if columns > MOST_COLUMNS:
        st.dataframe(pd.DataFrame(records), hide_index=True, key="compare-table", alt=alt)
    else:
        st.table(pd.DataFrame(records), hide_index=True, border="horizontal", alt=alt)
    folded = " · ".join(f"{row.kpi.label} {row.cells[0].text}" for row in same)
    folded = f" The same for all: {dollars(folded)}." if same else ""
    has_star = any(cell.best for row in differ for cell in row.cells)
    star = " ★ best; ties share the star." if has_star else ""
    st.markdown(
        f":gray[{capital(comparison.interval_note)}. Better and worse are against the baseline (B).{star}{folded}]"
    )


def _repeats_wait(row: Row, comparison: Comparison) -> bool:
    """Whether a row repeats the wait, as it does where no job is ever stopped."""
    wait = comparison.row({"not_running_p95": "wait_p95", "not_running_mean": "wait_mean"}.get(row.kpi.key, ""))
    return wait is not None and all(one.value == other.value for one, other in zip(row.cells, wait.cells, strict=True))


def _cell_words(kpi: KPI, cell: Cell, columns: int) -> str:
    """Return a cell in markdown: the value, a star where it is best, then range and verdict in small."""
    if cell.value is None:
        return "–"
    value = dollars(kpi.show(cell.value.value)) + (" ★" if cell.best else "")
    if columns > MOST_COLUMNS:
        return value
    small = [f":gray[{dollars(around)}]"] if (around := range_words(kpi.kind, cell.value.low, cell.value.high)) else []
    if cell.delta is not None:
        verdict = (cell.told.verdict or cell.told.size).replace(" from this trace", "")
        small.append(f":{COLOURS.get(cell.verdict, 'gray')}[{dollars(verdict)}]")
    small = small if columns > ONE_LINE_COLUMNS else [" · ".join(small)] * bool(small)
    return NEW_LINE.join([f"**{value}**" if cell.best else value, *(f":small[{line}]" for line in small)])


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
    if ids and not hashes:
        link.misread("runs", "base")
        session.tick([])
    looked_at = st.query_params.get("scenario") or st.session_state.get(session.SCENARIO) or "none"
    if hashes and not any(scenario_hash.startswith(looked_at) for scenario_hash in hashes):
        st.query_params.pop("scenario", None)
        st.session_state[session.SCENARIO] = hashes[0]


def sentence_of_savings(comparison: Comparison, costs: Costs) -> str:
    """Return what each run saves against the baseline; "" where the baseline has no cost."""
    if not costs or comparison.baseline not in {cost.name for cost in costs.runs}:
        return ""
    return savings_sentence(costs.runs, costs.savings, comparison.baseline, comparison.certainty)


def cheapest(costs: Costs) -> str:
    """Return the run with the least total cost."""
    return min(costs.runs, key=lambda cost: cost.total.value).name
