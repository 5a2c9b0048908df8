"""Which nodes a job may run on: partitions and GPU types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Texts, Workload, gpu_type_names, partition_names

Mask = NDArray[np.bool_]


class Claim(NamedTuple):
    """What a job says about nodes: its partition, or several "a|b" ("" = none), and GPU types (empty = any)."""

    partition: str
    gpu_types: frozenset[str]


@dataclass(frozen=True, eq=False)
class Claims:
    """The distinct claims of a workload; ``of_row[row]`` indexes ``distinct``."""

    distinct: tuple[Claim, ...]
    of_row: list[int]

    @classmethod
    def of(cls, jobs: Workload) -> Claims:
        """Return the claims of every row."""
        if jobs.partition is None and jobs.gpu_types is None:
            return cls((Claim("", frozenset()),), [0] * len(jobs))
        blank = [""] * len(jobs)
        partitions: Iterable[str] = blank if jobs.partition is None else jobs.partition
        gpu_types: Iterable[str] = blank if jobs.gpu_types is None else jobs.gpu_types
        number: dict[tuple[str, str], int] = {}
        of_row = [number.setdefault(pair, len(number)) for pair in zip(partitions, gpu_types, strict=True)]
        return cls(tuple(Claim(partition, gpu_type_names(types)) for partition, types in number), of_row)


def eligible(claim: Claim, partition: Texts, gpu_type: Texts) -> Mask | None:
    """Return which nodes a claim allows, shape (nodes,); None means every node.

    A job with GPU types runs only on nodes of one of them; for partitions see :func:`in_partition`.
    """
    allowed = in_partition(claim.partition, partition)
    if claim.gpu_types:
        allowed &= np.isin(gpu_type.astype(str), sorted(claim.gpu_types))
    return None if allowed.all() else allowed


def in_partition(wanted: str, partition: Texts) -> Mask:
    """Return the nodes that are in one of the wanted partitions, "a|b", shape (nodes,).

    A node is in every partition that its own entry names. Where no node is in any of them, and where none is wanted,
    these are the nodes without a partition.
    """
    names = partition_names(wanted)
    entries = [entry for entry in dict.fromkeys(partition.tolist()) if names & partition_names(entry)] if names else []
    mask = np.asarray(partition == (entries[0] if entries else ""), dtype=bool)
    for entry in entries[1:]:
        mask |= np.asarray(partition == entry, dtype=bool)
    return mask
