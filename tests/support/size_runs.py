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
from dlsched.studies.sizing.rule import Replicate, Verdict
from dlsched.studies.sizing.search import OutOfRuns
from dlsched.studies.sizing.spec import SizeSpec, TypeRange

Law = Callable[[int, np.random.Generator], Mapping[str, float | None]]
"""From the nodes and the numbers of a draw to metrics."""


def one(least: int, most: int, key: str = "nodes") -> TypeRange:
    """Return a range of one VM type."""
    return TypeRange(key=key, least=least, most=most)


@dataclass
class GivenTrials:
    """Verdicts by size; ``good``: the sizes that would be confirmed, without it those that meet."""

    verdicts: Callable[[Counts], Verdict]
    prices: tuple[float, ...] = (1.0,)
    good: Callable[[Counts], bool] | None = None
    all_targets: Callable[[Counts], Verdict] | None = None
    falls: bool = True
    most_asked: int = 10_000
    asked: set[Counts] = field(default_factory=set)
    confirming: set[Counts] = field(default_factory=set)
    reserve_used: bool = False

    def serves(self, counts: Counts) -> Verdict:
        if counts not in self.asked and len(self.asked) >= self.most_asked and not self.reserve_used:
            raise OutOfRuns
        self.asked.add(counts)
        return self.verdicts(counts)

    def verdict(self, counts: Counts) -> Verdict:
        served = self.serves(counts)
        return served if self.all_targets is None else self.all_targets(counts)

    def confirmed(self, counts: Counts) -> bool:
        self.confirming.add(counts)
        return self.verdict(counts) == "meets" if self.good is None else self.good(counts)

    def cost(self, counts: Counts) -> float:
        return sum(count * price for count, price in zip(counts, self.prices, strict=True))

    def may_fall(self) -> bool:
        return self.falls

    def use_reserve(self) -> None:
        self.reserve_used = True


def draws_of(metric: str, values: Sequence[float | None], **changes: Any) -> tuple[Replicate, ...]:
    """Return draws with these values of a metric, ten jobs each, all done."""
    plain: dict[str, Any] = {"jobs": 10, "done": 10, "needed": 10} | changes
    return tuple(Replicate(seed=seed, values={metric: value}, **plain) for seed, value in enumerate(values))


@dataclass
class DrawnRuns:
    """Stands in for ``run_cases``: the metrics of a run follow a law of its nodes, seeded by search, nodes and draw.

    ``common``: all sizes see the same numbers in a draw, as paired runs nearly do.
    """

    law: Law
    search: int = 0
    common: bool = False
    own_nodes: int = 4
    asked: list[tuple[int, int]] = field(default_factory=list)

    def __call__(
        self,
        scenario: Scenario,
        cases: Sequence[Variant],
        draws: Futures,
        executor: Any,
        store: Any,
        progress: Any,
    ) -> BatchResult:
        outcomes = [[self._outcome(case, seed) for seed in draws.seeds] for case in cases]
        return BatchResult(outcomes, len(draws.seeds), 0)

    def _outcome(self, case: Variant, seed: int) -> RunResult:
        nodes = int(case.changes.get("nodes", self.own_nodes))
        self.asked.append((nodes, seed))
        rng = np.random.default_rng([self.search, seed] if self.common else [self.search, seed, nodes])
        given: dict[str, float | None] = {"jobs": 10, "rejected": 0, "unfinished": 0, "cost_month": 10.0 * nodes}
        return RunResult(given | dict(self.law(nodes, rng)))


def asked(scenario: Scenario, *targets: tuple[str, float], **changes: Any) -> SizeSpec:
    """Return the question for targets by metric, without headroom."""
    plain: dict[str, Any] = {
        "scenario": scenario.content_hash,
        "targets": [{"metric": metric, "limit": limit} for metric, limit in targets],
        "headroom": False,
    }
    return read_spec(plain | changes)
