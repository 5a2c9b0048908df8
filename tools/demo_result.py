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
from dlsched.metrics.stats.compare import compare
from dlsched.policies.registry import find
from dlsched.studies.design import Variant, run_variants, usual_futures
from dlsched.studies.futures_numbers import plan_futures
from dlsched.ui.frame.loaders import absences
from dlsched.ui.home.demo_result import FILE, to_plain
from dlsched.ui.home.home import DEMO_POLICIES
from dlsched.workload.catalogue import data_path


def compute() -> dict[str, Any]:
    """Return the demo's finding, in the futures that pages look at, and the overview of its baseline."""
    scenario = dlsched.load(data_path("demo.toml"))
    variants, futures = [Variant(policy=key) for key in DEMO_POLICIES], usual_futures(scenario)
    plan = plan_futures([(scenario, variant) for variant in variants], futures)
    batch = run_variants(scenario, variants, futures)
    named = [
        (find(key).label, [result.metrics or {} for result in results])
        for key, results in zip(DEMO_POLICIES, batch.results, strict=True)
    ]
    sentence = headline(compare(named, named[0][0], basis=plan.basis))
    run = dlsched.simulate(scenario, DEMO_POLICIES[0])
    gpus = scenario.cluster.nodes.capacity[:, 0]
    pieces = with_jobs(run.segments, run.jobs)
    raster = node_raster(pieces, gpus, absences(scenario), run.log.start_s, run.log.end_s)
    return to_plain(sentence, raster)


if __name__ == "__main__":
    (data_path("demo.toml").parent / FILE).write_text(json.dumps(compute(), indent=1) + "\n", encoding="utf-8")
