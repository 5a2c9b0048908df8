import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.ui.frame import identity, link, page, parts, writing
from dlsched.ui.plan import what_if_form, what_if_row, what_if_state, what_if_view
from dlsched.wording.formats import about_seconds, amount

missing = None
try:
    what_if_state.follow_link()
except DlschedError as error:
    missing = error
current = page.begin("What if", assumed=False)
work = what_if_state.WHAT_IFS.work
if missing is not None:
    parts.error_box(missing)
try:
    spec = what_if_state.asked(current)
except DlschedError as error:
    parts.error_box(error)
    st.button("Start over", type="primary", key="whatif-anew", on_click=what_if_state.forget)
    link.stop()

left, right = st.columns([1, 3], gap="medium")
with left:
    what_if_form.controls(spec, current)
places = {}
with right:
    what_if_view.styled()
    row_end, kept = what_if_row.changes_row(spec, current)
    with kept:
        what_if_view.kept_list(current.content_hash)
    try:
        plan = what_if_state.plan_of(spec, current)
    except DlschedError as error:
        parts.error_box(error)
        st.button("Undo the last change", type="primary", key="whatif-back", on_click=what_if_state.undo,
                  disabled=not what_if_state.can_undo())  # fmt: skip
        link.stop()
    shown = what_if_state.answered(spec)
    seconds = what_if_state.about_s(plan) if shown is None else 0.0
    if shown is None and identity.may_write() and not what_if_state.is_asked(spec):
        what_if_state.ask_by_itself(plan, seconds)
        work.wait_shortly()
        shown = what_if_state.answered(spec)
    if shown is not None:
        what_if_state.note_shown(shown)
        with row_end:
            what_if_view.keep_button(shown)
        what_if_view.show(shown, plan)
    else:
        statuses = work.under_way() if what_if_state.is_asked(spec) else []
        if what_if_state.is_asked(spec) and not statuses and what_if_state.answered(spec):
            st.rerun()  # it has just ended
        if statuses:
            places = work.board([status for status in statuses if not status.state.is_over])
        elif work.ended() and what_if_state.is_asked(spec):
            work.show_ended(again=False)
        if statuses:
            st.empty()  # in the place of the button, which would stay there greyed
        else:
            words = f"Confirm with {amount(spec.futures.count, 'future')}, {about_seconds(seconds)}"
            writing.button(
                words, type="primary" if plan.moved else "secondary", key="whatif-apply",  # else a first change
                on_click=what_if_state.ask, args=(plan, seconds),
                help="Simulates both sides in every future, in the background",
            )  # fmt: skip
        rough = what_if_state.answered(spec.first_future)
        last = rough or what_if_state.last_shown(current)
        if last is not None:
            if rough is None:
                st.markdown(":gray[Below is the answer to the previous question.]")
            what_if_view.show(last, plan, refining=rough is not None and bool(statuses), old=rough is None)
        elif not statuses:
            why = "it takes long. **Confirm** runs it in the background" if identity.may_write() else identity.why_not()
            st.markdown(f":gray[Not simulated yet: {why}.]")
if places:
    work.follow(places, each=True)
