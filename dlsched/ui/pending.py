"""Work in the background that one page of one tab waits for: progress, cancel, how it ended, try again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.runner.background import TaskState, TaskStatus
from dlsched.ui.frame import identity, session, writing
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.turns import TURNS, pauses_s
from dlsched.wording.formats import about_seconds

WAIT_S, GLANCE_EVERY_S = 1.2, 0.02
"""How long a page waits for a quick answer before it is drawn, and how often it looks."""


@dataclass(frozen=True)
class PendingTasks:
    """What a tab waits for on a page; ``prefix`` begins the keys of its widgets and of what the tab remembers."""

    prefix: str
    kept_words: ClassVar[str] = "the answer is kept"
    cancel_help: ClassVar[str] = "Nothing of it is kept"

    @property
    def tasks_key(self) -> str:
        """Under which the tab remembers the ids of its tasks."""
        return f"{self.prefix}-tasks"

    @property
    def ended_key(self) -> str:
        """Under which the tab remembers how its last work ended, where it brought nothing."""
        return f"{self.prefix}-ended"

    def begin(self, task_ids: Sequence[str]) -> None:
        """Wait for these tasks of the background runner."""
        self.forget_ended()
        st.session_state[self.tasks_key] = list(task_ids)

    def is_waiting(self) -> bool:
        """Whether the tab waits for something."""
        return bool(st.session_state.get(self.tasks_key))

    def under_way(self) -> list[TaskStatus]:
        """Return what this tab waits for; empty once all of it is over, and note how where it failed."""
        statuses = session.runner().status(st.session_state.get(self.tasks_key, []))
        if all(status.state.is_over for status in statuses):  # also where the runner has forgotten them
            st.session_state.pop(self.tasks_key, None)
            bad = [status for status in statuses if status.state is not TaskState.STORED]
            if bad:
                is_cancelled = bad[0].state is TaskState.CANCELLED
                self.end(bad[0].state, "Cancelled. Nothing was kept." if is_cancelled else bad[0].message)
            return []
        return statuses

    def wait_shortly(self) -> None:
        """Give quick work the time to end before the page is drawn: one picture instead of two."""
        until_s = time.monotonic() + WAIT_S
        while self.under_way() and time.monotonic() < until_s:
            TURNS.sleep(GLANCE_EVERY_S)

    def drop(self) -> None:
        """Stop what no page waits for any more."""
        if self.is_waiting() and identity.may_write():
            session.runner().cancel([status.id for status in self.under_way()])
        st.session_state.pop(self.tasks_key, None)
        self.forget_ended()

    # ---- how it ended --------------------------------------------------------------------------------

    def end(self, state: TaskState, message: str) -> None:
        """Note that the last work brought nothing, and why."""
        st.session_state[self.ended_key] = (state, message)

    def ended(self) -> tuple[TaskState, str] | None:
        """Return how the last work ended where it brought nothing, and why."""
        found: tuple[TaskState, str] | None = st.session_state.get(self.ended_key)
        return found

    def forget_ended(self) -> None:
        """Let the work be started again."""
        st.session_state.pop(self.ended_key, None)

    def show_ended(self, *, again: bool = True) -> None:
        """Say that the last work was cancelled or stopped, with a way to try again unless the page has its own."""
        state, message = st.session_state[self.ended_key]
        if state is TaskState.CANCELLED:
            st.info(safe(message, 300), icon="ℹ️")
        else:
            st.error(f"**The computation stopped.** {safe(message, 600)}", icon="⛔")
        if again:
            st.button("Try again", type="primary", key=f"{self.prefix}-again", on_click=self.forget_ended)

    # ---- progress ------------------------------------------------------------------------------------

    def bars(self, statuses: Sequence[TaskStatus]) -> Mapping[str, tuple[float, str]]:
        """Return share done and text of each progress bar, by task."""
        texts = {}
        for status in statuses:
            left = "" if status.eta_s is None else f", {about_seconds(status.eta_s)} left"
            texts[status.id] = (status.share, f"{status.name}: {status.text or 'waiting'}{left}")
        return texts

    def board(self, statuses: Sequence[TaskStatus]) -> dict[str, DeltaGenerator]:
        """Show progress with one way to cancel all; return where progress goes."""
        places: dict[str, DeltaGenerator] = {}
        for name, bar in self.bars(statuses).items():
            places[name] = st.empty()
            _show(places[name], *bar)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            ids = [status.id for status in statuses if status.mine]
            if ids:
                writing.button("Cancel", key=f"{self.prefix}-cancel", on_click=session.runner().cancel, args=(ids,),
                          help=self.cancel_help)  # fmt: skip
            else:
                st.markdown(f":gray[Asked for by {safe(statuses[0].asked_by or 'another user', 60)}.]", width="content")
            st.markdown(f":gray[You can leave this page: it goes on, and {self.kept_words}.]")
        return places

    def follow(self, places: dict[str, DeltaGenerator], *, each: bool = False) -> None:
        """Follow what is under way to its end; call it last on the page. Any click on the page interrupts it.

        ``each``: draw the page anew whenever one of several ends, for pages that show its answer meanwhile.
        """
        pauses = pauses_s()
        while now := self.under_way():
            if each and any(status.state.is_over and status.id in places for status in now):
                break
            for name, bar in self.bars(now).items():
                if name in places:
                    _show(places[name], *bar)
            TURNS.sleep(next(pauses))
        st.rerun()


def _show(place: DeltaGenerator, share: float, text: str) -> None:
    place.progress(min(max(share, 0.0), 1.0), text=safe(text, 300))
