import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.metrics.compare import check_same_workload, common_jobs
from dlsched.metrics.findings import assumptions, compare_sentence, comparison_guards
from dlsched.policies.registry import find
from dlsched.ui import compare_view, loaders, page, parts, runs_of, session
from dlsched.ui.text import safe

TABS = ("Differences", "Distributions", "Over time", "Who wins, who loses", "What differs")

current = page.begin("Compare", url=("scenario", "runs", "base"))
ticked = session.ticked_runs()
if not ticked:
    everything = runs_of.series_of(session.runs_of(current.content_hash))
    if len(everything) > 1:
        ticked = [series.run_ids[0] for series in everything][:6]
        session.tick(ticked)
        session.write_url("runs", "base")
if len(ticked) < 2:
    parts.empty("A comparison needs two runs or more. Run several policies on this scenario, or tick runs on the page Runs.",
                "Go to Run", lambda: session.go("run/run.py"), "compare-empty")  # fmt: skip
    st.stop()

try:
    infos = {run: loaders.info(run) for run in ticked}
except StoreError as error:
    parts.error_box(error)
    if st.button("Compare the runs of this scenario instead", type="primary"):
        session.tick([])
        st.query_params.clear()
        st.rerun()
    st.stop()

chosen: list[runs_of.Series] = []
for run in ticked:
    group = runs_of.holding(runs_of.series_of(session.runs_of(infos[run].scenario_hash)), run)
    alone = runs_of.Series(find(infos[run].policy).label, infos[run].policy, "", (run,), (infos[run].seed,))
    series = group or alone
    if series not in chosen:
        chosen.append(series)
chosen = runs_of.distinct(chosen, {run: infos[run].scenario_name for run in ticked})
base = chosen[0]
if len(chosen) < 2:
    parts.empty("These runs are draws of one policy. Tick runs of different policies to compare them.",
                "Go to Runs", lambda: session.go("run/runs.py"), "compare-one")  # fmt: skip
    st.stop()

scenarios = {series.label: loaders.scenario_of(series.run_ids[0]) for series in chosen}
tables = {series.label: loaders.jobs(series.run_ids[0]) for series in chosen}
common, common_metrics = common_jobs(tables)
with parts.mistakes_shown():
    check_same_workload([(n, s.workload.content_hash, len(s.workload)) for n, s in scenarios.items()], common)
    comparison = runs_of.compared(chosen, base)
    metrics = {series.label: loaders.metrics(series.run_ids[0]) for series in chosen}
    completed = {name: int(values["completed"] or 0) for name, values in metrics.items()}
    parts.guard_rails(
        comparison_guards(completed, common, {name: values.get("makespan") for name, values in metrics.items()})
    )
    parts.sentence(compare_sentence(comparison))
    specs = [find(series.policy) for series in chosen]
    with st.container(horizontal=True, vertical_alignment="center"):
        options = [series.label for series in chosen]
        picked = st.selectbox("Baseline", options, key=f"baseline-{base.label}", width=220)
        if picked != base.label:
            order = sorted(ticked, key=lambda run: run not in chosen[options.index(picked)].run_ids)
            session.tick(order)
            session.write_url("runs", "base")
            st.rerun()
        only_common = st.toggle(f"Only the {common:,} jobs all runs completed", key="only-common",
                                help="Means over unlike sets of jobs mislead; this compares the same jobs")  # fmt: skip
        parts.chips(assumptions(current, uses_run_times=any(spec.uses_run_times for spec in specs)), "compare")
    if only_common:
        compare_view.common_only(common_metrics, common, base.label)
    else:
        compare_view.table(comparison)
    part = st.segmented_control(
        "Part", TABS, default=TABS[0], required=True, key="ctab", bind="query-params", label_visibility="collapsed"
    )
    if part == TABS[0]:
        compare_view.differences(comparison, chosen)
    elif part == TABS[1]:
        compare_view.distributions(chosen)
    elif part == TABS[2]:
        compare_view.over_time(chosen)
    elif part == TABS[3]:
        compare_view.who_wins(chosen, base)
    else:
        compare_view.settings_that_differ(chosen)
    if st.button("Open the result of the baseline", type="primary", key="compare-next"):
        session.look_at_run(base.run_ids[0])
        session.go("understand/result.py", run=base.run_ids[0])
if any(s.workload.content_hash != current.workload.content_hash for s in scenarios.values()) and common:
    st.markdown(f"They have {common:,} jobs in common, by job id:")
    compare_view.common_only(common_metrics, common, base.label)
