"""Searches for a size: CPU seconds and runs, with the same number of futures at the answer as before all shared them.

What it took before (commit 47240f8, 10 draws in the search and 31 fresh ones) is the promise: sizes of 41 futures each
cost no more than sizes of 10 with an answer of 41.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import ROOT, Line
from benchmarks.traces import SMALL, trace
from dlsched.domain.scenario import Scenario
from dlsched.studies.design import Futures
from dlsched.studies.sizing import SizeSpec, run_size
from dlsched.studies.sizing.rule import Claim
from dlsched.studies.sizing.targets import read_target
from dlsched.workload.load import load

FUTURES = 40
CASES: tuple[tuple[str, str, Claim, float, int], ...] = (
    ("demo", "wait_p95<=1h", "average", 4.5, 215),
    ("demo", "wait_p95<=1h", "nearly-every", 5.3, 225),
    ("trace", "wait_p95<=6h", "nearly-every", 40.0, 539),
)
"""What is searched in, target, claim, and CPU seconds and runs before."""


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about searches, measured; loops are compiled before."""
    scenarios = {"demo": load(str(ROOT / "data" / "demo.toml")), "trace": load(str(trace(folder, SMALL)))}
    search(scenarios["demo"], "wait_p95<=1h", "average")
    for name, target, claim, before_s, runs in CASES:
        spent_s, many = search(scenarios[name], target, claim)
        what = f"size of the {name}, {target}, {claim}, {FUTURES + 1} futures"
        yield Line(what, "CPU s", before_s, spent_s)
        yield Line(what, "runs", runs, many)


def search(scenario: Scenario, target: str, claim: Claim) -> tuple[float, int]:
    """Return CPU seconds and runs of a search with headroom on one process."""
    vary = {} if scenario.generator is not None else {"days": 1.0}
    spec = SizeSpec(
        scenario=scenario.content_hash,
        targets=(read_target(target),),
        claim=claim,
        futures=Futures.first(FUTURES, vary),
    )
    begun_s = time.process_time()
    found = run_size(spec, scenario)
    if found.answer is None or len(found.size(found.answer).draws) != FUTURES + 1:
        raise RuntimeError("the search found no size, or not on all futures")
    return time.process_time() - begun_s, found.runs
