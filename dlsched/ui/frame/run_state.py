"""What this browser session has started and not looked at yet."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dlsched.runner.background import RunTask, TaskStatus
from dlsched.studies.futures_numbers import FuturesNumbers
from dlsched.ui.frame import futures_numbers, session

BATCH, FOLLOWED = "batch", "batch-followed"
HOME_TITLE = "Plan a GPU cluster before you pay for it"
FOLLOWING_PAGES = ("Run", HOME_TITLE)


def start(tasks: Sequence[RunTask], numbers: FuturesNumbers | None = None, in_full: Sequence[int] = ()) -> None:
    """Hand runs to the background runner; what they say opens by itself while the user stays on the page.

    ``numbers``: of these policies, whose missing futures are computed after the runs; ``in_full``: the places of the
    futures that the runs are of.
    """
    runner = session.runner()
    runner.forget()
    st.session_state[BATCH] = runner.submit(tasks)
    st.session_state[FOLLOWED] = True
    if numbers is not None:
        futures_numbers.compute_missing(numbers, in_full)


def page_opened(title: str) -> None:
    """Note where the user is: whoever has gone to another page is not pulled away from it."""
    if title not in FOLLOWING_PAGES:
        st.session_state[FOLLOWED] = False


def everything() -> list[TaskStatus]:
    """Return how all runs of all users are doing, and the numbers of futures that come after them."""
    return [*session.runner().status(), *futures_numbers.statuses()]


def own() -> list[TaskStatus]:
    """Return how this user's runs are doing, and the numbers of futures that come after them."""
    return [*session.runner().status(mine=True), *futures_numbers.statuses(mine=True)]


def batch() -> list[TaskStatus]:
    """Return how the tasks are doing that this browser tab started last, without those it has cancelled since."""
    return [status for status in session.runner().status(st.session_state.get(BATCH, [])) if status.mine]


def is_followed() -> bool:
    """Whether the user waits for his batch on the page where he started it."""
    return bool(st.session_state.get(FOLLOWED)) and bool(batch())


def is_over() -> bool:
    """Whether the batch the user waits for has ended."""
    return is_followed() and all(status.state.is_over for status in batch())


def ready_runs(statuses: Sequence[TaskStatus]) -> list[str]:
    """Return one run for each policy of a batch, when all of it is over; the first draw stands for the others."""
    if not statuses or not all(status.state.is_over for status in statuses):
        return []
    first: dict[str, str] = {}
    for status in statuses:
        if status.run_id:
            first.setdefault(status.name, status.run_id)
    return list(first.values())


def look_at_batch() -> str:
    """Make the batch that has ended what is looked at; return the page that shows it, "" where it has no result."""
    runs = ready_runs(batch())
    st.session_state[FOLLOWED] = False
    st.session_state[BATCH] = []
    if not runs:
        return ""
    session.look_at(session.store().run_info(runs[0]).scenario_hash)
    session.look_at_run(runs[0])
    session.tick(runs)
    return "Compare" if len(runs) > 1 else "Run details"
