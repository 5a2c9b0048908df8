"""Numbers of policies in the futures of a scenario, as every page reads them; the missing ones come in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.runner.background import StudyTask, TaskState, TaskStatus
from dlsched.runner.executor import num_workers
from dlsched.studies import cells
from dlsched.studies.batches import batches, run_seconds
from dlsched.studies.design import Futures, Variant, VariantTask
from dlsched.studies.futures_numbers import FuturesNumbers, FuturesPlan, known_numbers, plan_futures
from dlsched.ui.frame import session, writing
from dlsched.ui.frame.caches import drop_oldest, shared
from dlsched.ui.frame.futures import futures_of
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.turns import TURNS, pauses_s
from dlsched.wording.formats import about_seconds, amount

MOST_FAILED = 10_000
"""Runs whose errors are remembered; an older one that is asked for again is computed, and fails, again."""
REDRAWN_AT = 2.0
"""A page that shows some futures is drawn anew once there are so many times as many."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Numbers under way: of which policy and scenario, which runs, and how many futures were asked for of it in all."""

    name: str
    keys: tuple[str, ...]
    asked: int
    scenario_hash: str


def futures_numbers(choices: Sequence[tuple[Scenario, Variant]]) -> FuturesNumbers:
    """Return what is known of policies, each on its scenario, in the futures of the first scenario.

    Raises
    ------
    InputError
        A policy that cannot run the jobs, or parameters that this version does not know.
    """
    futures = futures_of(choices[0][0])
    if any(scenario.generator is not None for scenario, _ in choices):
        futures = Futures.first(futures.count)
    asked = tuple((scenario.content_hash, variant.model_dump_json()) for scenario, variant in choices)
    plain = futures.model_dump_json()
    plan = _plan(asked, plain, list(choices), futures)
    found = _known(plan, session.store().cell_changes)
    return replace(found, failed={key: error for key, error in _failed().items() if key in found.plan.tasks})


@shared
def _known(plan: FuturesPlan, changes: tuple[int, int]) -> FuturesNumbers:
    return known_numbers(plan, session.store())


@shared
def _plan(asked: object, futures: str, _choices: Sequence[tuple[Scenario, Variant]], _futures: Futures) -> FuturesPlan:
    return plan_futures(_choices, _futures)


# ---- the missing ones --------------------------------------------------------------------------------


def seconds_of(numbers: FuturesNumbers, in_full: Sequence[int] = ()) -> float:
    """Return about how many seconds the missing numbers take on all workers, without those of runs in full."""
    asked = _by_scenario(numbers, keys_at(numbers, in_full))
    seconds = [sum(run_seconds(tasks, scenario, session.store()).values()) for scenario, tasks in asked]
    return sum(seconds) / num_workers()


def compute_missing(numbers: FuturesNumbers, in_full: Sequence[int] = ()) -> None:
    """Have the background runner compute what is missing, the same futures of all policies first.

    ``in_full``: places of futures that are run elsewhere, with all their jobs. What is under way is not asked for
    again.
    """
    forget_over()
    left_out = keys_at(numbers, in_full).union(*(batch.keys for batch in _asked().values()))
    for scenario, tasks in _by_scenario(numbers, left_out):
        seconds = run_seconds(tasks, scenario, session.store())
        of_policy: dict[str, list[str]] = {}
        for key, task in tasks.items():
            of_policy.setdefault(find(task.policy).label, []).append(key)
        parts = [[(name, part) for part in batches(keys, seconds, num_workers())] for name, keys in of_policy.items()]
        in_turn = [one for together in zip_longest(*parts) for one in together if one is not None]
        ids = session.runner().submit(
            StudyTask(cells.KIND, cells.spec_of({key: tasks[key] for key in part}), name, scenario)
            for name, part in in_turn
        )
        asked = numbers.plan.count - max(len(in_full), 1)
        new = [Batch(name, tuple(part), asked, scenario.content_hash) for name, part in in_turn]
        _asked().update(zip(ids, new, strict=True))


def keys_at(numbers: FuturesNumbers, places: Sequence[int]) -> set[str]:
    """Return the keys of futures that a run in full is one of: those in which nothing is changed."""
    keys = {keys[place] for keys in numbers.plan.keys for place in places}
    return {key for key in keys if not numbers.plan.tasks[key].changes}


def _by_scenario(numbers: FuturesNumbers, left_out: set[str]) -> list[tuple[Scenario, dict[str, VariantTask]]]:
    found: dict[str, tuple[Scenario, dict[str, VariantTask]]] = {}
    for key, task in numbers.missing.items():
        if key not in left_out:
            found.setdefault(task.scenario.content_hash, (task.scenario, {}))[1][key] = task
    return list(found.values())


@st.cache_resource(show_spinner=False)
def _asked() -> dict[str, Batch]:
    """Return what was asked for on this server and is not forgotten, by the id of its task."""
    return {}


@st.cache_resource(show_spinner=False)
def _failed() -> dict[str, str]:
    """Return the errors of runs of this server that failed, by key; the latest :data:`MOST_FAILED`."""
    return {}


@st.cache_resource(show_spinner=False)
def _noted() -> set[str]:
    """Return the ids of the batches whose failures are in :func:`_failed`."""
    return set()


def _note_failures(now: Sequence[TaskStatus]) -> None:
    """Remember what failed of batches that have ended: it is not asked for again by itself."""
    for status in now:
        if status.state.is_over and status.id not in _noted():
            rest = session.runner().answer(status.id)
            _failed().update({} if rest is None else {key: one.error for key, one in cells.outcomes_of(rest).items()})
            drop_oldest(_failed(), MOST_FAILED)
            _noted().add(status.id)


def statuses(*, mine: bool = False) -> list[TaskStatus]:
    """Return how batches of numbers are doing that were asked for on this server, or by the user, and not forgotten."""
    return session.runner().status([*_asked()], mine=mine)


def runs_and_batches(tasks: Sequence[TaskStatus]) -> tuple[list[TaskStatus], list[TaskStatus]]:
    """Return which tasks of the runner are runs with all their jobs, and which are batches of numbers."""
    asked = _asked()
    return [one for one in tasks if one.id not in asked], [one for one in tasks if one.id in asked]


def scenario_hash_of(status: TaskStatus) -> str:
    """Return the scenario that a run, or a batch of numbers, is of."""
    batch = _asked().get(status.id)
    return session.runner().task(status.id).scenario.content_hash if batch is None else batch.scenario_hash


def forget_over() -> None:
    """Take batches that have ended off the list."""
    now = statuses()
    _note_failures(now)
    session.runner().forget([status.id for status in now if status.state.is_over])
    there = {status.id for status in statuses()}
    for one in [one for one in _asked() if one not in there]:
        del _asked()[one]
        _noted().discard(one)


# ---- on the pages that show numbers ------------------------------------------------------------------


def under_way(numbers: FuturesNumbers) -> list[TaskStatus]:
    """Return the batches under way that compute what is missing here."""
    missing = numbers.missing.keys()
    now = session.runner().status([one for one, batch in [*_asked().items()] if not missing.isdisjoint(batch.keys)])
    _note_failures(now)
    return [one for one in now if not one.state.is_over]


def offer_missing(numbers: FuturesNumbers, key: str) -> None:
    """Say what failed, and how many futures there are while more are computed; else offer to compute the others."""
    for policy, errors in numbers.errors.items():
        text = f"{find(policy).label} failed in {amount(len(errors), 'future')}: {errors[0]}"
        st.warning(safe(text, 400), icon="⚠️")
    for choice, keys in enumerate(numbers.plan.keys):
        if complaints := numbers.complaints(choice):
            label = find(numbers.plan.tasks[keys[0]].policy).label
            text = f"The audit found {amount(len(complaints), 'violation')} in futures of {label}: {complaints[0]}"
            st.error(safe(text, 400), icon="⛔")
    if not numbers.missing:
        return
    if under_way(numbers):
        so_far = f"{len(numbers.places):,} of {amount(numbers.plan.count, 'future')} so far"
        st.badge(so_far, color="violet", help="The others are being computed; this page shows them as they come")
    else:
        label = f"Compute the other {amount(numbers.missing_futures, 'future')} ({about_seconds(seconds_of(numbers))})"
        writing.button(label, key=f"{key}-compute", on_click=compute_missing, args=(numbers,),
                  help="The numbers above then rest on all futures of this scenario")  # fmt: skip


def follow(numbers: FuturesNumbers) -> None:
    """Draw the page anew while more futures come; call it last on a page. Any click interrupts it.

    The page's own run follows, not a fragment with a timer, for the reason given in ``ui.simulate.queue``.
    """
    shown, before, pauses = len(numbers.places), None, pauses_s()
    while numbers.missing:
        batches_left = {status.id for status in under_way(numbers)}
        if batches_left != before:  # the store has more only when a batch has ended: many sessions look here at once
            now = _known(numbers.plan, session.store().cell_changes)
            enough = len(now.places) >= (REDRAWN_AT * max(shown, 1) if batches_left else shown + 1)
            failed_since = bool(numbers.missing.keys() & _failed().keys())
            if enough or (not batches_left and (before is not None or failed_since)):
                st.rerun()
        if not batches_left:
            break
        before = batches_left
        TURNS.sleep(next(pauses))


def progress_of(group: Sequence[TaskStatus]) -> tuple[float, float, int]:
    """Return how many runs of batches are done, of how many, and how many futures were asked for in all."""
    known: Mapping[str, Batch] = _asked()
    sizes = {one.id: len(known[one.id].keys) for one in group}
    done = sum(sizes[one.id] * (1.0 if one.state in (TaskState.DONE, TaskState.STORED) else one.share) for one in group)
    return done, sum(sizes.values()), max((known[one.id].asked for one in group), default=0)
