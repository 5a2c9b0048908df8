"""A job with parameter servers that somebody describes by its layers: one row of a workload."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.workload import RESOURCES, Workload
from dlsched.speed.layered_step import step_columns, transfer_seconds
from dlsched.speed.pipeline import Layers, Overlap, pipeline
from dlsched.workload.readers.source import guarded

MS_PER_S = 1000.0
KINDS = ("forward", "backward", "transfer")
COLUMNS = tuple(f"{kind} (ms)" for kind in KINDS)
MOST_BYTES = 1_000_000
LIMITED = ("GPUs", "CPUs", "memory", "disk")
"""RESOURCES in words."""
EXAMPLE = pd.DataFrame(
    {
        COLUMNS[0]: [90.0, 120.0, 120.0, 150.0, 60.0, 20.0],
        COLUMNS[1]: [60.0, 80.0, 80.0, 100.0, 40.0, 15.0],
        COLUMNS[2]: [20.0, 50.0, 50.0, 80.0, 200.0, 120.0],
    }
)
"""Layers of a made-up network: first ones compute, last ones are large."""


@dataclass(frozen=True)
class DescribedJob:
    """A training job in the words of its user; amounts by resource in the order of RESOURCES.

    layers                times of ``forward_samples`` samples forward; of a step backward; of a transfer one way
    overlap               how transfers and computing overlap; only the shares that nothing hides count in a step
    steps                 iterations to make
    samples               of a step: the whole batch where workers are synchronous, else a worker's mini-batch
    model_mb, gbps        size of the model in MB and bandwidth of a server in Gbit/s
    senders_share         of asynchronous workers, those that send at once (alpha), 0 to 1
    worker, server        what one of them holds; a server holds no GPU
    limit                 what the job may hold in all; None = no limit
    worth, slope, half    utility worth / (1 + exp(slope (t - half))), t in the unit that goes with it
    """

    layers: Layers
    updates: Literal["sync", "async"] = "sync"
    overlap: Overlap = "wait-free"
    forward_samples: int = 1
    steps: int = 100
    samples: int = 32
    model_mb: float = 500.0
    gbps: float = 10.0
    senders_share: float = 0.5
    worker_overhead_s: float = 0.0
    server_overhead_s: float = 0.0
    worker: tuple[float, float, float, float] = (1.0, 1.0, 0.0, 0.0)
    server: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 0.0)
    limit: tuple[float | None, float | None, float | None, float | None] = field(default=(None,) * 4)
    worth: float = 1.0
    slope: float = 1.0
    half: float = 1.0

    def __post_init__(self) -> None:
        if not self.gbps > 0:
            raise InputError(
                "bandwidth", f"must be above 0 Gbit/s, got {self.gbps:g}", "Enter the bandwidth of a server"
            )
        for resource, most in zip(LIMITED, self.limit, strict=True):
            if most is not None and not most > 0:
                do = "Leave it empty if there is no limit"
                raise InputError(f"limit on {resource}", f"must be above 0 or empty, got {most:g}", do)
        if not any(self.worker):
            raise InputError("worker", "must use at least one resource, got 0 of each", "Enter what a worker needs")

    def workload(self) -> Workload:
        """Return the job as the only row of a workload that asks for one worker and one server.

        Raises
        ------
        InputError
            Numbers that no job can have; names column and rule.
        """
        columns: dict[str, list[object]] = {
            "job_id": ["described"], "submit_s": [0.0], "work": [self.steps], "workers": [1], "servers": [1],
            "utility_1": [self.worth], "utility_2": [self.slope], "utility_3": [self.half],
        }  # fmt: skip
        columns |= {f"{name}_per_worker": [amount] for name, amount in zip(RESOURCES, self.worker, strict=True)}
        columns |= {f"{name}_per_server": [amount] for name, amount in zip(RESOURCES[1:], self.server[1:], strict=True)}
        columns |= {
            f"limit_{name}": [np.nan if most is None else most]
            for name, most in zip(RESOURCES, self.limit, strict=True)
        }
        return Workload.from_columns(columns | {name: [value] for name, value in self.step_terms().items()})

    def step_terms(self) -> dict[str, float]:
        """Return the seconds of a step by column."""
        layers = self.layers
        forward, backward, transfer = pipeline(layers, self.overlap).eta
        return step_columns(
            synchronous=self.updates == "sync",
            forward_s=forward * self.samples / self.forward_samples * float(layers.forward_s.sum()),
            backward_s=backward * float(layers.backward_s.sum()),
            transfer_s=transfer_seconds(self.model_mb, self.gbps, transfer),
            senders_share=self.senders_share,
            worker_overhead_s=self.worker_overhead_s,
            server_overhead_s=self.server_overhead_s,
        )


def layers_in_ms(table: pd.DataFrame) -> Layers:
    """Return the layers of a table with COLUMNS in ms, first to last; rows without any number are left out.

    Raises
    ------
    InputError
        No layer, an empty or negative time; names the layer and the value in ms.
    """
    rows = table[list(COLUMNS)].apply(pd.to_numeric, errors="coerce").dropna(how="all")
    for column, kind in zip(COLUMNS, KINDS, strict=True):
        for layer in np.flatnonzero(rows[column].isna())[:1].tolist():
            raise InputError(f"layer {layer + 1}, {kind}", "must be a time in ms, but is empty", "Enter the time")
    times_ms = [rows[column].to_numpy(dtype=float) for column in COLUMNS]
    Layers(*times_ms)  # complains in the unit of the table
    return Layers(*(times / MS_PER_S for times in times_ms))


@guarded
def read_layers(content: bytes, name: str) -> pd.DataFrame:
    """Return the table of layers in a CSV with the columns forward, backward and transfer, all in ms.

    Raises
    ------
    InputError
        Too large or unreadable a file, a missing column, a cell that is no number; names file, line and column.
    """
    if len(content) > MOST_BYTES:
        raise InputError(f"file {name}", f"has {len(content):,} bytes; the limit is {MOST_BYTES:,}", "Join layers")
    try:
        table = pd.read_csv(io.BytesIO(content), sep=None, engine="python", dtype=str)
    except (ValueError, csv.Error) as error:
        raise InputError(f"file {name}", "cannot be read as CSV", "Save it as CSV with a header") from error
    if not isinstance(table.index, pd.RangeIndex):
        why = f"a line has more fields than the {len(table.columns)} of the header"
        raise InputError(f"file {name}", why, "Correct the line")
    bare = {str(column).lower().split("(")[0].split("_")[0].strip(): column for column in reversed(table.columns)}
    lacks = [kind for kind in KINDS if kind not in bare]
    if lacks:
        why = f"no column {lacks[0]!r}; it has: {first_of([*map(str, table.columns)])}"
        raise InputError(f"file {name}", why, "Name the columns forward, backward, transfer; times in ms")
    layers = {}
    for column, kind in zip(COLUMNS, KINDS, strict=True):
        texts = table[bare[kind]]
        layers[column] = pd.to_numeric(texts, errors="coerce").astype(float)
        for row in np.flatnonzero(layers[column].isna() & texts.notna())[:1].tolist():
            why = f"must be a number of ms, got {texts.iloc[row]!r:.40}"
            raise InputError(f"file {name}, line {row + 2}, {kind}", why, "Correct the cell")
    return pd.DataFrame(layers)
