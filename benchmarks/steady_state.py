"""Elastic policies on a stream of training jobs: long runs, as many as an interval of a mean needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Line, cpu_ms, script
from dlsched.domain.policy import ElasticRule
from dlsched.sim.audit import audit, check_metrics
from dlsched.sim.kernels import run_kernel
from dlsched.sim.prepare import Prepared, prepare
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario

HELL, SRPT = ElasticRule("hell", fills=True), ElasticRule("fastest")
WHOLE_RUN = """
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.hell_knee import StreamSpec
from dlsched.workload.studies.hell_knee import stream_scenario
simulate(stream_scenario(StreamSpec(jobs=4000, nodes=100, load=0.7)), "hell-malleable").metrics
"""


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about steady states, measured; the four networks on 100 nodes."""
    whole = script(WHOLE_RUN, repeat=3)
    yield Line("4,000 jobs, load 0.7, HELL, a whole process", "CPU s", 3.0, whole.cpu_s)
    run_kernel(_stream(50, 0.7), HELL)  # loads the compiled code
    for jobs, load, target_ms in ((4000, 0.7, 150), (4000, 0.1, 400), (40_000, 0.7, 2000)):
        call = partial(run_kernel, _stream(jobs, load), HELL)
        yield Line(f"{jobs:,} jobs, load {load:g}, HELL", "CPU ms", target_ms, cpu_ms(call, tries=3))
    unstable = partial(run_kernel, _stream(4000, 0.5), SRPT)
    yield Line("4,000 jobs, load 0.5, SRPT, a queue that grows", "CPU ms", 3000, cpu_ms(unstable, tries=3))
    yield from _audits()


def _audits() -> Iterator[Line]:
    run = simulate(stream_scenario(StreamSpec(jobs=4000, load=0.1)), "hell-malleable")
    given = run.prepared.scenario, run.truth, run.log
    shares = f"{len(run.log.share_node):,} shares"
    books = partial(check_metrics, *given, run.metrics, run.jobs, run.nodes)
    if [*audit(*given), *books()]:
        raise RuntimeError("HELL at load 0.1: the audit finds mistakes")
    yield Line(f"audit, {shares}", "CPU ms", 2000, cpu_ms(partial(audit, *given), tries=3))
    yield Line(f"audit of the books, {shares}", "CPU ms", 2000, cpu_ms(books, tries=3))


def _stream(jobs: int, load: float) -> Prepared:
    return prepare(stream_scenario(StreamSpec(jobs=jobs, load=load)))
