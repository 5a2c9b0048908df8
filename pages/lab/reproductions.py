import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.studies.reproductions.registry import find
from dlsched.studies.reproductions.words import HOW
from dlsched.ui.frame import link, page, parts
from dlsched.ui.frame.text import safe
from dlsched.ui.lab.reproductions import WORK, checked, detail, figure_in_url, look_at, overview

page.begin("Paper checks", url=(), bar=False)
statuses = WORK.under_way()
places = {}
outcomes = checked()
if (key := figure_in_url()) is None:
    if statuses:
        places = WORK.board(statuses)
    overview(outcomes)
else:
    st.button("← All figures", key="reproduction-all", on_click=look_at, args=(None,))
    try:
        figure = find(key)
    except DlschedError as error:
        parts.error_box(error)
        link.stop()
    if statuses:
        places = WORK.board(statuses)
    elif WORK.ended():
        WORK.show_ended(again=False)
    detail(figure, outcomes.get(key), busy=bool(statuses))
with st.expander("How this is checked"):
    st.markdown(safe(HOW, 2000))
if places:
    WORK.follow(places)
