"""Words by which assumptions are known again, so that they end when what they are about is described."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

DEFAULT_CLUSTER = "Default cluster"
EXAMPLE_PRICE = "example price, not a quote"
PREDICTED_TIMES = "times predicted"
SPEED_CURVE = "speed curve"
LIST_PRICES = "list prices"
STALE_DAYS = 90
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


def is_default_note(text: str) -> bool:
    """Whether an assumption says that nobody described the cluster (``defaults.describe_default``)."""
    return text.startswith(DEFAULT_CLUSTER)


def is_price_note(text: str) -> bool:
    """Whether an assumption says where prices come from (``fill.fill_prices``, ``prices.price_notes``)."""
    return EXAMPLE_PRICE in text or is_list_note(text)


def is_list_note(text: str) -> bool:
    """Whether an assumption names the list that prices were taken from."""
    return f"{LIST_PRICES} " in text


def price_day(text: str) -> date | None:
    """Return the day of the prices that a note speaks of; None when it names none."""
    for found in _DAY.findall(text) if is_price_note(text) else ():
        try:
            return date.fromisoformat(found)
        except ValueError:
            continue
    return None


def stale_days(day: date | None, today: date) -> int:
    """Return how old prices are, days, when that is more than STALE_DAYS; else 0."""
    age = (today - day).days if day is not None else 0
    return age if age > STALE_DAYS else 0


def is_times_note(text: str) -> bool:
    """Whether an assumption says that run times were predicted (``predicted_times.fill_times``)."""
    return text.startswith(PREDICTED_TIMES)


def is_speed_note(text: str) -> bool:
    """Whether an assumption says how run times follow from GPUs: predicted times, or a speed curve (``streams``)."""
    return is_times_note(text) or text.startswith(SPEED_CURVE)


def is_cluster_note(text: str) -> bool:
    """Whether an assumption is about the cluster: what it is, or where its prices come from."""
    return is_default_note(text) or is_price_note(text)


def cluster_notes(assumptions: Iterable[str]) -> tuple[str, ...]:
    """Return the assumptions about a cluster that stay when it gets other jobs."""
    later = f"{DEFAULT_CLUSTER} of earlier jobs"
    return tuple(
        text if text.startswith(later) else text.replace(DEFAULT_CLUSTER, later, 1)
        for text in assumptions
        if is_cluster_note(text)
    )
