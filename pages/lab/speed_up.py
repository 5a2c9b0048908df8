import streamlit as st

from dlsched.ui.frame import page
from dlsched.ui.lab.speed_up import PARTS

current = page.begin("Speed-up", assumed=False)
part = st.segmented_control("Part", list(PARTS), default="Throughput", required=True, key="part", bind="query-params",
                            label_visibility="collapsed")  # fmt: skip
PARTS[str(part)](current)
