import streamlit as st

from dlsched.studies.growth.words import BEFORE as BEFORE_GROWTH
from dlsched.studies.sizing.words import BEFORE as BEFORE_SIZE
from dlsched.ui.frame import page
from dlsched.ui.plan import growth_form, growth_view, headroom_view, size_form, size_view, size_work
from dlsched.ui.study_page import Form, study_page

size_work.follow_link()
current = page.begin("Size")
part = st.segmented_control(
    "Part", size_work.PARTS, default=size_work.SIZE, required=True, key=size_work.PART, bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
if part == size_work.GROWTH:
    months_form = Form(growth_form.fill, growth_form.fields)
    study_page(size_work.MONTHS, current, months_form, growth_view.show, before=BEFORE_GROWTH, how=size_view.HOW)
else:
    view = headroom_view.show if part == size_work.HEADROOM else size_view.show
    study_page(
        size_work.SIZES, current, Form(size_form.fill, size_form.fields), view, before=BEFORE_SIZE, how=size_view.HOW
    )
