import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.metrics.findings import result_sentence
from dlsched.policies.registry import find
from dlsched.ui.frame import loaders, page, parts, runs_of, session
from dlsched.ui.frame.text import dollars
from dlsched.ui.plan import what_if_state
from dlsched.ui.results import cards, cost, gantt, job, overview
from dlsched.ui.results.admissions import ADMISSIONS
from dlsched.ui.results.dual_prices import DUAL_PRICES
from dlsched.ui.results.look_ahead import LOOK_AHEAD
from dlsched.ui.scenario import price_lists
from dlsched.wording.assumptions import assumptions
from dlsched.wording.cautions import cautions
from dlsched.workload.import_report import in_seconds, offered_load

TABS = ("Overview", "Gantt", "Job", "Cost", "Numbers")

current = page.begin("Result", url=("scenario", "run"))
run_id = session.run_id()
if run_id is None:
    parts.empty(
        "No run of this scenario yet. Choose policies and run them; the result opens here.",
        "Go to Run", lambda: session.go("simulate/run.py"), "result-empty",
    )  # fmt: skip
    st.stop()
try:
    info, metrics, scenario = loaders.info(run_id), loaders.metrics(run_id), loaders.scenario_of(run_id)
except StoreError as error:
    parts.error_box(error)
    with st.container(horizontal=True):
        if st.button("Import an export file", key="result-import"):
            session.look_at_run("")
            session.go("simulate/runs.py")
        if st.button("Show the newest run of this scenario", type="primary", key="result-newest"):
            session.look_at_run("")
            st.query_params.clear()
            st.rerun()
    st.stop()
st.query_params["run"] = run_id  # the newest run of a scenario, too: later there may be a newer one

if job_id := st.session_state.pop("open_job", None):
    job.choose_named(run_id, job_id)
    st.session_state["tab"] = "Job"
if tab := st.session_state.pop("open_tab", None):
    st.session_state["tab"] = tab

spec = find(info.policy)
everything = runs_of.series_of(session.runs_of(info.scenario_hash))
own = runs_of.holding(everything, run_id)
ticked = session.ticked_runs()
base = runs_of.holding(everything, ticked[0]) if ticked else None
comparison = None
if base and own and base != own and set(base.seeds) & set(own.seeds):
    comparison = runs_of.compared([base, own], base)

with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    tab = st.segmented_control(
        "Part", TABS, default="Overview", required=True, key="tab", bind="query-params", label_visibility="collapsed"
    )
    st.space("stretch")
    if own and len(own.seeds) > 1:
        names = {one: f"Draw {place} of {len(own.seeds)}" for place, one in enumerate(own.seeds, 1)}
        seed = st.selectbox(
            "Draw", list(names), index=own.seeds.index(info.seed), key=f"draw-{run_id}", width=140,
            format_func=names.__getitem__, label_visibility="collapsed",
            help="One draw of the random jobs; this page shows this one.",
        )  # fmt: skip
        if own.run_of(seed) != run_id:
            session.look_at_run(own.run_of(seed))
            st.rerun()
    for inspector in (LOOK_AHEAD, ADMISSIONS, DUAL_PRICES):
        inspector.offer(info)
    if st.button("What if …", key="result-whatif", help="Change nodes, arrivals or the policy, and see what it does"):
        what_if_state.open_about(run_id)
    if st.button("Add to report", key="result-memo", help="An option of the memo for the person who decides"):
        session.tick([*ticked, run_id])
        session.go("plan/report.py")
    others = [series.run_ids[0] for series in everything if series != own]
    if others:
        if st.button(f"Compare with the {len(others)} others" if len(others) > 1 else "Compare with the other run",
                     type="primary", key="result-next"):  # fmt: skip
            session.tick(ticked if run_id in ticked and len(ticked) > 1 else [run_id, *others])
            session.go("results/compare.py")
    elif st.button("Run another policy to compare", type="primary", key="result-next"):
        session.go("simulate/run.py")

draws = len(own.seeds) if own else 1
load = offered_load(in_seconds(scenario), scenario.cluster)
left_out = 0 if scenario.generator else len(scenario.workload) - int(metrics.get("jobs") or 0)
found = cautions(scenario, metrics, audit=info.audit, draws=draws, load=load, left_out=left_out,
               policy_draws=spec.draws, remark=spec.remark_on(dict(info.params), scenario))  # fmt: skip
parts.guard_rails([guard for guard in found if guard.level != "info"])
rents = scenario.cluster.free_slots
if tab != "Job":
    parts.sentence(result_sentence(spec.label, metrics, money_first=rents))
if tab == "Overview":
    cards.show(metrics, comparison, own.label if own else "", money_first=rents)
    overview.main_picture(run_id, scenario)
if tab != "Job":
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        clean = not info.audit
        st.badge("audit ok" if clean else "audit failed", color="blue" if clean else "red",
                 help="The log was re-checked by a program that shares no code with the simulator.")  # fmt: skip
        for guard in found:
            if guard.level == "info":
                st.badge(dollars(guard.text), color="gray", help=dollars(guard.action))
        for one in overview.badges(metrics, without_cost=rents):  # there the sentence says it
            st.badge(dollars(f"{one.limit.kpi.label}: {one.short}"), color="gray",
                     help=dollars(f"{one.words[0].upper()}{one.words[1:]} (proven)."))  # fmt: skip
        taken = assumptions(
            scenario,
            uses_run_times=spec.uses_run_times,
            clairvoyant=spec.clairvoyant,
            stops_jobs=bool(metrics.get("preemptions") or metrics.get("resizes")),
            today=price_lists.today(),
        )
        parts.chips(taken, "result")

with parts.mistakes_shown():
    {"Overview": overview.overview_tab, "Gantt": gantt.gantt_tab, "Job": job.job_tab,
     "Cost": cost.cost_tab, "Numbers": overview.numbers_tab}[tab](run_id, scenario)  # fmt: skip
