"""The store: saving a large run and looking at parts of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dlsched
from benchmarks.measure import Line
from benchmarks.traces import LARGE, trace
from dlsched.cli.simulate import with_nodes
from dlsched.store import Store


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about the store, measured on a large run."""
    scenario = dlsched.load(trace(folder, LARGE))
    options = scenario.options.model_copy(update={"oversize": "cap"})
    scenario = scenario.replace(cluster=with_nodes(scenario.cluster, 75, 8), options=options)
    record = dlsched.simulate(scenario, "fifo").record()
    with Store(folder / "bench.duckdb") as store:
        run_id = ""

        def save() -> None:
            nonlocal run_id
            run_id = store.save_run(record)

        yield Line(f"save a run of {LARGE:,} jobs", "s", 3.0, _seconds(save))
        middle_s = float(store.jobs(run_id)["submit_s"].median())
        later_s = middle_s + 6 * 3600
        yield Line("segments of six hours", "s", 0.1, _best(lambda: store.segments(run_id, middle_s, later_s)))
        yield Line("segments of four nodes", "s", 0.1, _best(lambda: store.segments(run_id, nodes=[1, 2, 3, 4])))
        yield Line("all segments", "s", 0.2, _best(lambda: store.segments(run_id)))
        yield Line("all jobs", "s", 0.2, _best(lambda: store.jobs(run_id)))
        yield Line("list of runs", "s", 0.1, _best(store.list_runs))
        yield Line("same question again", "s", 0.1, _best(lambda: store.find_run(record.key)))


def _seconds(call: Callable[[], Any]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def _best(call: Callable[[], Any], tries: int = 3) -> float:
    return min(_seconds(call) for _ in range(tries))
