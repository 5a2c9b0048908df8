"""Follow runs: what is under way, what failed and why, what is ready."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from dlsched.experiments.background import TaskState, TaskStatus
from dlsched.experiments.code_version import code_version
from dlsched.experiments.worker import WARMING
from dlsched.metrics.formats import amount, duration
from dlsched.ui import run_state, session
from dlsched.ui.text import safe

LOOK_EVERY_S = 0.7


def live_queue() -> None:
    """Show progress of all work, with cancel; keep looking only while there is work."""
    under_way = any(not status.state.is_over for status in session.runner().status())
    st.fragment(_look, run_every=LOOK_EVERY_S if under_way else None)()


def _look() -> None:
    statuses = session.runner().status()
    under_way = any(not status.state.is_over for status in statuses)
    if run_state.is_over() and run_state.look_at_batch():
        session.go("understand/result.py")
    _progress(statuses)
    if not under_way and st.session_state.pop("queue-was-live", False):
        st.rerun()  # the bar and the estimates of the page are those of before
    if under_way:
        st.session_state["queue-was-live"] = True


def summary(statuses: Sequence[TaskStatus]) -> str:
    """Return how far the work is, in one sentence."""
    active = [status for status in statuses if not status.state.is_over]
    done = len(statuses) - len(active)
    if active:
        at_once = max(1, sum(status.state is TaskState.RUNNING for status in active))
        left_s = max(1.0, round(sum(status.eta_s or 0.0 for status in active) / at_once))
        return f"{done} of {amount(len(statuses), 'run')} done, about {duration(left_s)} left. You can leave this page."
    kept = sum(status.state is TaskState.STORED for status in statuses)
    known = sum(status.state is TaskState.STORED and "store" in status.message for status in statuses)
    stopped = sum(status.state is TaskState.CANCELLED for status in statuses)
    failed = sum(status.state is TaskState.FAILED for status in statuses)
    parts = [f"{amount(kept, 'finished run')} kept"]
    parts += [f"{known} of them answered from the store"] * bool(known)
    parts += [f"{stopped} not run"] * bool(stopped) + [f"{failed} failed"] * bool(failed)
    return ("Cancelled. " if stopped else "") + ", ".join(parts) + "."


def _progress(statuses: Sequence[TaskStatus]) -> None:
    if not statuses:
        st.markdown(":gray[Nothing runs. Results of earlier runs are on the page Runs.]")
        return
    active = [status for status in statuses if not status.state.is_over]
    st.markdown(f"**{summary(statuses)}**")
    if any(status.text.startswith(WARMING) for status in active):
        st.markdown(":gray[Preparing fast code, once, about 20 s.]")
    by_name: dict[str, list[TaskStatus]] = {}
    for status in statuses:
        by_name.setdefault(status.name, []).append(status)
    with st.container(gap="xsmall"):
        for name, group in by_name.items():
            _line(name, group)
    if active:
        if st.button("Cancel all", key="cancel-all", help="Finished runs are kept"):
            session.runner().cancel()
            st.rerun(scope="fragment")
    elif st.button("Clear this list", key="clear-queue", type="tertiary"):
        session.runner().forget()
        st.rerun(scope="fragment")


def _line(name: str, group: Sequence[TaskStatus]) -> None:
    """Show one policy with all its draws."""
    over = [status for status in group if status.state.is_over]
    draws = f" ({len(over)} of {len(group)} draws)" if len(group) > 1 else ""
    _failures(name, group)
    if len(over) == len(group):
        st.markdown(f"{outcome(group)} {safe(name)}{draws}")
        return
    now = next((status for status in group if status.state is TaskState.RUNNING), None)
    text = now.text if now else "waiting"
    share = sum(1.0 if status.state.is_over else status.share for status in group) / len(group)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.progress(min(max(share, 0.0), 1.0), text=f"{safe(name)}{draws}: {safe(text)}")
        if st.button("✕", key=f"cancel-{group[0].id}", help=f"Cancel {safe(name)}"):
            session.runner().cancel([status.id for status in group])
            st.rerun(scope="fragment")


def outcome(group: Sequence[TaskStatus]) -> str:
    """Return a sign and a word for work that is over."""
    states = [status.state for status in group]
    if TaskState.FAILED in states:
        return "✕ failed:"
    if TaskState.CANCELLED in states:
        return "✕ cancelled:"
    return "✓ done:"


def _failures(name: str, group: Sequence[TaskStatus]) -> None:
    failed = [status for status in group if status.state is TaskState.FAILED]
    for message in dict.fromkeys(status.message for status in failed):
        alike = [status for status in failed if status.message == message]
        times = f" ({len(alike)} draws)" if len(alike) > 1 else ""
        st.error(f"**{safe(name)} stopped{times}.** {safe(message, 600)}", icon="⛔")
        st.download_button(
            "Save the bundle", partial(bundle, alike[0].id, message),
            file_name="dlsched-failure.json", mime="application/json", key=f"bundle-{alike[0].id}",
            on_click="ignore", type="tertiary", help="Scenario, policy, parameters and message, to report it",
        )  # fmt: skip


def bundle(task_id: str, message: str) -> bytes:
    """Return all that is needed to see a failure again, as JSON."""
    from dlsched.workload.scenario_file import scenario_bytes

    task = session.runner().task(task_id)
    document: Mapping[str, object] = {
        "message": message,
        "code_version": code_version(),
        "policy": task.policy,
        "params": dict(task.params),
        "seed": task.seed,
        "scenario": json.loads(scenario_bytes(task.scenario)),
    }
    return json.dumps(document, indent=1).encode()
