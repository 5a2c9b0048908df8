"""The training job that the page Speed-up hands to the Load test, kept in the session."""

from __future__ import annotations

import streamlit as st

from dlsched.workload.studies.hell_knee import StreamSpec

KEY = "stream_network"
"""Session key of a StreamSpec with one network: its times, steps and epochs, ``network_model``, ``servers``,
``shared_server``. Nodes, jobs and load are its defaults; the Load test asks for them."""


_NEW = "stream_network_new"


def hand_over(spec: StreamSpec) -> None:
    """Make this the reader's own network in the Load test, chosen there when it opens."""
    st.session_state[KEY] = spec
    st.session_state[_NEW] = True


def just_came() -> bool:
    """Return, once, whether a network was handed over since this was last asked."""
    return bool(st.session_state.pop(_NEW, False))


def own_network() -> StreamSpec | None:
    """Return the reader's own network; None when none was handed over."""
    spec: StreamSpec | None = st.session_state.get(KEY)
    return spec
