"""From predictions to the time table of a scenario: t[network][GPU type][GPUs] for its machines, and its jobs on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.timetable import Row, TimeTable
from dlsched.domain.workload import Floats, Texts, Workload
from dlsched.speed import build_speed
from dlsched.speed.regression import NetworkFit
from dlsched.speed.terms import BATCH, DISK, FEATURES, GFLOPS, GPUS, ITERATIONS
from dlsched.workload.import_report import in_seconds
from dlsched.workload.profiles.gpu_types import gflops_of
from dlsched.workload.profiles.profiling import TOO_GOOD

_NETWORK = 2  # which of a job's uniforms of purpose "fill" draws its network; rules.py has the others


@dataclass(frozen=True, eq=False)
class Prediction:
    """Times of one network: GPU type -> seconds with 1, 2, ... GPUs, where the model can tell them.

    ``outside`` says of each whether it lies beyond what was measured: a feature out of range, or a GPU type without
    rows. ``lacking`` says why a GPU type has no times, or fewer than its machines have GPUs.
    """

    network: str
    rows: Mapping[str, tuple[float, ...]]
    outside: Mapping[str, tuple[bool, ...]]
    lacking: Mapping[str, str]


def typical(fit: NetworkFit) -> Floats:
    """Return a middle value of each feature that was measured, shape (features,); NaN where none is known."""
    middle = np.full(len(FEATURES), np.nan)
    for feature in range(len(FEATURES)):
        if feature not in fit.unknown:
            middle[feature] = np.percentile(fit.runs.features[:, feature], 50, method="lower")
    return middle


def widths_of(cluster: Cluster) -> dict[str, int]:
    """Return the GPU types of a cluster's machines and the most GPUs of one machine of each."""
    widths: dict[str, int] = {}
    for vm in cluster.vm_types:
        if vm.gpus:
            widths[vm.gpu_type] = max(widths.get(vm.gpu_type, 0), vm.gpus)
    return widths


def measured_widths(fit: NetworkFit) -> dict[str, int]:
    """Return the GPU types that were measured and the most GPUs of each."""
    return {name: int(fit.runs.features[fit.runs.gpu_type == name, GPUS].max()) for name in fit.gpu_types}


def predict_on(
    fit: NetworkFit,
    widths: Mapping[str, int],
    *,
    iterations: float | None = None,
    batch: float | None = None,
    disk_s: float | None = None,
) -> Prediction:
    """Return the times of a network on these GPU types with 1 GPU to the given number.

    What is not given has its typical measured value. A row ends before the first number of GPUs for which the model
    gives no positive time, or one that is faster than perfect scaling allows: a regression line goes on for ever, a
    speed-up does not.
    """
    given = typical(fit)
    for feature, value in ((ITERATIONS, iterations), (BATCH, batch), (DISK, disk_s)):
        if value is not None:
            given[feature] = value
    rows, outside, lacking = {}, {}, {}
    for gpu_type, most in widths.items():
        features = np.tile(given, (most, 1))
        features[:, GPUS] = np.arange(1, most + 1)
        # as it was measured, else as in the bundled table; NaN when not known
        own = fit.runs.features[fit.runs.gpu_type == gpu_type, GFLOPS]
        features[:, GFLOPS] = float(np.median(own)) if len(own) else gflops_of(gpu_type) or np.nan
        if DISK in fit.ranges and disk_s is None and gpu_type in fit.gpu_types:
            features[:, DISK] = np.median(fit.runs.features[fit.runs.gpu_type == gpu_type, DISK])
        seconds = fit.predict(features)
        reason = _cannot(fit, gpu_type)
        end = 0 if reason else _usable(seconds, fit.fixed.get(GPUS))
        if end:
            rows[gpu_type] = tuple(float(value) for value in seconds[:end])
            beyond = fit.outside(features) | (gpu_type not in fit.gpu_types)
            outside[gpu_type] = tuple(bool(value) for value in beyond[:end])
        if end < most:
            lacking[gpu_type] = reason or _ended(end, fit.fixed.get(GPUS))
    return Prediction(fit.network, rows, outside, lacking)


def _cannot(fit: NetworkFit, gpu_type: str) -> str:
    """Return why nothing can be said of a GPU type; empty when something can."""
    if gpu_type in fit.gpu_types:
        return ""
    if GFLOPS not in fit.ranges:
        return f"measured only on {', '.join(fit.gpu_types[:5])}, so differences between GPU types are unknown"
    return "" if gflops_of(gpu_type) else "its GFLOPS are unknown"


def _usable(seconds: Floats, only_gpus: float | None) -> int:
    """Return for how many of 1, 2, ... GPUs the times can be used."""
    work = seconds * np.arange(1, len(seconds) + 1)
    if only_gpus is not None:
        return int(only_gpus == 1 and seconds[0] > 0)
    good = (seconds > 0) & ~(work[0] > TOO_GOOD * work)
    return len(good) if good.all() else int(np.argmin(good))


def _ended(end: int, only_gpus: float | None) -> str:
    if only_gpus is not None:
        return f"measured with {only_gpus:g} {'GPU' if only_gpus == 1 else 'GPUs'} only"
    if end == 0:
        return "the model gives no positive time"
    return f"beyond {end} {'GPU' if end == 1 else 'GPUs'} the model gives impossible times"


def lacking_words(predictions: Sequence[Prediction]) -> list[str]:
    """Return what has no times and why, GPU types with one reason together."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for prediction in predictions:
        for gpu_type, reason in prediction.lacking.items():
            by_reason.setdefault((prediction.network, reason), []).append(gpu_type)
    return [f"{network} on {', '.join(types)}: {reason}" for (network, reason), types in by_reason.items()]


def map_models(workload: Workload, network_of: Mapping[str, str]) -> Texts:
    """Return the network of each job by its model; the entry "" stands for models that are not listed."""
    models = [""] * len(workload) if workload.model is None else list(map(str, workload.model))
    other = network_of.get("", "")
    return np.array([network_of.get(model, other) for model in models], dtype=object)


def draw_networks(workload: Workload, networks: Sequence[str], seed: int) -> Texts:
    """Return a network for each job, all equally likely, by seed and job id."""
    uniforms = job_uniforms(seed, "fill", workload.job_id, _NETWORK + 1)[:, _NETWORK]
    return np.array([networks[int(uniform * len(networks))] for uniform in uniforms], dtype=object)


def fill_times(
    scenario: Scenario, predictions: Sequence[Prediction], network: Texts, measured_on: str, words: str
) -> Scenario:
    """Return the scenario with a time table in place of its speed model.

    Jobs keep how long they run: the time a job takes now with the GPUs it requests is its time on the GPU type
    ``measured_on``, all other times follow in proportion. So each network has a row for each width that jobs ask for,
    scaled to 1 there, and ``work`` stays the run time at the requested width. Widths become free between 1 and the
    GPUs of a machine; wider requests are cut to the largest machine, for as much longer. Drawn jobs stay as they are
    drawn now: another draw would not know of the table. Relative speeds of machines are set to 1, as the table has
    times by type.

    Raises
    ------
    InputError
        Jobs without whole GPUs, without a network, or no time for ``measured_on``.
    """
    jobs = scenario.workload
    _check_jobs(jobs, network, predictions)
    rows = {prediction.network: prediction.rows for prediction in predictions}
    most = max(len(row) for name in set(network) for row in rows[name].values())
    gpus = np.minimum(jobs.gpus, most).astype(np.int64)
    named = [f"{name}, {width} {'GPU' if width == 1 else 'GPUs'}" for name, width in zip(network, gpus, strict=True)]
    profile = np.array(named, dtype=object)
    wanted = {name: (str(net), int(width)) for name, net, width in zip(profile, network, gpus, strict=True)}
    table = TimeTable(
        rows={name: _scaled(rows[net], net, measured_on, width) for name, (net, width) in sorted(wanted.items())}
    )
    changes: dict[str, Any] = {"workers": gpus, "gpus_per_worker": np.ones(len(jobs)), "profile": profile}
    for name in ("cpus_per_worker", "mem_gib_per_worker"):
        if (values := getattr(jobs, name)) is not None:
            changes[name] = values / jobs.gpus_per_worker
    changes |= {"min_workers": None, "max_workers": None, "work": _run_s(scenario, measured_on) * jobs.gpus / gpus}
    notes = [one for one in scenario.assumptions if not one.is_about_speed]
    return scenario.replace(
        workload=jobs.with_columns(**changes),
        cluster=_without_speeds(scenario.cluster),
        speed=SpeedSpec(kind="table", times=table),
        generator=None,
        assumptions=(*notes, Assumption(kind="predicted-times", text=words)),
    )


def _check_jobs(jobs: Workload, network: Texts, predictions: Sequence[Prediction]) -> None:
    whole = (jobs.gpus >= 1) & (jobs.gpus_per_worker == np.floor(jobs.gpus_per_worker))
    if not whole.all():
        row = int(np.argmin(whole))
        many = int((~whole).sum())
        asks = "one job requests" if many == 1 else f"{many:,} jobs request"
        why = f"{asks} no GPU or a share of one, but a time table is for whole GPUs"
        raise InputError(f"job {jobs.job_id[row]!s:.60}", why, "Leave such jobs out of the trace")
    known = {prediction.network for prediction in predictions}
    lost = [name for name in dict.fromkeys(network) if name not in known]
    if lost:
        count = int(sum(name in lost for name in network))
        raise InputError("jobs", f"{count:,} of them have no network with predicted times", "Map every model")
    for prediction in predictions:
        if not prediction.rows:
            raise InputError("times", "; ".join(lacking_words([prediction])[:3]), "Add profiling rows")


def _scaled(rows: Mapping[str, Sequence[float]], network: str, measured_on: str, gpus: int) -> dict[str, Row]:
    """Return the times of a network over its time with so many GPUs on one type."""
    if measured_on not in rows:
        raise InputError(f"network {network[:60]!r}", f"has no times on {measured_on[:60]}", "Choose another GPU type")
    one = rows[measured_on][min(gpus, len(rows[measured_on])) - 1]
    return {gpu_type: tuple(seconds / one for seconds in row) for gpu_type, row in rows.items()}


def _run_s(scenario: Scenario, measured_on: str) -> Floats:
    """Return how long each job runs now with the GPUs it requests: on this type where a table has times by type."""
    jobs, vm_types = scenario.workload, scenario.cluster.vm_types
    if scenario.speed.kind != "table":
        return in_seconds(scenario).work
    speed = build_speed(scenario.speed, jobs, vm_types)
    rows = np.arange(len(jobs))
    vm = next((number for number, vm in enumerate(vm_types) if vm.gpu_type == measured_on), None)
    rate = speed.rates(rows, jobs.workers) if vm is None else speed.rates_on(rows, jobs.workers, vm)
    if (rate <= 0).any():
        job = jobs.job_id[int(np.argmin(rate))]
        raise InputError(f"job {job!s:.60}", f"has no time on {measured_on[:60]} now", "Choose another GPU type")
    return np.asarray(jobs.work / rate)


def _without_speeds(cluster: Cluster) -> Cluster:
    def plain(vm: VmType) -> VmType:
        return vm.model_copy(update={"speed": 1.0})

    pools = tuple(pool.model_copy(update={"vm": plain(pool.vm)}) for pool in cluster.pools)
    return cluster.model_copy(update={"pools": pools, "catalogue": tuple(map(plain, cluster.catalogue))})
