"""Both ModelArts allocators on the same synthetic traces: the runs behind Figs 9 to 16, paired by seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dlsched.domain.errors import DlschedError
from dlsched.domain.units import MINUTE_S
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.studies.design.measures import common, gain_percent, solved, times_of
from dlsched.studies.reproductions.claims import as_numbers
from dlsched.studies.reproductions.paired import PairedStudy, by_cell, compute_all
from dlsched.studies.reproductions.reproduction import Paper, Setting
from dlsched.studies.simulation import Run, simulate
from dlsched.wording.formats import amount
from dlsched.workload.studies.modelarts import VARIANTS, ModelArtsSpec, modelarts_scenario

PAPER = Paper("modelarts", "ModelArts", "Hu et al., optimal resource allocator of elastic training, 2021")
OPTIMAL, GREEDY = "modelarts-optimal", "modelarts-greedy"
LONG, ALL, FILTERED = "long jobs", "all jobs", "all jobs, short ones not scaled"
MIN_ETA_S = 300.0
"""The study scales jobs of 5 minutes and more, except in Fig. 12."""
ADDITIONAL = "additional_jobs_per_100"
"""The panel of the additional jobs."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is run: numbers of nodes, seeds of the trace, its jobs before short ones are left out."""

    nodes: tuple[int, ...]
    seeds: tuple[int, ...]
    jobs: int


QUICK = Sizes((70, 110, 190), (1, 2, 3), 250)
FULL = Sizes((70, 110, 150, 190), (1, 2, 3, 4), 1252)


class Setup(NamedTuple):
    """Which jobs, which of ``VARIANTS``, arrivals how many times as dense as in the study."""

    jobs: str
    variant: str
    load: float

    @property
    def words(self) -> str:
        """The setup, in words."""
        return f"{self.jobs}, {self.variant}, {self.load_words}"

    @property
    def load_words(self) -> str:
        """The load scale, in words."""
        return f"load scale {self.load:g}"


Cell = tuple[Setup, int]
"""A setup on so many nodes."""


class TraceTask(NamedTuple):
    """Both allocators on the trace of a seed, of so many jobs before short ones are left out."""

    cell: Cell
    seed: int
    trace_jobs: int


@dataclass(frozen=True, eq=False)
class TraceResult:
    """What came out. Means are over jobs that completed (or started, for waits) under both allocators.

    ``done`` are completions by the last submission, ``completed`` all; of optimal, then greedy. ``decision_cpu_s`` are
    the optimal allocator's decisions, ``unproven`` how many of them have no proof.
    """

    total_s: tuple[float, float]
    wait_s: tuple[float, float]
    done: tuple[int, int]
    completed: tuple[int, int]
    compared: int
    decision_cpu_s: Floats
    unproven: int

    @property
    def gain(self) -> float:
        """Additional jobs for 100 of greedy's, our reading of Fig. 11: by how much its mean total time is longer, %."""
        return gain_percent(*self.total_s)


def run_trace(task: TraceTask) -> TraceResult:
    """Run both allocators; DlschedError where the auditor complains."""
    setup, nodes = task.cell
    spec = ModelArtsSpec(nodes=nodes, jobs=task.trace_jobs, only_long=setup.jobs == LONG, load_scale=setup.load)
    scenario = modelarts_scenario(spec, task.seed, options=VARIANTS[setup.variant])
    params = {"min_eta_s": MIN_ETA_S} if setup.jobs == FILTERED else {}
    runs = simulate(scenario, OPTIMAL, params), simulate(scenario, GREEDY)
    for run in runs:
        if run.audit():
            raise DlschedError(f"{run.policy}, {nodes} nodes, seed {task.seed}: {run.audit()[0]}")
    return compared(*runs)


def compared(optimal: Run, greedy: Run) -> TraceResult:
    """Return what two runs of the same jobs say.

    Raises
    ------
    DlschedError
        If no job completed under both.
    """
    ours, theirs = times_of(optimal), times_of(greedy)
    both, (cpu_s, unproven) = common(ours, theirs), solved(optimal)
    return TraceResult(
        both.total_s,
        both.wait_s,
        (ours.by_last_submission, theirs.by_last_submission),
        (int(optimal.metrics["completed"] or 0), int(greedy.metrics["completed"] or 0)),
        both.compared,
        cpu_s,
        unproven,
    )


Times = Callable[[TraceResult], tuple[float, float]]
"""Returns a mean time under the optimal and under the greedy allocator."""


def total_min(result: TraceResult) -> tuple[float, float]:
    """Return the mean total times in minutes."""
    return result.total_s[0] / MINUTE_S, result.total_s[1] / MINUTE_S


def wait_min(result: TraceResult) -> tuple[float, float]:
    """Return the mean queueing times in minutes."""
    return result.wait_s[0] / MINUTE_S, result.wait_s[1] / MINUTE_S


@dataclass(frozen=True)
class AllocatorStudy(PairedStudy[Cell, TraceResult]):
    """Results by setup and number of nodes, over the seeds of the trace."""

    sizes: Sizes

    def both(self, times: Times, setup: Setup, nodes: int) -> tuple[list[float], list[float]]:
        """Return a mean time of optimal and of greedy, at every seed."""
        pairs = [times(result) for result in self.results[setup, nodes]]
        return [ours for ours, _ in pairs], [theirs for _, theirs in pairs]

    def saved(self, times: Times, setup: Setup, nodes: int) -> Interval:
        """Return greedy's mean time minus optimal's, paired by seed."""
        ours, theirs = self.both(times, setup, nodes)
        return paired_difference(theirs, ours)

    def gain(self, setup: Setup, nodes: int) -> Interval:
        """Return the additional jobs for 100 of greedy's."""
        return self.mean((setup, nodes), lambda result: result.gain)

    def gain_beyond(self, cell: Cell, other: Cell) -> Interval:
        """Return how much larger the gain is than in another cell, paired by seed."""
        return self.difference(cell, other, lambda result: result.gain)

    def best(self, setup: Setup) -> int:
        """Return the number of nodes with the largest mean gain, the first of equals."""
        return max(self.sizes.nodes, key=lambda nodes: self.gain(setup, nodes).mean)

    def row(self, setup: Setup, nodes: int) -> dict[str, object]:
        """Return the numbers of a cell: minutes, additional jobs, counts (summed over the seeds)."""
        results = self.results[setup, nodes]

        def means(times: Times) -> dict[str, object]:
            ours, theirs = self.both(times, setup, nodes)
            return {"optimal": as_numbers(mean_interval(ours)), "greedy": as_numbers(mean_interval(theirs))}

        def sums(counts: Sequence[tuple[int, int]]) -> dict[str, int]:
            return {"optimal": sum(ours for ours, _ in counts), "greedy": sum(theirs for _, theirs in counts)}

        return {
            ADDITIONAL: as_numbers(self.gain(setup, nodes)),
            "mean_total_min": means(total_min),
            "mean_wait_min": means(wait_min),
            "completed_by_last_submission": sums([one.done for one in results]),
            "completed": sums([one.completed for one in results]),
            "jobs_compared": sum(one.compared for one in results),
            "decisions": sum(len(one.decision_cpu_s) for one in results),
            "decisions_without_proof": sum(one.unproven for one in results),
        }


def run_study(setting: Setting, setups: Sequence[Setup], nodes: Sequence[int] | None = None) -> AllocatorStudy:
    """Return the results of all setups at every size and seed; ``nodes``: other sizes than those of the setting."""
    sizes = QUICK if setting.quick else FULL
    if nodes is not None:
        sizes = Sizes(tuple(nodes), sizes.seeds, sizes.jobs)
    tasks = [
        TraceTask((setup, count), seed, sizes.jobs) for setup in setups for count in sizes.nodes for seed in sizes.seeds
    ]
    results = compute_all(setting, tasks, run_trace, "traces")
    cells = by_cell((task.cell, result) for task, result in zip(tasks, results, strict=True))
    return AllocatorStudy(cells, sizes)


def trace_words(sizes: Sizes) -> str:
    """Return the traces, in words."""
    return f"{amount(len(sizes.seeds), 'synthetic trace')} of {sizes.jobs:,} jobs"
