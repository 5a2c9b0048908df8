"""One search from start to end, compiled and kept in numba's cache; see :mod:`dlsched.domain.fingerprint`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import from_dtype, njit, types

from dlsched.domain.fingerprint import fingerprint
from dlsched.policies.gpuaas.kernels import tables
from dlsched.policies.gpuaas.kernels.compiled import OPTIONS
from dlsched.policies.gpuaas.kernels.construct import construct
from dlsched.policies.gpuaas.kernels.elite import best_of_elite, keep_if_elite, load
from dlsched.policies.gpuaas.kernels.finish import open_all, write_answer
from dlsched.policies.gpuaas.kernels.relink import relink
from dlsched.policies.gpuaas.kernels.tables import Search


def _search_type() -> Any:
    records = {
        "jobs": tables.JOB,
        "choices": tables.CHOICE,
        "options": tables.OPTION,
        "holders": tables.HOLDER,
        "rule": tables.RULE,
        "nodes": tables.NODE,
        "held": tables.HELD,
        "families": tables.FAMILY,
        "moves": tables.MOVE,
    }
    numbers = {"elite_score": types.float64}
    dims = {"choices": 2, "options": 2, "held": 2, "buckets": 3, "elite_node": 2, "elite_config": 2}
    kinds = []
    for name in Search._fields:
        kind = from_dtype(records[name]) if name in records else numbers.get(name, types.int64)
        kinds.append(types.Array(kind, dims.get(name, 1), "C"))
    return types.NamedTuple(kinds, Search)


def _compile(sources: int) -> Callable[[Search, int, int, bool], float]:
    @njit(types.float64(_search_type(), types.int64, types.int64, types.boolean), cache=True, **OPTIONS)
    def search(s: Search, iterations: int, max_moves: int, opens_all: bool) -> float:
        if sources < 0:
            return 0.0
        construct(s, False)
        keep_if_elite(s)
        for _ in range(iterations - 1):
            construct(s, True)
            keep_if_elite(s)
        if max_moves > 0 and s.rule[0].num_elite > 1:
            relink(s, max_moves)
        else:
            load(s, best_of_elite(s))
        if opens_all:
            open_all(s)
        return write_answer(s)

    return search


search = _compile(fingerprint(Path(__file__).parent.glob("*.py")))
"""``search(tables, iterations, max_moves, opens_all)``: fill in the answer; return its score.

``iterations`` constructions, the first without randomness; up to ``max_moves`` moves towards each other elite schedule;
in the end jobs are spread over all nodes that may be opened, if ``opens_all``.
"""
