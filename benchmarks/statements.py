"""How often the statements of ``dlsched.metrics.stats.statements`` are true of generators whose truth is known.

``python -m benchmarks.statements small`` (10 CPU minutes) or ``large`` (hours) prints the rates for each generator,
load and span, over all of them, and the worst. A trace is one month of a generator; its futures are that month and 40
of its days drawn anew. The truth is the mean over fresh months of the same generator. Decision 029 has the rates.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import Workload
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.statements import ADDED, Change, change_of, could_reach, value_of
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from dlsched.studies.simulation import read_policy
from dlsched.workload.generators.resample import resample_days

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], "Jobs"]
"""Jobs of so many days."""

GPUS, MEAN_RUN_H, FUTURES, DRAWN = 16, 6.0, 40, 20
WIDTHS, WIDTH_SHARES = np.array([1, 2]), np.array([0.7, 0.3])
GPU_H_A_JOB = MEAN_RUN_H * float(WIDTHS @ WIDTH_SHARES)
METRICS = ("wait_p95", "wait_mean", "late_share")
"""``late_share`` stands for money and shares: the jobs that wait over an hour."""
OPTIONS = (("fifo", 0), ("sjf", 0), ("fifo", 4), ("sjf", 4), ("fifo", 1))
"""Policy and GPUs more than the pool has."""
POLICIES = {policy: read_policy(policy) for policy, _ in OPTIONS}
CHANGES = {"+4 GPUs": (0, 2), "SJF": (0, 1), "both": (0, 3), "+4 GPUs in place of SJF": (1, 2), "+1 GPU": (0, 4)}


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: traces and fresh months of each cell."""

    traces: int
    months: int
    spans: tuple[int, ...] = (7, 14, 28)
    loads: tuple[float, ...] = (0.7, 0.9)


SIZES = {"tiny": Size(3, 6, (7,), (0.7,)), "small": Size(24, 120), "large": Size(160, 600)}


@dataclass(frozen=True, slots=True)
class Jobs:
    """Submission (seconds) and run time (hours) of jobs, shape (jobs,), in any order."""

    submit_s: Floats
    run_h: Floats


# ---- generators of known truth ---------------------------------------------------------------------------------


def poisson(load: float) -> Draw:
    """Poisson arrivals, log-normal run times with coefficient of variation 1.5."""

    def draw(rng: np.random.Generator, days: int) -> Jobs:
        many = rng.poisson(_jobs_a_day(load) * days)
        return Jobs(rng.uniform(0, days * DAY_S, many), _lognormal(rng, many, 1.5))

    return draw


def daily(load: float) -> Draw:
    """Busy afternoons, quiet nights and weekends; jobs come in batches of 3 on average that run about as long."""

    def draw(rng: np.random.Generator, days: int) -> Jobs:
        hours = np.arange(24 * days)
        weekday = (hours // 24 + rng.integers(7)) % 7  # a trace may begin on any day
        rate = (1 + 0.8 * np.sin(2 * np.pi * (hours % 24 - 8) / 24)) * np.where(weekday < 5, 1.2, 0.5)
        batches = rng.poisson(_jobs_a_day(load) / 24 / 3 * rate)
        sizes = rng.geometric(1 / 3, batches.sum())
        at = np.repeat((np.repeat(hours, batches) + rng.random(batches.sum())) * HOUR_S, sizes)
        run_h = np.repeat(_lognormal(rng, len(sizes), 1.0), sizes) * _lognormal(rng, len(at), 0.3) / MEAN_RUN_H
        return Jobs(at, run_h)

    return draw


def campaigns(load: float) -> Draw:
    """Users' campaigns of 25 jobs on average, spread over a day; run times with a Pareto tail (exponent 2)."""

    def draw(rng: np.random.Generator, days: int) -> Jobs:
        begin_s = rng.uniform(-DAY_S, days * DAY_S, rng.poisson(_jobs_a_day(load) / 25 * (days + 1)))
        sizes = rng.geometric(1 / 25, len(begin_s))
        at = np.repeat(begin_s, sizes) + rng.uniform(0, DAY_S, sizes.sum())
        run_h = np.minimum(rng.pareto(2.0, len(at)) + 1, 48) / 2 * MEAN_RUN_H
        inside = (at >= 0) & (at < days * DAY_S)
        return Jobs(at[inside], run_h[inside])

    return draw


GENERATORS: dict[str, Callable[[float], Draw]] = {"poisson": poisson, "daily": daily, "campaigns": campaigns}


def _jobs_a_day(load: float) -> float:
    return load * GPUS * 24 / GPU_H_A_JOB


def _lognormal(rng: np.random.Generator, many: int, variation: float) -> Floats:
    """Return run times in hours with mean MEAN_RUN_H."""
    log_variance = math.log(1 + variation**2)
    return MEAN_RUN_H * rng.lognormal(-log_variance / 2, math.sqrt(log_variance), many)


def month(rng: np.random.Generator, draw: Draw, days: int) -> Workload:
    """Return a month of jobs, sorted by submission."""
    jobs = draw(rng, days)
    order = np.argsort(jobs.submit_s)
    width = rng.choice(WIDTHS, len(order), p=WIDTH_SHARES)
    ids = np.arange(len(order)).astype(str).astype(object)
    work = jobs.run_h[order] * HOUR_S
    return Workload.from_columns({"job_id": ids, "submit_s": jobs.submit_s[order], "work": work, "workers": width})


# ---- numbers of months -----------------------------------------------------------------------------------------


def numbers(jobs: Workload) -> Floats:
    """Return the metrics of a month under every option, shape (options, metrics)."""
    found = []
    for policy, more in OPTIONS:
        pool = Pool(vm=VmType(name="node", gpus=1), count=GPUS + more)
        prepared = prepare(Scenario(jobs, Cluster(pools=(pool,))))
        log = run_policy(prepared, POLICIES[policy].build(jobs))
        waits = log.job_first_start_s - prepared.scenario.workload.submit_s
        found.append([np.percentile(waits, 95), waits.mean(), (waits > HOUR_S).mean()])
    return np.array(found)


@dataclass(frozen=True, slots=True)
class Trace:
    """Numbers of a recorded month and its futures, shape (futures, options, metrics), and of a month to come."""

    futures: Floats
    later: Floats


def traces(draw: Draw, days: int, size: Size, seed: int) -> Iterator[Trace]:
    """Yield traces of a generator with what is put together from their days."""
    for place in range(size.traces):
        rng = np.random.default_rng([seed, place])
        recorded = month(rng, draw, days)
        months = [recorded, *(resample_days(recorded, future) for future in range(1, FUTURES + 1))]
        yield Trace(np.array([numbers(jobs) for jobs in months]), numbers(month(rng, draw, days)))


# ---- rates -----------------------------------------------------------------------------------------------------


def effects(kpi_key: str, ours: Floats, theirs: Floats) -> Floats:
    """Return the change as the statements tell it: log ratios of waits, differences of shares."""
    added = ADDED.get(KPIS[kpi_key].kind)
    return ours - theirs if added is None else np.log((ours + added) / (theirs + added))


def true_effects(fresh: Floats) -> dict[tuple[str, str], float]:
    """Return the mean effect of each change on each metric over fresh months, shape (months, options, metrics)."""
    return {
        (name, key): float(effects(key, fresh[:, new, place], fresh[:, old, place]).mean())
        for name, (old, new) in CHANGES.items()
        for place, key in enumerate(METRICS)
    }


def truth_of(kpi_key: str, change: Change, truth: float, later: float) -> Iterator[tuple[str, bool]]:
    """Yield each statement made and whether it is true: of the long run (``truth``) and of a month to come."""
    if change.effect is not None:
        yield "effect holds", _holds(kpi_key, change.effect.low, change.effect.high, truth)
    if change.next_month is not None:
        yield "next month holds", _holds(kpi_key, change.next_month.low, change.next_month.high, later)
    yield "declared", change.verdict in ("better", "worse")
    yield "likely", change.verdict in ("likely better", "likely worse")
    yield "mixed", change.verdict == "mixed"
    side = {"better": -1.0, "likely better": -1.0, "worse": 1.0, "likely worse": 1.0}.get(change.verdict)
    if side is not None:
        kind = change.verdict.split(" ")[0] if change.verdict.startswith("likely") else "declared"
        yield f"{kind} but wrong", side * truth < 0
        if later:
            yield f"{kind} and next month agrees", side * later > 0
    yield "declared and wrong, of all", change.verdict in ("better", "worse") and side is not None and side * truth < 0


def _holds(kpi_key: str, low: float, high: float, truth: float) -> bool:
    if KPIS[kpi_key].kind in ADDED:
        low, high = math.log(low), math.log(high)
    return low - 1e-12 <= truth <= high + 1e-12


def rates(found: Sequence[tuple[str, bool]]) -> dict[str, tuple[float, int]]:
    """Return the share of each statement that is true, and how many were made."""
    made, held = Counter(name for name, _ in found), Counter(name for name, is_true in found if is_true)
    return {name: (held[name] / many, many) for name, many in made.items()}


Said = list[tuple[str, str, str, bool]]
"""(Change or option, metric, statement, is it true)."""


def cell(generator: str, load: float, days: int, size: Size, seed: int = 0) -> Said:
    """Return what was said of one generator, load and span."""
    draw = GENERATORS[generator](load)
    rng = np.random.default_rng([seed, 10**6])
    fresh = np.array([numbers(month(rng, draw, days)) for _ in range(size.months)])
    return [*said_of_traces(traces(draw, days, size, seed), days, true_effects(fresh)), *said_of_draws(fresh)]


def said_of_traces(given: Iterator[Trace], days: int, true: Mapping[tuple[str, str], float]) -> Said:
    """Return what is said of recorded months; ``true`` are the effects by change and metric."""
    basis = Basis(kind="recorded", futures=FUTURES, days=days)
    said: Said = []
    for trace in given:
        for place, key in enumerate(METRICS):
            kpi = KPIS[key]
            for option, (policy, more) in enumerate(OPTIONS[:3]):
                name, values, later = f"{policy} +{more}", trace.futures[:, option, place], trace.later[option, place]
                reach, value = could_reach(kpi, values, basis), value_of(kpi, values, basis)
                said.append((name, key, "could reach is exceeded", reach is not None and later > reach))
                low, high = value.low or 0.0, value.high or 0.0
                said.append((name, key, "range holds next month", low <= later <= high))
            for name, (old, new) in CHANGES.items():
                change = change_of(kpi, trace.futures[:, new, place], trace.futures[:, old, place], basis)
                later = float(effects(key, trace.later[new, place], trace.later[old, place]))
                said += [(name, key, *each) for each in truth_of(key, change, true[name, key], later)]
    return said


def said_of_draws(fresh: Floats) -> Said:
    """Return what is said of each 20 fresh months, (months, options, metrics); the others are the truth."""
    basis = Basis(kind="drawn", futures=DRAWN - 1)
    said: Said = []
    for start in range(0, len(fresh) - DRAWN + 1, DRAWN):
        part, rest = fresh[start : start + DRAWN], np.delete(fresh, slice(start, start + DRAWN), axis=0)
        if not len(rest):
            continue
        true = true_effects(rest)
        for place, key in enumerate(METRICS):
            value = value_of(KPIS[key], part[:, 0, place], basis)
            mean = rest[:, 0, place].mean()
            said.append(("fifo +0", key, "drawn: value holds", (value.low or 0.0) <= mean <= (value.high or 0.0)))
            for name, (old, new) in CHANGES.items():
                change = change_of(KPIS[key], part[:, new, place], part[:, old, place], basis)
                told = truth_of(key, change, true[name, key], 0.0)
                said += [(name, key, f"drawn: {what}", is_true) for what, is_true in told]
    return said


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the arguments name the size and, to measure one alone, the load."""
    size = SIZES[arguments[0] if arguments else "small"]
    if len(arguments) > 1:
        size = replace(size, loads=(float(arguments[1]),))
    said: list[tuple[str, float, int, str, str, str, bool]] = []
    print("generator  load days  statement: share true (number made)")
    for generator in GENERATORS:
        for load in size.loads:
            for days in size.spans:
                found = cell(generator, load, days, size)
                said += [(generator, load, days, *each) for each in found]
                _show(f"{generator:<10} {load:<4} {days:<4}", [(what, true) for _, _, what, true in found])
    for days in size.spans:
        _show(f"all, {days} days", [(what, true) for _, _, of, _, _, what, true in said if of == days])
    for load in size.loads:
        _show(f"all, load {load}", [(what, true) for _, of, _, _, _, what, true in said if of == load])
    for key in METRICS:
        _show(f"all, {key}", [(what, true) for *_, metric, what, true in said if metric == key])
    worst: dict[str, dict[tuple[object, ...], list[bool]]] = {}
    for *where, what, true in said:
        worst.setdefault(what, {}).setdefault(tuple(where), []).append(true)
    for what, cells in worst.items():
        shares = {where: float(np.mean(each)) for where, each in cells.items() if len(each) >= 10}
        if shares:
            low, high = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
            print(f"{what}: least {shares[low]:.2f} at {low}, most {shares[high]:.2f} at {high}")
    return 0


def _show(title: str, found: Sequence[tuple[str, bool]]) -> None:
    words = "; ".join(f"{what} {share:.3f} ({many})" for what, (share, many) in rates(found).items())
    print(f"{title} {words}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
