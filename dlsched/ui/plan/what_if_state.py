"""Which question the page What if asks, how it is changed and undone, its link, and its answer from the runner."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.runner.background import StudyTask
from dlsched.runner.executor import num_workers
from dlsched.studies import cells
from dlsched.studies.batches import batches
from dlsched.studies.design import EditedScenarios, Variant, changed
from dlsched.studies.design.factors import differs_by_seed
from dlsched.studies.design.variants import Value
from dlsched.studies.what_if import (
    LINK_PARAMS,
    STUDY,
    WhatIfPlan,
    WhatIfSpec,
    plan_s,
    planned,
    read_link,
    run_s,
    runs_of_numbers,
    unchanged,
    written_link,
)
from dlsched.studies.what_if.answer import WhatIf
from dlsched.studies.what_if.words import subject
from dlsched.ui import answers
from dlsched.ui.answers import PARAM
from dlsched.ui.fields.policy_and_params import usual_variant, variant_of
from dlsched.ui.frame import session
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.futures import futures_of

WHAT_IFS = answers.Answers(STUDY, prefix="whatif")
Shown = answers.Shown[WhatIfSpec, WhatIf]
SPEC, HISTORY, LINK = "whatif-spec", "whatif-history", "whatif-link"
ASKED, LAST, SPEEDS = "whatif-question", "whatif-last", "whatif-speeds"
SLOW_S = 3.0
"""What takes longer is computed when the reader says so, not at every move of a control."""
ROUGH_S = 1.0
"""What takes longer is asked about future 0 alone too, so that there is an answer meanwhile."""
MOST_UNDO = 50


# ---- the question ------------------------------------------------------------------------------------


def follow_link() -> None:
    """Take over the stored answer that the URL names, with its scenario; before the page is begun.

    Raises
    ------
    StoreError
        When it is not in this store, or is no what-if.
    """
    if named := st.query_params.pop(PARAM, ""):
        open_spec(WHAT_IFS.stored(named).spec)


def open_spec(spec: WhatIfSpec) -> None:
    """Ask this question from now on, about its own scenario where the store has it."""
    if session.info_of(spec.scenario) is not None:
        session.look_at(spec.scenario)
    for name in LINK_PARAMS:
        st.query_params.pop(name, None)
    st.session_state[SPEC], st.session_state[HISTORY] = spec, []


def asked(scenario: Scenario) -> WhatIfSpec:
    """Return the question of this tab about a scenario: of the link where it is a new one, else as it was left.

    A new one starts with the policy of today, the same at every visit.

    Raises
    ------
    InputError
        Naming the part of the link that cannot be read.
    """
    link = _link_now()
    spec: WhatIfSpec | None = st.session_state.get(SPEC)
    if link and link != st.session_state.get(LINK):
        spec = read_link(link, scenario, usual_variant(scenario).policy, futures_of(scenario))
        st.session_state[HISTORY] = []
    elif spec is None or spec.scenario != scenario.content_hash:
        case = usual_variant(scenario)
        spec = unchanged(scenario, case.policy, case.params)
        st.session_state[HISTORY] = []
    spec = spec.model_copy(update={"futures": futures_of(scenario, spec.baseline.policy)})
    st.session_state[SPEC] = spec
    _write_link(spec)
    return spec


def _link_now() -> dict[str, list[str]]:
    return {name: values for name in LINK_PARAMS if (values := st.query_params.get_all(name))}


def _write_link(spec: WhatIfSpec) -> None:
    """Make the address bar name the question, so that it opens again in any browser that reaches the store."""
    wanted = written_link(spec)
    now = _link_now()
    for name in LINK_PARAMS:
        if name in wanted and now.get(name) != wanted[name]:
            st.query_params[name] = wanted[name]
        elif name in now and name not in wanted:
            del st.query_params[name]
    st.session_state[LINK] = wanted


def open_about(run_id: str, changes: Mapping[str, Value] | None = None) -> None:
    """Open the page with a stored run as the baseline, and these changes by key; without any nothing is changed."""
    info = session.store().run_info(run_id)
    session.look_at(info.scenario_hash)
    case = variant_of(info)
    scenario = session.scenario()
    spec = unchanged(scenario, case.policy, case.params, futures_of(scenario, case.policy))
    open_spec(spec.with_changes(scenario, changes or {}))
    session.go("What if")


def now() -> WhatIfSpec:
    """Return the question of this tab."""
    spec: WhatIfSpec = st.session_state[SPEC]
    return spec


def put(spec: WhatIfSpec) -> None:
    """Ask another question from now on; the one before can be had back."""
    before = now()
    if spec != before:
        st.session_state[HISTORY] = [*st.session_state.get(HISTORY, []), before][-MOST_UNDO:]
        st.session_state[SPEC] = spec


def put_changes(changes: Mapping[str, Value]) -> None:
    """Ask about other changes: conditions hold for all sides, options for the changed one."""
    put(now().with_changes(session.scenario(), changes))


def put_changed(**parts: Any) -> None:
    """Ask about another choice against the same baseline, in the same futures; parts not named stay."""
    put(now().model_copy(update={"changed": Variant(**(dict(now().changed) | parts))}))


def put_baseline(baseline: Variant) -> None:
    """Compare with another policy; an option that changed no policy keeps the one of the baseline."""
    spec = now()
    changed = spec.changed
    if (changed.policy, changed.params) == (spec.baseline.policy, spec.baseline.params):
        changed = changed.model_copy(update={"policy": baseline.policy, "params": baseline.params})
    put(spec.model_copy(update={"baseline": baseline, "changed": changed}))


def can_undo() -> bool:
    """Whether there is a question before this one."""
    return bool(st.session_state.get(HISTORY))


def undo() -> None:
    """Go back to the question before."""
    if can_undo():
        st.session_state[SPEC] = st.session_state[HISTORY].pop()


def reset() -> None:
    """Change nothing of the scenario."""
    put(now().model_copy(update={"condition": {}, "changed": now().baseline}))


def forget() -> None:
    """Start over, as when the page is opened for the first time."""
    for name in LINK_PARAMS:
        st.query_params.pop(name, None)
    for key in (SPEC, HISTORY, LINK):
        st.session_state.pop(key, None)


# ---- what follows from it ----------------------------------------------------------------------------


class _KeptScenarios(EditedScenarios):
    """A scenario with changes that the app keeps from one look at the page to the next."""

    def at(self, changes: Mapping[str, Value], seed: int) -> Scenario:
        """Return the scenario with changes in the future of a seed; InputError as :func:`changed`."""
        own = seed if differs_by_seed(self.scenario, changes) else 0
        return _edited(self.scenario.content_hash, json.dumps(dict(changes)), own, self.scenario)


@shared
def _edited(scenario_hash: str, edits: str, seed: int, _scenario: Scenario) -> Scenario:
    return changed(_scenario, json.loads(edits), seed)


def plan_of(spec: WhatIfSpec, scenario: Scenario) -> WhatIfPlan:
    """Return what has to be run for a question; changes that were made before are not made again.

    Raises
    ------
    InputError
        Where it cannot be computed.
    """
    return planned(spec, scenario, _KeptScenarios(scenario))


# ---- its answer --------------------------------------------------------------------------------------


def answered(spec: WhatIfSpec) -> Shown | None:
    """Return the stored answer to a question; None when it was not asked yet."""
    shown = WHAT_IFS.answer_to(spec)
    if shown is not None and shown.answer.run_cpu_s:
        st.session_state.setdefault(SPEEDS, {})[_kind_of(spec)] = shown.answer.run_cpu_s
    return shown


def about_s(plan: WhatIfPlan) -> float:
    """Return about how long a question takes, seconds: by one like it that was answered, else by a guess."""
    known_s = st.session_state.get(SPEEDS, {}).get(_kind_of(plan.spec))
    return plan_s(plan, session.store(), known_s, num_workers())


def _kind_of(spec: WhatIfSpec) -> tuple[Any, ...]:
    """Return what decides how long a run takes: scenario, policies, and what is changed, not by how much."""
    return (
        spec.scenario,
        spec.baseline.policy,
        spec.changed.policy,
        *sorted({*spec.condition, *spec.changed.changes, *spec.futures.vary}),
    )


def is_asked(spec: WhatIfSpec) -> bool:
    """Whether this tab has asked the runner this question last, or the same about future 0 alone."""
    return st.session_state.get(ASKED) in (spec, spec.first_future)


def ask_by_itself(plan: WhatIfPlan, seconds: float) -> None:
    """Ask what is answered soon without being told to: all futures, else the first one alone, else nothing."""
    if seconds <= SLOW_S:
        ask(plan, seconds)
        return
    first = plan_of(plan.spec.first_future, plan.edited.scenario)
    if about_s(first) <= SLOW_S and answered(first.spec) is None:
        ask(first, 0.0)


def ask(plan: WhatIfPlan, seconds: float) -> None:
    """Ask the background runner, about future 0 first where all of them take long; stop what is out of date."""
    spec = plan.spec
    WHAT_IFS.work.drop()
    specs = [spec.first_future, spec] if seconds > ROUGH_S and len(spec.futures.seeds) > 1 else [spec]
    changes = (*plan.conditions, *plan.moved)
    words = subject(changes).words if changes else "As it is"
    name = f"What if: {words}"
    tasks = [WHAT_IFS.task(one, plan.edited.scenario, name) for one in specs]
    if len(tasks) > 1:
        tasks[-1] = replace(tasks[-1], ahead=_batches_of(plan, name))
    WHAT_IFS.work.begin(session.runner().submit(tasks))
    st.session_state[ASKED] = spec


def _batches_of(plan: WhatIfPlan, name: str) -> tuple[StudyTask, ...]:
    """Return the runs of a question that are not known and of which only numbers are needed, for all workers."""
    runs, workers = runs_of_numbers(plan), num_workers()
    known = session.store().find_cells([*runs])
    missing = [key for key in runs if key not in known]
    if workers == 1 or len(missing) < 2:
        return ()
    each_s = max(run_s(side, session.store()) for side in plan.sides)
    parts = batches(missing, dict.fromkeys(missing, each_s), workers)
    scenario = plan.edited.scenario
    return tuple(
        StudyTask(cells.KIND, cells.spec_of({key: runs[key] for key in part}), name, scenario) for part in parts
    )


def last_shown(scenario: Scenario) -> Shown | None:
    """Return the answer that was on the page before; None if it was about another scenario."""
    shown: Shown | None = st.session_state.get(LAST)
    return shown if shown is not None and shown.spec.scenario == scenario.content_hash else None


def note_shown(shown: Shown) -> None:
    """Remember the answer that is on the page."""
    st.session_state[LAST] = shown
