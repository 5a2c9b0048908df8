"""Words by which assumptions about the cluster are known again, so that they end when the cluster is described."""

from __future__ import annotations

DEFAULT_CLUSTER = "Default cluster"
EXAMPLE_PRICE = "example price, not a quote"


def is_default_note(text: str) -> bool:
    """Whether an assumption says that nobody described the cluster (``defaults.describe_default``)."""
    return text.startswith(DEFAULT_CLUSTER)


def is_price_note(text: str) -> bool:
    """Whether an assumption says that prices are examples (``fill.fill_prices``)."""
    return EXAMPLE_PRICE in text
