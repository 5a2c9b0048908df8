"""The controls of the page What if: each shows what is so today, and turns violet when it is moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.studies.design import Factor, factor_of
from dlsched.studies.design.factor import Role
from dlsched.studies.design.factors import NODES_OF, factors_for
from dlsched.studies.design.variants import Value
from dlsched.studies.queues import busiest_types
from dlsched.studies.what_if import WhatIfSpec
from dlsched.ui.fields.factor import control
from dlsched.ui.fields.policy_and_params import (
    checked_params,
    has_params,
    param_fields,
    policy_field,
)
from dlsched.ui.frame import session
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import what_if_state as state

MOST_CONTROLS = 8
MOST_POOLS = 3
NOT_HERE = ("nodes", "days", "arrivals", "shaking")
"""Changes without a control of their own: nodes come first, days make futures, and faster arrivals are no demand."""
EXTRA, PICKED = "whatif-extra", "whatif-add"
GROUPS: Mapping[Role, tuple[str, str]] = {
    "condition": ("Conditions", "What happens to you, whatever you choose"),
    "option": ("Options", "What you choose; compared with doing nothing under the same conditions"),
}
"""Heading and help of the two groups of controls."""


def controls(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Show the controls in two groups; each changes the question before the page is drawn anew."""
    usual = usual_keys(scenario)
    shown = [*usual, *extra_keys(spec, usual)]
    factors = [factor_of(scenario, key) for key in shown]
    for role, (heading, text) in GROUPS.items():
        st.markdown(f"**{heading}**", help=text)
        for factor in factors:
            if factor.role == role:
                _control(spec, scenario, factor)
        if role == "option":
            _policy(spec, scenario)
    _more(scenario, shown)


def usual_keys(scenario: Scenario) -> list[str]:
    """Return the changes that have a control from the start: nodes by type, demand, durations, due dates, prices.

    Of many node types those of the busiest queue.
    """
    cluster, jobs = scenario.cluster, scenario.workload
    names = list(dict.fromkeys(pool.vm.name for pool in cluster.pools))
    if len(names) > MOST_POOLS:
        names = list(busiest_types(jobs, cluster))
    alone = [name for name in names if sum(pool.vm.name == name for pool in cluster.pools) == 1]
    nodes = ["nodes"] if len(cluster.pools) < 2 else [f"{NODES_OF}{name}" for name in alone[:MOST_POOLS]]
    keys = [*nodes, "demand", "durations"]
    if jobs.due_s is not None:
        keys.append("due_slack")
    if any(vm.usd_per_h is not None for vm in cluster.vm_types):
        keys.append("prices")
    return keys


def more_nodes(scenario: Scenario, number: int) -> dict[str, float]:
    """Return the change to so many nodes more, of the first VM type that can have more; empty where none can."""
    key = next((key for key in usual_keys(scenario) if key.startswith("nodes")), None)
    now = None if key is None else factor_of(scenario, key).own(scenario)
    return {} if key is None or now is None else {key: float(now) + number}


def extra_keys(spec: WhatIfSpec, usual: Sequence[str]) -> list[str]:
    """Return the changes the reader has added, and those of a link that have no control yet."""
    added = list(dict.fromkeys([*st.session_state.get(EXTRA, []), *spec.condition, *spec.changed.changes]))
    return [key for key in added if key not in usual and _has(key)]


def _has(key: str) -> bool:
    try:
        return bool(factor_of(session.scenario(), key))
    except InputError:
        return False


def set_change(key: str, value: Value | None) -> None:
    """Move one thing; None or its value of today takes the change away."""
    scenario, spec = session.scenario(), state.now()
    change = factor_of(scenario, key)
    moved = value is not None and value != "" and change.read(value) != change.own(scenario)
    changes = {name: old for name, old in (spec.condition | spec.changed.changes).items() if name != key}
    if moved:
        changes[key] = change.read(value or 0.0)
    state.put_changes(changes)


def set_policy(policy: str) -> None:
    """Take another policy with its usual parameters; the baseline's own policy keeps the baseline's parameters."""
    baseline = state.now().baseline
    state.put_changed(policy=policy, params=baseline.params if policy == baseline.policy else {})


def _control(spec: WhatIfSpec, scenario: Scenario, change: Factor) -> None:
    value = (spec.condition | spec.changed.changes).get(change.key)
    control(change, change.own(scenario), value, f"whatif-{change.key}", partial(set_change, change.key))


# ---- policy ------------------------------------------------------------------------------------------


def _policy(spec: WhatIfSpec, scenario: Scenario) -> None:
    policy = spec.changed.policy
    text = f"Policy, compared with {safe(find(spec.baseline.policy).label)}"
    st.session_state["whatif-policy"] = policy
    policy_field(
        scenario, "whatif-policy", text if policy == spec.baseline.policy else f":violet[**{text}**]", keep=policy,
        on_change=lambda: set_policy(str(st.session_state["whatif-policy"])), width="stretch",
    )  # fmt: skip
    if has_params(find(policy), scenario):
        _params(spec, scenario)


def _params(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Ask for the parameters of the policy; those of another one begin at its defaults."""
    policy, own = find(spec.changed.policy), spec.changed.params
    count = len(st.session_state.get(state.HISTORY, []))
    with st.popover(f"Parameters of {safe(policy.label)}", help="Changed parameters are listed with the changes"):
        given = param_fields(policy, scenario, f"whatif-param-{policy.key}-{count}", own)
        try:
            params = checked_params(policy, given)
        except InputError as error:
            error_box(error)
            return
    if policy.parse(params) != policy.parse(dict(own)):
        state.put_changed(params=params)
        st.rerun()


# ---- further changes ---------------------------------------------------------------------------------


def _more(scenario: Scenario, shown: Sequence[str]) -> None:
    """Offer what has no control yet; at most MOST_CONTROLS stand there at once."""
    rest = [change for change in factors_for(scenario) if change.key not in (*shown, *NOT_HERE) and
            not change.key.startswith(NODES_OF) and _can_be(change, scenario)]  # fmt: skip
    full = len(shown) + 1 >= MOST_CONTROLS
    with st.popover("+ change", key="whatif-more", help="Restarts, failures at given times, estimate errors and more"):
        if full:
            st.markdown(f"At most {MOST_CONTROLS} controls fit, including the policy. Remove one first.")
        names = {change.key: change.label for change in rest}
        st.selectbox("What to change", list(names), key=PICKED, format_func=names.__getitem__, disabled=full,
                     help="Adds a control; nothing changes until you move it")  # fmt: skip
        st.button("Add the control", key="whatif-add-now", on_click=_add, disabled=full or not names)
        for key in st.session_state.get(EXTRA, []):
            if _has(key):
                label = factor_of(scenario, key).label
                st.button(f"Remove {safe(label, 40)}", key=f"whatif-remove-{key}", on_click=_remove, args=(key,))


def _can_be(change: Factor, scenario: Scenario) -> bool:
    """Whether the scenario has what a change edits."""
    needs = {
        "vm_types": scenario.cluster.free_slots,
        "due_slack": scenario.workload.due_s is not None,
        "weights": scenario.workload.weight_usd_per_s is not None,
        "prices": any(vm.usd_per_h is not None for vm in scenario.cluster.vm_types),
    }
    return needs.get(change.key, True)


def _add() -> None:
    st.session_state[EXTRA] = list(dict.fromkeys([*st.session_state.get(EXTRA, []), st.session_state[PICKED]]))


def _remove(key: str) -> None:
    st.session_state[EXTRA] = [one for one in st.session_state.get(EXTRA, []) if one != key]
    try:
        set_change(key, None)
    except DlschedError:  # of a scenario that is no longer looked at
        return
