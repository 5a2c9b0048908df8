import streamlit as st

from dlsched.studies.speed_models.server_split import HOW
from dlsched.ui.frame import page
from dlsched.ui.lab.parameter_servers import chosen, next_step, show

current = page.begin("Parameter servers", assumed=False)
asked, action = chosen(current)
next_step(current, action)
if asked is not None:
    show(asked)
with st.expander("How it is computed", key="servers-how"):
    st.markdown(HOW)
