"""The kinds of file a memo is written as."""

from __future__ import annotations

from pathlib import Path

from dlsched.domain.errors import InputError
from dlsched.report.memo import Memo

KINDS = {
    "html": "text/html",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Ending of the file -> media type."""


def kind_of(path: str) -> str:
    """Return the kind a file's name asks for.

    Raises
    ------
    InputError
        If its ending is none of ``KINDS``.
    """
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in KINDS:
        endings = ", ".join(f".{each}" for each in KINDS)
        raise InputError(f"file {path}", f"must end in one of {endings}", "Choose another name")
    return kind


def content(memo: Memo, kind: str) -> bytes:
    """Return the bytes of the file; ``kind`` is one of ``KINDS``. Libraries are loaded for the kind that is asked."""
    if kind == "html":
        from dlsched.report.html import to_html

        return to_html(memo).encode()
    if kind == "pptx":
        from dlsched.report.pptx import to_pptx

        return to_pptx(memo)
    from dlsched.report.xlsx import to_xlsx

    return to_xlsx(memo)
