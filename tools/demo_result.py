"""Compute the bundled result of the demo again: ``python -m tools.demo_result`` writes data/demo_result.json.

A test compares the file with a fresh computation, so that the page Home never shows an old result.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import dlsched
from dlsched.figures.before_after import half_of
from dlsched.metrics.findings import headline
from dlsched.metrics.stats.compare import compare
from dlsched.policies.registry import find
from dlsched.studies.design import Variant, run_variants, usual_futures
from dlsched.studies.futures_numbers import plan_futures
from dlsched.ui.home.demo_result import FILE, DemoResult, to_plain
from dlsched.ui.home.home import BEST, DEMO_POLICIES
from dlsched.workload.catalogue import data_path

INSTANTS = 300


def compute() -> dict[str, Any]:
    """Return the demo's finding, in the futures that pages look at, and its jobs before and after."""
    scenario = dlsched.load(data_path("demo.toml"))
    variants, futures = [Variant(policy=key) for key in DEMO_POLICIES], usual_futures(scenario)
    plan = plan_futures([(scenario, variant) for variant in variants], futures)
    batch = run_variants(scenario, variants, futures)
    named = [
        (find(key).label, [result.metrics or {} for result in results])
        for key, results in zip(DEMO_POLICIES, batch.results, strict=True)
    ]
    sentence = headline(compare(named, named[0][0], basis=plan.basis))
    runs = {key: dlsched.simulate(scenario, key) for key in (DEMO_POLICIES[0], BEST)}
    first_s = min(run.log.start_s for run in runs.values())
    times_s = np.linspace(first_s, max(run.log.end_s for run in runs.values()), INSTANTS)
    before, after = (half_of(find(key).label, run.jobs, times_s) for key, run in runs.items())
    # As JSON reads it back, so that a comparison with the file is one of equals.
    return dict(json.loads(json.dumps(to_plain(DemoResult(sentence, before, after, times_s)))))


if __name__ == "__main__":
    (data_path("demo.toml").parent / FILE).write_text(json.dumps(compute()) + "\n", encoding="utf-8")
