"""Answers of What if and Size that were kept, as options of a memo: in the same futures under one condition.

A memo pairs its options future by future, so they must answer the same question but for what is chosen: the same policy
today, the same condition, the same futures. What was kept under another condition or in other futures, and every run
of another number of futures, is asked about again as a what-if of the memo; the runner answers in the background, and
what the store knows is taken from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.report.alternatives import condition_of
from dlsched.runner.background import StudyTask
from dlsched.studies.code_version import version_today
from dlsched.studies.design import Variant
from dlsched.studies.design.variants import Value
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.what_if import WhatIfSpec, check, is_exact, moved, read_spec, unchanged
from dlsched.studies.what_if.words import subject
from dlsched.ui.fields.policy_and_params import variant_of
from dlsched.ui.frame import identity, loaders, runs_of, session, writing
from dlsched.ui.frame.runs_of import Series
from dlsched.ui.pending import PendingTasks
from dlsched.ui.plan import size_state, what_if_state
from dlsched.ui.plan.what_if_state import WHAT_IFS, Shown
from dlsched.wording.certainty import EXACT
from dlsched.wording.formats import amount
from dlsched.wording.settings import vary_words

WORK = PendingTasks("report")
PREFIX = "options/"
"""Begins the settings of the store that remember what was kept, by scenario."""
WANTED, ASKED = "report-wanted", "report-asked"


# ---- what is kept ------------------------------------------------------------------------------------


def kept_ids(scenario_hash: str) -> list[str]:
    """Return the ids of the experiments that were kept as options of a scenario, in the order in which they were."""
    return [str(one) for one in session.store().get_setting(PREFIX + scenario_hash, [])]


def is_kept(scenario_hash: str, experiment_id: str) -> bool:
    """Whether an answer is among the options of a scenario."""
    return experiment_id in kept_ids(scenario_hash)


def keep(scenario_hash: str, experiment_id: str) -> None:
    """Add an answer to the options of a scenario; one that is there stays where it is."""
    others = kept_ids(scenario_hash)
    if experiment_id not in others:
        session.store().set_setting(PREFIX + scenario_hash, [*others, experiment_id])


def drop(scenario_hash: str, experiment_id: str) -> None:
    """Take an answer off the options of a scenario; one that is not there changes nothing."""
    others = [one for one in kept_ids(scenario_hash) if one != experiment_id]
    session.store().set_setting(PREFIX + scenario_hash, others or None)


@dataclass(frozen=True, eq=False)
class Kept:
    """Something to choose beside today: its name, the question that compares it, and the search that found it, if any.

    ``series``: the stored runs of a policy that is to stand beside kept answers.
    """

    name: str
    spec: WhatIfSpec
    experiment_id: str = ""
    sizing: Sizing | None = None
    series: Series | None = None


def kept_of(scenario: Scenario) -> list[Kept]:
    """Return the kept answers of a scenario that are a choice, in the order they were kept, with names that differ.

    Left out: what is no longer in the store, what cannot be computed on the scenario any more, a condition without
    anything chosen, and a search that found no size or today's. What was kept under several conditions is one choice.
    """
    found: dict[str, Kept] = {}
    for one in _all_kept(scenario):
        what = one.spec.changed.model_dump_json()
        if not one.name:
            continue
        if what in found:
            found[what] = replace(found[what], experiment_id=one.experiment_id)
            continue
        twice = sum(other.name.partition(" (")[0] == one.name for other in found.values())
        found[what] = replace(one, name=f"{one.name} ({twice + 1})") if twice else one
    return list(found.values())


def conditions_kept(scenario: Scenario) -> list[dict[str, Value]]:
    """Return the conditions under which answers were kept, each once, the newest first."""
    asked = [one.spec.condition for one in reversed(_all_kept(scenario))]
    return [one for place, one in enumerate(asked) if one not in asked[:place]]


def _all_kept(scenario: Scenario) -> list[Kept]:
    """Return what was kept and can be computed, in the order it was; a condition alone has no name."""
    found = []
    for experiment_id in kept_ids(scenario.content_hash):
        with suppress(DlschedError):
            one = _kept(experiment_id, scenario)
            found += [] if one is None else [one]
    return found


def _kept(experiment_id: str, scenario: Scenario) -> Kept | None:
    record = session.store().get_experiment(experiment_id)
    spec: WhatIfSpec | None = None
    sizing: Sizing | None = None
    if record.kind == WHAT_IFS.kind:
        spec = read_spec(record.spec)
    elif record.kind == size_state.MONTHS.kind:
        months = size_state.MONTHS.stored(experiment_id)
        spec = size_state.what_if_of_order(months.spec, months.answer, scenario)
    elif record.kind == size_state.COMMITMENTS.kind:
        mixes = size_state.COMMITMENTS.stored(experiment_id)
        spec = size_state.what_if_of_mix(mixes.spec, mixes.answer, scenario)
    elif record.kind == size_state.SIZES.kind:
        sizes = size_state.SIZES.stored(experiment_id)
        sizing = sizes.answer
        if sizing.answer is not None and sizing.answer != sizing.today:
            spec = size_state.what_if_of(sizes.spec, sizing, scenario)
    if spec is None:
        return None
    check(spec, scenario)
    if sizing is not None and sizing.answer is not None:
        return Kept(sizing.words(sizing.answer), spec, experiment_id, sizing)
    differs = moved(spec, scenario)
    return Kept(subject(differs).words if differs else "", spec, experiment_id)


def beside(scenario: Scenario, chosen: Sequence[Series], frame: WhatIfSpec) -> list[Kept]:
    """Return runs of the scenario as choices beside kept answers: each a policy instead of today's."""
    found = []
    for series in chosen:
        case = case_of(series)
        if case != frame.baseline:
            found.append(Kept(series.label, unchanged(scenario, case.policy, case.params), series=series))
    return found


def case_of(series: Series) -> Variant:
    """Return policy and parameters of runs, without those that are its defaults."""
    return variant_of(loaders.info(series.run_ids[0]))


# ---- the same question for all -----------------------------------------------------------------------


def frame_of(kept: Sequence[Kept], condition: Mapping[str, Value]) -> WhatIfSpec:
    """Return the question whose baseline and futures all options share: of the first what-if, else of a size."""
    first = next((one.spec for one in kept if one.sizing is None), kept[0].spec)
    return first.model_copy(update={"condition": dict(condition)})


def aligned(one: Kept, frame: WhatIfSpec) -> WhatIfSpec:
    """Return the question about an option against the baseline, under the condition and in the futures of a frame."""
    shared = {"condition": frame.condition, "baseline": frame.baseline, "futures": frame.futures}
    return one.spec.model_copy(update=shared)


def frame_words(frame: WhatIfSpec, scenario: Scenario) -> str:
    """Return the condition, today's policy, the futures and what varies between them."""
    under = f"under {find(frame.baseline.policy).label}"
    if words := condition_of(scenario, frame.condition).words:
        under = f"{under}, with {words}"
    if is_exact(frame, scenario):
        return f"{under}, {EXACT}"
    varies = ", ".join(vary_words(frame.futures.vary))
    return f"{under}, in {amount(len(frame.futures.seeds), 'future')}" + (f" with {varies}" if varies else "")


def runs_fit(one: Kept, frame: WhatIfSpec, scenario: Scenario) -> bool:
    """Whether stored runs stand for an option: of this program's version, in all futures of the frame as they are."""
    if one.series is None or frame.futures.vary or frame.condition:
        return False
    info = loaders.info(one.series.run_ids[0])
    if info.code_version != version_today(scenario, info.policy):
        return False
    exact = runs_of.are_exact([one.series]) and is_exact(frame, scenario)
    return exact or set(frame.futures.seeds) <= set(one.series.seeds)


def answer_of(one: Kept, frame: WhatIfSpec) -> Shown | None:
    """Return the stored answer about an option in the futures of a frame; None if it is to be computed."""
    return what_if_state.answered(aligned(one, frame))


def missing(kept: Sequence[Kept], frame: WhatIfSpec, scenario: Scenario) -> list[Kept]:
    """Return the options that were not computed under the condition and in the futures of the memo."""
    return [one for one in kept if not runs_fit(one, frame, scenario) and answer_of(one, frame) is None]


def ask(lacking: Sequence[Kept], frame: WhatIfSpec, scenario: Scenario) -> None:
    """Ask the background runner about options under the condition and in the futures of the memo."""
    WORK.begin(session.runner().submit([question(aligned(one, frame), one.name, scenario) for one in lacking]))


def ask_about_sizes(lacking: Sequence[Kept], frame: WhatIfSpec, scenario: Scenario) -> bool:
    """Ask unasked where sizes alone are lacking, once: who keeps a size wants its numbers."""
    asked = st.session_state.setdefault(ASKED, set())
    fresh = {aligned(one, frame).model_dump_json() for one in lacking} - asked
    if not fresh or any(one.sizing is None for one in lacking) or not identity.may_write():
        return False
    asked |= fresh
    ask(lacking, frame, scenario)
    return True


def question(spec: WhatIfSpec, name: str, scenario: Scenario) -> StudyTask:
    """Return a what-if for the background runner."""
    return WHAT_IFS.task(spec, scenario, f"Option: {name}")


def ask_about_size(experiment_id: str, scenario: Scenario) -> None:
    """Keep a size as an option, and have it compared with today so that a memo has all its numbers."""
    keep(scenario.content_hash, experiment_id)
    with_size = [one for one in kept_of(scenario) if one.experiment_id == experiment_id]
    lacking = [one for one in with_size if what_if_state.answered(one.spec) is None]
    if lacking:
        session.runner().submit([question(one.spec, one.name, scenario) for one in lacking])


def buttons(key: str, experiment_id: str, scenario: Scenario, *, is_current: bool, why_not: str = "") -> None:
    """Offer to keep an answer of Capacity as an option, and to write the memo with it; ``why_not``: disabled."""
    about = scenario.content_hash
    kept = is_kept(about, experiment_id)
    if kept:
        writing.button("Kept as an option ✕", key=f"{key}-unkeep", on_click=drop, args=(about, experiment_id),
                  help="Take it off the options")  # fmt: skip
    else:
        writing.button("Keep as option", key=f"{key}-keep", on_click=ask_about_size, disabled=bool(why_not),
                  args=(experiment_id, scenario), type="primary" if is_current else "secondary",
                  help=why_not or "The memo puts options side by side")  # fmt: skip
    if writing.button("Add to memo", key=f"{key}-memo", type="primary" if is_current and kept else "secondary",
                 disabled=bool(why_not), help=why_not or "Keeps this as an option and opens the memo"):  # fmt: skip
        ask_about_size(experiment_id, scenario)
        want(experiment_id)
        session.go("Memo")


def want(experiment_id: str) -> None:
    """Keep an option ticked when the report is opened next, whatever was ticked before."""
    st.session_state[WANTED] = experiment_id


def is_wanted() -> bool:
    """Whether the reader came from a page that added an option."""
    return WANTED in st.session_state


def take_wanted() -> str:
    """Return the option that was added last, once; "" where none was."""
    return str(st.session_state.pop(WANTED, ""))
