import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.metrics.findings import assumptions, guards, result_sentence
from dlsched.policies.registry import find
from dlsched.ui import loaders, page, parts, result_gantt, result_job, result_tabs, runs_of, session
from dlsched.ui.text import dollars, safe

TABS = ("Overview", "Gantt", "Job", "Cost", "Numbers")

current = page.begin("Result", url=("scenario", "run"))
run_id = session.run_id()
if run_id is None:
    parts.empty(
        "No run of this scenario yet. Choose policies and run them; the result opens here.",
        "Go to Run", lambda: session.go("run/run.py"), "result-empty",
    )  # fmt: skip
    st.stop()
try:
    info, metrics, scenario = loaders.info(run_id), loaders.metrics(run_id), loaders.scenario_of(run_id)
except StoreError as error:
    parts.error_box(error)
    if st.button("Show the newest run of this scenario", type="primary"):
        session.look_at_run("")
        st.query_params.clear()
        st.rerun()
    st.stop()

if opened := st.session_state.pop("open_job", None):
    st.session_state["job"], st.session_state["tab"] = opened, "Job"
if tab := st.session_state.pop("open_tab", None):
    st.session_state["tab"] = tab

spec = find(info.policy)
everything = runs_of.series_of(session.runs_of(info.scenario_hash))
own = runs_of.holding(everything, run_id)
ticked = session.ticked_runs()
base = runs_of.holding(everything, ticked[0]) if ticked else None
comparison = runs_of.compared([base, own], base) if base and own and base != own else None

parts.guard_rails(
    [g for g in guards(scenario, metrics, audit=info.audit, draws=len(own.seeds) if own else 1) if g.level != "info"]
)
parts.sentence(result_sentence(spec.label, metrics))
parts.kpi_cards(parts.result_card_keys(metrics), metrics, comparison, own.label if own else "")
with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    st.badge("audit ok" if not info.audit else "audit failed", color="blue" if not info.audit else "red",
             help="The log was re-checked by a program that shares no code with the simulator.")  # fmt: skip
    for notice in guards(scenario, metrics, draws=len(own.seeds) if own else 1):
        if notice.level == "info":
            st.badge(dollars(notice.text), color="gray", help=dollars(notice.action))
    parts.chips(assumptions(scenario, uses_run_times=spec.uses_run_times, clairvoyant=spec.clairvoyant), "result")
    if own and len(own.seeds) > 1:
        seed = st.selectbox(
            "Draw", own.seeds, index=own.seeds.index(info.seed), key=f"draw-{own.run_ids[0]}", width=110
        )
        if own.run_of(seed) != run_id:
            session.look_at_run(own.run_of(seed))
            st.query_params["run"] = own.run_of(seed)
            st.rerun()
    st.space("stretch")
    if st.button("Compare with the other runs", type="primary", key="result-next"):
        others = [series.run_ids[0] for series in everything if series != own]
        session.tick(ticked if run_id in ticked and len(ticked) > 1 else [run_id, *others])
        session.go("understand/compare.py")

tab = st.segmented_control(
    "Part", TABS, default="Overview", required=True, key="tab", bind="query-params", label_visibility="collapsed"
)
{"Overview": result_tabs.overview_tab, "Gantt": result_gantt.gantt_tab, "Job": result_job.job_tab,
 "Cost": result_tabs.cost_tab, "Numbers": result_tabs.numbers_tab}[tab](run_id, scenario)  # fmt: skip
