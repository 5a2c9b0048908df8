"""Components of heterogeneous jobs (N+K), which start together: one gang where all workers are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from dlsched.workload.import_report import Bools
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.convert import bools, from_python, strings, texts
from dlsched.workload.readers.slurm.job_numbers import HET

ALIKE = 1e-9


def join_components(draft: Draft, ids: Any) -> None:
    """Join the components of each heterogeneous job into its first row; those that differ stay jobs of their own.

    A gang has workers of one kind: components are joined if their workers have the same GPUs, cores, memory and
    partition. What is joined and what is not is counted.
    """
    ledger = draft.ledger
    rows = np.flatnonzero(bools(pc.match_substring_regex(ids, HET)) & ledger.alive)
    if not rows.size:
        return
    names, nodes = texts(ids).copy(), texts(strings(draft.texts["recorded_nodes"])).copy()
    partition = texts(strings(draft.texts["partition"]))
    joined: Bools = np.zeros(len(ledger.alive), dtype=bool)
    apart = joined.copy()
    for members in _components(names, draft, rows).values():
        first, *others = members
        shape = np.array([_worker(draft, row) for row in members])
        alike = np.allclose(shape, shape[0], rtol=ALIKE) and len(set(partition[members])) == 1
        if not others or not alike:
            apart[members] = True
            continue
        draft.workers[first] = draft.workers[members].sum()
        names[first] = names[first].partition("+")[0]
        nodes[first] = ",".join(filter(None, nodes[members]))
        joined[others] = True
    ledger.drop(joined, "component of a heterogeneous job", "Joined with its first component into one gang", ids,
                unreadable=False)  # fmt: skip
    rule = "Each component is a job of its own: their workers are not alike, so they cannot be one gang"
    ledger.not_modelled(apart, "component of a heterogeneous job", rule, ids)
    draft.texts |= {"job_id": from_python(names), "recorded_nodes": from_python(nodes)}


def _components(names: Any, draft: Draft, rows: Any) -> dict[tuple[str, float], list[int]]:
    """Return the rows of each job, by number and submission: a requeued job is there once for each try."""
    groups: dict[tuple[str, float], list[int]] = {}
    for row in rows.tolist():
        groups.setdefault((names[row].partition("+")[0], float(draft.submit_s[row])), []).append(row)
    return groups


def _worker(draft: Draft, row: int) -> tuple[float, ...]:
    floats = draft.floats
    return (
        float(draft.gpus_per_worker[row]),
        float(floats["cpus_per_worker"][row]),
        float(floats["mem_gib_per_worker"][row]),
    )
