"""How many workers and servers one job takes: the best, what rivals take, and the words and tables for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import SimulationRules
from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.domain.utility import has_utility, utility_at
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.policies.smd.choices import Ask, SharedBatch, Widths, best_allowed, near_allowed, step_problem
from dlsched.policies.smd.problem import NO_LIMIT_COUNT, Choice, Mode, Split
from dlsched.policies.smd.rules import equal, optimus
from dlsched.policies.smd.split import exact
from dlsched.speed.parameter_server import StepTerms
from dlsched.speed.pipeline import OVERLAPS, Layers, pipeline
from dlsched.wording.formats import amount, duration, listed, number, share

RESOURCE_NAMES = ("GPUs", "CPUs", "memory", "disk")
MOST_CELLS = 20
"""Workers, and servers, that are looked at side by side."""
MOST_WIDTHS = 200
LITTLE = 0.005
"""A share of the time that counts as nothing."""
WORTHLESS = 1e-6
"""A job is worth nothing below this share of what it is worth at once."""
MOST_JUDGED = 300
ANY = Widths()
UNITS_S: Mapping[str, float] = {"seconds": 1.0, "minutes": MINUTE_S, "hours": HOUR_S, "days": DAY_S}


class Parts(NamedTuple):
    """Where the time of a job goes, in seconds."""

    computing_s: float
    transfers_s: float
    overhead_s: float


@dataclass(frozen=True, eq=False)
class ServerSplit:
    """One job's workers and servers: SMD's exact answer, equal numbers (ESW), and Optimus; times in seconds.

    Where the job's own ``widths`` forbid what a rule chooses, the nearest that they allow takes its place; SMD's stays
    the best of all. Raises InputError when even the fewest workers with their servers exceed the limit.
    """

    problem: Split
    widths: Widths = ANY

    def __post_init__(self) -> None:
        fewest = self.widths.fewest, self.widths.servers_needed(self.widths.fewest)
        if not self.problem.feasible(*fewest):
            over = self.problem.exceeded(*fewest) or ("workers",)
            what = f"{amount(fewest[0], 'worker')} and {amount(fewest[1], 'server')}, the fewest the job may have"
            raise InputError(over[0], f"{what}, exceed its limit", "Raise the limit, or ask less")

    def _allowed(self, choice: Choice, *, is_best: bool = False) -> Choice:
        if self.widths.allow(choice.workers, choice.servers):
            return choice
        ask = Ask(self.problem, self.widths, 1.0)
        numbers = best_allowed(ask) if is_best else near_allowed(ask, choice.workers, choice.servers)
        return Choice(*numbers, self.problem.time_of(*numbers))

    @cached_property
    def best(self) -> Choice:
        """The least time of all numbers that are allowed, proven."""
        return self._allowed(exact(self.problem), is_best=True)

    @cached_property
    def equal(self) -> Choice:
        """As many workers as servers, as many as the limit holds."""
        return self._allowed(equal(self.problem))

    @cached_property
    def optimus(self) -> Choice:
        """One worker or server more at a time while that helps."""
        return self._allowed(optimus(self.problem))

    @property
    def choices(self) -> Mapping[str, Choice]:
        """Name of the rule -> its choice."""
        return {"SMD": self.best, "ESW": self.equal, "Optimus": self.optimus}

    @property
    def parts(self) -> Parts:
        """Where the time goes with the best numbers."""
        w, p, theta = self.best.workers, self.best.servers, self.problem.theta
        if self.problem.mode == "sync":
            transfers_s, overhead_s = theta[3] * w / p, theta[0] * w + theta[1] * p
        else:
            transfers_s, overhead_s = theta[3] / p, theta[0] + theta[1] * p / w
        return Parts(self.best.time - transfers_s - overhead_s, transfers_s, overhead_s)

    @property
    def used(self) -> tuple[float, str]:
        """The largest share of a limit that the best numbers use, and of which resource; 0 and "" without a limit."""
        problem = self.problem
        rows = zip(problem.worker_demand, problem.server_demand, problem.limit, RESOURCE_NAMES, strict=True)
        shares = [
            ((a * self.best.workers + b * self.best.servers) / limit, name)
            for a, b, limit, name in rows
            if 0 < limit < np.inf
        ]
        return max(shares, key=lambda of: of[0], default=(0.0, ""))

    def why_not(self, workers: int, servers: int) -> str:
        """Return what forbids so many workers and servers, in words; "" where nothing does."""
        if self.problem.feasible(workers, servers):
            return self._width_words(workers, servers)
        over = self.problem.exceeded(workers, servers)
        return f"limit on {listed(over)}" if over else f"at most {self.problem.workers_most:,} workers"

    def _width_words(self, workers: int, servers: int) -> str:
        if workers < self.widths.fewest:
            return f"at least {self.widths.fewest:,} workers"
        if servers < self.widths.servers_needed(workers):
            return f"at most {self.widths.per_server:g} workers for each server"
        return ""

    @cached_property
    def window(self) -> tuple[Ints, Ints]:
        """Workers and servers to look at side by side: all, or MOST_CELLS of them around the best numbers."""
        workers = [choice.workers for choice in self.choices.values()]
        servers = [choice.servers for choice in self.choices.values()]
        return _around(workers, self.problem.workers_most), _around(servers, self.problem.servers_most)

    @property
    def is_cut(self) -> bool:
        """Whether more workers or servers are possible than the window shows."""
        workers, servers = self.window
        return len(workers) < self.problem.workers_most or len(servers) < self.problem.servers_most

    def in_window(self, choice: Choice) -> bool:
        """Whether a choice is among the numbers of the window."""
        workers, servers = self.window
        return bool(workers[0] <= choice.workers <= workers[-1] and servers[0] <= choice.servers <= servers[-1])


def _around(marks: list[int], most: int) -> Ints:
    """Return 1..most, or MOST_CELLS of them around all marks; around the first where these are too far apart."""
    if max(marks) - min(marks) >= MOST_CELLS:
        marks = marks[:1]
    first = (min(marks) + max(marks)) // 2 - MOST_CELLS // 2 + 1
    first = max(1, min(first, most - MOST_CELLS + 1))
    return np.arange(first, min(first + MOST_CELLS, most + 1))


def split_of(jobs: Workload, updates: Mode, row: int, cluster: Cluster | None = None) -> ServerSplit:
    """Return the workers and servers of a job for all its steps, within its limit and what the cluster has.

    Seconds that a step takes longer on several nodes are left out.

    Raises
    ------
    InputError
        The job has no servers or no times of a step, or the fewest of both exceed its limit.
    """
    name = f"job {str(jobs.job_id[row])!r:.60}"
    if jobs.servers is None or jobs.servers[row] < 1:
        raise InputError(name, "has no parameter servers", "Choose another job, or describe one")
    terms = StepTerms.of(jobs)
    one = np.ones(1, dtype=np.int64)
    if not terms.step_time_s(np.array([row]), one, one)[0] > 0:
        do = "Fill the columns batch_s to server_overhead_s, or describe the job"
        raise InputError(name, "has no times of a training step", do)
    limit = jobs.limit[row]
    if cluster is not None and not cluster.free_slots:
        limit = np.minimum(limit, cluster.nodes.capacity.sum(axis=0))
    most = None if jobs.max_workers is None else int(jobs.max_workers[row])
    demands = jobs.demand[row].tolist(), jobs.server_demand[row].tolist(), limit.tolist(), most, None
    step = step_problem(updates, terms, row, demands, RESOURCE_NAMES)
    steps = float(jobs.work[row])
    changes: dict[str, Any] = {"theta": [steps * part for part in step.theta]}
    if isinstance(step, SharedBatch):
        changes["batch_s"] = steps * step.batch_s
    fewest = 1 if jobs.min_workers is None else int(jobs.min_workers[row])
    ratio = np.nan if jobs.workers_per_server is None else float(jobs.workers_per_server[row])
    return ServerSplit(replace(step, **changes), Widths(fewest, np.inf if np.isnan(ratio) else ratio))


def split_sentence(split: ServerSplit) -> str:
    """Return "6 workers and 3 servers finish in 8 h; equal numbers take 11 h; one more server does not help."."""
    best = split.best
    begin = f"{amount(best.workers, 'worker')} and {amount(best.servers, 'server')} finish in {duration(best.time)}"
    return f"{begin}; {_equal_words(split)}; {one_more(split)}."


def _equal_words(split: ServerSplit) -> str:
    best, alike = split.best, split.equal
    if (alike.workers, alike.servers) == (best.workers, best.servers):
        return "equal numbers are the best here"
    if alike.time <= best.time * (1 + LITTLE):
        return "equal numbers take as long"
    return f"equal numbers take {duration(alike.time)}"


def one_more(split: ServerSplit) -> str:
    """Return what one more worker and one more server would bring: nothing, or a time that the limit forbids."""
    best = split.best
    ways = {"worker": (best.workers + 1, best.servers), "server": (best.workers, best.servers + 1)}
    times_s = {kind: split.problem.time_of(*numbers) for kind, numbers in ways.items()}
    saves = {kind: time_s < best.time * (1 - LITTLE) for kind, time_s in times_s.items()}
    helps = [kind for kind in ways if saves[kind] and duration(times_s[kind]) != duration(best.time)]
    if not helps:
        return "one more of either does not help"
    reasons = {kind: _forbids(split, *ways[kind]) for kind in helps}
    if len(helps) == 2 and len(set(reasons.values())) == 1:
        saved_s = best.time - min(times_s.values())
        return f"one more of either would save up to {duration(saved_s)}, but {reasons['worker']}"
    words = [f"one more {kind} would take {duration(times_s[kind])}, but {reasons[kind]}" for kind in helps]
    return "; ".join([*words, *(f"one more {kind} does not help" for kind in times_s if kind not in helps)])


def _forbids(split: ServerSplit, workers: int, servers: int) -> str:
    over = split.problem.exceeded(workers, servers)
    return f"the limit on {listed(over)} forbids it" if over else "more were not tried"


def enough_servers(split: ServerSplit) -> str:
    """Return how few servers beside the best workers take hardly longer, in words; "" where none can be spared."""
    best = split.best
    fewest = split.widths.servers_needed(best.workers)
    times_s = [split.problem.time_of(best.workers, servers) for servers in range(fewest, best.servers)]
    for servers, time_s in enumerate(times_s, start=fewest):
        if time_s <= best.time * (1 + LITTLE):
            verb = "takes" if servers == 1 else "take"
            return f"{amount(servers, 'server')} beside as many workers {verb} less than {share(LITTLE)} longer."
    return ""


def split_table(split: ServerSplit) -> pd.DataFrame:
    """Return a row for every number of workers and servers of the window: time in s, and what forbids it."""
    workers, servers = (axis.ravel() for axis in np.meshgrid(*split.window, indexing="ij"))
    pairs = list(zip(workers.tolist(), servers.tolist(), strict=True))
    return pd.DataFrame(
        {
            "workers": workers,
            "servers": servers,
            "time (s)": [split.problem.time_of(*pair) for pair in pairs],
            "forbidden by": [split.why_not(*pair) for pair in pairs],
        }
    )


def width_times(split: ServerSplit) -> tuple[Ints, Ints, Floats]:
    """Return workers, the servers that are best beside each, and the time in seconds; at most MOST_WIDTHS of them.

    Beside w workers the time falls until sqrt(theta4 w / theta2) servers and rises from there, in Eqs. 9 and 10 alike.
    """
    problem, widths = split.problem, split.widths
    workers = np.unique(np.geomspace(widths.fewest, problem.workers_most, MOST_WIDTHS).round().astype(np.int64))
    if problem.workers_most - widths.fewest < MOST_WIDTHS:
        workers = np.arange(widths.fewest, problem.workers_most + 1)
    beside = problem.workers_beside(np.arange(1.0, problem.servers_most + 1))  # falls with the servers
    most = np.searchsorted(-beside, -workers, side="right").astype(float)
    fewest = np.array([widths.servers_needed(count) for count in workers.tolist()], dtype=float)
    workers, most, fewest = (values[fewest <= most] for values in (workers, most, fewest))
    per_server, ratio = problem.theta[1], problem.theta[3]
    centre = np.sqrt(ratio * workers / per_server) if per_server else np.full(len(workers), np.inf if ratio else 1.0)
    sides = [np.clip(side, fewest, most) for side in (np.floor(centre), np.ceil(centre))]
    low_s, high_s = (problem.fixed_time + problem.varying_time(workers.astype(float), side) for side in sides)
    servers = np.where(high_s < low_s, sides[1], sides[0]).astype(np.int64)
    return workers, servers, np.minimum(low_s, high_s)


def worth_at(jobs: Workload, options: SimulationRules, row: int, time_s: float) -> float:
    """Return what a job is worth when it completes so long after its submission; NaN without a utility."""
    end_s = np.array([jobs.submit_s[row] + time_s])
    return float(utility_at(jobs, options, np.array([row]), end_s)[0])


def worthless_words(jobs: Workload, options: SimulationRules, updates: Mode, row: int, time_s: float) -> str:
    """Return that jobs are worth 0 in the scenario's unit of time, and which unit to use; "" where this one is not.

    Of more than MOST_JUDGED jobs with servers the first ones are judged.
    """
    if not has_utility(jobs) or not _is_nothing(jobs, options, row, time_s):
        return ""
    unit = next((name for name, size_s in UNITS_S.items() if size_s == options.utility_unit_s), "")
    unit = unit or f"units of {duration(options.utility_unit_s)}"
    times_s = dict(_best_times(jobs, updates)) | {row: time_s}
    if not all(_is_nothing(jobs, options, one, end_s) for one, end_s in times_s.items()):
        return f"This job is worth 0 when it is done, in {unit}; others of the scenario are worth more."
    for other in ("hours", "days"):
        if UNITS_S[other] > options.utility_unit_s:
            longer = options.model_copy(update={"utility_unit_s": UNITS_S[other], "utility_clock": "elapsed"})
            if not all(_is_nothing(jobs, longer, one, end_s) for one, end_s in times_s.items()):
                return f"Every job is worth 0 in this time unit ({unit}): use {other}."
    return f"Every job is worth 0 in this time unit ({unit}), and in days too: jobs end long after their worth is gone."


def _is_nothing(jobs: Workload, options: SimulationRules, row: int, time_s: float) -> bool:
    worth, at_once = worth_at(jobs, options, row, time_s), float(jobs.utility_1[row])  # type: ignore[index]
    return bool(at_once > 0 and worth <= WORTHLESS * at_once)


def _best_times(jobs: Workload, updates: Mode) -> list[tuple[int, float]]:
    """Return the rows of jobs with servers that can be split, with their best times in seconds."""
    rows = [] if jobs.servers is None else np.flatnonzero(jobs.servers > 0)[:MOST_JUDGED].tolist()
    times_s = []
    for row in rows:
        try:
            times_s.append((row, split_of(jobs, updates, row).best.time))
        except InputError:
            continue
    return times_s


def unlimited_words(problem: Split) -> str:
    """Return that nothing limits a job, and how far was looked; "" where its limit does."""
    assumed = problem.assumed
    if not assumed:
        return ""
    kinds = "workers and servers" if len(assumed) == 2 else "workers" if "workers" in assumed[0] else "servers"
    return f"Nothing limits the {kinds} of this job: up to {NO_LIMIT_COUNT:,} were tried. Set a limit."


def numbers_of(choice: Choice) -> str:
    """Return "6 workers and 3 servers"."""
    return f"{amount(choice.workers, 'worker')} and {amount(choice.servers, 'server')}"


def split_cards(split: ServerSplit) -> list[tuple[str, str, str]]:
    """Return a card (label, value, help) for each rule, and one for the limit."""
    best, alike, grown = split.best, split.equal, split.optimus
    used, resource = split.used
    label = f"Limit used, {resource}" if resource else "Limit used"
    which = f"Of {resource} the largest share is used." if resource else "The job has no limit."
    return [
        ("Best, SMD", duration(best.time), f"With {numbers_of(best)}: the least time of all numbers within the limit, "
         "proven by looking at every number of servers."),
        ("Equal numbers, ESW", duration(alike.time), f"With {numbers_of(alike)}: as many of each as the limit holds. "
         f"{_longer(alike.time, best.time)}"),
        ("Optimus", duration(grown.time), f"With {numbers_of(grown)}: from one of each, one more at a time of what "
         f"saves more, until neither helps. {_longer(grown.time, best.time)}"),
        (label, share(used) if resource else "–", f"By SMD's numbers. {which} Where a policy reserves the limit, the "
         "rest stays unused."),
    ]  # fmt: skip


def _longer(time_s: float, best_s: float) -> str:
    over = time_s / best_s - 1
    return f"{share(over)} longer than the best." if over > 1e-9 else "As fast as the best."


def parts_words(split: ServerSplit) -> str:
    """Return where the best time goes, and how few servers would do."""
    parts = split.parts
    total = sum(parts)
    names = (("computing", parts.computing_s), ("transfers", parts.transfers_s), ("overheads", parts.overhead_s))
    words = ", ".join(f"{share(part / total)} is {name}" for name, part in names)
    return f"Of the best time {words}. {enough_servers(split)}"


def worth_words(jobs: Workload, options: SimulationRules, row: int, split: ServerSplit) -> str:
    """Return what the job is worth with each rule; "" where it has no utility."""
    if not has_utility(jobs):
        return ":gray[These jobs have no utility: only their time is compared.]"
    worths = {name: number(worth_at(jobs, options, row, one.time)) for name, one in split.choices.items()}
    at_once = number(float(jobs.utility_1[row]))  # type: ignore[index]
    others = f"{worths['ESW']} with equal numbers, {worths['Optimus']} with Optimus"
    return f"Worth {worths['SMD']} of {at_once} when it starts at once; {others}."


def layers_sentence(layers: Layers) -> str:
    """Return how long an iteration on one worker takes in each of the ways to send its layers."""
    plain_s, *overlapped_s = (pipeline(layers, overlap).iteration_s for overlap in OVERLAPS)
    ways = [
        f"{duration(time_s)} {words}" + (f" ({share(1 - time_s / plain_s)} less)" if time_s < plain_s else "")
        for time_s, words in zip(overlapped_s, ("wait-free", "by priority"), strict=True)
    ]
    return f"On one worker an iteration takes {duration(plain_s)} with one step after the other, {listed(ways)}."


OPTIMUS = (
    "With the same admission rule Optimus is within 0.5% of SMD. :gray[That is over many jobs as in the SMD study, all "
    "on one cluster; the lead that the study shows comes from whom Optimus admits, first come first served.]"
)
HOW = """
Workers compute gradients; parameter servers gather them and send the new parameters back. One training step takes

- **computing**: forward over the samples, backward over the layers. Synchronous workers share the samples of a step, so
  forward gets shorter with each worker; asynchronous workers each make steps of their own, more with each worker.
- **transfers**: the model is sent both ways over the servers' links. More workers share a link, more servers have more
  links: the time grows with workers over servers. Only what computing does not hide counts, by the layers below.
- **overheads**: some seconds for each worker and each server.

**Best (SMD)**: beside each number of servers the best number of workers is known in closed form; every number of
servers is looked at, so nothing within the limit is faster. **Equal numbers (ESW)**: one server for each worker, as
many as the limit holds, also where fewer would be faster: the study does not say how many. **Optimus**: from one of
each, one more of what saves more time, while it helps. Its steps are compared by time and not by worth, which vanishes
where a job is late.

**Layers**: *one after the other* computes backward, then pushes all gradients, pulls all parameters, then computes
forward. *Wait-free* pushes a layer once its gradient is there, and pulls it when it is pushed. *Priority* sends the
layers nearest to the input first, so that forward begins sooner; its published formula is corrected here. Shares of
forward, backward and transfers on the longest chain say how much of each counts in a step.
"""
