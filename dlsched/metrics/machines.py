"""What was rented: the bill, GPU-hours and leases of each machine type, from the tables of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dlsched.metrics.billing import SECONDS_PER_H


def bill_by_machine(stays: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each machine type that was paid for, dearest first.

    Parameters
    ----------
    stays
        Billed stays: vm_type, gpu_type, gpus (of the machine), start_s, end_s, cost ($, NaN without a price).
    segments
        What jobs held: vm_type, gpus, start_s, end_s.

    Returns
    -------
    pd.DataFrame
        vm_type, gpu_type, gpus, stays (how often it was opened), hours, gpu_hours, gpu_hours_held, cost.
    """
    hours = (stays["end_s"] - stays["start_s"]) / SECONDS_PER_H
    paid = stays.assign(hours=hours, gpu_hours=hours * stays["gpus"], stays=1)
    table = paid.groupby("vm_type", sort=True).agg(
        gpu_type=("gpu_type", "first"),
        gpus=("gpus", "first"),
        stays=("stays", "sum"),
        hours=("hours", "sum"),
        gpu_hours=("gpu_hours", "sum"),
    )
    table["cost"] = paid.groupby("vm_type")["cost"].sum(min_count=1)
    held = (segments["end_s"] - segments["start_s"]) * segments["gpus"] / SECONDS_PER_H
    by_type = held.groupby(segments["vm_type"]).sum()
    table.insert(5, "gpu_hours_held", by_type.reindex(table.index).fillna(0.0).astype(float))
    order = np.argsort(-table["cost"].fillna(0.0).to_numpy(), kind="stable")
    return table.iloc[order].reset_index()


def late_by_cost(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the late jobs of a jobs table, dearest first (latest first where lateness has no price)."""
    late = jobs[jobs["tardiness_s"] > 0]
    weighed = bool(late["tardiness_usd"].notna().any())
    by = ["tardiness_usd", "tardiness_s"] if weighed else ["tardiness_s"]
    return late.sort_values(by, ascending=False, kind="stable")
