"""The controls of the parts Range and Sensitivity: what varies and policies; and the questions that are asked most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

import streamlit as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find, policies, policy_label, unmet_needs
from dlsched.studies.design import Futures
from dlsched.studies.design.factor import Value
from dlsched.studies.design.factors import factors_for
from dlsched.studies.design.measures import PAIRED, is_paired
from dlsched.studies.sweep import SweepSpec, read_spec
from dlsched.studies.sweep.presets import PRESETS, Mode, Preset, axes_of, low_and_high, range_of
from dlsched.studies.sweep.run import question_of, read_axis
from dlsched.studies.sweep.spec import MOST_AXES, policy_of, refuse_too_many
from dlsched.ui.fields.factor import label_of_values
from dlsched.ui.fields.policy_and_params import offered, usual, usual_variant
from dlsched.ui.frame import session
from dlsched.ui.frame.forms import label_of
from dlsched.ui.frame.futures import futures_of
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import dollars
from dlsched.ui.plan import sweep_runs
from dlsched.ui.plan.sweep_runs import SWEEPS, Ready
from dlsched.ui.study_page import Asked, fold
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import about_seconds, amount, listed

METRICS = (
    "jct_mean", "wait_mean", "wait_p95", "slowdown_mean", "late_share", "tardiness_cost", "cost_month", "total_cost",
    "vm_cost", "utility_total", "completed", "rejected", "unfinished",
)  # fmt: skip
"""What a sweep of the page answers; runs that are kept hold all numbers, so that more cost nothing."""
NAMES: Mapping[Mode, str] = {"grid": "Range", "one-at-a-time": "Sensitivity"}
"""What the work on a question is called."""
NOTHING = ""
PRESET = "preset"
"""Parameter of a link that names a question that is asked often."""
VALUES_HELP = "Values with commas, as 4, 8, 16; or from:to:how many, as 0.8:1.4:7"


def presets(mode: Mode, scenario: Scenario) -> None:
    """Show the questions of a mode that are asked most; each fills the form."""
    with st.container(horizontal=True, gap="small"):
        for one in PRESETS:
            if one.mode == mode and st.button(one.label, key=f"sweep-preset-{one.key}", help=one.help):
                with mistakes_shown():
                    _take(one, scenario)
                    fold(SWEEPS[mode].key, is_open=True)
                    st.rerun()


def open_range(scenario: Scenario, key: str, values: Sequence[Value], policy: str) -> None:
    """Open the part Range with one change of a scenario and its values filled in, for one policy."""
    tag = scenario.content_hash[:8]
    _set(tag, "grid", {key: tuple(values)})
    st.session_state[f"sweep-gain-grid-{tag}"] = NOTHING
    st.session_state[f"sweep-policies-grid-{tag}"] = [policy]
    fold(SWEEPS["grid"].key, is_open=True)
    session.go("Capacity", part=NAMES["grid"])


def _take(one: Preset, scenario: Scenario) -> None:
    """Fill the form with a question that is asked often."""
    axes = axes_of(one.key, scenario)
    tag = scenario.content_hash[:8]
    _set(tag, one.mode, {axis.key: axis.values for axis in axes})
    st.session_state[f"sweep-gain-{one.mode}-{tag}"] = one.policies[-1] if one.policies else NOTHING
    st.session_state[f"sweep-policies-{one.mode}-{tag}"] = list(one.policies) or _usual(one.key, scenario)


def _usual(asked: str, scenario: Scenario) -> list[str]:
    """Return the policies a question starts with: which assumption matters is asked of today's policy alone."""
    choices = offered(scenario)
    if asked == "assumptions":
        return [usual_variant(scenario).policy]
    return [key for key in usual(scenario) if key in choices] or choices[:1]


def fields(mode: Mode, scenario: Scenario, _: SweepSpec | None) -> Asked[SweepSpec]:
    """Show the fields and return what they ask; InputError where that cannot be computed.

    A link may name one of the questions that are asked most: ?preset=pool-size.
    """
    if (named := st.query_params.get(PRESET)) is not None:
        del st.query_params[PRESET]
        for one in PRESETS:
            if one.key == named:
                _take(one, scenario)
    ready = sweep_runs.prepare(_spec(mode, scenario, scenario.content_hash[:8]), scenario)
    if ready.plan.exact and ready.spec.futures.count:  # every future would be the same
        ready = sweep_runs.prepare(ready.spec.model_copy(update={"futures": Futures()}), scenario)
    name = f"{NAMES[mode]}, {scenario.name[:60]}"
    return Asked(ready.spec, question_of(ready.spec, scenario), name, lambda _: button_words(ready))


def button_words(ready: Ready) -> str:
    """Return what the button says: Run 1,350 runs; Run 930 of 1,350; Resume 930 missing; Show 1,350 from the store."""
    runs, missing = len(ready.plan.tasks), len(ready.missing)
    if not missing:
        return f"Show {amount(runs, 'run')} from the store"
    about = about_seconds(ready.seconds)
    if sweep_runs.is_interrupted(ready.spec):
        return f"Resume {missing:,} missing, {about}"
    part = f"{missing:,} of " if missing < runs else ""
    return f"Run {part}{amount(runs, 'run')}, {about}"


# ---- first values ------------------------------------------------------------------------------------


def fill(mode: Mode, scenario: Scenario, asked: SweepSpec | None) -> None:
    """Give the fields their first values for a scenario, and those of a question when it is opened."""
    tag = scenario.content_hash[:8]
    if asked is not None:
        _set(tag, mode, {axis.key: axis.values for axis in asked.axes})
        st.session_state[f"sweep-policies-{mode}-{tag}"] = list(asked.policies)
        st.session_state[f"sweep-gain-{mode}-{tag}"] = asked.reference if is_paired(asked.metrics) else NOTHING
    elif f"sweep-policies-{mode}-{tag}" not in st.session_state:
        first = "size" if mode == "grid" else "assumptions"
        try:
            axes = axes_of(first, scenario)
        except InputError:  # no pool can have another size
            axes = axes_of("load", scenario)
        _set(tag, mode, {axis.key: axis.values for axis in axes})
        st.session_state[f"sweep-policies-{mode}-{tag}"] = _usual(first, scenario)


def _set(tag: str, mode: str, axes: Mapping[str, tuple[Value, ...]]) -> None:
    """Fill in what varies."""
    keys = list(axes)
    if mode == "grid":
        st.session_state[f"sweep-first-{tag}"] = keys[0]
        st.session_state[f"sweep-second-{tag}"] = keys[1] if len(keys) > 1 else NOTHING
    else:
        st.session_state[f"sweep-alone-{tag}"] = keys
    for key, values in axes.items():
        st.session_state[_values_key(tag, mode, key)] = _text(values)


def _text(values: tuple[Value, ...]) -> str:
    return ", ".join(value if isinstance(value, str) else f"{value:.12g}" for value in values)


def _values_key(tag: str, mode: str, key: str) -> str:
    return f"sweep-values-{mode}-{key}-{tag}"


# ---- fields ------------------------------------------------------------------------------------------


def _spec(mode: Mode, scenario: Scenario, tag: str) -> SweepSpec:
    policies = list(st.session_state.get(f"sweep-policies-{mode}-{tag}", []))
    names = _names(scenario, policies)
    axes = _grid(scenario, tag, names) if mode == "grid" else _alone(scenario, tag, names)
    policies = _policies(scenario, f"sweep-policies-{mode}-{tag}")
    reference = _gain(scenario, f"sweep-gain-{mode}-{tag}", policies)
    futures = futures_of(scenario)
    typed = {key: read_axis(scenario, key, text) for key, text in axes.items()}
    refuse_too_many(
        {names.get(key, key): len(values) for key, values in typed.items()}, mode, len(policies), len(futures.seeds)
    )
    return read_spec(
        {
            "scenario": scenario.content_hash,
            "axes": [{"key": key, "values": values} for key, values in typed.items()],
            "mode": mode,
            "policies": policies,
            "futures": futures.model_dump(),
            "metrics": (*METRICS, *PAIRED) if reference else METRICS,
            "reference": reference,
        }
    )


def _names(scenario: Scenario, policies: list[str]) -> dict[str, str]:
    """Return what can vary: changes of the scenario, then numbers and choices among the parameters of the policies."""
    names = {change.key: label_of_values(change) for change in factors_for(scenario)}
    for policy in policies:
        for name, info in find(policy).params.model_fields.items():
            if name != "vm_type" and _kinds(info.annotation):
                names[f"{policy}.{name}"] = f"{find(policy).label}: {label_of(name, info).lower()}"
    return names


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the first values of a parameter that can vary: choices, or (float,) for a number; () for others."""
    options = [one for one in get_args(annotation) if one is not type(None)] or [annotation]
    if get_origin(annotation) is not None and all(isinstance(one, str) for one in options):
        return tuple(options)
    return ("false", "true") if bool in options else (float,) if set(options) <= {int, float} else ()


def _suggested(scenario: Scenario, mode: Mode, key: str) -> str:
    """Return the values a field starts with."""
    if policy := policy_of(key):
        name = key.partition(".")[2]
        spec = find(policy)
        kinds = _kinds(spec.params.model_fields[name].annotation)
        if kinds and kinds != (float,):
            return ", ".join(kinds)
        own = float(getattr(spec.parse({}), name) or 1.0)
        is_whole = isinstance(getattr(spec.parse({}), name), int)
        halves = [max(1, round(own / 2)), own, 2 * own] if is_whole else [own / 2, own, 2 * own]
        return _text(tuple(sorted({float(one) for one in halves})))
    change = next(one for one in factors_for(scenario) if one.key == key)
    return _text(range_of(scenario, change) if mode == "grid" else low_and_high(scenario, change))


def _values(scenario: Scenario, tag: str, mode: Mode, key: str, names: Mapping[str, str]) -> str:
    widget = _values_key(tag, mode, key)
    if widget not in st.session_state:
        st.session_state[widget] = _suggested(scenario, mode, key)
    words = next((change.help for change in factors_for(scenario) if change.key == key), "")
    if not words and policy_of(key):
        words = find(policy_of(key)).params.model_fields[key.partition(".")[2]].description or ""
    label = f"Values: {names[key]}" if mode == "grid" else names[key]
    return str(st.text_input(label, key=widget, persist_state="session", width=300,
                             help=dollars(f"{VALUES_HELP}. {words}")))  # fmt: skip


def _grid(scenario: Scenario, tag: str, names: Mapping[str, str]) -> dict[str, str]:
    axes = {}
    for place, label in (("first", "Vary"), ("second", "And")):
        options = list(names) if place == "first" else [NOTHING, *(key for key in names if key not in axes)]
        if st.session_state.get(f"sweep-{place}-{tag}") not in options:
            st.session_state[f"sweep-{place}-{tag}"] = options[0]
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.selectbox(
                label, options, key=f"sweep-{place}-{tag}", persist_state="session", width=300,
                format_func=lambda key: names.get(key, "nothing else"),
                help="Something of the scenario, or a parameter of a policy chosen below",
            )  # fmt: skip
            if chosen:
                axes[str(chosen)] = _values(scenario, tag, "grid", str(chosen), names)
    return axes


def _alone(scenario: Scenario, tag: str, names: Mapping[str, str]) -> dict[str, str]:
    key = f"sweep-alone-{tag}"
    st.session_state[key] = [one for one in st.session_state.get(key, []) if one in names]
    chosen = st.multiselect(
        f"Vary one at a time (at most {MOST_AXES})", list(names), key=key, persist_state="session",
        format_func=names.__getitem__, max_selections=MOST_AXES,
        help="Each value makes one situation, compared with the unchanged scenario",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        return {one: _values(scenario, tag, "one-at-a-time", one, names) for one in chosen}


def _policies(scenario: Scenario, key: str) -> list[str]:
    choices = offered(scenario)
    st.session_state[key] = [one for one in st.session_state.get(key, []) if one in choices]
    chosen = st.multiselect(
        "Policies", choices, key=key, persist_state="session", format_func=policy_label,
        help="All see the same jobs. Parameters keep their defaults, but for what varies",
    )  # fmt: skip
    if lacking := _lacking(scenario):
        with st.popover("Policies that cannot run here", key=f"lacking-{key}", type="tertiary"):
            st.markdown("\n".join(f"- {dollars(line)}" for line in lacking))
    return list(chosen)


def _lacking(scenario: Scenario) -> list[str]:
    """Return which policies need what the scenario lacks, by what they lack."""
    by_need: dict[str, list[str]] = {}
    for spec in policies():
        if needs := unmet_needs(spec, scenario):
            by_need.setdefault(" and ".join(need.value for need in needs), []).append(spec.spoken)
    return [f"{listed(names)}: needs {need}" for need, names in by_need.items()]


def _gain(scenario: Scenario, key: str, policies: list[str]) -> str:
    """Return the policy that the others are compared with job by job; "" for none."""
    if st.session_state.get(key) not in policies:
        st.session_state[key] = NOTHING
    if len(policies) < 2:
        return NOTHING
    chosen = st.selectbox(
        "Compare job by job with", [NOTHING, *policies], key=key, persist_state="session", width=300,
        format_func=lambda one: policy_label(one) if one else "no policy",
        help="Compares every run job by job with that of this policy: gain, additional jobs, and the time that "
        "decisions of solvers take. Numbers of runs that were kept without it are computed again",
    )  # fmt: skip
    if chosen and scenario.speed.kind == "rigid":
        st.markdown(
            counted_of(scenario).say(
                ":gray[Every job has a fixed number of GPUs here: policies can only choose which job starts when. For "
                "elastic training, put the jobs on whole nodes or open the sample of it, on the page Jobs.]"
            )
        )
    return str(chosen)
