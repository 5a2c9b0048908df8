import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.ui.frame import page, parts
from dlsched.ui.lab import steady_form, steady_view, steady_work

page.begin("Steady state")
steady_work.take_in()
try:
    shown, is_other = steady_work.shown()
except DlschedError as error:
    parts.error_box(error)
    if st.button("Show the answer that comes with the app", type="primary", key="steady-bundled"):
        steady_work.open_answer(None)
        st.rerun()
    st.stop()
if is_other:
    steady_form.fill(shown.answer.spec)

places = steady_work.board()
left, right = st.columns([4, 1.3], vertical_alignment="top")
with left:
    spec = steady_form.form(shown.answer.spec)
with right:
    if spec is None or spec == shown.answer.spec:
        steady_view.next_step(shown.answer)
    else:
        stored = steady_work.known(spec)
        words, waits = steady_work.button_words(spec, stored=stored is not None), steady_work.is_asked(spec)
        if st.button(words, type="primary", key="steady-compute", disabled=waits):
            steady_work.start(spec)
            st.rerun()
if spec is not None and spec != shown.answer.spec:
    st.markdown(":gray[Below is the answer to another question than the form asks.]")
steady_view.show(shown.answer, stale=shown.stale)
steady_view.one_load(shown.answer)
steady_view.how()
steady_work.follow(places)
