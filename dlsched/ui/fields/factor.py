"""A control for one factor of a scenario: what is so today, and what it is moved to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from dlsched.studies.design import Factor
from dlsched.studies.design.variants import Value
from dlsched.ui.frame.text import dollars, safe
from dlsched.wording.formats import Kind
from dlsched.wording.settings import value_words
from dlsched.wording.typed import NotRead, read, text_of

LOW, HIGH, STEP = 0.5, 2.0, 0.05
"""What a slider of a factor spans."""
TYPED: Mapping[str, tuple[Kind, str]] = {"s": ("duration", "min"), "$": ("usd", "$")}
"""Units of numbers that are typed as the app prints them: their kind, and what a plain number is in."""
EXAMPLES = {"failure_at": "3@48for6", "vm_types": "names with + between"}


def control(
    factor: Factor, own: Value | None, value: Value | None, key: str, move: Callable[[Value | None], None]
) -> None:
    """Show the control of a factor; its label says what is so today, and is violet where it is moved.

    Parameters
    ----------
    own
        The value of today, None without one.
    value
        The value it is moved to, None if it is not.
    move
        Told the value the reader chooses, before the page is drawn anew; None for an emptied field.
    """
    now = own if value is None else value

    def moved() -> None:
        typed = st.session_state[key]
        if factor.kind == "number" and factor.unit in TYPED:
            with suppress(NotRead):  # such a text is refused as the value it is
                kind, plain = TYPED[factor.unit]
                typed = read(kind, typed, plain) if typed.strip() else None
        move(typed)

    label = _label(factor, own, is_moved=value is not None)
    common: dict[str, Any] = {"key": key, "on_change": moved, "help": dollars(factor.help)}
    if factor.kind == "names" and factor.choices:
        options = list(factor.choices) if now is None or now in factor.choices else [str(now), *factor.choices]
        st.session_state[key] = options[0] if now is None else str(now)
        st.selectbox(label, options, format_func=lambda one: value_words(factor.key, factor.unit, one), **common)
    elif factor.choices:
        st.session_state[key] = f"{now:g}" if isinstance(now, int | float) else str(now or "")
        st.text_input(label, placeholder=f"a number or {', '.join(factor.choices)}", **common)
    elif factor.kind == "names":
        st.session_state[key] = "" if now is None else str(now)
        st.text_input(label, placeholder=EXAMPLES.get(factor.key, ""), **common)
    elif factor.unit == "x":
        st.session_state[key] = float(now or 0.0)
        st.slider(label, min(LOW, float(now or 0.0)), max(HIGH, float(now or 0.0)), step=STEP, format="%.2fx", **common)
    elif factor.kind == "whole":
        st.session_state[key] = int(now or 0)
        st.number_input(label, int(factor.low), int(factor.high), step=1, **common)
    elif factor.unit in TYPED:
        kind, plain = TYPED[factor.unit]
        st.session_state[key] = text_of(kind, now, plain) if isinstance(now, int | float) else now or ""
        st.text_input(label, placeholder="none", **common)
    else:
        st.session_state[key] = None if now is None else float(now)
        st.number_input(label, factor.low, factor.high, value=None, format="%g", placeholder="none", **common)


def _label(factor: Factor, own: Value | None, *, is_moved: bool) -> str:
    unit = " (min)" if factor.unit == "s" else f" ({dollars(factor.unit)})" if factor.unit in ("h", "$") else ""
    now = f"{own:g}x" if factor.unit == "x" else value_words(factor.key, factor.unit, own)  # the slider says x too
    text = f"{safe(factor.label, 40)}{unit}, today {dollars(safe(now, 40))}"
    return f":violet[**{text}**]" if is_moved else text


def label_of_values(factor: Factor) -> str:
    """Return a factor with how its values are typed one after the other: "Arrivals (times)"."""
    unit = {"x": "times", "nodes": "", "": "1 = on" if factor.key == "days" else ""}.get(factor.unit, factor.unit)
    if factor.key == "run_time_spread" or factor.key.endswith(("_share", "_error")):
        unit = "0.3 = 30%"
    return f"{factor.label} ({unit})" if unit else factor.label
