"""The form of a search for a size: what all parts ask, and which VM types may vary from how many to how many nodes."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.studies.design.factors import NODES_OF, factor_of
from dlsched.studies.sizing import SizeSpec, check, read_spec, usual_runs
from dlsched.studies.sizing.sizes import ALL, LARGEST_FACTOR, LARGEST_LEAST
from dlsched.studies.sizing.spec import MOST_NODES, MOST_TYPES
from dlsched.studies.sizing.words import goal_words
from dlsched.ui.fields import goal as size_goal
from dlsched.ui.fields.goal import Goal, tag_of
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import size_work
from dlsched.ui.study_page import Asked
from dlsched.wording.formats import listed

LACK_HELP = (
    "A size must have as many jobs done as today's cluster in the same draw. Jobs turned away or not done at the end "
    "would otherwise make waits look short."
)


def fields(scenario: Scenario, _: SizeSpec | None) -> Asked[SizeSpec]:
    """Show the fields and return what they ask; InputError where that cannot be computed."""
    goal = size_goal.fields(scenario, confirms=True)
    spec = read_spec(_plain(scenario, goal))
    check(spec, scenario)
    text = goal_words(goal.targets, goal.claim, goal.level, find(goal.policy).label, exact=goal.exact)

    def button(is_stored: bool) -> str:
        if is_stored:
            return "Show the cheapest size from the store"
        runs = usual_runs(spec, exact=goal.exact)
        return f"Find the cheapest size, {size_work.button_seconds(runs, scenario, spec.policy, spec.params)}"

    return Asked(spec, f"{text}; {ranges_words(spec)}", f"Size, {scenario.name[:60]}", button)


def ranges_words(spec: SizeSpec) -> str:
    """Return the ranges of a question: "1 to 32 nodes"."""
    return listed([f"{one.least:,} to {one.most:,} {one.key.removeprefix(NODES_OF)}".removesuffix(ALL).strip()
                   + (" nodes" if one.key != ALL else f" {ALL}") for one in spec.types])  # fmt: skip


def goal_of(spec: SizeSpec) -> Goal:
    """Return what a question asks that all parts ask."""
    return Goal(spec.targets, spec.claim, spec.level, spec.policy, dict(spec.params), spec.draws, spec.confirm,
                dict(spec.vary), exact=False)  # fmt: skip


def fill(scenario: Scenario, shown: SizeSpec | None) -> None:
    """Give the fields their first values for a scenario, and those of a question when it is opened."""
    size_goal.fill_in(scenario, None if shown is None else goal_of(shown))
    tag = tag_of(scenario)
    if shown is not None and shown.types:
        st.session_state[f"size-types-{tag}"] = [one.key for one in shown.types]
        for one in shown.types:
            st.session_state[f"size-least-{one.key}-{tag}"] = one.least
            st.session_state[f"size-most-{one.key}-{tag}"] = one.most
    if shown is not None:
        st.session_state[f"size-lack-{tag}"] = shown.lack_percent
        st.session_state[f"size-runs-{tag}"] = shown.most_runs


def keys_of(scenario: Scenario) -> list[str]:
    """Return the numbers of nodes that can vary: of the whole cluster, or of each VM type where there are several."""
    names = list(dict.fromkeys(pool.vm.name for pool in scenario.cluster.pools))
    return [ALL] if scenario.cluster.free_slots or len(names) == 1 else [NODES_OF + name for name in names]


def name_of(key: str) -> str:
    """Return a number of nodes in words: "Nodes", "A100 nodes"."""
    return "Nodes" if key == ALL else f"{key.removeprefix(NODES_OF)} nodes"


def _plain(scenario: Scenario, goal: Goal) -> dict[str, Any]:
    """Show the fields of the nodes and return the question in plain data."""
    tag = tag_of(scenario)
    varying = _varying(scenario, tag)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        types = [_range(scenario, key, tag) for key in varying]
        lack, most_runs = _limits(tag)
    return {
        "scenario": scenario.content_hash,
        "targets": [target.model_dump() for target in goal.targets],
        "policy": goal.policy,
        "params": goal.params,
        "claim": goal.claim,
        "level": goal.level,
        "types": types,
        "draws": goal.draws,
        "confirm": goal.confirm,
        "vary": goal.vary,
        "lack_percent": lack,
        "most_runs": most_runs,
    }


def _varying(scenario: Scenario, tag: str) -> list[str]:
    keys, field = keys_of(scenario), f"size-types-{tag}"
    if len(keys) == 1:
        return keys
    if field not in st.session_state:
        st.session_state[field] = keys[:MOST_TYPES]
    chosen = st.multiselect(
        "VM types that may vary", keys, key=field, persist_state="session", max_selections=MOST_TYPES,
        format_func=lambda key: str(key).removeprefix(NODES_OF), help="The others keep the nodes they have today",
    )  # fmt: skip
    if not chosen:
        raise InputError("VM types that may vary", "there is none, so there is only one size", "Choose one or more")
    return list(chosen)


def _range(scenario: Scenario, key: str, tag: str) -> dict[str, Any]:
    today = int(factor_of(scenario, key).own(scenario) or 0)
    fields = {"least": 1 if key == ALL else 0, "most": min(MOST_NODES, max(LARGEST_LEAST, LARGEST_FACTOR * today))}
    for side, usual in fields.items():
        field = f"size-{side}-{key}-{tag}"
        if field not in st.session_state:
            st.session_state[field] = usual
        fields[side] = st.number_input(
            f"{safe(name_of(key))}, {side}", 0, MOST_NODES, key=field, persist_state="session", width=170,
            help=f"Today {today:,}. Sizes outside are not tried",
        )  # fmt: skip
    return {"key": key} | fields


def _limits(tag: str) -> tuple[float, int]:
    usual = SizeSpec.model_fields
    for name, value in (("lack", usual["lack_percent"].default), ("runs", usual["most_runs"].default)):
        st.session_state.setdefault(f"size-{name}-{tag}", value)
    with st.popover("More", key="size-limits", help="Jobs that may be left undone, and when to stop"):
        lack = st.number_input("Jobs that may be left undone (% of today's)", 0.0, 50.0, format="%g", help=LACK_HELP,
                               key=f"size-lack-{tag}", persist_state="session")  # fmt: skip
        most = st.number_input("Stop after so many runs", 100, 20_000, step=500, key=f"size-runs-{tag}",
                               persist_state="session", help="What is found until then is the answer")  # fmt: skip
    return float(lack), int(most)
