"""The controls of the page Pool size: sizes, policies, what goes wrong, draws."""

from __future__ import annotations

import re

import streamlit as st

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.studies.inspect.look_ahead.answer import unit_of
from dlsched.studies.pool_sizes import (
    VARIANT_KEYS,
    PoolSizesSpec,
    check,
    default_nodes,
    default_policies,
    is_exact,
    pool_of,
    read_spec,
)
from dlsched.studies.pool_sizes.words import VARIANT_WORDS
from dlsched.ui.frame.parts import error_box, mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import pool_size_work
from dlsched.wording.formats import amount

LABELS = {spec.key: spec.label for spec in POLICIES}
DRAWS = 3
FILLED = "pool-filled"


def ready(scenario: Scenario) -> bool:
    """Say where the scenario is not made for sweeps, with ways on; return whether its pool has a size at all."""
    try:
        pool_of(scenario)
    except InputError as error:
        error_box(error)
        _ways_on(scenario)
        return False
    rigid = scenario.speed.kind == "rigid"
    if rigid or unit_of(scenario) != "node":
        why = (
            "Every job has one fixed width here: policies can only choose who starts when."
            if rigid
            else "Jobs do not take whole nodes here: sizes below are of nodes, widths are of workers."
        )
        st.warning(f"{why} For elastic training put the jobs on whole nodes, or open the demo.", icon="⚠️")
        _ways_on(scenario)
    return True


def _ways_on(scenario: Scenario) -> None:
    with st.container(horizontal=True):
        if st.button(
            "Put these jobs on whole nodes", key="pool-whole",
            help="A new version: GPUs become whole nodes of 8, a power of two of them; twice the nodes are 1.6 times "
            "as fast (assumed, as in the ModelArts study)",
        ):  # fmt: skip
            with mistakes_shown():
                pool_size_work.put_on_whole_nodes(scenario)
                st.rerun()
        if st.button("Open the demo of elastic training", key="pool-demo", help="447 made-up jobs on 110 nodes"):
            pool_size_work.open_demo()
            st.rerun()


def form(scenario: Scenario, shown: PoolSizesSpec | None) -> PoolSizesSpec | None:
    """Show the form; return what it asks, None where that cannot be computed (it says why).

    ``shown`` is the question of the answer on the page: the form asks it when the answer is opened.
    """
    tag = scenario.content_hash[:8]
    _fill(scenario, shown, tag)
    line = st.empty()
    with st.expander("Change the question", key="pool-form", expanded=shown is None):
        try:
            spec = _fields(scenario, tag)
            check(spec, scenario)
        except DlschedError as error:
            error_box(error)
            line.markdown(":orange[**Question**: it cannot be computed as it stands.]")
            return None
    sizes = ", ".join(f"{nodes:,}" for nodes in spec.nodes)
    policies = ", ".join(LABELS[key] for key in spec.policies)
    wrong = "; ".join(VARIANT_WORDS[variant] for variant in spec.variants)
    line.markdown(
        f"**Question**: {amount(len(scenario.workload), 'job')} on {sizes} nodes, {safe(policies, 300)}; goes wrong: "
        f"{safe(wrong, 300)}"
    )
    return spec


def _fill(scenario: Scenario, shown: PoolSizesSpec | None, tag: str) -> None:
    """Give the fields their first values for a scenario, and those of an answer when it is opened."""
    asked = None if shown is None else shown.model_dump_json()
    mark = f"{tag}-{asked}"
    if st.session_state.get(FILLED) == mark:
        return
    st.session_state[FILLED] = mark
    if shown is not None:
        values = (shown.nodes, shown.policies, shown.variants, shown.draws)
    elif f"pool-nodes-{tag}" in st.session_state:
        return
    else:
        values = (default_nodes(scenario), default_policies(scenario) or ("fifo",), VARIANT_KEYS[:1], DRAWS)
    nodes, policies, variants, draws = values
    st.session_state[f"pool-nodes-{tag}"] = ", ".join(str(one) for one in nodes)
    st.session_state[f"pool-policies-{tag}"] = list(policies)
    st.session_state[f"pool-variants-{tag}"] = list(variants)
    st.session_state[f"pool-draws-{tag}"] = draws


def _fields(scenario: Scenario, tag: str) -> PoolSizesSpec:
    offered = [spec.key for spec in POLICIES if not unmet_needs(spec, scenario)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Sizes (nodes)", key=f"pool-nodes-{tag}", persist_state="session", width=260,
            help="Numbers of nodes, separated by commas; the scenario's own is marked in the charts",
        )  # fmt: skip
        policies = st.multiselect(
            "Policies", offered, key=f"pool-policies-{tag}", persist_state="session", format_func=LABELS.__getitem__,
            help="All see the same jobs. Gains are against ModelArts greedy where it is chosen, else against the last.",
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        variants = st.multiselect(
            "What goes wrong", VARIANT_KEYS, key=f"pool-variants-{tag}", persist_state="session",
            format_func=VARIANT_WORDS.__getitem__,
            help="Several stand side by side. All but the first replace estimate errors, bug jobs, cancelled jobs and "
            "restarts of the scenario, as the ModelArts study has them (its Figs 9 to 15).",
        )  # fmt: skip
        exact = all(is_exact(scenario, variant, tuple(policies)) for variant in variants)
        draws = st.number_input(
            "Draws", 1, 100, key=f"pool-draws-{tag}", persist_state="session", width=110, disabled=exact,
            help="How often everything random is drawn again; more draws, narrower intervals. Nothing random: one.",
        )  # fmt: skip
    if exact and variants:
        st.markdown(":gray[Nothing is random here: exact for these jobs, without intervals.]")
    return read_spec(
        {
            "scenario": scenario.content_hash,
            "nodes": nodes_of(text),
            "policies": policies,
            "variants": variants,
            "draws": draws,
        }
    )


def nodes_of(text: str) -> tuple[int, ...]:
    """Return the sizes of a text such as "70, 110", ascending, each once; InputError where it holds something else."""
    parts = [part for part in re.split(r"[\s,;]+", text) if part]
    if not parts or not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        why = f"must be whole numbers separated by commas, got {text[:60]!r}"
        raise InputError("sizes (nodes)", why, "Write 70, 110, 150")
    return tuple(sorted({int(part) for part in parts}))
