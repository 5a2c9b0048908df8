"""What a text says, without its exact words; and the wording of a study, compared with one file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

WRITE = "WRITE_WORDING"
HEADER = """# What the study {study} says of answers written by hand. Written by:
#   {write}=1 python -m pytest tests/unit/studies/test_wording.py
"""


def says(text: str, *parts: str) -> bool:
    """Whether a text names these parts, such as a verdict and its numbers, in this order; names what is missing."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} is not in {text[at:]!r}"
        at = found + len(part)
    return True


def check_wording(file: Path, parts: Mapping[str, Sequence[str]]) -> None:
    """Compare texts by heading with a file of them; ``WRITE_WORDING=1`` in the environment writes the file."""
    lines = [line for name, texts in parts.items() for line in ("", f"## {name}", *texts)]
    text = HEADER.format(study=file.parent.name, write=WRITE) + "\n".join(lines) + "\n"
    if os.environ.get(WRITE):
        file.write_text(text)
    assert file.read_text() == text, f"the wording changed: look at it, then run with {WRITE}=1"
