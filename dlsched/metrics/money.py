"""In which metric costs may be compared: per month or per job, never totals over different lengths of time."""

from __future__ import annotations

from dlsched.metrics.stats.compare import Comparison

OWNED = ("cost_month", "usd_per_job")
"""Owned machines cost a month, whatever is done with them; a total would only tell when the last jobs end.

Where all jobs come at once there is no month, and the cost is that of a completed job.
"""
RENTED = ("usd_per_job", "total_cost", "vm_cost")
"""Of a completed job where policies rent the machines, as long as any completed.

A month of the time in which jobs arrive would flatter a policy that rents little then and runs the jobs later; a total,
one that completes fewer of them.
"""
COSTS = ("cost_month", "usd_per_job", "total_cost", "vm_cost", "idle_cost")
"""Metrics of what all machines cost together; of them only those of :func:`cost_keys` may be compared."""


def cost_keys(*, rents: bool) -> tuple[str, ...]:
    """Return the metrics in which runs of the same jobs may be compared by cost, the one that decides first."""
    return RENTED if rents else OWNED


def cost_key(comparison: Comparison) -> str | None:
    """Return the metric that says which run is cheaper, the first that all of them have; None without prices."""
    return next((key for key in cost_keys(rents=comparison.rents) if _all_have(comparison, key)), None)


def _all_have(comparison: Comparison, key: str) -> bool:
    row = comparison.row(key)
    return row is not None and all(cell.value is not None for cell in row.cells)
