"""Form fields generated from parameter models, so that a new policy needs no page code."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import streamlit as st
from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from dlsched.domain.cluster import Frozen
from dlsched.ui.text import dollars


def model_fields(model: type[Frozen], key: str, current: Frozen | None = None) -> dict[str, Any]:
    """Show one widget per field of the model and return the values; defaults come from ``current`` or the model."""
    base = current or model.model_validate({})
    return {
        name: field(label_of(name, info), info, getattr(base, name), f"{key}-{name}")
        for name, info in model.model_fields.items()
    }


def label_of(name: str, info: FieldInfo) -> str:
    """Return a label: the name in words with its unit."""
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    unit = extra.get("unit", "")
    words = (info.title or name.replace("_", " ")).strip().capitalize()
    if not unit:
        for ending, sign in ((" usd per h", "$/h"), (" gpu s", "GPU-s"), (" usd", "$"), (" gib", "GiB"), (" s", "s")):
            if words.lower().endswith(ending):
                words, unit = words[: -len(ending)], sign
                break
    return f"{words} ({unit})" if unit else words


def field(label: str, info: FieldInfo, value: Any, key: str) -> Any:
    """Show the widget that suits the type of a field and return its value."""
    hint = dollars(info.description or "")
    kind, optional = _inner(info.annotation)
    label = dollars(label)
    if get_origin(kind) is Literal:
        options = [*get_args(kind)]
        place = options.index(value) if value in options else None
        return st.selectbox(label, options, index=place, help=hint, key=key)
    if kind is bool:
        return st.checkbox(label, value=bool(value), help=hint, key=key)
    if kind is int or kind is float:
        return _number(label, info, kind, value, hint, key, optional)
    if get_origin(kind) is tuple:
        shown = ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
        text = st.text_input(label, shown, help=f"{hint} Numbers separated by commas.", key=key)
        return [part.strip() for part in text.split(",") if part.strip()]
    text = st.text_input(label, value or "", help=hint, key=key)
    return (text or None) if optional else text


def _inner(annotation: Any) -> tuple[Any, bool]:
    """Return the type without None, and whether None was allowed."""
    parts = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) not in (Literal, tuple) and type(None) in get_args(annotation):
        return parts[0], True
    return annotation, False


def _number(label: str, info: FieldInfo, kind: type, value: Any, hint: str, key: str, optional: bool) -> Any:
    low, high = None, None
    for rule in info.metadata:
        if isinstance(rule, Ge | Gt):
            low = kind(rule.ge if isinstance(rule, Ge) else rule.gt)
        if isinstance(rule, Le | Lt):
            high = kind(rule.le if isinstance(rule, Le) else rule.lt)
    start = None if value is None else kind(value)
    shown = st.number_input(
        label, min_value=low, max_value=high, value=start, help=hint, key=key,
        format=None if kind is int else "%g", placeholder="none" if optional else None,
    )  # fmt: skip
    return shown if shown is None else kind(shown)
