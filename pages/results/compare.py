import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.metrics.findings import compare_sentence
from dlsched.metrics.stats.compare import check_same_workload, common_jobs
from dlsched.policies.registry import find
from dlsched.ui.frame import loaders, page, parts, runs_of, session
from dlsched.ui.plan import what_if_form, what_if_state
from dlsched.ui.results import compare
from dlsched.ui.scenario import price_lists
from dlsched.wording.assumptions import assumptions
from dlsched.wording.cautions import cautions, comparison_cautions
from dlsched.wording.formats import amount
from dlsched.workload.import_report import in_seconds, offered_load

TABS = {
    "Savings": compare.savings_tab,
    "Differences": compare.differences,
    "Bounds": compare.bounds_tab,
    "Distributions": compare.distributions,
    "Over time": compare.over_time,
    "Who wins, who loses": compare.who_wins,
    "What differs": compare.settings_that_differ,
}

compare.follow_runs()
current = page.begin("Compare", url=("scenario", "runs", "base"))
ticked = session.ticked_runs()
if not ticked:
    everything = runs_of.series_of(session.runs_of(current.content_hash))
    if len(everything) > 1:
        ticked = [series.run_ids[0] for series in everything][: compare.MOST_COLUMNS]
        session.tick(ticked)
        session.write_url("runs", "base")
if len(ticked) < 2:
    parts.empty(
        "A comparison needs two runs or more. Run several policies on this scenario, or tick runs on the page Runs.",
        "Go to Run", lambda: session.go("simulate/run.py"), "compare-empty",
    )  # fmt: skip
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

base = chosen[0]
if len(chosen) < 2:
    parts.empty(
        "These runs are draws of one policy. Run another policy on this scenario to compare them.",
        "Go to Run", lambda: session.go("simulate/run.py"), "compare-one",
    )  # fmt: skip
    st.stop()

scenarios = {series.label: loaders.scenario_of(series.run_ids[0]) for series in chosen}
is_same = len({scenario.workload.content_hash for scenario in scenarios.values()}) == 1
if not is_same:
    # Jobs that were drawn have the same ids in every draw, but are not the same jobs.
    drawn = any(scenario.generator for scenario in scenarios.values())
    common = 0 if drawn else common_jobs({s.label: loaders.jobs(s.run_ids[0]) for s in chosen})[0]
    with parts.mistakes_shown():
        check_same_workload([(n, s.workload.content_hash, len(s.workload)) for n, s in scenarios.items()], common)
    if not common or not st.toggle(f"Compare the {amount(common, 'common job')}", key="only-common"):
        if st.button("Choose other runs", type="primary", key="compare-choose"):
            session.go("simulate/runs.py")
        st.stop()

with parts.mistakes_shown():
    only_common = bool(st.session_state.get("only-common"))
    comparison = runs_of.compared_common(chosen, base)[1] if only_common else runs_of.compared(chosen, base)
    seed = runs_of.shared_seeds(chosen)[0]
    metrics = {series.label: loaders.metrics(series.run_of(seed)) for series in chosen}
    common = common_jobs({series.label: loaders.jobs(series.run_of(seed)) for series in chosen})[0]
    completed = {name: int(values["completed"] or 0) for name, values in metrics.items()}
    found = comparison_cautions(completed, common, {name: values.get("makespan") for name, values in metrics.items()})
    scenario = scenarios[base.label]
    overload = cautions(scenario, load=offered_load(in_seconds(scenario), scenario.cluster))
    if scenario.cluster.free_slots:  # rented machines are given back: a run that lasts longer does not pay for it
        found = [guard for guard in found if guard.level != "info"]
    if only_common:
        found = [guard for guard in found if guard.level == "info"]
    parts.guard_rails([guard for guard in [*overload, *found] if guard.level != "info"])
    rents = scenario.cluster.free_slots and not only_common
    costs = compare.costs_of(chosen)
    saved = compare.sentence_of_savings(comparison, costs) if rents else ""
    parts.sentence(saved or compare_sentence(comparison))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        options = [series.label for series in chosen]
        picked = st.selectbox("Baseline", options, key=f"baseline-{base.run_ids[0]}", width=230,
                              format_func=lambda label: f"Baseline: {label}", label_visibility="collapsed")  # fmt: skip
        if picked != base.label:
            runs = chosen[options.index(picked)].run_ids
            session.tick(sorted(ticked, key=lambda run: run not in runs))
            st.rerun()
        if is_same and any(done != common for done in completed.values()):
            st.toggle(f"Only the {amount(common, 'job')} all runs completed", key="only-common",
                      help="Means over unlike sets of jobs mislead; this compares the same jobs")  # fmt: skip
        specs = [find(series.policy) for series in chosen]
        taken = assumptions(
            scenario,
            uses_run_times=any(spec.uses_run_times for spec in specs),
            clairvoyant=any(spec.clairvoyant for spec in specs),
            stops_jobs=any(values.get("preemptions") or values.get("resizes") for values in metrics.values()),
            today=price_lists.today(),
        )
        parts.chips(taken, "compare")
        st.space("stretch")
        best = compare.cheapest(costs) if saved else compare.most_stars(comparison)
        target = next((series for series in chosen if series.label == best), base)
        more = what_if_form.more_nodes(scenario, 2)
        if st.button("What if: 2 more nodes" if more else "What if …", key="compare-whatif",
                     help="Change nodes, arrivals and more under the baseline's policy"):  # fmt: skip
            what_if_state.open_about(base.run_ids[0], more)
        if st.button("Write memo", key="compare-memo", help="One page for the person who decides: HTML, PPTX, XLSX"):
            session.go("plan/report.py")
        if st.button(f"Why? Open {target.label}", type="primary", key="compare-next", help="The result of this run"):
            session.look_at_run(target.run_ids[0])
            session.go("results/result.py", run=target.run_ids[0])
    compare.table(comparison, money_first=bool(saved))
    for guard in found:
        if guard.level == "info":
            st.markdown(f":gray[{guard.text} {guard.action}.]")
    shown = [name for name in TABS if name != "Savings" or (comparison.row("total_cost") and not only_common)]
    shown = [name for name in shown if name != "Bounds" or not only_common]  # a bound is about all jobs of a run
    if not saved:  # where machines are not rented, times come first
        shown.sort(key=lambda name: name == "Savings")
    few = len(chosen) <= compare.MOST_COLUMNS
    tabs = {name: TABS[name] for name in shown if few or name in ("Savings", "What differs")}
    part = st.segmented_control("Part", list(tabs), default=next(iter(tabs)), required=True, key="ctab",
                                bind="query-params", label_visibility="collapsed")  # fmt: skip
    tabs[part](comparison, chosen)
