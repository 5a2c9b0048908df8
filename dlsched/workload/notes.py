"""Words by which assumptions about the cluster are known again, so that they end when the cluster is described."""

from __future__ import annotations

from collections.abc import Iterable

DEFAULT_CLUSTER = "Default cluster"
EXAMPLE_PRICE = "example price, not a quote"


def is_default_note(text: str) -> bool:
    """Whether an assumption says that nobody described the cluster (``defaults.describe_default``)."""
    return text.startswith(DEFAULT_CLUSTER)


def is_price_note(text: str) -> bool:
    """Whether an assumption says that prices are examples (``fill.fill_prices``)."""
    return EXAMPLE_PRICE in text


def cluster_notes(assumptions: Iterable[str]) -> tuple[str, ...]:
    """Return the assumptions about a cluster that stay when it gets other jobs."""
    later = f"{DEFAULT_CLUSTER} of earlier jobs"
    return tuple(
        text if text.startswith(later) else text.replace(DEFAULT_CLUSTER, later, 1)
        for text in assumptions
        if is_default_note(text) or is_price_note(text)
    )
