"""Seconds of the longer units of time."""

from __future__ import annotations

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0
MONTH_S = 30 * DAY_S
"""A month of traces and of their drawn stand-ins: 30 days."""
