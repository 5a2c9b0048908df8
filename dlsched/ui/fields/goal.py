"""What all parts of the page Size ask of a cluster: targets, which months meet them, policy, draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dlsched.domain.errors import InputError, StoreError
from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.summary import Metrics
from dlsched.policies.registry import POLICIES, find, unmet_needs
from dlsched.studies.design import Replications, Variant
from dlsched.studies.design.run import is_exact
from dlsched.studies.sizing.rule import Claim
from dlsched.studies.sizing.targets import SIDES, Target, example_of, limit_text, read_target, usual_limit
from dlsched.studies.sizing.words import CLAIM_LABELS
from dlsched.studies.what_if import default_draws
from dlsched.ui.fields import policy_choice
from dlsched.ui.frame import loaders, session
from dlsched.ui.frame.forms import model_fields
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario.fill import OFFERS
from dlsched.wording.formats import amount
from dlsched.wording.settings import VARY_LABELS, vary_help, vary_words
from dlsched.workload import fill

LABELS = {spec.key: spec.label for spec in POLICIES}
MOST_TARGETS = 6
DRAWS, CONFIRM, LEVEL_PERCENT = 10, 40, 95.0
MOST_DRAWS, MOST_CONFIRM = 100, 400
SPREAD_PERCENT, FAILS_EVERY_DAYS = 30, 20.0
CLAIM_HELP = (
    "**The average month**: the mean over draws, with its whole 95% interval, is within every target. Single months "
    "may be worse.  \n**Nearly every month**: so many percent of the draws meet all targets at once. A draw stands for "
    "a month, however long the jobs last."
)


@dataclass(frozen=True)
class Goal:
    """What is asked, for a search as for months ahead; ``confirm`` fresh draws are of the search alone."""

    targets: tuple[Target, ...]
    claim: Claim
    level: float
    policy: str
    params: dict[str, Any]
    draws: int
    confirm: int
    vary: dict[str, float | str]
    exact: bool


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
    st.session_state[f"goal-policy-{tag}"] = asked.policy
    st.session_state["goal-params"] = (asked.policy, asked.params)
    st.session_state["goal-round"] = st.session_state.get("goal-round", 0) + 1
    st.session_state[f"goal-draws-{tag}"] = asked.draws
    st.session_state[f"goal-confirm-{tag}"] = asked.confirm
    st.session_state[f"goal-vary-{tag}"] = [key for key in VARY_LABELS if key in asked.vary]
    st.session_state[f"goal-spread-{tag}"] = round(100 * float(asked.vary.get("run_time_spread", SPREAD_PERCENT / 100)))
    st.session_state[f"goal-fails-{tag}"] = float(asked.vary.get("failures", 24 * FAILS_EVERY_DAYS)) / 24


def usual_goal(scenario: Scenario) -> Goal:
    """Return what is asked at first: waits within an hour, few late jobs where jobs have due times."""
    policy, params = usual_policy(scenario)
    now = today_metrics(scenario, policy)
    metrics = ["wait_p95", *(["late_share"] if "late_share" in offered_metrics(scenario) else [])]
    targets = tuple(Target(metric=key, limit=usual_limit(KPIS[key], now.get(key))) for key in metrics)
    vary = dict(default_draws(scenario, policy).vary)
    return Goal(targets, "average", LEVEL_PERCENT / 100, policy, params, DRAWS, CONFIRM, vary, exact=False)


def usual_policy(scenario: Scenario) -> tuple[str, dict[str, Any]]:
    """Return policy and parameters of the run that is looked at, else the first usual policy with its own."""
    run_id = session.run_id()
    try:
        info = None if run_id is None else session.store().run_info(run_id)
    except StoreError:
        info = None
    if info is not None and info.scenario_hash == scenario.content_hash and info.policy in LABELS:
        own = find(info.policy).parse({}).model_dump(mode="json")
        return info.policy, {name: value for name, value in info.params.items() if value != own.get(name)}
    usual = [*policy_choice.usual(scenario), "fifo"]
    return next(key for key in usual if key == "fifo" or not unmet_needs(find(key), scenario)), {}


def today_metrics(scenario: Scenario, policy: str) -> Metrics:
    """Return the numbers of the newest stored run of a policy on the scenario; empty where there is none."""
    runs = session.runs_of(scenario.content_hash)
    mine = runs[(runs["policy"] == policy) & ~runs["stale"]] if len(runs) else runs
    return loaders.metrics(str(mine["run_id"].iloc[0])) if len(mine) else {}


def offered_metrics(scenario: Scenario) -> list[str]:
    """Return the metrics that have a better side, and what they need: due times, prices."""
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


def fields(scenario: Scenario, *, confirms: bool) -> Goal:
    """Show the fields and return what they ask; ``confirms``: the search has fresh draws too.

    Raises
    ------
    InputError
        Naming the target that is not one, or that there is none.
    """
    tag = tag_of(scenario)
    claim, level = _claim(tag)
    texts = _target_texts(scenario, tag)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        policy, params = _policy(scenario, tag)
        draws, confirm, vary, exact = _draws(scenario, tag, policy, params, confirms=confirms)
    if exact:
        st.markdown(
            ":gray[Nothing is random here: the answer is exact for this trace, and no forecast. Let something vary to "
            "learn how sure it is.]"
        )
    return Goal(read_targets(texts), claim, level, policy, params, draws, confirm, vary, exact)


def _claim(tag: str) -> tuple[Claim, float]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "What is claimed of the size", list(CLAIM_LABELS), required=True, key=f"goal-claim-{tag}",
            persist_state="session", format_func=CLAIM_LABELS.__getitem__, help=CLAIM_HELP,
        )  # fmt: skip
        claim: Claim = chosen or "average"
        level = float(st.session_state.get(f"goal-level-{tag}", LEVEL_PERCENT))
        if claim == "nearly-every":
            level = st.number_input(
                "Sure in (% of draws)", 50.0, 99.9, key=f"goal-level-{tag}", persist_state="session", width=170,
                format="%g", help="Share of draws that have to meet all targets at once",
            )  # fmt: skip
    return claim, level / 100


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
    for need, what in ((Need.DUE, "Late jobs need due times."), (Need.PRICE, "Costs need prices.")):
        if need not in fill.missing(scenario):
            continue
        label, rule, change = OFFERS[need]
        st.markdown(f":gray[{what}]")
        if st.button(label, key=f"goal-fill-{need.name}", type="tertiary", help=dollars(rule)):
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
        raise InputError(f"Target {kpi.label}", error.why, f"{error.do}, as in {example_of(kpi)}") from None


def _policy(scenario: Scenario, tag: str) -> tuple[str, dict[str, Any]]:
    offered, key = [spec.key for spec in POLICIES if not unmet_needs(spec, scenario)], f"goal-policy-{tag}"
    if st.session_state.get(key) not in offered:
        st.session_state[key] = offered[0]
    policy = st.selectbox(
        "Policy", offered, key=key, persist_state="session", width=240, format_func=LABELS.__getitem__,
        help="Every size is run under it. Policies that need what the scenario lacks are not offered.",
    )  # fmt: skip
    spec, free = find(policy), scenario.cluster.free_slots
    hidden = frozenset() if free else frozenset({"vm_type"})
    if not set(spec.params.model_fields) - hidden:
        return policy, {}
    whose, own = st.session_state.get("goal-params", ("", {}))
    choices = {"vm_type": [vm.name for vm in scenario.cluster.vm_types]} if free else {}
    with st.popover("Parameters", help=f"Of the policy {safe(spec.label)}"):
        given = model_fields(
            spec.params, f"param-goal-{policy}-{st.session_state.get('goal-round', 0)}",
            spec.parse(own if whose == policy else {}), hidden=hidden, choices=choices,
        )  # fmt: skip
    return policy, spec.parse(given).model_dump(exclude_defaults=True, mode="json")


def _draws(
    scenario: Scenario, tag: str, policy: str, params: dict[str, Any], *, confirms: bool
) -> tuple[int, int, dict[str, float | str], bool]:
    vary = _vary_now(tag)
    exact = is_exact(scenario, Variant(policy=policy, params=params), Replications(seeds=(0,), vary=vary))
    with st.popover(_draws_words(tag, vary, exact=exact, confirms=confirms), key="goal-draws-menu",
                    help="How often everything random is drawn, and what differs from draw to draw"):  # fmt: skip
        st.pills(
            "What differs from draw to draw, beside what the scenario draws", list(VARY_LABELS), selection_mode="multi",
            key=f"goal-vary-{tag}", persist_state="session", format_func=VARY_LABELS.__getitem__, help=vary_help(),
        )  # fmt: skip
        if "run_time_spread" in vary:
            st.number_input("Run times, spread (± %)", 1, 500, key=f"goal-spread-{tag}", persist_state="session",
                            help="Coefficient of variation; at 30% most are within 0.6x and 1.5x")  # fmt: skip
        if "failures" in vary:
            st.number_input("Each node fails every (days)", 0.01, 40_000.0, key=f"goal-fails-{tag}", format="%g",
                            persist_state="session", help="Mean time between two failures of one node")  # fmt: skip
        st.number_input(
            "Draws of each size" if confirms else "Draws of each month", 2, MOST_DRAWS, key=f"goal-draws-{tag}",
            persist_state="session", disabled=exact, help="More draws, narrower intervals, and as much more time",
        )  # fmt: skip
        if confirms:
            st.number_input(
                "Fresh draws that confirm a size", 2, MOST_CONFIRM, key=f"goal-confirm-{tag}", disabled=exact,
                persist_state="session",
                help="The size found was chosen because it looked good: only draws it was not chosen by say if it is",
            )  # fmt: skip
    kept = [int(st.session_state[f"goal-{what}-{tag}"]) for what in ("draws", "confirm")]
    return kept[0], kept[1], vary, exact


def _vary_now(tag: str) -> dict[str, float | str]:
    chosen = st.session_state.get(f"goal-vary-{tag}") or []
    values: dict[str, float | str] = {}
    if "days" in chosen:
        values["days"] = 1.0
    if "run_time_spread" in chosen:
        values["run_time_spread"] = float(st.session_state.get(f"goal-spread-{tag}", SPREAD_PERCENT)) / 100
    if "failures" in chosen:
        values["failures"] = 24 * float(st.session_state.get(f"goal-fails-{tag}", FAILS_EVERY_DAYS))
    return values


def _draws_words(tag: str, vary: Mapping[str, float | str], *, exact: bool, confirms: bool) -> str:
    if exact:
        return "One trace, nothing random"
    draws, confirm = (int(st.session_state[f"goal-{what}-{tag}"]) for what in ("draws", "confirm"))
    more = f", {confirm} to confirm" if confirms else ""
    return f"{amount(draws, 'draw')}{more}" + "".join(f", {one}" for one in vary_words(vary))
