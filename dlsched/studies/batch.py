"""Policies times draws: the numbers of each, for intervals and comparisons. Whole runs are kept by ``Runner``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.summary import Metrics
from dlsched.studies.simulation import Progress, key_of, simulate

if TYPE_CHECKING:
    import pandas as pd

    from dlsched.store import Store

Choice = tuple[str, Mapping[str, Any]]
"""A policy and those of its parameters that differ from their defaults."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One policy at one seed: its metrics and the audit's complaints, or the error that ended it."""

    policy: str
    params: Mapping[str, Any]
    seed: int
    metrics: Metrics | None = None
    audit: tuple[str, ...] = ()
    error: str = ""


def run_batch(
    scenario: Scenario,
    policies: Iterable[Choice],
    seeds: Iterable[int],
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> list[Draw]:
    """Return a draw for each policy and seed, policies first, in the order given.

    Parameters
    ----------
    executor
        Where to compute; None = here, one after the other.
    store
        Answers what was computed before. Nothing is written to it.
    progress
        Told the share of draws done; what it raises stops the batch and cancels what has not begun.

    A draw that fails has its error; the others go on.
    """
    questions = [(policy, params, seed) for (policy, params), seed in product(list(policies), list(seeds))]
    draws: list[Draw | None] = [_known(scenario, *asked, store) for asked in questions]
    todo = [number for number, draw in enumerate(draws) if draw is None]

    def tell() -> None:
        done = sum(draw is not None for draw in draws)
        if progress is not None:
            progress(done / len(draws), f"{done} of {len(draws)} runs")

    if executor is None:
        for number in todo:
            draws[number] = measure(scenario, *questions[number])
            tell()
    else:
        futures: dict[Future[Draw], int] = {
            executor.submit(measure, scenario, *questions[number]): number for number in todo
        }
        try:
            for future in as_completed(futures):
                draws[futures[future]] = future.result()
                tell()
        finally:
            for future in futures:
                future.cancel()
    return [draw for draw in draws if draw is not None]


def measure(scenario: Scenario, policy: str, params: Mapping[str, Any], seed: int) -> Draw:
    """Return one draw; an error of the input or of the policy becomes its text."""
    try:
        run = simulate(scenario, policy, params, seed)
        return Draw(policy, params, seed, run.metrics, tuple(run.audit()))
    except DlschedError as error:
        return Draw(policy, params, seed, error=str(error))


def _known(scenario: Scenario, policy: str, params: Mapping[str, Any], seed: int, store: Store | None) -> Draw | None:
    if store is None:
        return None
    try:
        found = known(store, key_of(scenario, policy, params, seed))
    except DlschedError as error:
        return Draw(policy, params, seed, error=str(error))
    return None if found is None else Draw(policy, params, seed, *found)


def known(store: Store, key: str) -> tuple[Metrics, tuple[str, ...]] | None:
    """Return the metrics and the audit's complaints of a run in the store, None when it is not there."""
    run_id = store.find_run(key)
    return None if run_id is None else (store.metrics(run_id), tuple(store.run_info(run_id).audit))


def to_frame(draws: Sequence[Draw]) -> pd.DataFrame:
    """Return one row a draw: policy, params, seed, violations, error, and a column for each metric."""
    import pandas as pd

    rows = [
        {
            "policy": draw.policy,
            "params": dict(draw.params),
            "seed": draw.seed,
            "violations": len(draw.audit),
            "error": draw.error,
            **(draw.metrics or {}),
        }
        for draw in draws
    ]
    return pd.DataFrame(rows)
