"""Sizes as they are tried: their runs, kept by size and load, and the verdicts a search asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.intervals import Interval
from dlsched.metrics.summary import Metrics
from dlsched.store.record import CellStore
from dlsched.studies.design import Futures, RunResult, Variant, check_variant, run_variants
from dlsched.studies.design.run import is_exact
from dlsched.studies.simulation import Progress
from dlsched.studies.sizing.answer import COST, Counts, Load, Size, counts_words, jobs_words, paired, rule_at
from dlsched.studies.sizing.rule import Check, Replicate, Rule, Verdict, judge
from dlsched.studies.sizing.search import OutOfRuns
from dlsched.studies.sizing.sizes import Sizes
from dlsched.studies.sizing.spec import SizeSpec

Place = tuple[Counts, float]
"""A size at a load: nodes by type, and how many times as many jobs there are."""
SEARCHED = 11
"""Futures of each size in the search; the others confirm what it found."""
RESERVED = 5
"""So many times the draws that confirm a size are kept back while sizes are searched."""


@dataclass(frozen=True, eq=False)
class Means:
    """Where runs are computed and kept; see :func:`studies.design.run_variants`."""

    executor: Executor | None = None
    store: CellStore | None = None
    progress: Progress | None = None


@dataclass(eq=False)
class _Tried:
    """What is known of a place: its draws by seed, or why it cannot be run."""

    draws: dict[int, Replicate] = field(default_factory=dict)
    error: str = ""


class SizeTrials:
    """Runs sizes when asked about them, each draw of each size once; a ``search.Trials``.

    Every size and load sees the same draws. InputError when the scenario cannot be run as the question says.
    """

    def __init__(self, spec: SizeSpec, scenario: Scenario, sizes: Sizes, means: Means) -> None:
        self.sizes, self.runs = sizes, 0
        self._spec, self._scenario, self._means = spec, scenario, means
        exact = is_exact(scenario, self._variant((), 1.0), spec.futures)
        self.rule = Rule(targets=spec.targets, claim=spec.claim, level=spec.level, exact=exact)
        seeds = (0,) if exact else spec.futures.seeds
        self.search_seeds, self.confirm_seeds = seeds[:SEARCHED], seeds[SEARCHED:]
        self.load_seeds = spec.futures.seeds[:SEARCHED]
        self._tried: dict[Place, _Tried] = {}
        self._confirmed: set[Counts] = set()
        served = tuple(target for target in spec.targets if not target.rises_with_size)
        self._serving = self.rule.model_copy(update={"targets": served})
        self._kept_back = min(spec.most_runs // 2, RESERVED * len(self.confirm_seeds))

    # ---- what a search asks ----------------------------------------------------------------------------

    def serves(self, counts: Counts) -> Verdict:
        """Judge the targets that do not rise with size, on the draws of the search."""
        return self._judge(counts, self._serving)

    def verdict(self, counts: Counts) -> Verdict:
        """Judge all targets on the draws of the search."""
        return self._judge(counts, self.rule)

    def confirmed(self, counts: Counts) -> bool:
        """Whether all targets are met on the fresh draws, and on all draws together."""
        if counts in self._confirmed:
            return True
        size = self.tried(counts, self.search_seeds + self.confirm_seeds)
        fresh = [draw for draw in size.draws if draw.seed in self.confirm_seeds or self.rule.exact]
        good = all(judge(self.rule, draws, size.error).verdict == "meets" for draws in (fresh, size.draws))
        if good:
            self._confirmed.add(counts)
        return good

    def cost(self, counts: Counts) -> float:
        """Return what decides which size is cheaper before any run; the number of slots where only runs tell."""
        return self.sizes.cost(counts)

    def may_fall(self) -> bool:
        """Whether a target that rises with size may fall again: all but the price of fixed nodes may."""
        rising = {target.metric for target in self.rule.targets if target.rises_with_size}
        return self.sizes.cost_by != "price" or rising != {COST}

    def use_reserve(self) -> None:
        """Allow the runs that were kept back for confirming."""
        self._kept_back = 0

    def _judge(self, counts: Counts, rule: Rule) -> Verdict:
        size = self.tried(counts, self.search_seeds)
        seeds = set(self.search_seeds)
        return judge(rule, [draw for draw in size.draws if draw.seed in seeds], size.error).verdict

    # ---- what is known ---------------------------------------------------------------------------------

    def all_confirmed(self) -> list[Counts]:
        """Return the sizes that were confirmed, cheapest first; ties: fewer nodes first."""
        return sorted(self._confirmed, key=lambda counts: (self.cost(counts), sum(counts), counts))

    def all_meeting(self) -> list[Counts]:
        """Return the sizes tried that meet all targets on the draws of the search."""
        tried = [size.counts for size in self.all_sizes() if self.is_tried(size.counts)]
        return [counts for counts in tried if self.verdict(counts) == "meets"]

    def cost_difference(self, counts: Counts, baseline: Counts) -> Interval | None:
        """Return what a size costs more than another in its runs, paired by draw; None where one has no cost."""
        return paired(self._size(counts), self._size(baseline), COST, exact=self.rule.exact)

    def all_sizes(self) -> tuple[Size, ...]:
        """Return every size tried at the load of the scenario, ascending."""
        return tuple(self._size(counts) for counts, factor in sorted(self._tried) if factor == 1.0)

    def is_tried(self, counts: Counts) -> bool:
        """Whether the draws of the search of a size are known, or that it cannot be run."""
        tried = self._tried.get((counts, 1.0))
        return tried is not None and (bool(tried.error) or set(self.search_seeds) <= set(tried.draws))

    # ---- runs ------------------------------------------------------------------------------------------

    def tried(self, counts: Counts, seeds: Sequence[int]) -> Size:
        """Return a size with at least these draws."""
        self._run((counts, 1.0), seeds)
        return self._size(counts)

    def loaded(self, counts: Counts, factor: float) -> Load:
        """Return a size with ``factor`` times as many jobs, with the draws of the search.

        At 1 with all draws it has: what is said of the size itself holds there too. Which jobs are added is drawn, so
        other loads have several draws also where nothing else is random.
        """
        self._run((counts, factor), self.search_seeds if factor == 1.0 else self.load_seeds)
        tried = self._tried[counts, factor]
        return Load(factor=factor, draws=_ordered(tried), error=tried.error)

    def check_load(self, load: Load) -> Check:
        """Return the verdict at a load."""
        return judge(rule_at(self.rule, load), load.draws, load.error)

    def _size(self, counts: Counts) -> Size:
        tried = self._tried[counts, 1.0]
        return Size(
            counts=counts,
            usd_month=self.sizes.usd_month(counts),
            gpus=self.sizes.gpus(counts),
            draws=_ordered(tried),
            error=tried.error,
        )

    def _run(self, place: Place, seeds: Sequence[int]) -> None:
        tried = self._tried.setdefault(place, _Tried())
        missing = [seed for seed in seeds if seed not in tried.draws]
        if not missing or tried.error:
            return
        counts, factor = place
        today = (self.sizes.today, 1.0)
        if place != today:
            self._run(today, self.search_seeds if self.rule.exact else missing)
        variant, draws = self._variant(counts, factor), Futures(seeds=tuple(missing), vary=self._spec.futures.vary)
        try:
            check_variant(self._scenario, variant, draws)
        except InputError as error:  # no such cluster, such as one without a node that an absence is planned for
            tried.error = error.clause
            return
        if self.runs + len(missing) > self._spec.most_runs - self._kept_back:
            raise OutOfRuns
        means = self._means
        batch = run_variants(self._scenario, [variant], draws, means.executor, means.store, self._tell(place))
        self.runs += len(missing)
        metrics = [target.metric for target in self.rule.targets]
        for seed, result in zip(missing, batch.results[0], strict=True):
            tried.draws[seed] = draw = draw_of(result, seed, metrics)
            tried.draws[seed] = draw.model_copy(update={"needed": self._needed(draw, factor)})

    def _needed(self, draw: Replicate, factor: float) -> int:
        """Return how many jobs have to be done: at today's load so many as today's cluster does, less what may lack."""
        today = self._tried.get((self.sizes.today, 1.0))
        done = None if today is None else today.draws.get(0 if self.rule.exact else draw.seed)
        if done is None or done.error:
            return draw.jobs
        return math.ceil((1 - self._spec.lack_percent / 100) * round(factor * done.done))

    def _variant(self, counts: Counts, factor: float) -> Variant:
        changes = self.sizes.changes(counts) if counts else {}
        if factor != 1.0:
            changes["demand"] = factor
        return Variant(policy=self._spec.policy, changes=changes, params=self._spec.params)

    def _tell(self, place: Place) -> Progress | None:
        told, before = self._means.progress, self.runs
        if told is None:
            return None
        words = counts_words(self.sizes.types, place[0]) + (f", {jobs_words(place[1])}" if place[1] != 1.0 else "")
        spans = [one.most - one.least + 1 for one in self.sizes.types]
        total = usual_runs(self._spec, spans, exact=self.rule.exact)

        def tell(share: float, text: str) -> None:
            # How many sizes a search tries is not known before: the share slows down beyond what is usual.
            done = before / total
            part = done if done < 0.5 else 0.5 + 0.45 * (1 - math.exp(1 - 2 * done))
            told(part, f"{words}: {text}")

        return tell


def usual_runs(spec: SizeSpec, spans: Sequence[int] = (32,), *, exact: bool = False) -> int:
    """Return about how many runs a search takes; ``spans``: how many counts each type may have."""
    draws = 1 if exact else min(SEARCHED, len(spec.futures.seeds))
    confirm = 0 if exact else len(spec.futures.seeds) - draws
    *others, widest = sorted([one.most - one.least + 1 for one in spec.types] or spans)
    tries = 4 + 2 * math.ceil(math.log2(widest + 1)) + 2 * sum(others)
    loads = 14 if spec.headroom else 0
    return min(spec.most_runs, draws * tries + min(SEARCHED, len(spec.futures.seeds)) * loads + 3 * confirm)


def draw_of(result: RunResult, seed: int, metrics: Sequence[str]) -> Replicate:
    """Return what is kept of a run, of which all jobs have to be done."""
    if result.metrics is None:
        return Replicate(seed=seed, audit=result.audit, error=result.error or "no numbers")
    found = result.metrics
    jobs = _count(found, "jobs")
    left = _count(found, "rejected") + _count(found, "unfinished")
    values = {key: None if (value := found.get(key)) is None else float(value) for key in (*metrics, COST)}
    return Replicate(seed=seed, values=values, jobs=jobs, done=jobs - left, needed=jobs, audit=result.audit)


def _count(metrics: Metrics, key: str) -> int:
    return int(metrics.get(key) or 0)


def _ordered(tried: _Tried) -> tuple[Replicate, ...]:
    return tuple(tried.draws[seed] for seed in sorted(tried.draws))
