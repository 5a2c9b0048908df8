"""A policy with its parameters: which are offered for a scenario, which is usual, and the fields to choose one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import LABELS, POLICIES, find, unmet_needs
from dlsched.store.runs import RunInfo
from dlsched.studies.design import Variant
from dlsched.ui.frame import session
from dlsched.ui.frame.forms import model_fields

EVERYDAY_FIVE = ("fifo", "fifo-skip", "sjf", "easy-backfill", "las")
RENTING_SIX = (
    "gpuaas-market", "gpuaas-path-relinking", "gpuaas-greedy", "gpuaas-fifo", "gpuaas-edf", "gpuaas-priority"
)  # fmt: skip
ELASTIC_FIVE = ("fifo-skip", "hell-malleable", "knee-malleable", "knee-moldable", "jsq-chunk")
ADMITTING_FIVE = ("smd", "optimus", "esw", "fifo", "fifo-skip")
BOOKING_FIVE = ("pd-ors", "oasis", "pd-ors-drf", "pd-ors-fifo", "fifo-skip")
"""Dorm is left out: its program of every slot takes most of a minute on the sample."""
TODAYS = "todays-policy/"
"""Key of the setting in the store that says which policy runs today: one for each family of versions of a scenario."""
NOT_OFFERED = "Policies that need what the scenario lacks are not offered; Run says what."


# ---- which ones --------------------------------------------------------------------------------------


def offered(scenario: Scenario) -> list[str]:
    """Return the policies that have all they need."""
    return [spec.key for spec in POLICIES if not unmet_needs(spec, scenario)]


def is_rented(scenario: Scenario) -> bool:
    """Whether machines are rented for jobs whose run time depends on them: what the renting policies are made for."""
    return scenario.cluster.free_slots and scenario.speed.kind == "table"


def has_curves(scenario: Scenario) -> bool:
    """Whether jobs on fixed nodes come with speed curves: what the elastic policies are made for."""
    return not scenario.cluster.free_slots and scenario.speed.kind == "table"


def has_servers(scenario: Scenario) -> bool:
    """Whether jobs run with parameter servers: what the policies that let jobs in are made for."""
    return scenario.speed.kind == "parameter-server" and scenario.workload.has_servers


def books_slots(scenario: Scenario) -> bool:
    """Whether policies that book machines by the slot have all they need, and those that take nodes together not."""
    return not unmet_needs(find(BOOKING_FIVE[0]), scenario) and bool(unmet_needs(find(ADMITTING_FIVE[0]), scenario))


def usual(scenario: Scenario) -> tuple[str, ...]:
    """Return the policies ticked at first."""
    if books_slots(scenario):
        return BOOKING_FIVE
    if is_rented(scenario):
        return RENTING_SIX
    if has_servers(scenario):
        return ADMITTING_FIVE
    return ELASTIC_FIVE if has_curves(scenario) else EVERYDAY_FIVE


def usual_variant(scenario: Scenario) -> Variant:
    """Return policy and parameters a question begins with: today's where somebody said it, else the first usual ones.

    Never those of the run that was looked at last: the same question would begin differently from visit to visit.
    """
    if (said := todays_policy(scenario)) is not None:
        return said
    first = [*usual(scenario), "fifo"]
    return Variant(policy=next(key for key in first if key == "fifo" or not unmet_needs(find(key), scenario)))


def todays_policy(scenario: Scenario) -> Variant | None:
    """Return the policy this cluster runs today, as somebody said of the scenario; None where nobody did."""
    kept = session.store().get_setting(TODAYS + session.lineage_of(scenario))
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
    session.store().set_setting(TODAYS + session.lineage_of(scenario), variant.model_dump(mode="json"))


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
        st.selectbox(label, choices, key=key, persist_state="session", width=width, format_func=LABELS.__getitem__,
                     on_change=on_change, help=NOT_OFFERED)
    )  # fmt: skip


def has_params(spec: PolicySpec, scenario: Scenario) -> bool:
    """Whether a policy has parameters that do something on this cluster."""
    return bool(set(spec.params.model_fields) - _hidden(scenario))


def param_fields(
    spec: PolicySpec, scenario: Scenario, key: str, params: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Show a field for each parameter that does something on this cluster; return what is typed, not checked yet.

    ``params``: values the fields begin with, where they are not the defaults.
    """
    names = {"vm_type": [vm.name for vm in scenario.cluster.vm_types]} if scenario.cluster.free_slots else {}
    current = None if params is None else spec.parse(dict(params))
    return model_fields(spec.params, key, current, hidden=_hidden(scenario), choices=names)


def checked_params(spec: PolicySpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from their defaults; InputError for a bad one."""
    return spec.parse(dict(given)).model_dump(exclude_defaults=True, mode="json")


def _hidden(scenario: Scenario) -> frozenset[str]:
    return frozenset() if scenario.cluster.free_slots else frozenset({"vm_type"})
