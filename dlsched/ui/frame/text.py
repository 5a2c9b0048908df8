"""User text made safe for Streamlit markdown."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$:<>&])")
_DOLLAR = re.compile(r"(?<!\\)\$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069]")
_ADDRESS = re.compile(r"(?<=www)(?=\.)|(?<=:)(?=//)|(?<=@)", re.IGNORECASE)
_JOINER = "\u2060"
"""A character without width: markdown makes links of bare addresses, escaped or not, but not with this inside."""


def safe(text: object, longest: int = 80) -> str:
    """Return text that markdown shows letter by letter: no links, badges, icons, formulas or HTML; cut when long."""
    flat = _CONTROL.sub(" ", str(text))
    cut = flat if len(flat) <= longest else flat[: longest - 1] + "…"
    return _SPECIAL.sub(r"\\\1", _ADDRESS.sub(_JOINER, cut))


def dollars(text: str) -> str:
    """Return our own sentence with dollar signs that do not start a formula; parts may be :func:`safe` already."""
    return _DOLLAR.sub(r"\\$", text)
