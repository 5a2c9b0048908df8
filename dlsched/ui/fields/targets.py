"""What Size, Headroom and Growth ask of a cluster: targets, how often they must hold, conditions, policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import streamlit as st

from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.summary import Metrics
from dlsched.policies.registry import find
from dlsched.studies.design import Futures, Variant
from dlsched.studies.design.factor import Value
from dlsched.studies.design.factors import without_neutral
from dlsched.studies.design.run import is_exact
from dlsched.studies.sizing.conditions import written
from dlsched.studies.sizing.rule import Claim
from dlsched.studies.sizing.targets import SIDES, USUAL_WAIT_S, Target, example_of, limit_text, read_target, usual_limit
from dlsched.studies.sizing.words import claim_label, condition_words, goal_words
from dlsched.ui.fields.policy_and_params import (
    checked_params,
    has_params,
    param_fields,
    policy_field,
    usual_variant,
)
from dlsched.ui.frame import loaders, session, writing
from dlsched.ui.frame.futures import futures_of
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario.fill import OFFERS
from dlsched.wording.certainty import NOTHING_VARIES
from dlsched.wording.formats import listed
from dlsched.workload import fill

CONDITION = "condition"
"""Parameter of the address."""
MOST_TARGETS = 6
LEVEL_PERCENT = 95.0
CLAIM_HELP = (
    "**On average**: the mean over futures is within every target. Single months may be worse.  \n**In 95% of months**:"
    " so many percent of the futures meet all targets at once; a future stands for a month.  \nOf a recorded trace, "
    "what was recorded has to meet the targets in either case."
)
CONDITIONS = {"demand": "Jobs (% of now)", "durations": "Run times (% of now)", "prices": "Prices (% of now)"}
"""What can be set to happen to every size; other conditions come with a link or from What if."""
CONDITION_HELP = "What happens to every size, today's included: more jobs, longer run times, other prices"


@dataclass(frozen=True)
class Goal:
    """What is asked, for a search as for months ahead; ``exact``: nothing is random, so that one draw says all."""

    targets: tuple[Target, ...]
    claim: Claim
    level: float
    variant: Variant
    futures: Futures
    exact: bool = False
    condition: Mapping[str, Value] = field(default_factory=dict)

    @property
    def question(self) -> dict[str, Any]:
        """The part of a question that both have, in plain data."""
        return {
            "targets": [target.model_dump() for target in self.targets],
            "claim": self.claim,
            "level": self.level,
            "policy": self.variant.policy,
            "params": self.variant.params,
            "futures": self.futures.model_dump(),
            "condition": dict(self.condition),
        }

    @property
    def words(self) -> str:
        """What is asked of every size: targets, how often, policy and conditions."""
        words = goal_words(self.targets, self.claim, self.level, find(self.variant.policy).label, exact=self.exact)
        condition = condition_words(self.condition)
        return f"{words}, with {listed(condition)}" if condition else words


def tag_of(scenario: Scenario) -> str:
    """Return what tells the fields of one scenario from those of another."""
    return scenario.content_hash[:8]


# ---- first values ------------------------------------------------------------------------------------


def fill_in(scenario: Scenario, asked: Goal | None) -> None:
    """Give the fields their first values for a scenario, or those of an answer that is opened."""
    tag = tag_of(scenario)
    if asked is None:
        if f"goal-policy-{tag}" in st.session_state:
            return
        asked = usual_goal(scenario)
    st.session_state[f"goal-claim-{tag}"] = asked.claim
    st.session_state[f"goal-level-{tag}"] = round(100 * asked.level, 6)
    st.session_state[f"goal-metrics-{tag}"] = [target.metric for target in asked.targets]
    for target in asked.targets:
        st.session_state[f"goal-limit-{target.metric}-{tag}"] = limit_text(target.kpi, target.limit)
    set_condition(tag, asked.condition)
    set_policy(tag, asked.variant)


def set_policy(tag: str, variant: Variant) -> None:
    """Ask under a policy with its parameters from now on."""
    st.session_state[f"goal-policy-{tag}"] = variant.policy
    st.session_state["goal-params"] = (variant.policy, variant.params)
    st.session_state["goal-round"] = st.session_state.get("goal-round", 0) + 1


def usual_goal(scenario: Scenario) -> Goal:
    """Return what is asked at first: 95 of 100 jobs wait an hour at most, whatever was run before."""
    targets = (Target(metric="wait_p95", limit=USUAL_WAIT_S),)
    return Goal(targets, "average", LEVEL_PERCENT / 100, usual_variant(scenario), futures_of(scenario))


def today_metrics(scenario: Scenario, policy: str) -> Metrics:
    """Return the numbers of the newest stored run of a policy on the scenario; empty where there is none."""
    runs = session.runs_of(scenario.content_hash)
    mine = runs[(runs["policy"] == policy) & ~runs["stale"]] if len(runs) else runs
    return loaders.metrics(str(mine["run_id"].iloc[0])) if len(mine) else {}


def offered_metrics(scenario: Scenario) -> list[str]:
    """Return the metrics that have a better side, and what they need: due dates, prices."""
    lacking = fill.missing(scenario)
    return [
        key
        for key, kpi in KPIS.items()
        if kpi.better != "neutral"
        and kpi.section != "Details"
        and not (key in ("late_share", "late_jobs", "tardiness_total", "tardiness_cost") and Need.DUE in lacking)
        and not (kpi.section == "Cost" and Need.PRICE in lacking)
        and not (key == "utility_total" and scenario.workload.utility_1 is None)
    ]


# ---- fields ------------------------------------------------------------------------------------------


def fields(scenario: Scenario) -> Goal:
    """Show the fields and return what they ask.

    Raises
    ------
    InputError
        Naming the target that is not one, or that there is none.
    """
    tag = tag_of(scenario)
    texts = _target_texts(scenario, tag)
    claim, level = _claim(tag)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        variant = _variant(scenario, tag)
        condition = _condition(scenario, tag)
    drawn = futures_of(scenario)
    exact = is_exact(scenario, variant.model_copy(update={"changes": condition}), drawn)
    if exact:
        st.markdown(f":gray[{NOTHING_VARIES}]")
    return Goal(read_targets(texts), claim, level, variant, drawn, exact, condition)


def _claim(tag: str) -> tuple[Claim, float]:
    level = float(st.session_state.get(f"goal-level-{tag}", LEVEL_PERCENT))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "How often must it hold?", get_args(Claim), required=True, key=f"goal-claim-{tag}",
            persist_state="session", format_func=lambda claim: claim_label(claim, level / 100), help=CLAIM_HELP,
        )  # fmt: skip
        claim: Claim = chosen or "average"
        if claim == "nearly-every":
            level = st.number_input(
                "Months that must hold (%)", 50.0, 99.9, key=f"goal-level-{tag}", persist_state="session", width=170,
                format="%g", help="Share of futures that have to meet all targets at once",
            )  # fmt: skip
    return claim, level / 100


def set_condition(tag: str, condition: Mapping[str, Value]) -> None:
    """Ask under conditions from now on, and say so in the address."""
    st.session_state[f"goal-condition-{tag}"] = dict(condition)
    if condition:
        st.query_params[CONDITION] = ",".join(written(condition, ":"))
    else:
        st.query_params.pop(CONDITION, None)


def _condition(scenario: Scenario, tag: str) -> dict[str, Value]:
    """Show what happens to every size as chips that can be taken off, and return it."""
    condition: dict[str, Value] = st.session_state.setdefault(f"goal-condition-{tag}", {})
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for key, words in zip(condition, condition_words(condition), strict=True):
            rest = {other: value for other, value in condition.items() if other != key}
            st.button(safe(f"with {words} ✕", 80), key=f"goal-without-{key}-{tag}", on_click=set_condition,
                      args=(tag, rest), help="Take this condition off the question")  # fmt: skip
        with st.popover("+ condition", key="goal-conditions", help=CONDITION_HELP):
            wanted = dict(condition)
            for key in CONDITIONS if scenario_priced(scenario) else ("demand", "durations"):
                now = round(100 * float(condition.get(key, 1.0)), 6)
                percent = st.number_input(CONDITIONS[key], 1.0, 1000.0, now, step=10.0, format="%g",
                                          key=f"goal-condition-{key}-{now:g}-{tag}", help=CONDITION_HELP)  # fmt: skip
                wanted[key] = percent / 100
            wanted = without_neutral(scenario, wanted)
            if wanted != condition:
                set_condition(tag, wanted)
                st.rerun()
    return condition


def scenario_priced(scenario: Scenario) -> bool:
    """Whether any machine has a price that could change."""
    return any(vm.usd_per_h is not None for vm in scenario.cluster.vm_types)


def _target_texts(scenario: Scenario, tag: str) -> dict[str, str]:
    """Show a field for the limit of each target and return what is typed, by metric."""
    key, offered = f"goal-metrics-{tag}", offered_metrics(scenario)
    st.session_state[key] = [one for one in st.session_state.get(key, []) if one in offered]
    now = today_metrics(scenario, str(st.session_state[f"goal-policy-{tag}"]))
    texts = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for metric in st.session_state[key]:
            kpi, field = KPIS[metric], f"goal-limit-{metric}-{tag}"
            if field not in st.session_state:
                st.session_state[field] = limit_text(kpi, usual_limit(kpi, now.get(metric)))
            today = "" if now.get(metric) is None else f" Newest run: {kpi.show(now[metric])}."
            texts[metric] = st.text_input(
                f"{kpi.label} {SIDES[kpi.better]}", key=field, persist_state="session", width=215,
                help=dollars(f"{kpi.tooltip}{today} Write it as {example_of(kpi)}."),
            )  # fmt: skip
        with st.popover("+ target", key="goal-more", help="Which numbers must be within a limit"):
            st.multiselect(
                "Targets", offered, key=key, persist_state="session", max_selections=MOST_TARGETS,
                format_func=lambda one: KPIS[one].label, help="All have to be met; each gets a field for its limit",
            )  # fmt: skip
            _lacking(scenario)
    return texts


def _lacking(scenario: Scenario) -> None:
    """Say which targets cannot be chosen yet, and offer to fill in what they need."""
    for need, what in ((Need.DUE, "Late jobs need due dates."), (Need.PRICE, "Costs need prices.")):
        if need not in fill.missing(scenario):
            continue
        label, rule, change = OFFERS[need]
        st.markdown(f":gray[{what}]")
        if writing.button(label, key=f"goal-fill-{need.name}", type="tertiary", help=dollars(rule)):
            with mistakes_shown():
                session.keep(change(scenario), based_on=scenario.content_hash)
                st.rerun()


def read_targets(texts: Mapping[str, str]) -> tuple[Target, ...]:
    """Return the targets of limits as they are typed, by metric; InputError naming the one that is none."""
    if not texts:
        raise InputError("Targets", "there is none, so every size would do", "Add one with “+ target”")
    return tuple(_target(metric, text) for metric, text in texts.items())


def _target(metric: str, text: str) -> Target:
    kpi = KPIS[metric]
    sign = "<=" if kpi.better == "lower" else ">="
    try:
        return read_target(f"{metric}{sign}{text}")
    except InputError as error:
        raise InputError(f"Target {kpi.label}", error.why, error.do) from None


def _variant(scenario: Scenario, tag: str) -> Variant:
    policy = policy_field(scenario, f"goal-policy-{tag}")
    spec = find(policy)
    if not has_params(spec, scenario):
        return Variant(policy=policy)
    whose, own = st.session_state.get("goal-params", ("", {}))
    with st.popover("Parameters", help=f"Of the policy {safe(spec.label)}"):
        key = f"param-goal-{policy}-{st.session_state.get('goal-round', 0)}"
        given = param_fields(spec, scenario, key, own if whose == policy else {})
    return Variant(policy=policy, params=checked_params(spec, given))
