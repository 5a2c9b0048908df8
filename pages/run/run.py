import streamlit as st

from dlsched.metrics.findings import assumptions, guards, is_random
from dlsched.metrics.formats import amount, duration
from dlsched.ui import page, parts, run_view, session
from dlsched.workload.doctor import fit_of

current = page.begin("Run")
if finished := st.session_state.pop("batch-done", None):
    st.toast(f"{finished} runs are ready.")
    session.go("understand/result.py")

jobs = current.workload
fit = fit_of(jobs, current.cluster, current.options.placement)
refused = len(fit.never_fit) if current.options.oversize == "refuse" else 0
found = guards(current, load=fit.load, never_fit=refused, widest_gpus=float(jobs.gpus.max()))
parts.guard_rails([guard for guard in found if guard.level != "info"])

headline = st.container()
left, right = st.columns([5, 2], gap="large")
with left:
    specs = run_view.choose(current)
    params = run_view.parameters(specs)
    run_view.options_form(current)
with right:
    random = is_random(current)
    draws = st.number_input(
        "Draws", 1, 100, 5 if random else 1, key=f"draws-{random}", disabled=not random,
        help="How often everything random is drawn again; all policies see the same draws. "
        + ("More draws, narrower intervals." if random else "Nothing here is random: one draw says all."),
    )  # fmt: skip
    tasks = run_view.tasks_of(current, specs, params, int(draws))
    with parts.mistakes_shown():
        stored, seconds = run_view.expected(tasks)
        word = amount(len(specs), "policy", "policies") + (f" x {draws} draws" if random and draws > 1 else "")
        answer = f"{stored} of {len(tasks)} answered from the store" if stored else ""
        wait = f"about {duration(seconds)}" if len(tasks) > stored else ""
        facts = ", ".join(text for text in (wait, answer) if text) or "tick at least one policy"
        with headline:
            parts.sentence(f"Run {word} on {len(jobs):,} jobs: {facts}.")
        slow = seconds > run_view.ASK_ABOVE_S
        sure = not slow or st.checkbox(f"Yes, take about {duration(seconds)} on this machine", key="sure")
        if st.button(f"Run {word}", type="primary", disabled=not tasks or not sure or bool(refused), key="run-now"):
            run_view.start(tasks)
            st.rerun()
    if refused:
        st.markdown("First decide what happens to the jobs that can never fit (rule “Oversize”), or add nodes.")
    parts.chips(assumptions(current, uses_run_times=any(spec.uses_run_times for spec in specs)), "run")
    st.subheader("Queue", anchor=False)
    run_view.live_queue()
