import streamlit as st

from dlsched.ui.frame import page
from dlsched.ui.plan import growth_form, growth_view, headroom_view, size_board, size_form, size_view, size_work
from dlsched.ui.plan.size_words import BEFORE_ALL, BEFORE_GROWTH

size_work.follow_link()
current = page.begin("Size")
part = st.segmented_control(
    "Part", size_work.PARTS, default=size_work.SIZE, required=True, key=size_work.PART, bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
if part == size_work.GROWTH:
    months = size_board.ask(size_work.MONTHS, current, growth_form.form, growth_form.button_words, BEFORE_GROWTH)
    if months.shown is not None:
        growth_view.show(months.shown, current)
    size_view.how()
    months.follow()
else:
    sizes = size_board.ask(size_work.SIZES, current, size_form.form, size_form.button_words, BEFORE_ALL)
    if sizes.shown is not None and part == size_work.HEADROOM:
        headroom_view.show(sizes.shown, current)
    elif sizes.shown is not None:
        size_view.show(sizes.shown, current, is_current=sizes.is_current)
    size_view.how()
    sizes.follow()
