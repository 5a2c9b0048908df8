"""What an hour of a GPU or a core costs: as typed, by the prices of the node types, or an example price."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dlsched.domain.assumptions import EXAMPLE_PRICE
from dlsched.domain.cluster import Cluster, Pool
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats, Texts
from dlsched.studies.history.answer import Prices
from dlsched.studies.history.record import Record
from dlsched.studies.history.spec import HistorySpec
from dlsched.wording.formats import amount, listed, price
from dlsched.workload.fill import EXAMPLE_USD_PER_GPU_H

EXAMPLE_USD_PER_CORE_H = 0.05
"""About what a core of a general-purpose machine is rented for; shown as an example price."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Prices per hour: of a GPU and of a core (None: no job is charged for it), and by GPU type where they differ."""

    gpu_usd: float | None
    core_usd: float | None
    by_type: dict[str, float]
    words: str
    is_example: bool

    @property
    def told(self) -> Prices:
        """The prices as an answer holds them."""
        return Prices(gpu_usd=self.gpu_usd, core_usd=self.core_usd, words=self.words, is_example=self.is_example)


def rates_of(spec: HistorySpec, scenario: Scenario, record: Record) -> Rates:
    """Return the prices: those typed, else of the node types, else examples; only for what jobs use."""
    cluster = scenario.cluster
    has_gpus, on_cores = bool((record.gpus > 0).any()), bool(((record.gpus == 0) & (record.cores > 0)).any())
    gpu_pools = [pool for pool in cluster.pools if pool.vm.gpus > 0 and pool.count]
    core_pools = [pool for pool in cluster.pools if pool.vm.gpus == 0 and pool.vm.cpus and pool.count]
    by_type = {} if spec.price is not None or not _all_priced(gpu_pools) else _by_type(gpu_pools)
    gpu_usd, core_usd = None, None
    words: list[str] = []
    examples = any(one.is_example_price for one in scenario.assumptions)
    uses_example = not has_gpus
    if has_gpus:
        gpu_usd, source, uses_example = _rate(spec.price, gpu_pools, EXAMPLE_USD_PER_GPU_H, examples)
        shown = price(gpu_usd) if len(set(by_type.values())) < 2 else f"{price(gpu_usd)} on average over GPU types"
        words.append(f"{shown} ({source})")
    if on_cores and (uses_example or spec.core_price is not None or _all_priced(core_pools)):
        core_usd, source, is_example = _rate(spec.core_price, core_pools, EXAMPLE_USD_PER_CORE_H, examples)
        words.append(f"{price(core_usd, 'core-h')} for jobs without GPUs ({source})")
        uses_example = is_example or (has_gpus and uses_example)
    elif on_cores:
        words.append("jobs without GPUs are not charged, as no node type without GPUs has a price")
    return Rates(gpu_usd, core_usd, by_type, listed(words) if words else "nothing is charged", uses_example)


def _rate(typed: float | None, pools: list[Pool], example: float, examples: bool) -> tuple[float, str, bool]:
    """Return a price, where it comes from, and whether it is an example."""
    if typed is not None:
        return typed, "as entered", False
    if not _all_priced(pools):
        return example, EXAMPLE_PRICE, True
    size = sum(pool.count * (pool.vm.gpus or pool.vm.cpus or 0.0) for pool in pools)
    usd = sum(pool.count * (pool.vm.usd_per_h or 0.0) for pool in pools)
    return usd / size, EXAMPLE_PRICE if examples else "prices of the node types", examples


def _all_priced(pools: list[Pool]) -> bool:
    return bool(pools) and all(pool.vm.usd_per_h is not None for pool in pools)


def _by_type(pools: list[Pool]) -> dict[str, float]:
    """Return the price of a GPU of each type."""
    types = {pool.vm.gpu_type for pool in pools}
    return {one: _rate(None, [pool for pool in pools if pool.vm.gpu_type == one], 0.0, False)[0] for one in types}


def usd_of(record: Record, rates: Rates) -> Floats | None:
    """Return what each job cost, shape (jobs,): its GPU-hours, or its core-hours where it has no GPUs.

    A job that accepts one type of GPU pays the price of that type, others the mean. None if nothing is charged.
    """
    if rates.gpu_usd is None and rates.core_usd is None:
        return None
    gpu_usd = _gpu_usd(record.jobs.gpu_types, len(record.jobs), rates)
    return np.where(
        record.gpus > 0, record.gpus * gpu_usd, record.cores * (0.0 if rates.core_usd is None else rates.core_usd)
    ) * record.run_h  # fmt: skip


def _gpu_usd(accepted: Texts | None, jobs: int, rates: Rates) -> Floats:
    mean = rates.gpu_usd or 0.0
    if accepted is None or not rates.by_type:
        return np.full(jobs, mean)
    code, names = pd.factorize(accepted)
    return np.array([rates.by_type.get(str(name), mean) for name in names])[code]


def cluster_words(scenario: Scenario, *, known: bool) -> str:
    """Return what the cluster is and where that comes from."""
    if not known:
        return "The cluster of the log is not known: the scenario has a default one."
    told = [one.words for one in scenario.assumptions if one.is_about_cluster and not one.is_about_prices]
    size = _size(scenario.cluster)
    return f"Capacity: {size}. {''.join(f'{words}. ' for words in told)}".strip()


def _size(cluster: Cluster) -> str:
    parts = [f"{amount(pool.count, 'node')} ({pool.vm.name})" for pool in cluster.pools if pool.count]
    most = 4
    more = f" and {len(parts) - most:,} more node types" if len(parts) > most else ""
    return (", ".join(parts[:most]) or f"up to {cluster.slots:,} rented machines") + more
