"""The part Policies of the page Run: which policies, what a run of them takes, and how it goes."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import policies
from dlsched.ui.frame import parts, writing
from dlsched.ui.scenario import trust
from dlsched.ui.simulate import policy_cards, policy_choice, policy_dialog, queue, run
from dlsched.wording.cautions import cautions
from dlsched.wording.formats import amount
from dlsched.workload.import_report import fit_of, in_seconds


def show(current: Scenario) -> None:
    """Show the policies as cards with the button that runs them; call it last on the page, it follows the runs."""
    jobs = current.workload
    fit = fit_of(in_seconds(current), current.cluster, current.options.placement)
    refused = len(fit.never_fit) if current.options.oversize == "refuse" else 0
    found = cautions(current, load=fit.load, never_fit=refused, widest=float(jobs.requested[:, current.counted].max()))
    parts.guard_rails([guard for guard in found if guard.level != "info"])
    with parts.mistakes_shown():
        policy_choice.follow_link(current)
    specs = policy_choice.chosen(current)

    headline = st.container()
    policy_cards.cards(current, specs)
    left, right = st.columns([5, 2], gap="large")
    with left:
        if st.button("More policies…", key="more-policies", icon=":material/add:",
                     help=f"All {len(policies())}, with a search"):  # fmt: skip
            policy_dialog.dialog(current)
        params, valid = run.parameters(specs, current)
        run.options_form(current)
    with right:
        what = amount(len(specs), "policy", "policies")
        with parts.mistakes_shown():
            plan = run.plan_of(current, specs, params) if specs else None
            expected = run.expected(plan) if plan else None
            with headline:
                facts = run.facts(expected) if expected else "choose at least one"
                parts.sentence(
                    f"Run {what} on {amount(len(jobs), 'job')}: {facts}.",
                    trust.caveats(current, [spec.key for spec in specs]),
                    trust.premises(current),
                    key="run",
                )
            disabled = not plan or not valid or bool(refused)
            pressed = writing.button(f"Run {what}", type="primary", disabled=disabled, key="run-now", width="stretch")
            if pressed and plan and expected:
                run.start_or_ask(current, plan, expected)
        if refused:
            st.markdown("First decide what happens to jobs that are too large (in the rules), or add nodes.")
        if not valid:
            st.markdown("First correct the parameters marked in red.")
        queue.live_queue(current)
