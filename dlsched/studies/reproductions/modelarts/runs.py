"""Both ModelArts allocators on the same synthetic traces: the runs behind Figs 9 to 16, paired by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dlsched.domain.errors import DlschedError
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.runner.executor import open_pool
from dlsched.studies.pool_sizes.outcome import by_last_submission, common, gain_percent, solved
from dlsched.studies.reproductions.path_relinking.grid import as_numbers
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.studies.run_all import spread
from dlsched.studies.simulation import Run, simulate
from dlsched.wording.formats import PLUS_MINUS, amount
from dlsched.workload.studies.modelarts import VARIANTS, ModelArtsSpec, modelarts_scenario

PAPER = "Hu et al., optimal resource allocator of elastic training, 2021"
OPTIMAL, GREEDY = "modelarts-optimal", "modelarts-greedy"
LONG, ALL, FILTERED = "long jobs", "all jobs", "all jobs, short ones not scaled"
MIN_ETA_S = 300.0
"""The study scales jobs of 5 minutes and more, except in Fig. 12."""
MIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is run: numbers of nodes, seeds of the trace, its jobs before short ones are left out."""

    nodes: tuple[int, ...]
    seeds: tuple[int, ...]
    jobs: int

    @property
    def words(self) -> str:
        """The sizes, in words."""
        return f"{amount(len(self.seeds), 'synthetic trace')} of {self.jobs:,} jobs"


QUICK = Sizes((70, 110, 190), (1, 2, 3), 250)
FULL = Sizes((70, 110, 150, 190), (1, 2, 3, 4), 1252)


@dataclass(frozen=True, slots=True)
class Question:
    """Both allocators on one trace: which ``jobs``, which of ``VARIANTS``, arrivals how dense, on how many nodes."""

    jobs: str
    variant: str
    load: float
    nodes: int
    seed: int
    trace_jobs: int


@dataclass(frozen=True, eq=False)
class Answer:
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


def sizes_of(setting: Setting) -> Sizes:
    """Return the sizes of a quick or a full reproduction."""
    return QUICK if setting.quick else FULL


def answer_of(question: Question) -> Answer:
    """Run both allocators; DlschedError where the auditor complains."""
    spec = ModelArtsSpec(
        nodes=question.nodes,
        jobs=question.trace_jobs,
        only_long=question.jobs == LONG,
        load_scale=question.load,
    )
    scenario = modelarts_scenario(spec, question.seed, options=VARIANTS[question.variant])
    params = {"min_eta_s": MIN_ETA_S} if question.jobs == FILTERED else {}
    runs = simulate(scenario, OPTIMAL, params), simulate(scenario, GREEDY)
    for run in runs:
        if run.audit():
            raise DlschedError(f"{run.policy}, {question.nodes} nodes, seed {question.seed}: {run.audit()[0]}")
    return compared(*runs)


def compared(optimal: Run, greedy: Run) -> Answer:
    """Return what two runs of the same jobs say.

    Raises
    ------
    DlschedError
        If no job completed under both.
    """
    both, (cpu_s, unproven) = common(optimal, greedy), solved(optimal)
    return Answer(
        both.total_s,
        both.wait_s,
        (by_last_submission(optimal), by_last_submission(greedy)),
        (int(optimal.metrics["completed"] or 0), int(greedy.metrics["completed"] or 0)),
        both.compared,
        cpu_s,
        unproven,
    )


Case = tuple[str, str, float]
"""Which jobs, which of ``VARIANTS``, load scale."""
Measure = Callable[[Answer], tuple[float, float]]


def total_min(answer: Answer) -> tuple[float, float]:
    """Return the mean total times in minutes."""
    return answer.total_s[0] / MIN_S, answer.total_s[1] / MIN_S


def wait_min(answer: Answer) -> tuple[float, float]:
    """Return the mean queueing times in minutes."""
    return answer.wait_s[0] / MIN_S, answer.wait_s[1] / MIN_S


@dataclass(frozen=True)
class Study:
    """Answers by (jobs, variant, load, nodes), each over the seeds in one order."""

    sizes: Sizes
    answers: Mapping[tuple[str, str, float, int], Sequence[Answer]]

    def pairs(self, measure: Measure, case: Case, nodes: int) -> tuple[list[float], list[float]]:
        """Return a number of optimal and of greedy, at every seed."""
        found = [measure(answer) for answer in self.answers[*case, nodes]]
        return [ours for ours, _ in found], [theirs for _, theirs in found]

    def saved(self, measure: Measure, case: Case, nodes: int) -> Interval:
        """Return greedy's number minus optimal's, paired by seed."""
        ours, theirs = self.pairs(measure, case, nodes)
        return paired_difference(theirs, ours)

    def gain(self, case: Case, nodes: int) -> Interval:
        """Return the additional jobs for 100 of greedy's."""
        return mean_interval(self._gains(case, nodes))

    def gain_beyond(self, case: Case, nodes: int, other: Case, other_nodes: int) -> Interval:
        """Return how much larger the gain is than in another case, paired by seed."""
        return paired_difference(self._gains(case, nodes), self._gains(other, other_nodes))

    def _gains(self, case: Case, nodes: int) -> list[float]:
        return [answer.gain for answer in self.answers[*case, nodes]]

    def best(self, case: Case) -> int:
        """Return the number of nodes with the largest mean gain, the first of equals."""
        return max(self.sizes.nodes, key=lambda nodes: self.gain(case, nodes).mean)

    def table(self, case: Case) -> dict[str, dict[str, object]]:
        """Return the numbers of a case by number of nodes: minutes, additional jobs, counts (summed over the seeds)."""
        return {str(nodes): self._row(case, nodes) for nodes in self.sizes.nodes}

    def _row(self, case: Case, nodes: int) -> dict[str, object]:
        answers = self.answers[*case, nodes]
        return {
            "additional_jobs_per_100": as_numbers(self.gain(case, nodes)),
            "mean_total_min": self._both_means(total_min, case, nodes),
            "mean_wait_min": self._both_means(wait_min, case, nodes),
            "completed_by_last_submission": _both([one.done for one in answers]),
            "completed": _both([one.completed for one in answers]),
            "jobs_compared": sum(one.compared for one in answers),
            "decisions": sum(len(one.decision_cpu_s) for one in answers),
            "decisions_without_proof": sum(one.unproven for one in answers),
        }

    def _both_means(self, measure: Measure, case: Case, nodes: int) -> dict[str, object]:
        ours, theirs = self.pairs(measure, case, nodes)
        return {"optimal": as_numbers(mean_interval(ours)), "greedy": as_numbers(mean_interval(theirs))}


def run_study(setting: Setting, cases: Sequence[Case], nodes: Sequence[int] | None = None) -> Study:
    """Return the answers of all cases (jobs, variant, load) at every size and seed."""
    found = sizes_of(setting)
    sizes = found if nodes is None else Sizes(tuple(nodes), found.seeds, found.jobs)
    asked = [
        Question(*case, count, seed, sizes.jobs) for case in cases for count in sizes.nodes for seed in sizes.seeds
    ]

    def told(done: int) -> None:
        if setting.progress is not None:
            setting.progress(done / len(asked), f"{done} of {len(asked)} traces")

    with open_pool().executor as executor:
        answers = dict(zip(asked, spread(executor, answer_of, asked, told), strict=True))
    by_cell: dict[tuple[str, str, float, int], list[Answer]] = {}
    for one in asked:
        by_cell.setdefault((one.jobs, one.variant, one.load, one.nodes), []).append(answers[one])
    return Study(sizes, by_cell)


def said(interval: Interval, decimals: int = 1) -> str:
    """Return "17.4 ± 2.1", without the second part for a single trace."""
    half = "" if interval.half_width is None else f" {PLUS_MINUS} {interval.half_width:.{decimals}f}"
    return f"{round(interval.mean, decimals) + 0.0:.{decimals}f}{half}"  # + 0.0: no minus before a zero


def surely_above(interval: Interval, value: float = 0.0) -> bool:
    """Whether the whole interval is above a value; a single trace shows nothing."""
    return interval.low is not None and interval.low > value


def _both(counts: Sequence[tuple[int, int]]) -> dict[str, int]:
    return {"optimal": sum(one for one, _ in counts), "greedy": sum(other for _, other in counts)}
