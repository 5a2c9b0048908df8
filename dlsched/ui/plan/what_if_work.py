"""Which question the page What if asks, how it is changed and undone, its link, and its answer from the runner."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find, unmet_needs
from dlsched.runner.background import StudyTask
from dlsched.store.record import experiment_key
from dlsched.store.runs import RunInfo
from dlsched.studies import registry
from dlsched.studies.design import Variant
from dlsched.studies.what_if import (
    LINK_PARAMS,
    WhatIfSpec,
    guess_s,
    moved,
    read_link,
    read_spec,
    unchanged,
    written_link,
)
from dlsched.studies.what_if.answer import WhatIf
from dlsched.studies.what_if.words import subject
from dlsched.ui.fields import policy_choice
from dlsched.ui.frame import session
from dlsched.ui.pending import PendingTasks

KIND, PARAM = "what-if", "experiment"
WORK = PendingTasks("whatif")
SPEC, HISTORY, LINK = "whatif-spec", "whatif-history", "whatif-link"
ASKED, LAST, SPEEDS = "whatif-question", "whatif-last", "whatif-speeds"
SLOW_S = 3.0
"""What takes longer is computed when the reader says so, not at every move of a control."""
ROUGH_S = 1.0
"""What takes longer is asked about its first draw too, so that there is a rough answer meanwhile."""
WAIT_S, LOOK_EVERY_S = 1.2, 0.02
MOST_UNDO = 50


@dataclass(frozen=True, eq=False)
class Shown:
    """An answer on the page, and the question it answers."""

    spec: WhatIfSpec
    answer: WhatIf
    experiment_id: str


# ---- the question ------------------------------------------------------------------------------------


def follow_link() -> None:
    """Take over the stored answer that the URL names, with its scenario; before the page is begun.

    Raises
    ------
    StoreError
        When it is not in this store, or is no what-if.
    """
    named = st.query_params.get(PARAM)
    if not named:
        return
    del st.query_params[PARAM]
    record = session.store().get_experiment(named)
    if record.kind != KIND:
        raise StoreError(f"Experiment {named[:12]} is no what-if. Open it where it was made.")
    open_spec(read_spec(record.spec))


def open_spec(spec: WhatIfSpec) -> None:
    """Ask this question from now on, about its own scenario where the store has it."""
    if session.store().scenario_info(spec.scenario) is not None:
        session.look_at(spec.scenario)
    for name in LINK_PARAMS:
        st.query_params.pop(name, None)
    st.session_state[SPEC], st.session_state[HISTORY] = spec, []


def asked(scenario: Scenario) -> WhatIfSpec:
    """Return the question of this tab about a scenario: of the link where it is a new one, else as it was left.

    Raises
    ------
    InputError
        Naming the part of the link that cannot be read.
    """
    link = _link_now()
    spec: WhatIfSpec | None = st.session_state.get(SPEC)
    if link and link != st.session_state.get(LINK):
        spec = read_link(link, scenario, _usual_case(scenario).policy)
        st.session_state[HISTORY] = []
    elif spec is None or spec.scenario != scenario.content_hash:
        case = _usual_case(scenario)
        spec = unchanged(scenario, case.policy, case.params)
        st.session_state[HISTORY] = []
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


def _usual_case(scenario: Scenario) -> Variant:
    """Return the baseline of a new question: the run that is looked at, else the first usual policy."""
    run_id = session.run_id()
    try:
        info = None if run_id is None else session.store().run_info(run_id)
    except StoreError:
        info = None
    if info is not None and info.scenario_hash == scenario.content_hash:
        return _case_of(info)
    usual = [*policy_choice.usual(scenario), "fifo"]
    return Variant(policy=next(key for key in usual if key == "fifo" or not unmet_needs(find(key), scenario)))


def _case_of(info: RunInfo) -> Variant:
    """Return policy and parameters of a run, without those that are its defaults."""
    defaults = find(info.policy).parse({}).model_dump(mode="json")
    own = {name: value for name, value in info.params.items() if value != defaults.get(name)}
    return Variant(policy=info.policy, params=own)


def open_about(run_id: str, changes: Mapping[str, float] | None = None) -> None:
    """Open the page with a stored run as the baseline, and these changes by key; without any nothing is changed."""
    info = session.store().run_info(run_id)
    session.look_at(info.scenario_hash)
    case = _case_of(info)
    spec = unchanged(session.scenario(), case.policy, case.params)
    open_spec(spec.model_copy(update={"changed": spec.changed.model_copy(update={"changes": dict(changes or {})})}))
    session.go("plan/what_if.py")


def put(spec: WhatIfSpec) -> None:
    """Ask another question from now on; the one before can be had back."""
    before = st.session_state[SPEC]
    if spec != before:
        st.session_state[HISTORY] = [*st.session_state.get(HISTORY, []), before][-MOST_UNDO:]
        st.session_state[SPEC] = spec


def put_changed(case: Variant) -> None:
    """Ask about another choice against the same baseline, on the same draws."""
    put(st.session_state[SPEC].model_copy(update={"changed": case}))


def can_undo() -> bool:
    """Whether there is a question before this one."""
    return bool(st.session_state.get(HISTORY))


def undo() -> None:
    """Go back to the question before."""
    if can_undo():
        st.session_state[SPEC] = st.session_state[HISTORY].pop()


def reset() -> None:
    """Change nothing of the scenario; the draws stay."""
    put_changed(st.session_state[SPEC].baseline)


def forget() -> None:
    """Begin anew, as when the page is opened for the first time."""
    for name in LINK_PARAMS:
        st.query_params.pop(name, None)
    for key in (SPEC, HISTORY, LINK):
        st.session_state.pop(key, None)


# ---- its answer --------------------------------------------------------------------------------------


def known(spec: WhatIfSpec) -> Shown | None:
    """Return the stored answer to a question; None when it was not asked yet."""
    version = registry.find(KIND).version
    found = session.store().find_experiment(experiment_key(KIND, spec.model_dump(mode="json"), version))
    if found is None:
        return None
    shown = Shown(spec, _stored(str(session.store().path), found), found)
    _note_speed(shown)
    return shown


@st.cache_resource(max_entries=50, show_spinner=False)
def _stored(_path: str, experiment_id: str) -> WhatIf:
    return WhatIf.from_plain(session.store().get_experiment(experiment_id).answer)


def about_s(spec: WhatIfSpec, scenario: Scenario) -> float:
    """Return about how long a question takes, seconds: by one like it that was answered, else by a guess."""
    run_s = st.session_state.get(SPEEDS, {}).get(_kind_of(spec))
    return guess_s(spec, scenario, session.store(), run_s)


def _kind_of(spec: WhatIfSpec) -> tuple[Any, ...]:
    """Return what decides how long a run takes: scenario, policies, and what is changed, not by how much."""
    return spec.scenario, spec.baseline.policy, spec.changed.policy, *sorted({*spec.changed.changes, *spec.draws.vary})


def _note_speed(shown: Shown) -> None:
    if shown.answer.run_cpu_s:
        st.session_state.setdefault(SPEEDS, {})[_kind_of(shown.spec)] = shown.answer.run_cpu_s


def is_asked(spec: WhatIfSpec) -> bool:
    """Whether this tab has asked the runner this question last, or the same about the first draw alone."""
    return st.session_state.get(ASKED) in (spec, spec.first_draw)


def ask_by_itself(spec: WhatIfSpec, scenario: Scenario, seconds: float) -> None:
    """Ask what is answered soon without being told to: all draws, else the first one alone, else nothing."""
    first = spec.first_draw
    if seconds <= SLOW_S:
        ask(spec, scenario, seconds)
    elif about_s(first, scenario) <= SLOW_S and known(first) is None:
        ask(first, scenario, 0.0)


def ask(spec: WhatIfSpec, scenario: Scenario, seconds: float) -> None:
    """Ask the background runner, about the first draw first where all of them take long; stop what is out of date."""
    drop_question()
    specs = [spec.first_draw, spec] if seconds > ROUGH_S and len(spec.draws.seeds) > 1 else [spec]
    words = subject(moved(spec, scenario)).words if moved(spec, scenario) else "As it is"
    ids = [
        session.runner().ask(StudyTask(KIND, one.model_dump(mode="json"), f"What if: {words}", scenario))
        for one in specs
    ]
    st.session_state[ASKED] = spec
    WORK.begin(ids)


def drop_question() -> None:
    """Stop what this tab has asked and nobody waits for any more."""
    if WORK.is_waiting():
        session.runner().cancel([status.id for status in WORK.under_way()])
    st.session_state.pop(ASKED, None)
    st.session_state.pop(WORK.tasks_key, None)
    WORK.forget_ended()


def wait_shortly() -> None:
    """Give a quick question the time to be answered before the page is drawn: one picture instead of two."""
    until_s = time.monotonic() + WAIT_S
    while WORK.under_way() and time.monotonic() < until_s:
        time.sleep(LOOK_EVERY_S)


def last_shown(scenario: Scenario) -> Shown | None:
    """Return the answer that was on the page before; None where it was about another scenario."""
    shown: Shown | None = st.session_state.get(LAST)
    return shown if shown is not None and shown.spec.scenario == scenario.content_hash else None


def note_shown(shown: Shown) -> None:
    """Remember the answer that is on the page."""
    st.session_state[LAST] = shown
