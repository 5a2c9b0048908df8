"""Controls that change or compute something: disabled for a reader, with the reason.

They only show it. What refuses a reader is the store (``Store.acting``) and the background runner.
"""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.ui.frame.identity import why_not


def button(
    label: str, *, inside: DeltaGenerator | None = None, disabled: bool = False, help: str | None = None, **more: Any
) -> bool:
    """Show a button, in a container if one is given; the rest as ``st.button``."""
    reason = why_not()
    place = st if inside is None else inside
    pressed: bool = place.button(label, disabled=disabled or bool(reason), help=reason or help, **more)
    return pressed


def submit(label: str, **more: Any) -> bool:
    """Show the button of a form; the rest as ``st.form_submit_button``."""
    reason = why_not()
    return st.form_submit_button(label, disabled=bool(reason), help=reason or None, **more)


def uploader(label: str, *, help: str | None = None, **more: Any) -> Any:
    """Show a drop zone; the rest as ``st.file_uploader``."""
    reason = why_not()
    return st.file_uploader(label, disabled=bool(reason), help=reason or help, **more)
