"""Who waits longer and who waits less under another run: mean changes by user, group or class of job."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

LEAST_GROUP = 5
"""Groups of fewer jobs a draw are folded into one: a mean over them says little."""
GROUPS = ("user", "group", "job_class")


def groupings_of(jobs: pd.DataFrame) -> list[str]:
    """Return by which columns a jobs table tells people apart."""
    return [column for column in GROUPS if column in jobs and jobs[column].fillna("").astype(bool).any()]


def changes_by(pairs: Sequence[tuple[pd.DataFrame, pd.DataFrame]], by: str) -> pd.DataFrame:
    """Return how the wait of each group changes, over the jobs that started under both runs.

    Parameters
    ----------
    pairs
        Jobs tables of the baseline and of the other run, draw by draw: job_id, wait_s and the column ``by``.
    by
        Column that names the group.

    Returns
    -------
    DataFrame
        Group -> ``mean`` change of the wait (seconds, below 0 = sooner), ``jobs`` per draw, and whether the row is
        ``folded`` from several groups of fewer than LEAST_GROUP jobs.
    """
    joined = pd.concat(
        [
            before[["job_id", by, "wait_s"]].merge(after[["job_id", "wait_s"]], on="job_id", suffixes=("_b", "_a"))
            for before, after in pairs
        ]
    ).dropna(subset=["wait_s_b", "wait_s_a"])
    change = joined["wait_s_a"] - joined["wait_s_b"]
    who = joined[by].fillna("")
    size = change.groupby(who).transform("size") / len(pairs)
    small = size < LEAST_GROUP
    num_small = len(set(who[small]))
    fold = num_small > 1
    if fold:
        who = who.mask(small, f"{num_small} small groups")
    found = change.groupby(who).agg(["mean", "size"])
    jobs = (found["size"] / len(pairs)).round().astype(int)
    folded = (found.index == f"{num_small} small groups") & fold
    return pd.DataFrame({"mean": found["mean"], "jobs": jobs, "folded": folded})


def letters(place: int) -> str:
    """Return A, B, ..., Z, AA, AB, ...: names for groups that are not to be named."""
    text = ""
    place += 1
    while place:
        place, last = divmod(place - 1, 26)
        text = chr(65 + last) + text
    return text
