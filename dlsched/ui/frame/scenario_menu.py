"""The menu on the scenario's name: switch, new, duplicate, rename, delete with undo, the last edit, the file."""

from __future__ import annotations

import streamlit as st

from dlsched.report.rerun import file_name
from dlsched.store.scenarios import Deletion, ScenarioInfo
from dlsched.ui.frame import identity, session, writing
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import new_scenario
from dlsched.wording.formats import amount

LONGEST_NAME = 24
DELETED, CLOSED = "deletion", "scenario-menu-closed"
MOST_DELETED = 10


def menu(info: ScenarioInfo) -> None:
    """Show the menu of the scenario that is looked at."""
    label = f"**{safe(info.name, LONGEST_NAME)}** · v{info.version}"
    closed = st.session_state.get(CLOSED, 0)
    with st.container(key="scenario-menu", width="content"), \
            st.popover(label, key=f"scenario-menu-{closed}"):  # fmt: skip
        by = f" :gray[v{info.version} by {safe(info.made_by, 60)}]" if info.made_by else ""
        st.markdown(f"**Scenario menu**{by}")
        _switch(info)
        with st.container(horizontal=True, gap="small"):
            is_new = writing.button("New…", key="bar-new", on_click=_close, help="A cluster first, then jobs for it")
            if writing.button("Duplicate", key="bar-duplicate", help="A copy to edit; this scenario stays unchanged"):
                open_scenario(session.store().duplicate_scenario(info.scenario_hash).scenario_hash)
            if writing.button(
                "Delete", key="bar-delete", help="With all its versions and runs. You can restore it for one day."
            ):
                _delete(info)
        renamed = st.text_input(
            "Name", info.name, key=f"bar-name-{info.scenario_hash}", max_chars=80, disabled=not identity.may_write()
        )
        if writing.button("Rename", key="bar-rename") and renamed.strip() and renamed != info.name:
            session.store().rename_scenario(info.scenario_hash, renamed)
            st.rerun()
        parent = session.info_of(info.based_on) if info.based_on else None
        if parent and st.button(f"Undo last edit (back to v{parent.version})", key="bar-undo"):
            open_scenario(parent.scenario_hash)
        _download(info.name)
        _deleted()
    if is_new:
        new_scenario.dialog()


def _close() -> None:
    """Close the menu, which would lie over what was chosen in it: under another key it begins closed."""
    st.session_state[CLOSED] = st.session_state.get(CLOSED, 0) + 1


def open_scenario(scenario_hash: str) -> None:
    """Look at another scenario; runs that were looked at belong to the one before."""
    session.look_at(scenario_hash)
    session.tick([])
    _close()
    st.rerun()


def _switch(info: ScenarioInfo) -> None:
    labels = session.scenario_names()
    keys = list(labels)
    chosen = st.selectbox(
        "Scenario", keys, index=keys.index(info.scenario_hash), format_func=labels.__getitem__,
        key=f"bar-switch-{info.scenario_hash}", help="Every edit makes a new version; all of them are listed here",
    )  # fmt: skip
    if chosen and chosen != info.scenario_hash:
        open_scenario(chosen)


def _download(name: str) -> None:
    from dlsched.workload.scenario_file import scenario_bytes

    st.download_button(
        "Download scenario file", lambda: scenario_bytes(session.scenario()), file_name=file_name(name),
        mime="application/json", key="bar-download", on_click="ignore",
    )  # fmt: skip


# ---- delete and bring back ---------------------------------------------------------------------------


def _delete(info: ScenarioInfo) -> None:
    """Delete the scenario and look at the last used other one; work on it is stopped, or it would come back."""
    runner = session.runner()
    under_way = [status for status in runner.status() if not status.state.is_over]
    on_it = [one for one in under_way if session.lineage_of(runner.task(one.id).scenario) == info.lineage]
    if others := [status for status in on_it if not status.mine]:
        who = safe(others[0].asked_by or "Another user", 60)
        st.error(f"{who} has {amount(len(others), 'run')} of this scenario under way. Delete it when they are done.")
        return
    runner.cancel([status.id for status in on_it])
    st.session_state[DELETED] = session.store().delete_scenario(info.scenario_hash)
    open_scenario(session.start_scenario().scenario_hash)


def bring_back(deletion: Deletion) -> None:
    """Restore what was deleted and look at it."""
    session.store().restore(deletion)
    st.session_state.pop(DELETED, None)
    open_scenario(deletion.scenario_hash)


def undo_line() -> None:
    """Say below the bar what was deleted last in this tab, with the way back, until it is put away."""
    deletion: Deletion | None = st.session_state.get(DELETED)
    if deletion is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="undo-line"):
        st.markdown(f"Deleted {_words(deletion)}.", width="content")
        if writing.button("Undo", key="undo-delete-scenario"):
            bring_back(deletion)
        if st.button("Hide", key="hide-undo", type="tertiary"):
            del st.session_state[DELETED]
            st.rerun()


def _words(deletion: Deletion) -> str:
    runs = amount(deletion.runs, "run")
    if not deletion.versions:
        return f"{runs} of “{safe(deletion.name)}”"
    return f"“{safe(deletion.name)}” ({amount(deletion.versions, 'version')}, {runs})"


def _deleted() -> None:
    gone = session.deletions()[:MOST_DELETED]
    if not gone:
        return
    with st.expander(f"Deleted ({len(gone)})", key="bar-deleted"):
        st.markdown(":gray[You can restore them for one day.]")
        for place, deletion in enumerate(gone):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(_words(deletion))
                if writing.button("Restore", key=f"bar-restore-{place}"):
                    bring_back(deletion)
