import streamlit as st

from dlsched.studies.speed_models.throughput import HOW
from dlsched.ui.frame import page
from dlsched.ui.lab.throughput import chosen, next_steps, nothing_yet, show

current = page.begin("Throughput", assumed=False)
asked, action = chosen()
if asked is None:
    nothing_yet(action)
else:
    show(asked)
    next_steps(asked, current, action)
with st.expander("How it is computed", key="throughput-how"):
    st.markdown(HOW)
