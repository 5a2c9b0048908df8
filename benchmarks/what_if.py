"""What-ifs under list policies in a warm worker: both sides with their audits, winners and curves; a control moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line, cpu_ms
from benchmarks.sweeping import JOBS, scenario
from dlsched.studies.design import Futures, Variant
from dlsched.studies.what_if import STUDY, WhatIfSpec, run, run_what_if

POLICIES = ("fifo", "easy-backfill", "las")
TARGETS_S = {1: 1.0, 10: 3.0}
"""CPU seconds by number of draws."""
TRACE_JOBS = 9383
MOVED_S = {1: 0.4, 10: 2.0}
"""CPU seconds of a control that is moved on a trace of six weeks, by number of draws of its days."""


def lines(_: Path) -> Iterator[Line]:
    """Yield each promise about what-ifs, measured."""
    yield from _moved_control()
    made = scenario()
    for policy in POLICIES:
        for draws, target_s in TARGETS_S.items():
            case = Variant(policy=policy)
            changed = Variant(policy=policy, changes={"nodes": made.cluster.num_nodes + 1})
            spec = WhatIfSpec(
                scenario=made.content_hash,
                baseline=case,
                changed=changed,
                draws=Futures(seeds=tuple(range(draws))),
            )

            def ask(spec: WhatIfSpec = spec) -> None:
                run.forget_runs()  # else the second try would find the runs of the first
                answer = run_what_if(spec, made)
                if answer.errors or answer.audit:
                    raise RuntimeError("the what-if is not clean")

            ask()
            what = f"what-if, {JOBS:,} jobs, {policy}, {draws} draw{'' if draws == 1 else 's'}"
            yield Line(what, "CPU s", target_s, cpu_ms(ask, 3) / 1000)


def _moved_control() -> Iterator[Line]:
    """Yield what the worker spends on a control that is moved again; the baseline is known from the moves before."""
    trace = scenario(TRACE_JOBS).replace(generator=None)
    baseline = Variant(policy="fifo")
    for draws, target_s in MOVED_S.items():
        run.forget_runs()
        factors = iter(range(1000))

        def move(draws: int = draws, factors: Iterator[int] = factors) -> None:
            changed = Variant(policy="fifo", changes={"arrivals": 1.1 + next(factors) / 1000})
            replications = Futures(seeds=tuple(range(draws)), vary={"days": 1})
            spec = WhatIfSpec(scenario=trace.content_hash, baseline=baseline, changed=changed, draws=replications)
            STUDY.compute(spec, trace)

        move()
        what = f"a control of What if moved, {TRACE_JOBS:,} jobs, {draws} draw{'' if draws == 1 else 's'} of days"
        yield Line(what, "CPU s", target_s, cpu_ms(move, 5) / 1000)
