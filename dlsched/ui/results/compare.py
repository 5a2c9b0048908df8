"""The page Compare: table with differences and the best marked, savings, bounds, distributions, over time, who wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Scenario
from dlsched.figures import compare as figures
from dlsched.figures.bounds import runs_and_bound
from dlsched.figures.costs import cost_split
from dlsched.figures.palette import policy_colour
from dlsched.metrics.fairness_change import fairness_change
from dlsched.metrics.findings import compare_sentence
from dlsched.metrics.job_classes import groupings_of
from dlsched.metrics.limits import LIMITS, Limit, common_bound, limited_runs
from dlsched.metrics.money import COSTS, RENTED, cost_key
from dlsched.metrics.savings import RunCost, Saving, Savings, run_costs, saving_words, savings, savings_sentence
from dlsched.metrics.stats.compare import Cell, Comparison, check_same_workload, common_jobs, what_differs
from dlsched.metrics.summary import Metrics
from dlsched.metrics.winners import winners
from dlsched.ui.frame import charts, loaders, page, parts, runs_of, session
from dlsched.ui.frame.runs_of import Series, shared_seeds
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import what_if_form, what_if_state
from dlsched.ui.results import winners as winners_view
from dlsched.ui.scenario import trust
from dlsched.wording.cautions import cautions, comparison_cautions
from dlsched.wording.formats import amount, capital, count
from dlsched.workload.import_report import in_seconds, offered_load

FOREST = (
    "wait_p95", "wait_mean", "jct_mean", "slowdown_mean", "late_share", *COSTS, "allocation_ratio",
)  # fmt: skip
TABLE_ROWS = (
    "completed", "rejected", "unfinished", "wait_p95", "wait_p50", "not_running_mean", "jct_mean", "slowdown_mean",
    "late_share", "tardiness_cost", "utility_total", *COSTS, "allocation_ratio", "goodput", "preemptions", "resizes",
)  # fmt: skip
MONEY_ROWS = ("completed", *RENTED, "tardiness_cost", "late_share", "idle_cost")
"""What comes first where the policy rents the machines, of the same jobs."""
COLOURS = {"better": "blue", "worse": "orange", "same": "gray", "not clear": "gray", "rough": "gray"}
QUANTITIES = {"wait_s": "Wait", "jct_s": "Time in system"}
MOST_COLUMNS = 6
"""Runs up to which charts are drawn and the table is set as text."""


TABLE_ONLY = ("Savings", "What differs")
"""Parts that are shown of any number of runs."""


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
        everything = runs_of.series_of(session.runs_of(current.content_hash))
        if len(everything) > 1:
            ticked = [series.run_ids[0] for series in everything][:MOST_COLUMNS]
            session.tick(ticked)
            session.write_url("runs", "base")
    if len(ticked) < 2:
        why = "A comparison needs two runs or more. Run several policies on this scenario, or tick runs on Runs."
        parts.empty(why, "Go to Run", lambda: session.go("simulate/run.py"), "compare-empty")
        st.stop()
    try:
        chosen = runs_of.chosen_of(ticked)
    except StoreError as error:
        parts.error_box(error)
        with st.container(horizontal=True):
            if st.button("Import an export file", key="compare-import"):
                session.go("simulate/runs.py")
            if st.button("Compare the runs of this scenario instead", type="primary", key="compare-instead"):
                session.tick([])
                st.rerun()
        st.stop()
    if len(chosen) < 2:
        why = "These runs are draws of one policy. Run another policy on this scenario to compare them."
        parts.empty(why, "Go to Run", lambda: session.go("simulate/run.py"), "compare-one")
        st.stop()
    return chosen


def _require_common_jobs(chosen: Sequence[Series], scenarios: Mapping[str, Scenario]) -> None:
    """Stop the page where the runs are of unlike jobs, unless the reader compares those that are in all of them."""
    # Jobs that were drawn have the same ids in every draw, but are not the same jobs.
    is_drawn = any(scenario.generator for scenario in scenarios.values())
    common = 0 if is_drawn else common_jobs({series.label: loaders.jobs(series.run_ids[0]) for series in chosen})[0]
    with parts.mistakes_shown():
        workloads = {name: scenario.workload for name, scenario in scenarios.items()}
        check_same_workload([(name, jobs.content_hash, len(jobs)) for name, jobs in workloads.items()], common)
    if not common or not st.toggle(f"Compare the {amount(common, 'common job')}", key="only-common"):
        if st.button("Choose other runs", type="primary", key="compare-choose"):
            session.go("simulate/runs.py")
        st.stop()


def _show_comparison(chosen: list[Series], scenario: Scenario, *, is_same: bool) -> None:
    """Show banners, sentence, ways on, the table, and the parts; ``is_same``: the runs are of the same jobs."""
    base, is_rented = chosen[0], scenario.cluster.free_slots
    only_common = bool(st.session_state.get("only-common"))
    comparison = runs_of.compared_common(chosen, base)[1] if only_common else runs_of.compared(chosen, base)
    comparison = replace(comparison, rents=is_rented)
    seed = shared_seeds(chosen)[0]
    metrics = {series.label: loaders.metrics(series.run_of(seed)) for series in chosen}
    common = common_jobs({series.label: loaders.jobs(series.run_of(seed)) for series in chosen})[0]
    completed = {name: int(values["completed"] or 0) for name, values in metrics.items()}
    warnings = comparison_cautions(completed, common, {name: of.get("makespan") for name, of in metrics.items()})
    notes = [] if is_rented else [one for one in warnings if one.level == "info"]  # there a longer run costs no more
    warnings = [] if only_common else [one for one in warnings if one.level != "info"]
    overload = cautions(scenario, load=offered_load(in_seconds(scenario), scenario.cluster))
    parts.guard_rails([*(one for one in overload if one.level != "info"), *warnings])
    costs = costs_of(chosen)
    saved = sentence_of_savings(comparison, costs) if is_rented and not only_common else ""
    caveats = trust.caveats(scenario, [series.policy for series in chosen], resampled=comparison.basis.days > 0)
    premises = trust.premises(scenario, list(metrics.values()))
    parts.sentence(saved or compare_sentence(comparison), caveats, premises, key="compare")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _choose_baseline(chosen)
        if is_same and any(done != common for done in completed.values()):
            st.toggle(f"Only the {amount(common, 'job')} all runs completed", key="only-common",
                      help="Means over unlike sets of jobs mislead; this compares the same jobs")  # fmt: skip
        st.space("stretch")
        best = cheapest(costs) if saved else most_stars(comparison)
        _ways_on(base, next((series for series in chosen if series.label == best), base), scenario)
    table(comparison, money_first=bool(saved))
    for one in notes:
        st.markdown(f":gray[{one.text} {one.action}.]")
    tabs = _tabs(comparison, len(chosen), only_common=only_common, money_first=bool(saved))
    part = st.segmented_control("Part", list(tabs), default=next(iter(tabs)), required=True, key="ctab",
                                bind="query-params", label_visibility="collapsed")  # fmt: skip
    tabs[part](comparison, chosen)


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
                 help="Change nodes, demand and more under the baseline's policy"):  # fmt: skip
        what_if_state.open_about(base.run_ids[0], more)
    if st.button("Write memo", key="compare-memo", help="One page for the person who decides: HTML, PPTX, XLSX"):
        session.go("plan/report.py")
    if st.button(f"Why? Open {best.label}", type="primary", key="compare-next", help="The result of this run"):
        session.look_at_run(best.run_ids[0])
        session.go("results/result.py", run=best.run_ids[0])


def _tabs(
    comparison: Comparison, num_runs: int, *, only_common: bool, money_first: bool
) -> dict[str, Callable[[Comparison, list[Series]], None]]:
    """Return the parts that say something of these runs, in their order."""
    tabs: dict[str, Callable[[Comparison, list[Series]], None]] = {
        "Savings": savings_tab, "Differences": differences, "Bounds": bounds_tab, "Distributions": distributions,
        "Over time": over_time, "Who wins, who loses": who_wins, "What differs": settings_that_differ,
    }  # fmt: skip
    if only_common or not comparison.row("total_cost"):
        del tabs["Savings"]
    elif not money_first:  # where machines are not rented, times come first
        tabs["Savings"] = tabs.pop("Savings")
    if only_common:  # a bound is about all jobs of a run
        del tabs["Bounds"]
    return {name: tab for name, tab in tabs.items() if num_runs <= MOST_COLUMNS or name in TABLE_ONLY}


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
    first = MONEY_ROWS if money_first else ()
    rest = (key for key in TABLE_ROWS if key not in COSTS or key == cost_key(comparison))
    keys = dict.fromkeys((*first, *rest))
    rows = [row for key in keys if (row := comparison.row(key)) is not None]
    same = [
        row for row in rows
        if row.kpi.key != "completed" and all(cell.verdict in ("same", "baseline") for cell in row.cells)
    ]  # fmt: skip
    differ = [row for row in rows if row not in same]
    headings = {name: safe(name, 40) for name in comparison.names}
    headings[comparison.baseline] += " (B)"
    records = [
        {"Number": row.kpi.label} | {headings[cell.name]: _cell_words(cell) for cell in row.cells} for row in differ
    ]
    alt = f"{count(len(differ))} numbers of {amount(len(comparison.names), 'run')}; differences from the baseline"
    if len(comparison.names) <= MOST_COLUMNS:
        st.table(pd.DataFrame(records), hide_index=True, border="horizontal", alt=alt)
    else:
        st.dataframe(pd.DataFrame(records), hide_index=True, key="compare-table", alt=alt)
    folded = " · ".join(f"{row.kpi.label} {row.cells[0].text}" for row in same)
    folded = f" The same in all runs: {dollars(folded)}." if same else ""
    has_star = any(cell.best for row in differ for cell in row.cells)
    star = "★ best of its row, ties share the star." if has_star else ""
    st.markdown(
        f":gray[(B) is the baseline, the others show their difference; {comparison.interval_note}. {star}{folded}]"
    )


def _cell_words(cell: Cell) -> str:
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
    clock = loaders.clock(next(iter(_one_draw(chosen).values())))
    chart = figures.queues(series, colours_of(chosen), charts.page_theme(), clock)
    charts.show(chart, "queues", caption=True)
    _say_one_draw(comparison)


def _one_draw(chosen: list[Series]) -> dict[str, str]:
    """Return the run of each series in the first draw that all of them have."""
    seed = shared_seeds(chosen)[0]
    return {series.label: series.run_of(seed) for series in chosen}


def _say_one_draw(comparison: Comparison) -> None:
    if comparison.futures > 1:
        st.markdown(f":gray[Of the first of {comparison.futures} futures; the table above uses all of them.]")


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
    names, exact = (base.label, name), comparison.basis.is_exact
    answer = winners(pairs, choice.by, choice.quantity, names=names, exact=exact, noticed=choice.noticed)
    winners_view.show_winners(answer, "wins", hide_names=hide)
    metrics = [(loaders.metrics(before), loaders.metrics(after)) for before, after in runs]
    winners_view.show_fairness(fairness_change(pairs, metrics, names=names, exact=exact))
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
    if hashes and not any(scenario_hash.startswith(looked_at) for scenario_hash in hashes):
        st.query_params.pop("scenario", None)
        st.session_state[session.SCENARIO] = hashes[0]


def _metrics_by_draw(chosen: Sequence[Series]) -> list[tuple[str, list[Metrics]]]:
    """Return label and metrics of each draw that all series have."""
    seeds = shared_seeds(list(chosen))
    return [(series.label, [loaders.metrics(series.run_of(seed)) for seed in seeds]) for series in chosen]


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
    runs = limited_runs(limit, _metrics_by_draw(chosen), exact=runs_of.are_exact(chosen))
    if not runs:
        st.info(f"No run has {limit.kpi.label} in every draw.")
        return
    word = f", means over {comparison.futures} futures" if comparison.futures > 1 else ""
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


@dataclass(frozen=True, slots=True)
class Costs:
    """What the runs that have prices cost, and what each saves against each other."""

    runs: list[RunCost]
    savings: Savings

    def __bool__(self) -> bool:
        return len(self.runs) > 1


def costs_of(chosen: Sequence[Series]) -> Costs:
    """Return the costs over the draws that all series have; empty where fewer than two have prices."""
    metrics = _metrics_by_draw(chosen)
    basis = runs_of.basis_of_series(chosen, len(runs_of.shared_seeds(list(chosen))))
    return Costs(run_costs(metrics, basis), savings(metrics, basis))


def sentence_of_savings(comparison: Comparison, costs: Costs) -> str:
    """Return what each run saves against the baseline; "" where the baseline has no cost."""
    if not costs or comparison.baseline not in {cost.name for cost in costs.runs}:
        return ""
    return savings_sentence(costs.runs, costs.savings, comparison.baseline, comparison.certainty)


def cheapest(costs: Costs) -> str:
    """Return the run with the least total cost."""
    return min(costs.runs, key=lambda cost: cost.total.value).name


def savings_tab(comparison: Comparison, chosen: list[Series]) -> None:
    """Show total costs in their parts with the bound, and what each run saves against each other."""
    costs = costs_of(chosen)
    if not costs:
        st.info("Fewer than two of these runs have a price for every machine, so no saving can be told.")
        return
    charts.show(cost_split(costs.runs, charts.page_theme()), "costs", caption=True)
    st.subheader("Cost difference, row vs. column", anchor=False)
    alt = f"Share of the total cost that each of {amount(len(costs.runs), 'run')} saves against the others"
    st.table(saving_table(costs), hide_index=True, border="horizontal", alt=alt)
    colours = " Blue saves, orange costs more, grey: not clear."
    sure = f"{capital(comparison.interval_note)}.{colours if comparison.futures > 1 else ''}"
    st.markdown(f":gray[Share of the other run's total cost, machines and lateness. {sure}]")


def saving_table(costs: Costs) -> pd.DataFrame:
    """Return run x other run in markdown: blue saves, orange costs more, grey not to be told."""
    names = [cost.name for cost in costs.runs]
    return pd.DataFrame(
        [
            {"Run": safe(name, 40)}
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
