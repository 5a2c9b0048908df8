"""Progress of a sweep with a way to cancel it, how the last one ended, and the sweeps that are kept."""

from __future__ import annotations

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.ui.frame.text import safe
from dlsched.ui.pending import LOOK_EVERY_S
from dlsched.ui.plan import sweep_work
from dlsched.ui.plan.sweep_work import Asked, Progress, Shown
from dlsched.wording.formats import amount, duration


def board(asked: Asked | None) -> DeltaGenerator | None:
    """Show how far a sweep is, with a way to cancel it; return where progress goes."""
    if asked is None:
        return None
    place = st.empty()
    if (now := sweep_work.progress_of(asked)) is not None:
        _show(place, now)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Cancel", key="sweep-cancel", on_click=sweep_work.cancel, args=(asked,),
                  help="Runs are kept in batches of a few seconds; those in hand now are lost")  # fmt: skip
        st.markdown(":gray[You can leave this page: it goes on, and finished runs are kept.]")
    return place


def follow(asked: Asked, place: DeltaGenerator, current: Scenario) -> None:
    """Follow a sweep to its end; call it last on the page. Any click on the page interrupts it."""
    while (now := sweep_work.progress_of(asked)) is not None:
        _show(place, now)
        time.sleep(LOOK_EVERY_S)
    sweep_work.take_in(current)
    st.rerun()


def words(now: Progress) -> str:
    """Return how far a sweep is: 380 of 1,350 runs, about 40 s left."""
    return f"{now.done:,} of {amount(now.runs, 'run')}, about {duration(max(1.0, round(now.left_s)))} left"


def _show(place: DeltaGenerator, now: Progress) -> None:
    place.progress(min(now.done / now.runs, 1.0), text=words(now))


def ended(current: Scenario, shown: Shown | None) -> None:
    """Say how the last sweep ended where it did not come to its end, or that one of another day did not."""
    if found := st.session_state.get(sweep_work.ENDED):
        is_bad, message = found
        if is_bad:
            st.error(f"**The sweep stopped.** {safe(message, 600)}", icon="⛔")
        else:
            st.info(safe(message, 300), icon="ℹ️")
    if shown is not None and not shown.experiment_id and sweep_work.under_way(current) is None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(":gray[This sweep is not complete. Its finished runs are kept.]")
            st.button("Put it away", key="sweep-forget", type="tertiary", on_click=_put_away, args=(current,),
                      help="Show the newest complete sweep instead; runs stay in the store")  # fmt: skip


def _put_away(current: Scenario) -> None:
    st.session_state.pop(sweep_work.ENDED, None)
    sweep_work.forget_interrupted(current)


def others(current: Scenario, shown: Shown | None) -> None:
    """Offer the sweeps that are kept."""
    kept = [(one, name) for one, name in sweep_work.SWEEPS.listed() if shown is None or one != shown.experiment_id]
    if not kept:
        return
    with st.popover("Earlier sweeps", key="sweep-earlier", help="Sweeps in this store, the newest first"):
        for one, name in kept[:10]:
            st.button(safe(name, 120), key=f"sweep-open-{one}", type="tertiary", on_click=sweep_work.go_to, args=(one,))
