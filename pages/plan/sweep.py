import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.ui.answers import follow_link
from dlsched.ui.frame import page, parts
from dlsched.ui.plan import sweep_board, sweep_form, sweep_view, sweep_work

follow_link(sweep_work.SWEEPS)
current = page.begin("Sweep")
try:
    sweep_work.take_in(current)
    shown = sweep_work.shown(current)
except DlschedError as error:
    parts.error_box(error)
    st.button("Go on without it", type="primary", key="sweep-without")
    st.stop()

if shown is None:
    parts.sentence("How does the answer move over a range, and which policy is the safe choice?")
sweep_form.presets(current)
running = sweep_work.under_way(current)
asked = running.ready.spec if running else None if shown is None or shown.elsewhere else shown.spec
left, right = st.columns([5, 2], vertical_alignment="top")
with left:
    ready = sweep_form.form(current, asked)
is_current = shown is not None and bool(shown.experiment_id) and not shown.stale
is_current = is_current and shown is not None and ready is not None and ready.spec == shown.spec
with right:
    if ready is not None and not is_current:
        resumes = shown is not None and not shown.experiment_id and ready.spec == shown.spec
        words = "Under way" if running else sweep_form.button_words(ready, resumes=resumes)
        if st.button(words, type="primary", key="sweep-run", disabled=running is not None, width="stretch"):
            with parts.mistakes_shown():
                sweep_work.start(ready)
                st.rerun()
    sweep_board.others(current, shown)
sweep_board.ended(current, shown)
place = sweep_board.board(running)
if shown is not None:
    if ready is not None and ready.spec != shown.spec and not shown.elsewhere:
        st.markdown(":gray[Below is the answer to another question than the form asks.]")
    sweep_view.show(shown, current, is_current=is_current)
sweep_view.how()
if running is not None and place is not None:
    sweep_board.follow(running, place, current)
