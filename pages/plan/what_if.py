import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.studies.what_if import check, moved
from dlsched.ui.frame import page, parts
from dlsched.ui.plan import what_if_form, what_if_kept, what_if_view, what_if_work
from dlsched.wording.formats import amount, duration

missing = None
try:
    what_if_work.follow_link()
except DlschedError as error:
    missing = error
current = page.begin("What if")
work = what_if_work.WORK
if missing is not None:
    parts.error_box(missing)
try:
    spec = what_if_work.asked(current)
except DlschedError as error:
    parts.error_box(error)
    st.button("Begin anew", type="primary", key="whatif-anew", on_click=what_if_work.forget)
    st.stop()

left, right = st.columns([1, 3], gap="medium")
with left:
    what_if_form.controls(spec, current)
places = {}
with right:
    row_end = what_if_view.changes_row(spec, current)
    try:
        check(spec, current)
    except DlschedError as error:
        parts.error_box(error)
        st.button("Take it back", type="primary", key="whatif-back", on_click=what_if_work.undo,
                  disabled=not what_if_work.can_undo())  # fmt: skip
        st.stop()
    shown = what_if_work.known(spec)
    seconds = what_if_work.about_s(spec, current) if shown is None else 0.0
    if shown is None and not what_if_work.is_asked(spec):
        what_if_work.ask_by_itself(spec, current, seconds)
        what_if_work.wait_shortly()
        shown = what_if_work.known(spec)
    if shown is not None:
        what_if_work.note_shown(shown)
        with row_end:
            what_if_kept.keep_button(shown)
        what_if_view.show(shown, current)
    else:
        statuses = work.under_way() if what_if_work.is_asked(spec) else []
        if what_if_work.is_asked(spec) and not statuses and what_if_work.known(spec):
            st.rerun()  # it has just ended
        if statuses:
            places = work.board([status for status in statuses if not status.state.is_over])
        elif work.ended() and what_if_work.is_asked(spec):
            work.show_ended(again=False)
        if statuses:
            st.empty()  # in the place of the button, which would stay there greyed
        else:
            words = f"Apply to {amount(len(spec.draws.seeds), 'draw')}, about {duration(max(1.0, round(seconds)))}"
            differs = bool(moved(spec, current))  # without a change, a first one is the next step
            st.button(words, type="primary" if differs else "secondary", key="whatif-apply", on_click=what_if_work.ask,
                      args=(spec, current, seconds), help="Every draw of both sides, in the background")  # fmt: skip
        rough = what_if_work.known(spec.first_draw)
        last = rough or what_if_work.last_shown(current)
        if last is not None:
            if rough is None:
                st.markdown(":gray[Below is the answer to the question before.]")
            what_if_view.show(last, current, refining=rough is not None and bool(statuses), old=rough is None)
if places:
    work.follow(places, each=True)
