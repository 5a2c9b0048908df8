"""Sizes as they are tried: their runs, kept by size and load, and the verdicts a search asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.statements import Change
from dlsched.metrics.summary import Metrics
from dlsched.store.record import CellStore
from dlsched.studies.design import Futures, RunResult, Variant, basis_of, check_variant, run_variants
from dlsched.studies.simulation import Progress
from dlsched.studies.sizing.answer import COST, Counts, Load, Size, jobs_words, paired
from dlsched.studies.sizing.conditions import condition_at
from dlsched.studies.sizing.rule import Replicate, Rule, decided, promises
from dlsched.studies.sizing.search import OutOfRuns
from dlsched.studies.sizing.sizes import Sizes
from dlsched.studies.sizing.spec import SizeSpec

Place = tuple[Counts, float]
"""A size at a load: nodes by type, and how many times as many jobs there are."""
GUESSED = 2
"""Futures from which a search guesses whether all of them would meet the targets."""
MORE_AT_ONCE = 4
"""A verdict that is open takes a quarter more futures: what is run beyond need is little, and workers share them."""
RESERVED = 5
"""So many times the futures of a size are kept back while sizes are guessed at."""


@dataclass(frozen=True, eq=False)
class Means:
    """Where runs are computed and kept; see :func:`studies.design.run_variants`."""

    executor: Executor | None = None
    store: CellStore | None = None
    progress: Progress | None = None


@dataclass(eq=False)
class _Tried:
    """What is known of a place: its futures by seed, or why it cannot be run."""

    draws: dict[int, Replicate] = field(default_factory=dict)
    error: str = ""


class SizeTrials:
    """Runs sizes when asked about them, each future of each size once.

    Every size and load meets the same futures. What is shown runs all of them (:meth:`complete`); a verdict alone stops
    as soon as it is certain (:meth:`meets`), with the futures first that were hard on the sizes before. InputError when
    the scenario cannot be run as the question says.
    """

    def __init__(
        self, spec: SizeSpec, scenario: Scenario, sizes: Sizes, means: Means, expected_runs: int | None = None
    ) -> None:
        self.sizes, self.runs = sizes, 0
        self._spec, self._scenario, self._means = spec, scenario, means
        self._served = tuple(target for target in spec.targets if not target.rises_with_size)
        self._rules: dict[float, Rule] = {}
        self._tried: dict[Place, _Tried] = {}
        self._hardness: dict[int, float] = {}
        self._expected = expected_runs
        self._kept_back = min(spec.most_runs // 2, RESERVED * len(self.seeds_at(1.0)))

    # ---- what is asked ---------------------------------------------------------------------------------

    def rule_at(self, load: float) -> Rule:
        """Return what is asked at a load; which jobs more load adds is drawn, so that no other load than 1 is exact."""
        exact = load if load == 1.0 else 2.0
        if exact not in self._rules:
            spec = self._spec
            checked = check_variant(self._scenario, self._variant((), exact), spec.futures)
            basis = basis_of(self._scenario, [checked], spec.futures)
            self._rules[exact] = Rule(targets=spec.targets, claim=spec.claim, level=spec.level, basis=basis)
        return self._rules[exact]

    def seeds_at(self, load: float) -> tuple[int, ...]:
        """Return the futures of every size at a load."""
        return (0,) if self.rule_at(load).exact else self._spec.futures.seeds

    def meets(self, counts: Counts, load: float = 1.0) -> bool:
        """Return whether a size meets all targets over all futures; runs so many as that takes."""
        place, rule, seeds = (counts, load), self.rule_at(load), self.seeds_at(load)
        while True:
            tried = self._tried.setdefault(place, _Tried())
            found = False if tried.error else decided(rule, _ordered(tried), len(seeds))
            if found is not None:
                return found
            waiting = [seed for seed in self._hardest_first(seeds) if seed not in tried.draws]
            self._run(place, waiting[: max(1, len(tried.draws) // MORE_AT_ONCE)])

    def promises(self, counts: Counts, load: float = 1.0, *, served: bool = False) -> bool:
        """Return whether a size looks as if it met all targets, by a few futures; ``served``: those that do not rise
        with size.
        """
        rule, seeds = self.rule_at(load), self.seeds_at(load)
        rule = rule.model_copy(update={"targets": self._served}) if served else rule
        place = (counts, load)
        draws: tuple[Replicate, ...] = ()
        for several in (1, GUESSED):
            tried = self._run(place, seeds[:several])
            draws = _ordered(tried)
            if tried.error or decided(rule, draws, len(seeds)) is False:
                return False
        return promises(rule, draws)

    def complete(self, counts: Counts, load: float = 1.0) -> None:
        """Run all futures of a size that were not run yet: only then its numbers are shown."""
        self._run((counts, load), self.seeds_at(load))

    def cost(self, counts: Counts) -> float:
        """Return what decides which size is cheaper before any run; the number of slots where only runs tell."""
        return self.sizes.cost(counts)

    def may_fall(self) -> bool:
        """Whether a target that rises with size may fall again: all but the price of fixed nodes may."""
        rising = {target.metric for target in self._spec.targets if target.rises_with_size}
        return self.sizes.cost_by != "price" or rising != {COST}

    def use_reserve(self) -> None:
        """Allow the runs that were kept back while sizes were guessed at."""
        self._kept_back = 0

    # ---- what is known ---------------------------------------------------------------------------------

    def is_complete(self, counts: Counts, load: float = 1.0) -> bool:
        """Whether all futures of a size are known, or that it cannot be run."""
        tried = self._tried.get((counts, load))
        return tried is not None and (bool(tried.error) or set(self.seeds_at(load)) <= set(tried.draws))

    def all_meeting(self) -> list[Counts]:
        """Return the sizes within the ranges that surely meet all targets, cheapest first; ties: fewer nodes first."""
        rule, futures = self.rule_at(1.0), len(self.seeds_at(1.0))
        good = [
            counts
            for (counts, load), tried in self._tried.items()
            if load == 1.0 and not tried.error and self.sizes.hold(counts) and decided(rule, _ordered(tried), futures)
        ]
        return sorted(good, key=lambda counts: (self.cost(counts), sum(counts), counts))

    def all_promising(self) -> list[Counts]:
        """Return the sizes within the ranges that look as if they met all targets, by what was run of them."""
        known = ((counts, tried) for (counts, load), tried in self._tried.items() if load == 1.0 and tried.draws)
        rule = self.rule_at(1.0)
        return [counts for counts, tried in known if self.sizes.hold(counts) and promises(rule, _ordered(tried))]

    def cost_change(self, counts: Counts, baseline: Counts) -> Change | None:
        """Return what a size costs more than another in its runs, paired by future; None if one has no cost."""
        return paired(self.size(counts), self.size(baseline), COST, self.rule_at(1.0).basis)

    def all_sizes(self) -> tuple[Size, ...]:
        """Return every size looked at with the load of the scenario, ascending."""
        known = ((counts, tried) for (counts, load), tried in sorted(self._tried.items()) if load == 1.0)
        return tuple(self.size(counts) for counts, tried in known if tried.draws or tried.error)

    def is_decided(self, size: Size) -> bool:
        """Whether it is certain what a size does; of others there is but a guess."""
        return not size.stopped or decided(self.rule_at(1.0), size.draws, len(self.seeds_at(1.0))) is not None

    def size(self, counts: Counts) -> Size:
        """Return what is known of a size."""
        tried = self._tried[counts, 1.0]
        return Size(
            counts=counts,
            usd_month=self.sizes.usd_month(counts),
            gpus=self.sizes.gpus(counts),
            draws=_ordered(tried),
            error=tried.error,
            stopped=not self.is_complete(counts),
        )

    def loaded(self, counts: Counts, load: float) -> Load:
        """Return what is known of a size at a load."""
        tried = self._tried[counts, load]
        stopped = not self.is_complete(counts, load)
        basis = self.rule_at(load).basis
        return Load(factor=load, draws=_ordered(tried), basis=basis, error=tried.error, stopped=stopped)

    # ---- runs ------------------------------------------------------------------------------------------

    def _hardest_first(self, seeds: Sequence[int]) -> list[int]:
        """Return the futures in the order they are run: what was recorded, then those hard on the sizes before."""
        return sorted(seeds, key=lambda seed: (seed != 0, -self._hardness.get(seed, 0.0), seed))

    def _run(self, place: Place, seeds: Sequence[int]) -> _Tried:
        tried = self._tried.setdefault(place, _Tried())
        missing = [seed for seed in seeds if seed not in tried.draws]
        if not missing or tried.error:
            return tried
        counts, load = place
        today = (self.sizes.today, 1.0)
        if place != today:  # it says how many jobs have to be done
            self._run(today, [seed for seed in missing if seed in self.seeds_at(1.0)] or (0,))
        if self.runs + len(missing) > self._spec.most_runs - self._kept_back:
            raise OutOfRuns
        means, futures = self._means, Futures(seeds=tuple(missing), vary=self._spec.futures.vary)
        variant = self._variant(counts, load)
        try:
            batch = run_variants(self._scenario, [variant], futures, means.executor, means.store, self._tell(place))
        except InputError as error:  # no such cluster, such as one without a node that an absence is planned for
            tried.error = error.clause
            return tried
        self.runs += len(missing)
        metrics = [target.metric for target in self._spec.targets]
        for seed, result in zip(missing, batch.results[0], strict=True):
            tried.draws[seed] = draw = draw_of(result, seed, metrics)
            tried.draws[seed] = draw = draw.model_copy(update={"needed": self._needed(draw, load)})
            self._hardness[seed] = _hardness(self.rule_at(load), draw)
        return tried

    def _needed(self, draw: Replicate, load: float) -> int:
        """Return how many jobs have to be done: ``load`` times as many as today's cluster does, less what may lack."""
        today = self._tried.get((self.sizes.today, 1.0))
        done = None if today is None else today.draws.get(draw.seed, today.draws.get(0))
        if done is None or done.error:
            return draw.jobs
        return math.ceil((1 - self._spec.lack_percent / 100) * round(load * done.done))

    def _variant(self, counts: Counts, load: float) -> Variant:
        changes = condition_at(self._spec.condition, load) | (self.sizes.changes(counts) if counts else {})
        return Variant(policy=self._spec.policy, changes=changes, params=self._spec.params)

    def _tell(self, place: Place) -> Progress | None:
        told, before = self._means.progress, self.runs
        if told is None:
            return None
        words = self.sizes.words(place[0]) + (f", {jobs_words(place[1])}" if place[1] != 1.0 else "")
        spans = [one.most - one.least + 1 for one in self.sizes.types]
        total = self._expected or usual_runs(self._spec, spans, exact=self.rule_at(1.0).exact)

        def tell(share: float, text: str) -> None:
            # How many sizes a search tries is not known before: the share slows down beyond what is usual.
            done = before / total
            part = done if done < 0.5 else 0.5 + 0.45 * (1 - math.exp(1 - 2 * done))
            told(part, f"{words}: {text}")

        return tell


def usual_runs(spec: SizeSpec, spans: Sequence[int] = (32,), *, exact: bool = False) -> int:
    """Return about how many runs a search takes; ``spans``: how many counts each type may have."""
    futures = len(spec.futures.seeds)
    *others, widest = sorted([one.most - one.least + 1 for one in spec.types] or spans)
    guesses = 2 * math.ceil(math.log2(widest + 1)) + 2 * sum(others)
    of_sizes = guesses + 3 if exact else GUESSED * guesses + 7 * futures
    of_loads = 2 * (3 * futures + 8 * min(GUESSED, futures)) if spec.headroom else 0
    return min(spec.most_runs, of_sizes + of_loads)


def draw_of(result: RunResult, seed: int, metrics: Sequence[str]) -> Replicate:
    """Return what is kept of a run, of which all jobs have to be done."""
    if result.metrics is None:
        return Replicate(seed=seed, audit=result.audit, error=result.error or "no numbers")
    found = result.metrics
    jobs = _count(found, "jobs")
    left = _count(found, "rejected") + _count(found, "unfinished")
    values = {key: None if (value := found.get(key)) is None else float(value) for key in (*metrics, COST)}
    return Replicate(seed=seed, values=values, jobs=jobs, done=jobs - left, needed=jobs, audit=result.audit)


def _hardness(rule: Rule, draw: Replicate) -> float:
    """Return how much of its tightest target a future uses; infinite where it has no value."""
    there = [(target, draw.values.get(target.metric)) for target in rule.targets]
    return max(math.inf if value is None else target.share_used(value) for target, value in there)


def _count(metrics: Metrics, key: str) -> int:
    return int(metrics.get(key) or 0)


def _ordered(tried: _Tried) -> tuple[Replicate, ...]:
    return tuple(tried.draws[seed] for seed in sorted(tried.draws))
