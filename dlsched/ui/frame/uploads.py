"""A dropped file that is still there when its page was left and is opened again."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import streamlit as st

from dlsched.ui.frame.text import safe


@dataclass(frozen=True)
class File:
    """An uploaded file; ``tag`` is its content's short hash, by which choices about it are kept."""

    name: str
    content: bytes
    tag: str


def kept_file(label: str, key: str, hint: str) -> File | None:
    """Show a drop zone; return the file in it, else the one that was there when the page was left."""
    given = st.file_uploader(label, key=key, on_change=_dropped, args=(key,), help=hint)
    kept = file_of(key)
    if given is None and kept is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{safe(kept.name)}** is still here.")
            if st.button("Forget it", key=f"forget-{key}", type="tertiary"):
                st.session_state.pop(_state(key), None)
                st.rerun()
    return kept


def file_of(key: str) -> File | None:
    """Return the file that a drop zone holds."""
    kept: File | None = st.session_state.get(_state(key))
    return kept


def _dropped(key: str) -> None:
    """Keep what was dropped, or forget what was taken away; leaving the page does neither."""
    given = st.session_state.get(key)
    st.session_state.pop(_state(key), None)
    if given is not None:
        put(key, given.name, given.getvalue())


def put(key: str, name: str, content: bytes) -> None:
    """Put a file into a drop zone, under its name without folders."""
    name = name.replace("\\", "/").rsplit("/", 1)[-1]
    st.session_state[_state(key)] = File(name, content, blake2b(content, digest_size=8).hexdigest())


def _state(key: str) -> str:
    return f"{key}-file"
