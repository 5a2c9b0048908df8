"""Searches for a size or a commitment, and months ahead: answers, what they are opened with, time, what is next."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from dlsched.domain.cluster import Cluster, Pool, Scaling
from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.studies import commitment, growth, sizing
from dlsched.studies.commitment import CommitmentSpec
from dlsched.studies.commitment.answer import Commitment
from dlsched.studies.commitment.offer import scenario_with
from dlsched.studies.design import Variant
from dlsched.studies.design.factor import Value
from dlsched.studies.design.factors import NODES_OF, changed, without_neutral
from dlsched.studies.growth import GrowthSpec
from dlsched.studies.growth.answer import Growth, to_order
from dlsched.studies.sizing import SizeSpec
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.sizing.conditions import condition_at, read_condition, refuse_options, written
from dlsched.studies.sizing.question import TargetsSpec
from dlsched.studies.sizing.words import caveats_of_goal
from dlsched.studies.what_if import WhatIfSpec, guess_s, unchanged
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.fields import targets
from dlsched.ui.fields.targets import tag_of
from dlsched.ui.frame import link, session
from dlsched.ui.frame.caches import shared
from dlsched.ui.scenario import trust
from dlsched.wording.caveats import Caveat
from dlsched.wording.formats import about_seconds

LINKED = (targets.CONDITION, "policy", "with")
"""Parameters of the address that the page is opened with."""
WANTED, TAKEN = "size-wanted", "size-taken"

SIZES = Answers(sizing.STUDY)
MONTHS = Answers(growth.STUDY)
COMMITMENTS = Answers(commitment.STUDY)


def newest_size(scenario_hash: str) -> Sizing | None:
    """Return the search for a size that is shown, else the newest, about a scenario; None if there is none."""
    found = SIZES.newest(scenario_hash)
    named = st.session_state.get(SIZES.shown_key)
    if named and found is not None and found.experiment_id != named:
        with suppress(DlschedError):
            opened = SIZES.stored(named)
            found = opened if opened.spec.scenario == scenario_hash else found
    return None if found is None else found.answer


def note_wanted() -> None:
    """Note the condition and the policy the URL names where they are new, for the form to ask about."""
    linked = {name: st.query_params[name] for name in LINKED if name in st.query_params}
    if targets.CONDITION not in linked:
        link.misread(*linked)
    elif linked != st.session_state.get(TAKEN):
        st.session_state[WANTED] = linked
        for one in (SIZES, MONTHS, COMMITMENTS):
            st.session_state.pop(f"{one.key}-filled", None)


def open_for(
    scenario: Scenario, condition: Mapping[str, Value], policy: str = "", params: Mapping[str, Any] | None = None
) -> None:
    """Open the search for a size, asking about a scenario under conditions, with a policy; the address says it too.

    Raises
    ------
    InputError
        A condition that is something to choose, such as nodes.
    """
    refuse_options(condition, scenario)
    for one in (SIZES, MONTHS, COMMITMENTS):
        st.session_state.pop(f"{one.key}-filled", None)
    st.session_state.pop(TAKEN, None)
    link = {targets.CONDITION: ",".join(written(condition, ":")), "policy": policy}
    if policy and params:
        link["with"] = json.dumps(dict(params))
    session.go("Capacity", part="Size", **link)


def take_wanted(scenario: Scenario) -> None:
    """Ask what the page was opened with, over what its fields were filled with.

    Raises
    ------
    InputError
        Naming the part of the link that cannot be read.
    """
    wanted = st.session_state.pop(WANTED, None)
    if wanted is None:
        return
    st.session_state[TAKEN] = wanted
    texts = [text for text in wanted[targets.CONDITION].split(",") if text]
    targets.set_condition(tag_of(scenario), read_condition(texts, scenario, ":"))
    if policy := wanted.get("policy"):
        params = _read_params(wanted.get("with", "{}"))
        targets.set_policy(tag_of(scenario), Variant(policy=find(policy).key, params=params))


def _read_params(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f"link, with={text[:80]}", "is no set of parameters of a policy", 'Write it as {"name": value}'
        )
    return found


def caveats(
    shown: Shown[SizeSpec, Sizing] | Shown[GrowthSpec, Growth] | Shown[CommitmentSpec, Commitment], scenario: Scenario
) -> tuple[Caveat, ...]:
    """Return what stands beside an answer about targets; nothing is known where its scenario is elsewhere."""
    if shown.elsewhere:
        return ()
    answer = shown.answer
    return caveats_of_goal(
        scenario, answer.policy, answer.rule, answer.futures.vary, trust.known_trust(scenario, answer.policy)
    )


# ---- how long it takes -------------------------------------------------------------------------------


def about(runs: int, scenario: Scenario, variant: Variant) -> str:
    """Return about how long so many runs take: "about 20 s"."""
    minute = int(time.monotonic() // 60)  # the guess learns from runs that have ended since
    return about_seconds(runs * _run_s(scenario.content_hash, variant.model_dump_json(), minute, variant, scenario))


@shared
def _run_s(scenario_hash: str, choice: str, minute: int, _variant: Variant, _scenario: Scenario) -> float:
    return guess_s(unchanged(_scenario, _variant.policy, _variant.params).first_future, _scenario, session.store())


# ---- next steps --------------------------------------------------------------------------------------


def what_if_of(spec: SizeSpec, answer: Sizing, scenario: Scenario) -> WhatIfSpec:
    """Return the what-if of the size found against today, in the same futures; ValueError without one."""
    if answer.answer is None:
        raise ValueError("there is no size to ask about")
    changes = {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)}
    return _what_if(spec, changes, spec.condition, scenario)


def what_if_of_order(spec: GrowthSpec, answer: Growth, scenario: Scenario) -> WhatIfSpec | None:
    """Return the what-if of the nodes to order against today's, with the jobs of the last month they are for.

    None if nothing has to be ordered, or no size that holds was found.
    """
    order = to_order(answer)
    if order is None or order.counts is None:
        return None
    changes = {vm.key: count for vm, count in zip(answer.types, order.counts, strict=True)}
    return _what_if(spec, changes, condition_at(spec.condition, order.load), scenario)


def what_if_of_mix(spec: CommitmentSpec, answer: Commitment, scenario: Scenario) -> WhatIfSpec | None:
    """Return the what-if of the mix found against today's cluster, in the same futures.

    None if no mix was found, if it is today's, or if changes of a what-if cannot say it: terms or prices that were
    typed, or a pool that the scenario does not have.
    """
    made = scenario_with(answer, spec, scenario)
    if made is None:
        return None
    found = made.cluster
    counts = {pool.vm.name: pool.count for pool in found.pools}
    changes: dict[str, Value] = {
        f"{NODES_OF}{name}": counts.get(name, 0)
        for name in dict.fromkeys(pool.vm.name for pool in scenario.cluster.pools)
    }
    if found.rents_nodes and found.rent_after_s != scenario.cluster.rent_after_s:
        changes["burst_wait"] = found.rent_after_s
    try:
        changes = without_neutral(scenario, changes)
        if not changes or _in_use(changed(scenario, changes).cluster) != _in_use(found):
            return None
    except InputError:  # a change that this scenario does not take, as to wait before renting where nothing is rented
        return None
    return _what_if(spec, changes, spec.condition, scenario)


def _what_if(
    spec: TargetsSpec, changes: Mapping[str, Value], condition: Mapping[str, Value], scenario: Scenario
) -> WhatIfSpec:
    """Return the what-if of changes against today's cluster, under the policy and in the futures of a question."""
    return WhatIfSpec(
        scenario=scenario.content_hash,
        condition=condition,
        baseline=Variant(policy=spec.policy, params=spec.params),
        changed=Variant(policy=spec.policy, params=spec.params, changes=changes),
        futures=spec.futures,
    )


def _in_use(cluster: Cluster) -> tuple[list[Pool], Scaling | None]:
    """Return the pools with nodes, without their names, and when they are rented, if any is."""
    pools = [pool.model_copy(update={"nodes": ""}) for pool in cluster.pools if pool.count]
    return pools, cluster.scaling or Scaling() if any(pool.is_rented for pool in pools) else None
