"""User text made safe for Streamlit markdown."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$:<>&])")
_DOLLAR = re.compile(r"(?<!\\)\$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def safe(text: object, longest: int = 80) -> str:
    """Return text that markdown shows letter by letter: no links, badges, icons, formulas or HTML; cut when long."""
    flat = _CONTROL.sub(" ", str(text))
    cut = flat if len(flat) <= longest else flat[: longest - 1] + "…"
    return _SPECIAL.sub(r"\\\1", cut)


def dollars(text: str) -> str:
    """Return our own sentence with dollar signs that do not start a formula; parts may be :func:`safe` already."""
    return _DOLLAR.sub(r"\\$", text)
