import streamlit as st

from dlsched.ui.frame import page
from dlsched.ui.simulate import history, policies

POLICIES, HISTORY = PARTS = ("Policies", "History")

current = page.begin("Run", assumed=False)
part = st.segmented_control("Part", PARTS, default=POLICIES, required=True, key="part", bind="query-params",
                            label_visibility="collapsed")  # fmt: skip
if part == HISTORY:
    history.show()
else:
    policies.show(current)
