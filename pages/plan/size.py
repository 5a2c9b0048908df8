import streamlit as st

from dlsched.ui.frame import page
from dlsched.ui.plan import growth, headroom, size, size_state
from dlsched.ui.study_page import Form, study_page

size_state.follow_link()
current = page.begin("Size", assumed=False)
part = st.segmented_control(
    "Part", size_state.PARTS, default=size_state.SIZE, required=True, key=size_state.PART, bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
if part == size_state.GROWTH:
    before = "Until when does the cluster meet my targets, and by when must more be ordered?"
    study_page(size_state.MONTHS, current, Form(growth.fill, growth.fields), growth.view, before=before, how=size.HOW)
else:
    before = "What is the cheapest cluster that meets my targets?"
    view = headroom.view if part == size_state.HEADROOM else size.view
    study_page(size_state.SIZES, current, Form(size.fill, size.fields), view, before=before, how=size.HOW)
