"""Runs as a reader thinks of them: one policy with its parameters on one scenario, and its numbers by future."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import Comparison, common_jobs, compare
from dlsched.metrics.stats.statements import Estimate, value_of
from dlsched.metrics.summary import Metrics
from dlsched.policies.registry import find_stored, policies
from dlsched.studies.design import Variant
from dlsched.studies.futures_numbers import FuturesNumbers
from dlsched.ui.frame import futures_numbers, loaders, session
from dlsched.ui.frame.caches import shared
from dlsched.wording.assumptions import is_random
from dlsched.wording.counted import GPUS, Counted, counted_of


@dataclass(frozen=True, slots=True)
class Series:
    """A policy with its runs in full: ``run_ids`` by ascending ``seeds``; the first stands for all where one is shown.

    ``params`` in JSON; ``stale``: made by an older version of the code.
    """

    label: str
    policy: str
    params: str
    run_ids: tuple[str, ...]
    seeds: tuple[int, ...]
    stale: bool = False

    @property
    def variant(self) -> Variant:
        """The policy with its parameters."""
        return Variant(policy=self.policy, params=json.loads(self.params))

    def run_of(self, seed: int) -> str:
        """Return the run of a seed."""
        return self.run_ids[self.seeds.index(seed)]


@dataclass(frozen=True, eq=False)
class SeriesNumbers:
    """Numbers of series by label, in the futures that all have, future 0 first.

    ``futures``: what is known and what is missing, perhaps all; None if there are only the runs themselves.
    ``counted``: the resource in which use is told.
    """

    metrics: Mapping[str, list[Metrics]]
    basis: Basis
    futures: FuturesNumbers | None = None
    counted: Counted = GPUS

    @property
    def count(self) -> int:
        """How many futures there are."""
        return len(next(iter(self.metrics.values())))

    def estimates(self, label: str) -> dict[str, Estimate]:
        """Return the numbers of a series with what is known around them, by key; those a future lacks are left out."""
        futures = self.metrics[label]
        there = [key for key in futures[0] if key in KPIS and all(future.get(key) is not None for future in futures)]
        return {key: value_of(KPIS[key], [float(future[key] or 0) for future in futures], self.basis) for key in there}

    def headline(self, label: str) -> Metrics:
        """Return the numbers of a series as they are told: what was recorded, else means over futures."""
        return self.metrics[label][0] | {key: one.value for key, one in self.estimates(label).items()}

    def comparison(self, baseline: str) -> Comparison:
        """Return the comparison with one of them, future by future."""
        return compare([*self.metrics.items()], baseline, basis=self.basis, counted=self.counted)


def series_of(runs: pd.DataFrame) -> list[Series]:
    """Return the runs of one scenario (a frame of Store.list_runs) grouped by policy, parameters and code version.

    In the order of the registry, so that a comparison that was not arranged starts with the plainest policy. Runs of an
    older version are not of the same thing: they come last and say so. Those of a policy that this version does not
    have are left out.
    """
    place = {spec.key: number for number, spec in enumerate(policies())}
    runs = runs.assign(place=runs["policy"].map(place)).dropna(subset=["place"])
    ordered = runs.sort_values(["stale", "place", "seed"], kind="stable")
    groups = ordered.groupby(["stale", "code_version", "policy", "params"], sort=False)
    found = [
        Series(
            find_stored(str(policy)).label + (", older version" if stale else ""),
            str(policy),
            str(params),
            tuple(part["run_id"]),
            tuple(int(seed) for seed in part["seed"]),
            bool(stale),
        )
        for (stale, _, policy, params), part in groups
    ]
    return _told_apart(found)


def series_on(scenario_hash: str) -> Sequence[Series]:
    """Return the stored runs of a scenario as :func:`series_of`."""
    return _series_on(scenario_hash, session.runs_state())


@shared
def _series_on(scenario_hash: str, changes: session.RunsState) -> Sequence[Series]:
    return series_of(session.runs_of(scenario_hash))


def _told_apart(found: list[Series]) -> list[Series]:
    """Number the labels of a policy that was run with several parameters."""
    seen: dict[str, int] = {}
    named = []
    for series in found:
        number = seen[series.label] = seen.get(series.label, 0) + 1
        label = series.label if number == 1 else f"{series.label} ({number})"
        named.append(replace(series, label=label))
    return named


def holding(all_series: Sequence[Series], run_id: str) -> Series | None:
    """Return the series a run belongs to."""
    return next((series for series in all_series if run_id in series.run_ids), None)


def chosen_of(run_ids: Sequence[str]) -> list[Series]:
    """Return the series that hold these runs, in their order, with labels that differ.

    Raises
    ------
    StoreError
        If a run is not in the store.
    """
    infos = {run: loaders.info(run) for run in run_ids}
    series_in = {one: series_on(one) for one in {info.scenario_hash for info in infos.values()}}
    chosen: list[Series] = []
    for run, info in infos.items():
        alone = Series(
            find_stored(info.policy).label, info.policy, json.dumps(dict(info.params)), (run,), (info.seed,), True
        )
        series = holding(series_in[info.scenario_hash], run) or alone
        if series not in chosen:
            chosen.append(series)
    return distinct(chosen, {run: info.scenario_name for run, info in infos.items()})


def numbers_of(chosen: Sequence[Series]) -> SeriesNumbers:
    """Return the numbers of series in the futures that all of them have: from everything the store knows of these.

    Runs of an older version of the code, or of unlike jobs, have no numbers beside their own.

    Raises
    ------
    InputError
        A policy that cannot run the jobs, or parameters that this version does not know.
    """
    scenarios = [loaders.scenario_of(series.run_ids[0]) for series in chosen]
    is_same, replays = len({scenario.workload.content_hash for scenario in scenarios}) == 1, None
    if is_same and not any(series.stale for series in chosen):
        choices = [(scenario, series.variant) for scenario, series in zip(scenarios, chosen, strict=True)]
        found = futures_numbers.futures_numbers(choices)
        if 0 in found.places:
            metrics = {series.label: found.metrics(place) for place, series in enumerate(chosen)}
            return SeriesNumbers(metrics, found.plan.basis, found, counted_of(scenarios[0]))
        replays = found if found.plan.futures.are_replays else None  # of these, no run in full is one
    seeds = shared_seeds(chosen)
    metrics = {series.label: [loaders.metrics(series.run_of(seed)) for seed in seeds] for series in chosen}
    return SeriesNumbers(metrics, basis_of_series(chosen, len(seeds)), replays, counted_of(scenarios[0]))


def compared_common(chosen: list[Series], baseline: Series) -> tuple[list[int], Comparison]:
    """Return the comparison over the jobs that all runs in full completed, and how many these are in each of them."""
    counts: list[int] = []
    metrics: dict[str, list[Metrics]] = {series.label: [] for series in chosen}
    for seed in shared_seeds(chosen):
        common, of_draw = common_jobs({series.label: loaders.jobs(series.run_of(seed)) for series in chosen})
        counts.append(common)
        for label, values in of_draw.items():
            metrics[label].append(values)
    counted = counted_of(loaders.scenario_of(baseline.run_ids[0]))
    basis = basis_of_series(chosen, len(counts))
    return counts, compare(list(metrics.items()), baseline.label, basis=basis, counted=counted)


def basis_of_series(chosen: Sequence[Series], futures: int) -> Basis:
    """Return what may be said of so many runs of each series."""
    return EXACT_BASIS if are_exact(chosen) else Basis(kind="drawn", futures=futures - 1)


def shared_seeds(chosen: Sequence[Series]) -> list[int]:
    """Return the seeds of which all series have a run in full."""
    return sorted(set.intersection(*(set(series.seeds) for series in chosen)))


def are_exact(chosen: Sequence[Series]) -> bool:
    """Whether nothing is random in the scenario nor in the policies of these series, so that one draw says all."""
    return not any(find_stored(s.policy).draws or is_random(loaders.scenario_of(s.run_ids[0])) for s in chosen)


def distinct(chosen: list[Series], scenario_names: Mapping[str, str]) -> list[Series]:
    """Return the series with labels that differ: a policy run on two scenarios is named with the scenario."""
    labels = [series.label for series in chosen]
    named = []
    for place, series in enumerate(chosen):
        label = series.label
        if labels.count(label) > 1:
            scenario = next((scenario_names[run] for run in series.run_ids if run in scenario_names), "")
            label = f"{label}, {scenario} [{place + 1}]"
        named.append(replace(series, label=label))
    return named
