"""Which futures a scenario has, and what may be said of numbers from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.studies.design.run import ResolvedVariant
from dlsched.studies.design.shaking import SHAKING, SLURM
from dlsched.studies.design.variants import Futures, Value
from dlsched.wording.assumptions import is_random
from dlsched.wording.certainty import FEWEST_DAYS

RECORDED_FUTURES = 40
"""Beside what was recorded: with this many a verdict is wrong about the long run in under 1% of traces (029)."""
DRAWN_FUTURES = 20
"""Beside the first draw of what is random."""
REPLAYS = 20
"""Of a log under Slurm, each with run times up to a second longer; the first is one of them."""
SHOWN_DRAWS = 5
"""Futures of drawn jobs that are kept in full: gains and losses of groups are over them."""


def in_full(basis: Basis, futures: Futures) -> range:
    """Return the places of the futures whose jobs are kept, not only their numbers.

    Of a recorded trace the recorded month says exactly which groups gained; of draws one month would be chance.
    """
    return range(min(SHOWN_DRAWS, len(futures.seeds)) if basis.kind == "drawn" else 1)


def usual_futures(scenario: Scenario, baseline: str = "") -> Futures:
    """Return the futures where none were chosen: the days of a trace reshuffled, else draws.

    A trace is one draw of the jobs there could have been. Whole days drawn with replacement stand for others (a block
    bootstrap with blocks of a day). Where the ``baseline`` of a comparison is Slurm on a log with recorded starts, they
    are 20 replays of the log itself, as a fit judges them: a single one says little of such a scheduler.
    """
    if baseline == SLURM and scenario.workload.has_recorded_starts and not is_random(scenario):
        return Futures.first(REPLAYS - 1, {SHAKING: 1})
    if not is_random(scenario) and scenario.workload.days >= FEWEST_DAYS:
        return Futures.first(RECORDED_FUTURES, {"days": 1})
    return Futures.first(DRAWN_FUTURES)  # all alike where nothing is random, so that one of them is run


def chosen_futures(
    scenario: Scenario, count: int | None = None, vary: Mapping[str, Value] | None = None, baseline: str = ""
) -> Futures:
    """Return future 0 and ``count`` others that differ in ``vary``; what is None is usual, see `usual_futures`."""
    usual = usual_futures(scenario, baseline)
    return Futures.first(usual.count if count is None else count, usual.vary if vary is None else vary)


def basis_of(scenario: Scenario, variants: Iterable[ResolvedVariant], futures: Futures) -> Basis:
    """Return what may be said of numbers of these variants in these futures; the scenario unchanged."""
    if not any(variant.differs for variant in variants):
        return EXACT_BASIS
    if futures.are_replays or not futures.vary:
        return Basis(kind="drawn", futures=futures.count, are_replays=futures.are_replays)
    days = scenario.workload.days if "days" in futures.vary else 0
    return Basis(kind="recorded", futures=futures.count, days=days)
