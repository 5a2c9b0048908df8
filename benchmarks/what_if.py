"""What-ifs in a warm worker: all sides with audits, winners and curves; a control moved; on all cores; guesses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Line, cpu_ms
from benchmarks.sweeping import JOBS, scenario
from benchmarks.traces import LARGE, SMALL, trace
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.runner.executor import open_pool
from dlsched.store import Store
from dlsched.studies.design import Futures, Variant
from dlsched.studies.what_if import STUDY, WhatIfSpec, guess_s, run, run_what_if
from dlsched.workload.load import load

POLICIES = ("fifo", "easy-backfill", "las")
TARGETS_S = {0: 1.0, 9: 3.0}
"""CPU seconds by number of futures beside the first."""
TRACE_JOBS = 9383
MOVED_S = {0: 0.4, 9: 2.0, 40: 8.0}
"""CPU seconds of a control that is moved on a trace of six weeks, by number of months put together from its days."""


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about what-ifs, measured."""
    yield from _moved_control(folder)
    yield from _large(folder)
    yield from _guesses(folder)
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


def _one_more_node(made: Scenario, policy: str, futures: int, nodes: int = 1) -> WhatIfSpec:
    today = Variant(policy=policy)
    vary = {} if made.generator is not None else {"days": 1.0}
    option = Variant(policy=policy, changes={"nodes": made.cluster.num_nodes + nodes})
    return WhatIfSpec(scenario=made.content_hash, baseline=today, changed=option, futures=Futures.first(futures, vary))


def _large(folder: Path) -> Iterator[Line]:
    """Yield seconds on the clock of a large log on all cores, mind what else the machine does, and of asking again."""
    made = load(str(trace(folder, LARGE)))
    with open_pool().executor as executor:
        run_what_if(_one_more_node(made, "fifo", 3, nodes=9), made, executor)  # starts the workers
        run.forget_runs()
        what = f"what-if, {LARGE:,} jobs, first 2 futures"
        for case, nodes in (("all cores", 1), ("a control moved", 2)):
            begun_s = time.perf_counter()
            run_what_if(_one_more_node(made, "fifo", 1, nodes), made, executor)
            yield Line(f"{what}, {case}", "wall s", 2.0, time.perf_counter() - begun_s)
    again = _one_more_node(made, "fifo", 1)
    yield Line(f"{what}, asked again", "CPU s", 0.5, cpu_ms(lambda: run_what_if(again, made), 3) / 1000)


def _guesses(folder: Path) -> Iterator[Line]:
    """Yield by which factor the guess is off, either way, of questions on one core."""
    small, large = (load(str(trace(folder, jobs))) for jobs in (SMALL, LARGE))
    served = small.replace(workload=_served(small.workload, 2_000))
    cases = (
        ("compiled, small", scenario(), "fifo", 9),
        ("compiled, large", large, "easy-backfill", 2),
        ("engine", served, "fifo", 1),
        ("preemptive", small, "las", 1),
        ("slurm", small, "slurm", 1),
    )
    for name, made, policy, futures in cases:
        spec = _one_more_node(made, policy, futures)
        run_what_if(spec.first_future, made)
        run.forget_runs()
        spent_s = cpu_ms(partial(run_what_if, spec, made), 1) / 1000
        guessed_s = guess_s(spec, made)
        off = max(guessed_s / spent_s, spent_s / guessed_s)
        yield Line(f"guess of a what-if, {name}, {spent_s:.2g} s", "factor", 3.0, off)


def _served(jobs: Workload, first: int) -> Workload:
    """Return the first jobs with a parameter server each, which the compiled loops do not know."""
    columns = {name: getattr(jobs, name)[:first] for name in ("job_id", "submit_s", "work")}
    return Workload.from_columns(columns | {"servers": [1] * first}, {"time_zone": "UTC"})
