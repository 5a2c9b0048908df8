"""What-ifs under list policies in a warm worker: all sides with their audits, winners and curves; a control moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line, cpu_ms
from benchmarks.sweeping import JOBS, scenario
from dlsched.store import Store
from dlsched.studies.design import Futures, Variant
from dlsched.studies.what_if import STUDY, WhatIfSpec, run, run_what_if

POLICIES = ("fifo", "easy-backfill", "las")
TARGETS_S = {0: 1.0, 9: 3.0}
"""CPU seconds by number of futures beside the first."""
TRACE_JOBS = 9383
MOVED_S = {0: 0.4, 9: 2.0, 40: 8.0}
"""CPU seconds of a control that is moved on a trace of six weeks, by number of months put together from its days."""


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about what-ifs, measured."""
    yield from _moved_control(folder)
    made = scenario()
    for policy in POLICIES:
        for futures, target_s in TARGETS_S.items():
            changed = Variant(policy=policy, changes={"nodes": made.cluster.num_nodes + 1})
            spec = WhatIfSpec(
                scenario=made.content_hash,
                baseline=Variant(policy=policy),
                changed=changed,
                futures=Futures.first(futures),
            )

            def ask(spec: WhatIfSpec = spec) -> None:
                run.forget_runs()  # else the second try would find the runs of the first
                answer = run_what_if(spec, made)
                if answer.errors or answer.audit:
                    raise RuntimeError("the what-if is not clean")

            ask()
            what = f"what-if, {JOBS:,} jobs, {policy}, {futures + 1} future{'s' if futures else ''}"
            yield Line(what, "CPU s", target_s, cpu_ms(ask, 3) / 1000)


def _moved_control(folder: Path) -> Iterator[Line]:
    """Yield what the worker spends on a control that is moved again; today is known from the moves before."""
    trace = scenario(TRACE_JOBS).replace(generator=None)
    today = Variant(policy="fifo")
    for count, target_s in MOVED_S.items():
        run.forget_runs()
        factors = iter(range(1000))
        with Store(folder / f"moved-{count}.duckdb") as store:

            def move(count: int = count, factors: Iterator[int] = factors, store: Store = store) -> None:
                spec = WhatIfSpec(
                    scenario=trace.content_hash,
                    condition={"arrivals": 1.1 + next(factors) / 1000},
                    baseline=today,
                    changed=today,
                    futures=Futures.first(count, {"days": 1}),
                )
                STUDY.compute(spec, trace, store=store)

            move()
            what = f"a control of What if moved, {TRACE_JOBS:,} jobs, {count + 1} month{'s' if count else ''}"
            yield Line(what, "CPU s", target_s, cpu_ms(move, 5) / 1000)
