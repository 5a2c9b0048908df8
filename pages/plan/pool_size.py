import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.studies.pool_sizes.words import BEFORE_ALL
from dlsched.ui.answers import follow_link
from dlsched.ui.frame import page, parts
from dlsched.ui.plan import pool_size_form, pool_size_view, pool_size_work

follow_link(pool_size_work.POOL)
current = page.begin("Pool size")
work = pool_size_work.WORK
pool_size_work.POOL.take_in(current)
try:
    shown = pool_size_work.POOL.shown(current)
except DlschedError as error:
    parts.error_box(error)
    st.button("Go on without it", type="primary", key="pool-without")
    st.stop()

if shown is None:
    parts.sentence(BEFORE_ALL)
places = {}
if pool_size_form.ready(current):
    asked = None if shown is None or shown.elsewhere else shown.spec
    left, right = st.columns([5, 2], vertical_alignment="top")
    with left:
        spec = pool_size_form.form(current, asked)
    statuses = work.under_way()
    if pool_size_work.POOL.take_in(current):  # it has just ended
        st.rerun()
    with right:
        if spec is not None and (spec != asked or (shown is not None and shown.stale)):
            words = pool_size_work.button_words(spec, current)
            if st.button(words, type="primary", key="pool-compute", disabled=bool(statuses), width="stretch"):
                pool_size_work.start(spec, current)
                st.rerun()
    if work.ended():
        work.show_ended(again=False)
    if statuses:
        places = work.board(statuses)
    if spec is not None and asked is not None and spec != asked:
        st.markdown(":gray[Below is the answer to another question than the form asks.]")
if shown is not None:
    pool_size_view.show(shown, current)
pool_size_view.how()
if places:
    work.follow(places)
