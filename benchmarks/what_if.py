"""A what-if on 1,000 jobs under list policies: both sides with their audits, winners and curves, in a warm worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line, cpu_ms
from benchmarks.sweeping import JOBS, scenario
from dlsched.studies.design import Replications, Variant
from dlsched.studies.what_if import WhatIfSpec, run, run_what_if

POLICIES = ("fifo", "easy-backfill", "las")
TARGETS_S = {1: 1.0, 10: 3.0}
"""CPU seconds by number of draws."""


def lines(_: Path) -> Iterator[Line]:
    """Yield each promise about what-ifs, measured."""
    made = scenario()
    for policy in POLICIES:
        for draws, target_s in TARGETS_S.items():
            case = Variant(policy=policy)
            changed = Variant(policy=policy, changes={"nodes": made.cluster.num_nodes + 1})
            spec = WhatIfSpec(
                scenario=made.content_hash,
                baseline=case,
                changed=changed,
                draws=Replications(seeds=tuple(range(draws))),
            )

            def ask(spec: WhatIfSpec = spec) -> None:
                run.forget_runs()  # else the second try would find the runs of the first
                answer = run_what_if(spec, made)
                if answer.errors or answer.audit:
                    raise RuntimeError("the what-if is not clean")

            ask()
            what = f"what-if, {JOBS:,} jobs, {policy}, {draws} draw{'' if draws == 1 else 's'}"
            yield Line(what, "CPU s", target_s, cpu_ms(ask, 3) / 1000)
