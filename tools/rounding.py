"""Numbers as they are bundled."""

from __future__ import annotations

from typing import Any

DIGITS = 5


def rounded(plain: Any) -> Any:
    """Return plain data whose fractions have DIGITS significant figures: what a picture shows, a quarter the size."""
    if isinstance(plain, float):
        return float(f"{plain:.{DIGITS}g}")
    if isinstance(plain, dict):
        return {name: rounded(value) for name, value in plain.items()}
    return [rounded(value) for value in plain] if isinstance(plain, list) else plain
