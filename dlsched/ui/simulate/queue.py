"""Follow runs: what is under way, what failed and why, what is ready."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.runner.background import TaskState, TaskStatus
from dlsched.runner.worker import WARMING
from dlsched.studies.code_version import version_of
from dlsched.ui.frame import futures_numbers, run_state, session, writing
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.turns import TURNS, pauses_s
from dlsched.wording.formats import about_seconds, amount


def live_queue(scenario: Scenario | None = None) -> None:
    """Show this user's work on a scenario (None: on any), follow it to its end and open the result; call it last.

    The page's own run follows, not a fragment with a timer: a timer's request that is on its way while the server
    opens another page makes Streamlit show that page empty. Any click on the page interrupts the following.
    """
    everything = run_state.everything()
    statuses = [status for status in everything if status.mine]
    here = statuses
    if scenario is not None:
        here = [one for one in statuses if futures_numbers.scenario_hash_of(one) == scenario.content_hash]
    show = _Board(here, len(_under_way(statuses)) - len(_under_way(here)))
    _of_others([status for status in everything if not (status.mine or status.state.is_over)])
    seen, pauses = _marks(statuses), pauses_s()
    while any(not status.state.is_over for status in statuses) and not run_state.is_over():
        show.update({status.id: status for status in statuses})
        TURNS.sleep(next(pauses))
        statuses = run_state.own()
        if _marks(statuses) != seen:
            break
    if run_state.is_over() and (page := run_state.look_at_batch()):
        session.go(page)
    if _marks(statuses) != seen:
        st.rerun()


def _under_way(statuses: Sequence[TaskStatus]) -> set[str]:
    return {status.name for status in statuses if not status.state.is_over}


def _marks(statuses: Sequence[TaskStatus]) -> tuple[set[str], set[str], bool]:
    """Return what changes the layout of the list: its tasks, the failed ones, and whether anything is under way."""
    failed = {status.id for status in statuses if status.state is TaskState.FAILED}
    return {status.id for status in statuses}, failed, any(not status.state.is_over for status in statuses)


def _of_others(under_way: Sequence[TaskStatus]) -> None:
    """Say how much work of other users shares the workers; only its owner can stop it."""
    if not under_way:
        return
    names = sorted({status.asked_by for status in under_way} - {""})
    of_whom = f" ({safe(', '.join(names), 120)})" if names else ""
    st.markdown(
        f":gray[{amount(len(under_way), 'task')} of other users{of_whom} under way. Users take turns, and only "
        "the user who started a task can cancel it.]"
    )


def summary(statuses: Sequence[TaskStatus]) -> str:
    """Return how far the work is, in one sentence."""
    active = [status for status in statuses if not status.state.is_over]
    groups = _by_name(statuses).values()
    if active:
        at_once = max(1, sum(status.state is TaskState.RUNNING for status in active))
        left = about_seconds(sum(status.eta_s or 0.0 for status in active) / at_once)
        done = sum(all(status.state.is_over for status in group) for group in groups)
        return f"{done} of {amount(len(groups), 'policy', 'policies')} done, {left} left. You can leave this page."
    statuses = futures_numbers.runs_and_batches(statuses)[0] or statuses
    kept = sum(status.state is TaskState.STORED for status in statuses)
    known = sum(status.state is TaskState.STORED and "store" in status.message for status in statuses)
    stopped = sum(status.state is TaskState.CANCELLED for status in statuses)
    failed = sum(status.state is TaskState.FAILED for status in statuses)
    parts = [f"{amount(kept, 'finished run')} kept"]
    parts += [f"{known} of them answered from the store"] * bool(known)
    parts += [f"{stopped} not run"] * bool(stopped) + [f"{failed} failed"] * bool(failed)
    return ("Cancelled. " if stopped else "") + ", ".join(parts) + "."


def _by_name(statuses: Sequence[TaskStatus]) -> dict[str, list[TaskStatus]]:
    groups: dict[str, list[TaskStatus]] = {}
    for status in statuses:
        groups.setdefault(status.name, []).append(status)
    return groups


class _Board:
    """The list on the page: drawn once with its buttons; ``update`` changes the texts and bars that are new.

    ``elsewhere``: how many policies run on other scenarios.
    """

    def __init__(self, statuses: Sequence[TaskStatus], elsewhere: int) -> None:
        self._headline, self._warming = st.empty(), st.empty()
        self._lines: dict[str, DeltaGenerator] = {}
        self._shown: dict[DeltaGenerator, tuple[str, float | None]] = {}
        self._ids = [status.id for status in statuses]
        if elsewhere:
            st.markdown(f":gray[{amount(elsewhere, 'policy', 'policies')} running on other scenarios.]")
        if not statuses:
            self._headline.markdown(":gray[You have nothing running. Earlier runs are under History.]")
            return
        runner = session.runner()
        with st.container(gap="xsmall"):
            for name, group in _by_name(statuses).items():
                _failures(name, group)
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    self._lines[name] = st.empty()
                    if not all(status.state.is_over for status in group):
                        ids = [status.id for status in group]
                        writing.button("✕", key=f"cancel-{ids[0]}", help=f"Cancel {safe(name)}",
                                  on_click=runner.cancel, args=(ids,))  # fmt: skip
        if all(status.state.is_over for status in statuses):
            writing.button("Clear this list", key="clear-queue", type="tertiary", on_click=_clear)
        else:
            writing.button("Cancel all", key="cancel-all", help="What is finished is kept", on_click=runner.cancel,
                      args=([status.id for status in statuses],))  # fmt: skip
        self.update({status.id: status for status in statuses})

    def update(self, found: Mapping[str, TaskStatus]) -> None:
        """Show how far the tasks are, by id."""
        statuses = [found[one] for one in self._ids if one in found]
        if not statuses:
            return
        self._put(self._headline, f"**{summary(statuses)}**")
        is_warming = any(status.text.startswith(WARMING) for status in statuses if not status.state.is_over)
        self._put(self._warming, ":gray[Preparing fast code, once, about 20 s.]" if is_warming else "")
        for name, group in _by_name(statuses).items():
            words, share = how_far(group)
            if all(status.state.is_over for status in group):
                self._put(self._lines[name], f"{outcome(group)} {safe(name)}{words and ': '}{words}")
            else:
                text = f"{safe(name)}: {safe(words, 200)}"
                self._put(self._lines[name], text, min(max(share, 0.0), 1.0))

    def _put(self, place: DeltaGenerator, text: str, share: float | None = None) -> None:
        """Show a text, with a share as a bar, unless it stands there already: each costs the server a message."""
        if self._shown.get(place, ("", None)) == (text, share):
            return
        self._shown[place] = text, share
        if share is not None:
            place.progress(share, text=text)
        elif text:
            place.markdown(text)
        else:
            place.empty()


def how_far(group: Sequence[TaskStatus]) -> tuple[str, float]:
    """Return how far the work for one policy is, and its share: "as recorded, then 12 of 40 futures"."""
    runs, batches = futures_numbers.runs_and_batches(group)
    ended = sum(status.state.is_over for status in runs)
    done, of, asked = futures_numbers.progress_of(batches)
    parts = []
    if len(runs) > 1:
        parts.append(f"{ended} of {len(runs)} futures with their jobs")
    elif runs and of:
        parts.append("as recorded")
    if of:
        parts.append(f"{asked - of + int(done)} of {amount(asked, 'future' if len(runs) < 2 else 'other')}")
    words = ", then ".join(parts)
    if ended < len(runs):
        now = next((status for status in runs if status.state in {TaskState.RUNNING, TaskState.DONE}), None)
        words = f"{words}{words and ' · '}{now.text if now else 'waiting'}"
    return words, (sum(1.0 if one.state.is_over else one.share for one in runs) + done) / max(len(runs) + of, 1)


def outcome(group: Sequence[TaskStatus]) -> str:
    """Return a sign and a word for work that is over."""
    states = [status.state for status in group]
    if TaskState.FAILED in states:
        return "✕ failed:"
    if TaskState.CANCELLED in states:
        return "✕ cancelled:"
    return "✓ done:"


def _clear() -> None:
    session.runner().forget()
    futures_numbers.forget_over()


def _failures(name: str, group: Sequence[TaskStatus]) -> None:
    failed = [status for status in group if status.state is TaskState.FAILED]
    for message in dict.fromkeys(status.message for status in failed):
        alike = [status for status in failed if status.message == message]
        times = f" ({len(alike)} futures)" if len(alike) > 1 else ""
        st.error(f"**{safe(name)} stopped{times}.** {safe(message, 600)}", icon="⛔")
        runs, _ = futures_numbers.runs_and_batches(alike)
        if not runs:
            continue
        st.download_button(
            "Save the bundle", partial(bundle, runs[0].id, message),
            file_name="dlsched-failure.json", mime="application/json", key=f"bundle-{runs[0].id}",
            on_click="ignore", type="tertiary", help="Scenario, policy, parameters and message, to report it",
        )  # fmt: skip


def bundle(task_id: str, message: str) -> bytes:
    """Return all that is needed to see a failure again, as JSON."""
    from dlsched.workload.scenario_file import scenario_bytes

    task = session.runner().task(task_id)
    document: Mapping[str, object] = {
        "message": message,
        "code_version": version_of(task.scenario, [task.policy]),
        "policy": task.policy,
        "params": dict(task.params),
        "seed": task.seed,
        "scenario": json.loads(scenario_bytes(task.scenario)),
    }
    return json.dumps(document, indent=1).encode()
