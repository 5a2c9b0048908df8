import streamlit as st

from dlsched.ui.frame import page, parts
from dlsched.ui.scenario import trust
from dlsched.ui.simulate import policy_list, queue, run
from dlsched.wording.cautions import cautions
from dlsched.wording.formats import amount
from dlsched.workload.import_report import fit_of, in_seconds

current = page.begin("Run", assumed=False)
jobs = current.workload
fit = fit_of(in_seconds(current), current.cluster, current.options.placement)
refused = len(fit.never_fit) if current.options.oversize == "refuse" else 0
found = cautions(current, load=fit.load, never_fit=refused, widest_gpus=float(jobs.gpus.max()))
parts.guard_rails([guard for guard in found if guard.level != "info"])

headline = st.container()
left, right = st.columns([5, 2], gap="large")
with left:
    specs = policy_list.choose(current)
    params, valid = run.parameters(specs, current)
    run.options_form(current)
with right:
    what = amount(len(specs), "policy", "policies")
    with parts.mistakes_shown():
        plan = run.plan_of(current, specs, params) if specs else None
        expected = run.expected(plan) if plan else None
        with headline:
            facts = run.facts(expected) if expected else "tick at least one policy"
            parts.sentence(
                f"Run {what} on {amount(len(jobs), 'job')}: {facts}.",
                trust.caveats(current, [spec.key for spec in specs]),
                trust.premises(current),
                key="run",
            )
        disabled = not plan or not valid or bool(refused)
        pressed = st.button(f"Run {what}", type="primary", disabled=disabled, key="run-now", width="stretch")
        if pressed and plan and expected:
            run.start_or_ask(current, plan, expected)
    if refused:
        st.markdown("First decide what happens to the jobs that can never fit (rule “Oversize”), or add nodes.")
    if not valid:
        st.markdown("First correct the parameters marked in red.")
    st.subheader("Queue", anchor=False)
    queue.live_queue()
