"""Sizes without simulation: trials whose verdicts are given, and runs whose numbers are drawn by a known law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlsched.domain.scenario import Scenario
from dlsched.studies.design import BatchResult, Futures, RunResult, Variant
from dlsched.studies.sizing import read_spec
from dlsched.studies.sizing.answer import Counts
from dlsched.studies.sizing.rule import Replicate
from dlsched.studies.sizing.search import OutOfRuns
from dlsched.studies.sizing.spec import SizeSpec, TypeRange

Law = Callable[[int, np.random.Generator], Mapping[str, float | None]]
"""From the nodes and the numbers of a future to metrics."""


def one(least: int, most: int, key: str = "nodes") -> TypeRange:
    """Return a range of one VM type."""
    return TypeRange(key=key, least=least, most=most)


@dataclass
class GivenTrials:
    """Verdicts by size; ``guess`` and ``served``: what a few futures say, without them the truth."""

    good: Callable[[Counts], bool]
    prices: tuple[float, ...] = (1.0,)
    guess: Callable[[Counts], bool] | None = None
    served: Callable[[Counts], bool] | None = None
    falls: bool = True
    most_asked: int = 10_000
    asked: set[Counts] = field(default_factory=set)
    in_full: set[Counts] = field(default_factory=set)
    reserve_used: bool = False

    def promises(self, counts: Counts, *, served: bool = False) -> bool:
        if counts not in self.asked and len(self.asked) >= self.most_asked and not self.reserve_used:
            raise OutOfRuns
        self.asked.add(counts)
        if served and self.served is not None:
            return self.served(counts)
        return self.good(counts) if self.guess is None else self.guess(counts)

    def meets(self, counts: Counts) -> bool:
        self.asked.add(counts)
        self.in_full.add(counts)
        return self.good(counts)

    def cost(self, counts: Counts) -> float:
        return sum(count * price for count, price in zip(counts, self.prices, strict=True))

    def may_fall(self) -> bool:
        return self.falls

    def use_reserve(self) -> None:
        self.reserve_used = True


def draws_of(metric: str, values: Sequence[float | None], **changes: Any) -> tuple[Replicate, ...]:
    """Return futures with these values of a metric, ten jobs each, all done."""
    plain: dict[str, Any] = {"jobs": 10, "done": 10, "needed": 10} | changes
    return tuple(Replicate(seed=seed, values={metric: value}, **plain) for seed, value in enumerate(values))


@dataclass
class DrawnRuns:
    """Stands in for ``run_variants``: the metrics of a run follow a law of its nodes, seeded by search, nodes and seed.

    ``common``: all sizes see the same numbers in a future, as paired runs nearly do.
    """

    law: Law
    search: int = 0
    common: bool = False
    own_nodes: int = 4
    asked: list[tuple[int, int]] = field(default_factory=list)

    def __call__(
        self,
        scenario: Scenario,
        variants: Sequence[Variant],
        futures: Futures,
        executor: Any,
        store: Any,
        progress: Any,
    ) -> BatchResult:
        outcomes = [[self._outcome(variant, seed) for seed in futures.seeds] for variant in variants]
        return BatchResult(outcomes, len(futures.seeds), 0)

    def _outcome(self, variant: Variant, seed: int) -> RunResult:
        nodes = int(variant.changes.get("nodes", self.own_nodes))
        self.asked.append((nodes, seed))
        rng = np.random.default_rng([self.search, seed] if self.common else [self.search, seed, nodes])
        given: dict[str, float | None] = {"jobs": 10, "rejected": 0, "unfinished": 0, "cost_month": 10.0 * nodes}
        return RunResult(given | dict(self.law(nodes, rng)))


def asked(scenario: Scenario, *targets: tuple[str, float], futures: int | Any = 20, **changes: Any) -> SizeSpec:
    """Return the question for targets by metric, without headroom; ``futures``: so many beside the first, or all."""
    plain: dict[str, Any] = {
        "scenario": scenario.content_hash,
        "targets": [{"metric": metric, "limit": limit} for metric, limit in targets],
        "headroom": False,
        "futures": Futures.first(futures) if isinstance(futures, int) else futures,
    }
    return read_spec(plain | changes)
