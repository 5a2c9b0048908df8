import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.studies.reproductions.registry import find
from dlsched.ui.frame import page, parts
from dlsched.ui.lab import reproductions_view, reproductions_work

page.begin("Reproductions", url=(), bar=False)
work = reproductions_work.WORK
statuses = work.under_way()
places = {}
shown = reproductions_work.checked()
if (key := reproductions_work.figure_in_url()) is None:
    if statuses:
        places = work.board(statuses)
    reproductions_view.overview(shown)
else:
    st.button("← All figures", key="reproduction-all", on_click=reproductions_work.look_at, args=(None,))
    try:
        figure = find(key)
    except DlschedError as error:
        parts.error_box(error)
        st.stop()
    if statuses:
        places = work.board(statuses)
    elif work.ended():
        work.show_ended(again=False)
    reproductions_view.detail(figure, shown.get(key), busy=bool(statuses))
reproductions_view.how()
if places:
    work.follow(places)
