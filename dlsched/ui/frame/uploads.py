"""Uploaded files: read once, within limits; and still there when their page was left and is opened again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.runner.reading import read_within_limits
from dlsched.studies.byte_cache import ByteCache
from dlsched.ui.frame import writing
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.text import safe

T = TypeVar("T")
KEPT = ByteCache(most_bytes=1 << 30, idle_s=8 * 3600.0)
"""Contents of dropped files of all sessions, by tag: the ones that were not looked at for longest make room."""


@dataclass(frozen=True)
class File:
    """An uploaded file; ``tag`` is its content's short hash, by which choices about it are kept."""

    name: str
    content: bytes
    tag: str


def read_once(name: str, question: str, read: Callable[..., T], *given: Any) -> T:
    """Return what a reader makes of an uploaded file, ``read(*given)``; of the same question it is kept, an error too.

    ``question`` says what is read, and how: :func:`tag_of` the contents, and every choice.

    Raises
    ------
    InputError
        What the reader raises, or as :func:`dlsched.runner.reading.read_within_limits`.
    """
    outcome = _outcome(f"{read.__module__}.{read.__qualname__}", name, question, read, given)
    if isinstance(outcome, DlschedError):
        raise outcome.with_traceback(None)
    return outcome  # type: ignore[no-any-return]


@shared
def _outcome(reader: str, name: str, question: str, _read: Callable[..., Any], _given: Sequence[Any]) -> Any:
    try:
        return read_within_limits(f"file {name}", _read, *_given)
    except DlschedError as error:
        return error


def tag_of(*contents: bytes) -> str:
    """Return a short hash of the contents of files."""
    return "-".join(blake2b(content, digest_size=8).hexdigest() for content in contents)


def kept_file(label: str, key: str, hint: str) -> File | None:
    """Show a drop zone; return the file in it, else the one that was there when the page was left."""
    given = writing.uploader(label, key=key, on_change=_dropped, args=(key,), help=hint)
    kept = file_of(key)
    if given is not None and kept is None:  # it made room for files of others
        put(key, given.name, given.getvalue())
        kept = file_of(key)
    if given is None and kept is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{safe(kept.name)}** is still here.")
            if st.button("Forget it", key=f"forget-{key}", type="tertiary"):
                st.session_state.pop(_state(key), None)
                st.rerun()
    return kept


def file_of(key: str) -> File | None:
    """Return the file that a drop zone holds; None also where it made room for the files of others."""
    name, tag = st.session_state.get(_state(key), ("", ""))
    content = KEPT.find(tag)
    return None if content is None else File(name, content, tag)


def _dropped(key: str) -> None:
    """Keep what was dropped, or forget what was taken away; leaving the page does neither."""
    given = st.session_state.get(key)
    st.session_state.pop(_state(key), None)
    if given is not None:
        put(key, given.name, given.getvalue())


def put(key: str, name: str, content: bytes) -> None:
    """Put a file into a drop zone, under its name without folders."""
    name = name.replace("\\", "/").rsplit("/", 1)[-1]
    tag = tag_of(content)
    KEPT.keep(tag, content)
    st.session_state[_state(key)] = name, tag


def _state(key: str) -> str:
    return f"{key}-file"
