import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.ui import page, parts, start_view

current = page.begin("Plan a GPU cluster before you pay for it", url=())
left, right = st.columns([3, 2], gap="large")
with left:
    start_view.demo_card()
    start_view.other_ways()
    start_view.starter_policies()
with right:
    start_view.running()
    try:
        start_view.recent()
    except StoreError as error:
        parts.error_box(error)
    start_view.steps(current)
