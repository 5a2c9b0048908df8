"""Compute the bundled result of the demo again: ``python -m tools.demo_result`` writes data/demo_result.json.

A test compares the file with a fresh computation, so that the page Home never shows an old result.
"""

from __future__ import annotations

import json
from typing import Any

import dlsched
from dlsched.figures.bars import with_jobs
from dlsched.figures.raster import node_raster
from dlsched.metrics.findings import headline
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import compare
from dlsched.policies.registry import find
from dlsched.ui.frame.loaders import absences
from dlsched.ui.home.demo_result import FILE, to_plain
from dlsched.ui.home.home import DEMO_DRAWS, DEMO_POLICIES
from dlsched.workload.catalogue import data_path


def compute() -> dict[str, Any]:
    """Return the demo's finding and the overview of its baseline."""
    scenario = dlsched.load(data_path("demo.toml"))
    runs = {key: [dlsched.simulate(scenario, key, seed=seed) for seed in range(DEMO_DRAWS)] for key in DEMO_POLICIES}
    baseline, *_ = DEMO_POLICIES
    named = [(find(key).label, [run.metrics for run in draws]) for key, draws in runs.items()]
    basis = Basis(kind="drawn", futures=DEMO_DRAWS - 1)
    sentence = headline(compare(named, find(baseline).label, basis=basis))
    run = runs[baseline][0]
    gpus = scenario.cluster.nodes.capacity[:, 0]
    pieces = with_jobs(run.segments, run.jobs)
    raster = node_raster(pieces, gpus, absences(scenario), run.log.start_s, run.log.end_s)
    return to_plain(sentence, raster)


if __name__ == "__main__":
    (data_path("demo.toml").parent / FILE).write_text(json.dumps(compute(), indent=1) + "\n", encoding="utf-8")
