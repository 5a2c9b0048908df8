"""A policy with its parameters: which are offered for a scenario, which is usual, and the fields to choose one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find, policies, policy_label, unmet_needs
from dlsched.store.runs import RunInfo
from dlsched.studies.design import Variant
from dlsched.ui.fields.recommended import recommended
from dlsched.ui.frame import session
from dlsched.ui.frame.forms import model_fields

TODAYS = "todays-policy/"
"""Key of the setting in the store that says which policy runs today: one for each family of versions of a scenario."""
NOT_OFFERED = "Policies that need what the scenario lacks are not offered; Run says what."


# ---- which ones --------------------------------------------------------------------------------------


def offered(scenario: Scenario) -> list[str]:
    """Return the policies that have all they need."""
    return [spec.key for spec in policies() if not unmet_needs(spec, scenario)]


def usual(scenario: Scenario) -> tuple[str, ...]:
    """Return the policies that are recommended, the baseline first: what runs today, where that is known."""
    keys = tuple(one.key for one in recommended(scenario))
    said = todays_policy(scenario)
    return keys if said is None else (said.policy, *(key for key in keys if key != said.policy))


def usual_variant(scenario: Scenario) -> Variant:
    """Return policy and parameters a question starts with: today's where it is known, else the baseline.

    Never those of the run that was looked at last: the same question would begin differently from visit to visit.
    """
    if (said := todays_policy(scenario)) is not None:
        return said
    return Variant(policy=usual(scenario)[0])


def todays_policy(scenario: Scenario) -> Variant | None:
    """Return the policy this cluster runs today, as stated for the scenario; None if it is unknown."""
    kept = session.setting(TODAYS + session.lineage_of(scenario))
    if kept is None:
        return None
    try:
        said = Variant.model_validate(kept)
        spec = find(said.policy)
        spec.parse(dict(said.params))
    except (DlschedError, ValueError):  # of an older version of this program
        return None
    return None if unmet_needs(spec, scenario) else said


def say_todays_policy(scenario: Scenario, variant: Variant) -> None:
    """Remember what this cluster runs today, for a scenario and its versions."""
    said = f"today's policy of {scenario.name}: {policy_label(variant.policy)}"
    session.store().set_setting(TODAYS + session.lineage_of(scenario), variant.model_dump(mode="json"), said)


def variant_of(info: RunInfo) -> Variant:
    """Return policy and parameters of a run, without those that are its defaults."""
    defaults = find(info.policy).parse({}).model_dump(mode="json")
    own = {name: value for name, value in info.params.items() if value != defaults.get(name)}
    return Variant(policy=info.policy, params=own)


# ---- fields ------------------------------------------------------------------------------------------


def policy_field(
    scenario: Scenario,
    key: str,
    label: str = "Policy",
    *,
    keep: str = "",
    on_change: Callable[[], None] | None = None,
    width: int | Literal["stretch"] = 240,
) -> str:
    """Show the choice of a policy and return it; ``keep`` is offered also where it lacks something."""
    choices = offered(scenario)
    choices = choices if keep in ("", *choices) else [keep, *choices]
    if st.session_state.get(key) not in choices:
        st.session_state[key] = choices[0]
    return str(
        st.selectbox(label, choices, key=key, persist_state="session", width=width, format_func=policy_label,
                     on_change=on_change, help=NOT_OFFERED)
    )  # fmt: skip


def has_params(spec: PolicySpec, scenario: Scenario) -> bool:
    """Whether a policy has parameters that do something on this cluster."""
    return bool(set(spec.params.model_fields) - _hidden(scenario))


def param_fields(
    spec: PolicySpec, scenario: Scenario, key: str, params: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Show a field for each parameter that does something on this cluster; return what is typed, not checked yet.

    ``params``: values the fields start with, where they are not the defaults.
    """
    names = {"vm_type": [vm.name for vm in scenario.cluster.vm_types]} if scenario.cluster.free_slots else {}
    current = None if params is None else spec.parse(dict(params))
    return model_fields(spec.params, key, current, hidden=_hidden(scenario), choices=names)


def checked_params(spec: PolicySpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from their defaults; InputError for a bad one."""
    return spec.parse(dict(given)).model_dump(exclude_defaults=True, mode="json")


def _hidden(scenario: Scenario) -> frozenset[str]:
    return frozenset() if scenario.cluster.free_slots else frozenset({"vm_type"})
