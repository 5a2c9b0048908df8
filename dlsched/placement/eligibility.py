"""Which nodes a job may run on: partitions, GPU types and features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import Texts, Workload, feature_choices, gpu_type_names, partition_names

Mask = NDArray[np.bool_]


class Claim(NamedTuple):
    """What a job says about nodes: its partition, or several "a|b" ("" = none), GPU types (empty = any), features."""

    partition: str
    gpu_types: frozenset[str]
    features: str = ""


@dataclass(frozen=True, eq=False)
class Claims:
    """The distinct claims of a workload; ``of_row[row]`` indexes ``distinct``."""

    distinct: tuple[Claim, ...]
    of_row: list[int]

    @classmethod
    def of(cls, jobs: Workload) -> Claims:
        """Return the claims of every row."""
        given = jobs.partition, jobs.gpu_types, jobs.features
        if all(column is None for column in given):
            return cls((Claim("", frozenset()),), [0] * len(jobs))
        blank = [""] * len(jobs)
        columns: list[Iterable[str]] = [blank if column is None else column for column in given]
        number: dict[tuple[str, ...], int] = {}
        of_row = [number.setdefault(said, len(number)) for said in zip(*columns, strict=True)]
        return cls(tuple(Claim(where, gpu_type_names(types), has) for where, types, has in number), of_row)


def eligible(claim: Claim, partition: Texts, gpu_type: Texts, features: Texts) -> Mask | None:
    """Return which nodes a claim allows, shape (nodes,); None means every node.

    A job with GPU types runs only on nodes of one of them; for partitions see :func:`in_partition`, for features
    :func:`having`.
    """
    allowed = in_partition(claim.partition, partition)
    if claim.gpu_types:
        allowed &= np.isin(gpu_type.astype(str), sorted(claim.gpu_types))
    if claim.features:
        allowed &= having(claim.features, features)
    return None if allowed.all() else allowed


def features_matter(jobs: Workload, cluster: Cluster) -> bool:
    """Whether some job asks for features and those of some node are known."""
    return jobs.features is not None and any(jobs.features) and any(pool.features for pool in cluster.pools)


def having(wanted: str, features: Texts) -> Mask:
    """Return the nodes with the features that a job asks for, "A&B" or "A&B|C", shape (nodes,).

    ``features`` are the entries "a|b" of the nodes. If no node has any, they are not known: every node will do.
    """
    choices, entries = feature_choices(wanted), dict.fromkeys(features.tolist())
    if not choices or not any(entries):
        return np.ones(len(features), dtype=bool)
    suits = {entry: any(names <= partition_names(entry) for names in choices) for entry in entries}
    return np.array([suits[entry] for entry in features.tolist()], dtype=bool)


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
