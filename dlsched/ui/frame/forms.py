"""Form fields generated from parameter models, so that a new policy needs no page code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import streamlit as st
from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from dlsched.domain.model import FrozenModel
from dlsched.ui.frame.text import dollars

UNIT_ENDINGS = ((" usd per h", "$/h"), (" gpu s", "GPU-s"), (" usd", "$"), (" gib", "GiB"), (" s", "s"))
SPELLINGS = {"vm": "VM", "gpu": "GPU", "gpus": "GPUs", "cpu": "CPU", "cpus": "CPUs"}
Choices = Sequence[str] | Mapping[str, str]
SHARE_FIELDS = ("_share", "_error", "efficiency")


def model_fields(
    model: type[FrozenModel],
    key: str,
    current: FrozenModel | None = None,
    *,
    hidden: Collection[str] = (),
    choices: Mapping[str, Choices] | None = None,
) -> dict[str, Any]:
    """Show one widget per field of the model and return the values; defaults come from ``current`` or the model.

    ``hidden`` fields are left out; ``choices`` turns a text field into a choice among these (value -> its words, where
    they are a mapping).
    """
    base = current or model.model_validate({})
    return {
        name: field(label_of(name, info), info, getattr(base, name), f"{key}-{name}", (choices or {}).get(name))
        for name, info in model.model_fields.items()
        if name not in hidden
    }


def label_of(name: str, info: FieldInfo) -> str:
    """Return a label: the name in words with its unit."""
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    words, unit = (info.title or name.replace("_", " ")).strip(), str(extra.get("unit", ""))
    for ending, sign in UNIT_ENDINGS:
        if words.lower().endswith(ending):
            words, unit = words[: -len(ending)], unit or sign
            break
    if not unit and name.endswith(SHARE_FIELDS):
        unit = "0 to 1"
    spelt = " ".join(SPELLINGS.get(word, word) for word in words.split(" "))
    spelt = spelt[:1].upper() + spelt[1:]
    return f"{spelt} ({unit})" if unit else spelt


def field(label: str, info: FieldInfo, value: Any, key: str, choices: Choices | None = None) -> Any:
    """Show the widget that suits the type of a field and return its value."""
    hint = dollars(info.description or "")
    kind, optional = _inner(info.annotation)
    label = dollars(label)
    if choices is not None:
        place = list(choices).index(value) if value in choices else None
        words = choices if isinstance(choices, Mapping) else {}
        return st.selectbox(
            label, list(choices), index=place, help=hint, key=key, placeholder="chosen by itself",
            format_func=lambda value: words.get(value, value),
        )  # fmt: skip
    if get_origin(kind) is Literal:
        options = [*get_args(kind)]
        place = options.index(value) if value in options else None
        return st.selectbox(label, options, index=place, help=hint, key=key, format_func=_plain_words)
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


def _plain_words(option: object) -> str:
    return str(option).replace("-", " ")


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
