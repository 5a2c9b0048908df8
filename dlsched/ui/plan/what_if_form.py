"""The controls of the page What if: each shows what is so today, and turns violet when it is moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import MINUTE_S
from dlsched.policies.registry import POLICIES, find, unmet_needs
from dlsched.studies.design import Factor, Variant, factor_of
from dlsched.studies.design.factors import NODES_OF, factors_for
from dlsched.studies.what_if import WhatIfSpec
from dlsched.ui.frame import session
from dlsched.ui.frame.forms import model_fields
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import what_if_work
from dlsched.wording.settings import value_words

MOST_CONTROLS = 8
MOST_POOLS = 3
FACTOR_LOW, FACTOR_HIGH, FACTOR_STEP = 0.5, 2.0, 0.05
NOT_HERE = ("nodes", "days", "run_time_spread", "failures")
"""Changes without a control of their own: nodes come first, and what is drawn anew is chosen under Draws."""
EXTRA, PICKED = "whatif-extra", "whatif-add"
LABELS = {spec.key: spec.label for spec in POLICIES}


def controls(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Show the controls; each changes the question before the page is drawn anew."""
    usual = usual_keys(scenario)
    for key in usual:
        _control(spec, scenario, factor_of(scenario, key))
    _policy(spec, scenario)
    extra = extra_keys(spec, usual)
    for key in extra:
        _control(spec, scenario, factor_of(scenario, key))
    _more(scenario, [*usual, *extra])


def usual_keys(scenario: Scenario) -> list[str]:
    """Return the changes that have a control from the start: nodes by type, arrivals, durations, due times, prices."""
    cluster, jobs = scenario.cluster, scenario.workload
    names = list(dict.fromkeys(pool.vm.name for pool in cluster.pools))
    alone = [name for name in names if sum(pool.vm.name == name for pool in cluster.pools) == 1]
    nodes = ["nodes"] if len(cluster.pools) < 2 else [f"{NODES_OF}{name}" for name in alone[:MOST_POOLS]]
    keys = [*nodes, *["arrivals"] * (not jobs.all_at_once), "durations"]
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
    added = list(dict.fromkeys([*st.session_state.get(EXTRA, []), *spec.changed.changes]))
    return [key for key in added if key not in usual and _has(key)]


def _has(key: str) -> bool:
    return any(change.key == key for change in factors_for(session.scenario()))


def set_change(key: str, value: float | str | None) -> None:
    """Move one thing; None or its value of today takes the change away."""
    scenario, spec = session.scenario(), st.session_state[what_if_work.SPEC]
    changes = {name: old for name, old in spec.changed.changes.items() if name != key}
    change = factor_of(scenario, key)
    if value is not None and value != "" and change.read(value) != change.own(scenario):
        changes[key] = change.read(value)
    what_if_work.put_changed(Variant(policy=spec.changed.policy, changes=changes, params=spec.changed.params))


def set_policy(policy: str) -> None:
    """Take another policy with its usual parameters; the baseline's own policy keeps the baseline's parameters."""
    spec: WhatIfSpec = st.session_state[what_if_work.SPEC]
    params = spec.baseline.params if policy == spec.baseline.policy else {}
    what_if_work.put_changed(Variant(policy=policy, changes=spec.changed.changes, params=params))


def _control(spec: WhatIfSpec, scenario: Scenario, change: Factor) -> None:
    own, value = change.own(scenario), spec.changed.changes.get(change.key)
    key, label = f"whatif-{change.key}", _label(change, own, is_moved=value is not None)
    now = own if value is None else value
    moved: dict[str, Any] = {"on_change": _moved, "args": (change.key, _scale(change))}
    if change.kind == "names":
        st.session_state[key] = "" if now is None else str(now)
        st.text_input(label, key=key, help=dollars(change.help), placeholder=_example(change), **moved)
    elif change.unit == "x":
        st.session_state[key] = float(now or 0.0)
        st.slider(label, min(FACTOR_LOW, float(now or 0.0)), max(FACTOR_HIGH, float(now or 0.0)), step=FACTOR_STEP,
                  format="%.2fx", key=key, help=dollars(change.help), **moved)  # fmt: skip
    elif change.kind == "whole":
        st.session_state[key] = int(now or 0)
        st.number_input(label, int(change.low), int(change.high), step=1, key=key, help=dollars(change.help), **moved)
    else:
        scale = _scale(change)
        st.session_state[key] = None if now is None else float(now) / scale
        st.number_input(label, change.low / scale, change.high / scale, value=None, format="%g", key=key,
                        help=dollars(change.help), placeholder="none", **moved)  # fmt: skip


def _moved(key: str, scale: float) -> None:
    value = st.session_state[f"whatif-{key}"]
    set_change(key, value * scale if isinstance(value, int | float) else value)


def _scale(change: Factor) -> float:
    """Return by what a field's number is multiplied: times are typed in minutes."""
    return MINUTE_S if change.unit == "s" else 1


def _label(change: Factor, own: float | str | None, *, is_moved: bool) -> str:
    unit = " (min)" if change.unit == "s" else f" ({dollars(change.unit)})" if change.unit in ("h", "$") else ""
    now = f"{own:g}x" if change.unit == "x" else value_words(change.key, change.unit, own)  # the slider says x too
    today = dollars(safe(now, 40))
    text = f"{safe(change.label, 40)}{unit}, today {today}"
    return f":violet[**{text}**]" if is_moved else text


def _example(change: Factor) -> str:
    return {"failure_at": "3@48for6", "vm_types": "names with + between"}.get(change.key, "")


# ---- policy ------------------------------------------------------------------------------------------


def _policy(spec: WhatIfSpec, scenario: Scenario) -> None:
    offered = [one.key for one in POLICIES if not unmet_needs(one, scenario)]
    policy = spec.changed.policy
    offered = offered if policy in offered else [policy, *offered]
    is_moved = policy != spec.baseline.policy
    text = f"Policy, today {safe(LABELS[spec.baseline.policy])}"
    st.session_state["whatif-policy"] = policy
    st.selectbox(
        f":violet[**{text}**]" if is_moved else text, offered, key="whatif-policy", format_func=LABELS.__getitem__,
        on_change=_policy_moved, help="Policies that need what the scenario lacks are not offered; Run says what.",
    )  # fmt: skip
    if find(policy).params.model_fields:
        _params(spec)


def _policy_moved() -> None:
    set_policy(str(st.session_state["whatif-policy"]))


def _params(spec: WhatIfSpec) -> None:
    """Ask for the parameters of the policy; those of another one begin at its defaults."""
    case, policy = spec.changed, find(spec.changed.policy)
    free = session.scenario().cluster.free_slots
    hidden = frozenset() if free else frozenset({"vm_type"})
    if not set(policy.params.model_fields) - hidden:
        return
    count = len(st.session_state.get(what_if_work.HISTORY, []))
    with st.popover(f"Parameters of {safe(policy.label)}", help="Those that differ are listed among the changes"):
        choices = {"vm_type": [vm.name for vm in session.scenario().cluster.vm_types]} if free else {}
        current = policy.parse(dict(case.params))
        given = model_fields(policy.params, f"whatif-param-{policy.key}-{count}", current, hidden=hidden,
                             choices=choices)  # fmt: skip
        try:
            params = policy.parse(given).model_dump(exclude_defaults=True, mode="json")
        except InputError as error:
            error_box(error)
            return
    if policy.parse(params) != current:
        what_if_work.put_changed(Variant(policy=case.policy, changes=case.changes, params=params))
        st.rerun()


# ---- further changes ---------------------------------------------------------------------------------


def _more(scenario: Scenario, shown: Sequence[str]) -> None:
    """Offer what has no control yet; at most MOST_CONTROLS stand there at once."""
    rest = [change for change in factors_for(scenario) if change.key not in (*shown, *NOT_HERE) and
            not change.key.startswith(NODES_OF) and _can_be(change, scenario)]  # fmt: skip
    full = len(shown) + 1 >= MOST_CONTROLS
    with st.popover("+ change", key="whatif-more", help="Restarts, failures at given times, estimate errors and more"):
        if full:
            st.markdown(f"{MOST_CONTROLS} controls are here, one of them the policy. Take one away first.")
        names = {change.key: change.label for change in rest}
        st.selectbox("What to change", list(names), key=PICKED, format_func=names.__getitem__, disabled=full,
                     help="Adds a control; nothing changes before it is moved")  # fmt: skip
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
