"""Form fields generated from parameter models, so that a new policy needs no page code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import streamlit as st
from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from dlsched.domain.model import FrozenModel
from dlsched.domain.units import HOUR_S
from dlsched.ui.frame.text import dollars, safe
from dlsched.wording.formats import Kind
from dlsched.wording.typed import EXAMPLES, NotRead, read, text_of

UNIT_ENDINGS = ((" usd per h", "$/h"), (" gpu s", "GPU-s"), (" usd", "$"), (" gib", "GiB"), (" s", "s"))
SPELLINGS = {"vm": "VM", "gpu": "GPU", "gpus": "GPUs", "cpu": "CPU", "cpus": "CPUs"}
Choices = Sequence[Any] | Mapping[Any, str]
SHARE_FIELDS = ("_share", "_error", "efficiency")
TYPED: Mapping[str, tuple[Kind, float]] = {
    "s": ("duration", 1.0),
    "min": ("duration", 1.0),
    "h": ("duration", 1 / HOUR_S),
    "%": ("share", 1.0),
    "$": ("usd", 1.0),
    "$/h": ("usd", 1.0),
}
"""Units of fields that read what the app prints: the kind of number, and how much of the field's unit one of it is."""
SHOWN_IN = {"$/h": 1 / HOUR_S}
"""The same for a unit that a field is only shown in (``shown_in`` among its extras): this one is $/s itself."""


def row_width(text: str) -> int:
    """Return the width of a widget in a row that holds this text, pixels."""
    return max(120, 50 + 8 * len(text))


def model_fields(
    model: type[FrozenModel],
    key: str,
    current: FrozenModel | None = None,
    *,
    hidden: Collection[str] = (),
    choices: Mapping[str, Choices] | None = None,
    start: Mapping[str, Any] | None = None,
    in_row: bool = False,
) -> dict[str, Any]:
    """Show one widget per field of the model and return the values; defaults come from ``current`` or the model.

    ``hidden`` fields are left out; ``choices`` turns a field into a choice among these (value -> its words, where
    they are a mapping); ``start`` holds defaults that differ. ``in_row``: widgets stand side by side, and keep what is
    in them when their page is left.
    """
    base = current or model.model_validate({})
    values = {name: getattr(base, name) for name in model.model_fields} | dict(start or {})
    return {
        name: field(name, info, values[name], f"{key}-{name}", (choices or {}).get(name), in_row=in_row)
        for name, info in model.model_fields.items()
        if name not in hidden
    }


def label_of(name: str, info: FieldInfo) -> str:
    """Return a label: the field's title, else its name in words; with its unit."""
    return _with_unit(*_words_and_unit(name, info))


def _words_and_unit(name: str, info: FieldInfo) -> tuple[str, str]:
    unit = _extra(info, "unit") or _extra(info, "shown_in")
    words = info.title or name.replace("_", " ").strip()
    if info.title is None:
        for ending, sign in UNIT_ENDINGS:
            if words.endswith(ending):
                words, unit = words[: -len(ending)], unit or sign
                break
        words = " ".join(SPELLINGS.get(word, word) for word in words.split(" "))
        words = words[:1].upper() + words[1:]
    if not unit and name.endswith(SHARE_FIELDS):
        unit = "%"
    return words, unit


def _with_unit(words: str, unit: str) -> str:
    return f"{words} ({unit})" if unit else words


def field(
    name: str, info: FieldInfo, value: Any, key: str, choices: Choices | None = None, *, in_row: bool = False
) -> Any:
    """Show the widget that suits the type of a field and return its value."""
    kind, optional = _inner(info.annotation)
    words, unit = _words_and_unit(name, info)
    label = _with_unit(words, unit)
    named: dict[str, Any] = {"label": dollars(label), "help": dollars(info.description or ""), "key": key}
    if in_row:
        named |= {"persist_state": "session", "width": row_width(label)}
    if choices is None and get_origin(kind) is Literal:
        choices = {option: str(option).replace("-", " ") for option in get_args(kind)}
        return _choice(choices, value, None, named)
    if choices is not None:
        return _choice(choices, value, "chosen by itself", named, segmented=in_row and len(choices) < 3)
    if kind is bool:
        return st.checkbox(value=bool(value), **named)
    if kind is int or kind is float:
        return _number(info, kind, value, optional, named, unit)
    if get_origin(kind) is tuple and Ellipsis not in get_args(kind):
        return _range(words, unit, info, kind, value, named)
    if get_origin(kind) is tuple:
        numbers = ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
        text = st.text_input(value=numbers, **named | {"help": f"{named['help']} Numbers separated by commas."})
        return [part.strip() for part in text.split(",") if part.strip()]
    text = st.text_input(value=value or "", **named)
    return (text or None) if optional else text


def _choice(
    choices: Choices, value: Any, placeholder: str | None, named: dict[str, Any], *, segmented: bool = False
) -> Any:
    words = choices if isinstance(choices, Mapping) else {}

    def word(option: Any) -> str:
        return str(words.get(option, option))

    if segmented:
        del named["width"]
        return st.segmented_control(options=list(choices), default=value, required=True, format_func=word, **named)
    if "width" in named:
        named["width"] = max(named["width"], row_width(max(map(word, choices), key=len)))
    place = list(choices).index(value) if value in choices else None
    return st.selectbox(options=list(choices), index=place, placeholder=placeholder, format_func=word, **named)


def _extra(info: FieldInfo, name: str) -> str:
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    return str(extra.get(name, ""))


def _inner(annotation: Any) -> tuple[Any, bool]:
    """Return the type without None, and whether None was allowed."""
    parts = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) not in (Literal, tuple) and type(None) in get_args(annotation):
        return parts[0], True
    return annotation, False


def _number(info: FieldInfo, kind: type, value: Any, optional: bool, named: dict[str, Any], unit: str) -> Any:
    empty = _extra(info, "placeholder") or "none" if optional else None
    if empty and "width" in named:
        named["width"] = max(named["width"], row_width(f"{empty} − +"))
    if kind is float and unit in TYPED:
        return _typed_number(info, value, optional, named | {"placeholder": empty}, unit)
    low, high = None, None
    for rule in info.metadata:
        if isinstance(rule, Ge | Gt):
            low = kind(rule.ge if isinstance(rule, Ge) else rule.gt)
        if isinstance(rule, Le | Lt):
            high = kind(rule.le if isinstance(rule, Le) else rule.lt)
    typed = st.number_input(
        min_value=low, max_value=high, value=None if value is None else kind(value),
        format=None if kind is int else "%g", placeholder=empty, **named,
    )  # fmt: skip
    return None if typed is None else kind(typed)


def _typed_number(info: FieldInfo, value: Any, optional: bool, named: dict[str, Any], unit: str) -> Any:
    """Show a number as the app prints it, and read it back; what is no number is returned as it is, to be refused."""
    kind, own = TYPED[unit]
    own = SHOWN_IN.get(_extra(info, "shown_in"), own)
    shown = "" if value is None else text_of(kind, value / own, unit)
    plain = f" Written as {EXAMPLES[kind]}; a plain number is in {unit}."
    text = st.text_input(value=shown, **named | {"help": dollars(f"{info.description or ''}{plain}".strip())})
    if text == shown or not text.strip():
        return value if text.strip() or optional else text
    try:
        return read(kind, text, unit) * own
    except NotRead as error:
        st.markdown(f":red[{safe(f'It {error}', 200)}]")
        return text


def _range(words: str, unit: str, info: FieldInfo, kind: Any, value: Any, named: dict[str, Any]) -> list[Any]:
    """Show two numbers, the ends of a range, and return them."""
    ends = []
    for end, inner, start in zip(("from", "to"), get_args(kind), value, strict=True):
        of_end = FieldInfo.from_annotation(inner)
        of_end.json_schema_extra, of_end.description = info.json_schema_extra, info.description
        own = {"label": dollars(_with_unit(f"{words} {end}", unit)), "key": f"{named['key']}-{end}"}
        ends.append(_number(of_end, float, start, False, named | own, unit))
    return ends
