"""Measured or predicted run times of networks by GPU type and number of GPUs: t[.][.][.] of the papers, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.workload import Floats

MOST_PROFILES = 20_000
MOST_GPUS = 1024

Row = tuple[float, ...]


class TimeTable(FrozenModel):
    """``rows[profile][GPU type]`` = seconds per unit of work with 1, 2, ... GPUs of one node.

    Jobs name their profile in the column ``profile``. Readers and generators scale a profile so that its smallest
    number is 1: then the ``work`` of a job is its run time in seconds on the fastest configuration. A profile
    without a GPU type cannot run there. More GPUs than a row has times for bring nothing more.
    """

    rows: Mapping[str, Mapping[str, Row]] = Field(
        description="Profile -> GPU type -> seconds per unit of work with 1, 2, ... GPUs."
    )

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if not self.rows:
            raise ValueError("a time table needs at least one profile")
        if len(self.rows) > MOST_PROFILES:
            raise ValueError(f"a time table has at most {MOST_PROFILES:,} profiles, got {len(self.rows):,}")
        for profile, by_type in self.rows.items():
            if not by_type:
                raise ValueError(f"profile {profile!r:.80} has no GPU type")
            for gpu_type, row in by_type.items():
                _check_row(profile, gpu_type, row)
        return self

    @cached_property
    def profiles(self) -> tuple[str, ...]:
        """Names of the profiles, in order of the table."""
        return tuple(self.rows)

    @cached_property
    def gpu_types(self) -> tuple[str, ...]:
        """GPU types of the table, in order of first appearance."""
        return tuple(dict.fromkeys(gpu_type for by_type in self.rows.values() for gpu_type in by_type))

    @cached_property
    def most_gpus(self) -> int:
        """Length of the longest row."""
        return max(len(row) for by_type in self.rows.values() for row in by_type.values())

    @cached_property
    def seconds(self) -> Floats:
        """The table as an array of shape (profiles, GPU types, most_gpus); infinity where a profile cannot run.

        Past the end of a row its last number goes on.
        """
        table = np.full((len(self.profiles), len(self.gpu_types), self.most_gpus), np.inf)
        column = {gpu_type: number for number, gpu_type in enumerate(self.gpu_types)}
        for number, by_type in enumerate(self.rows.values()):
            for gpu_type, row in by_type.items():
                table[number, column[gpu_type], : len(row)] = row
                table[number, column[gpu_type], len(row) :] = row[-1]
        table.flags.writeable = False
        return table


def _check_row(profile: str, gpu_type: str, row: Row) -> None:
    where = f"profile {profile!r:.80} on {gpu_type!r:.80}"
    if not 1 <= len(row) <= MOST_GPUS:
        raise ValueError(f"{where} has {len(row)} times, but needs 1 to {MOST_GPUS:,}: for 1, 2, ... GPUs")
    for gpus, seconds in enumerate(row, start=1):
        if not (seconds > 0 and math.isfinite(seconds)):
            raise ValueError(f"{where} with {gpus} GPUs: the time must be above 0, got {seconds:g}")
