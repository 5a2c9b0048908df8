"""From a scenario and a run's seed to what the simulator runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.plan import Share
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth, realise
from dlsched.domain.workload import CPU, Ints, Workload, gpu_type_names
from dlsched.placement import can_ever_fit, largest_width
from dlsched.speed.table import widest_timed


@dataclass(frozen=True, eq=False)
class Underway:
    """A run that is joined at ``at_s``: before then the policy is not asked, and waiting jobs wait.

    ``held``: row -> since when it runs, and on which shares. These rows must have been submitted by then, must not end
    before ``at_s``, and their shares must fit the nodes together.
    """

    at_s: float
    held: Mapping[int, tuple[float, tuple[Share, ...]]]


@dataclass(frozen=True, eq=False)
class Prepared:
    """The scenario that is run, the truth behind it, and how many oversize jobs were ``dropped`` and ``capped``.

    ``underway``: where the run is joined in the middle; None = from its first job.
    """

    scenario: Scenario
    truth: Truth
    oversize: Mapping[str, int] = field(default_factory=lambda: {"dropped": 0, "capped": 0})
    underway: Underway | None = None


def prepare(scenario: Scenario, run_seed: int = 0) -> Prepared:
    """Return the runnable form of a scenario at a run seed.

    A generated workload is drawn anew for a run seed other than 0. Jobs that can never fit are treated as
    ``options.oversize`` says: refused with InputError, dropped, or capped; dropped or capped are those too that ask
    for more than their user's limit. A capped job gets the largest width that fits and work x requested / capped
    width, so that its GPU-seconds stay the same; one that fits at no width is dropped.
    """
    scenario = _on_known_types(_redrawn(scenario, run_seed))
    jobs = scenario.workload
    if jobs.has_servers and scenario.cluster.free_slots:
        raise InputError(
            "cluster", "has rented machines, but jobs with parameter servers need owned nodes", "Choose owned nodes"
        )
    fits = can_ever_fit(jobs, scenario.cluster, scenario.options.placement)
    if scenario.options.oversize == "refuse" and not fits.all():
        raise _refusal(scenario, np.flatnonzero(~fits))
    if scenario.options.oversize != "refuse":
        fits &= ~asks_beyond_limit(jobs)
    widest = _widest_timed(scenario)
    fits &= widest >= jobs.workers
    if fits.all():
        return Prepared(scenario, _truth(scenario, run_seed))
    width = np.where(fits, jobs.workers, 0)
    if scenario.options.oversize == "cap":
        fitting = largest_width(jobs, scenario.cluster, scenario.options.placement)
        width = jobs.widest_within_limit(np.minimum(fitting, widest))
    kept = width > 0
    counts = {"dropped": int((~kept).sum()), "capped": int((kept & (width < jobs.workers)).sum())}
    scenario = scenario.replace(workload=_narrowed(jobs, width, law=scenario.speed.kind).select(kept))
    return Prepared(scenario, _truth(scenario, run_seed), counts)


def _widest_timed(scenario: Scenario) -> Ints:
    """Return the largest width up to the request for which the table has times, shape (jobs,); all without a table.

    Raises InputError for narrower ones when the option oversize is "refuse".
    """
    times, jobs = scenario.speed.times, scenario.workload
    if scenario.speed.kind != "table" or times is None:
        return jobs.workers
    widest = np.minimum(widest_timed(jobs, times), jobs.workers)
    lost = np.flatnonzero(widest < jobs.workers)
    if lost.size and scenario.options.oversize == "refuse":
        row = int(lost[0])
        most, wanted, workers = times.most_gpus, jobs.gpus[row], jobs.workers[row]
        raise InputError(
            f"{len(lost):,} job{'s' if len(lost) > 1 else ''} of {len(jobs):,}",
            f"cannot run: the table has run times on up to {most} GPU{'s' if most > 1 else ''}, and job "
            f"{jobs.job_id[row]!s:.60} needs {wanted:g} in {workers:,} worker{'s' if workers > 1 else ''}",
            "Add their run times to the table, or set the option oversize to drop (leave them out) or cap (reduce "
            "their GPU count)",
        )
    return widest


def refuse_beyond_limits(scenario: Scenario) -> None:
    """Raise InputError where jobs ask for more than their user's limit: for policies that give what is asked for."""
    jobs = scenario.workload
    rows = np.flatnonzero(asks_beyond_limit(jobs))
    if not rows.size:
        return
    row = int(rows[0])
    servers = int(jobs.servers_for(row, jobs.workers[row]))
    gang = f"{jobs.workers[row]} workers" + (f" and {servers} parameter servers" if servers else "")
    raise InputError(
        f"{len(rows)} job{'s' if len(rows) > 1 else ''} of {len(jobs)}",
        f"would exceed the user's limit for the whole job; the first is {jobs.job_id[row]!r} with {gang}",
        "Set the option oversize to drop (leave them out) or cap (reduce their workers), raise the limit, or choose a "
        "policy that picks workers and servers itself",
    )


def refuse_rented_nodes(scenario: Scenario, why: str) -> None:
    """Raise InputError, with this reason, where nodes on demand or spot nodes come and go."""
    pools = scenario.cluster.rented_pools
    if pools:
        pool = scenario.cluster.pools[pools[0]]
        do = "Make these nodes owned (leave out their terms), or use simulate and compare"
        raise InputError("cluster", f"rents nodes of {pool.vm.name} ({pool.kind}) as jobs need them; {why}", do)


def asks_beyond_limit(jobs: Workload) -> NDArray[np.bool_]:
    """Return which jobs hold more than their user's limit at their request, shape (jobs,)."""
    return np.asarray(jobs.widest_within_limit(jobs.workers) < jobs.workers)


def _truth(scenario: Scenario, run_seed: int) -> Truth:
    """Return the truth, with the seconds that jobs run where their work counts something else."""
    options = scenario.options
    counts_seconds = options.bug_share > 0 or options.cancel_share > 0 or scenario.workload.limit_s is not None
    if scenario.speed.kind != "parameter-server" or not counts_seconds:
        return realise(scenario, run_seed)
    from dlsched.workload.import_report import in_seconds

    return realise(scenario, run_seed, in_seconds(scenario).work)


def _redrawn(scenario: Scenario, run_seed: int) -> Scenario:
    if scenario.generator is None or run_seed == 0:
        return scenario
    from dlsched.workload.studies.registry import draw  # generators are not needed for traces

    return scenario.replace(workload=draw(dict(scenario.generator), scenario.seed + run_seed))


def _on_known_types(scenario: Scenario) -> Scenario:
    """Keep jobs off GPU types for which the time table has no times of their profile."""
    times, jobs = scenario.speed.times, scenario.workload
    if scenario.speed.kind != "table" or times is None or jobs.profile is None:
        return scenario
    at_hand = {vm.gpu_type for vm in scenario.cluster.vm_types}
    if all(at_hand <= set(by_type) for by_type in times.rows.values()):
        return scenario
    accepted = jobs.gpu_types if jobs.gpu_types is not None else [""] * len(jobs)
    known = [
        "|".join(name for name in times.rows.get(profile, {}) if not names or name in names) or "none"
        for profile, names in zip(jobs.profile, map(gpu_type_names, accepted), strict=True)
    ]
    return scenario.replace(workload=jobs.with_columns(gpu_types=known))


def _narrowed(jobs: Workload, width: Ints, *, law: str) -> Workload:
    """Return the jobs with these widths where they are above 0, at the same GPU-seconds.

    A table and the times of a training step say themselves how fast a narrower job is.
    """
    capped = np.where(width > 0, width, jobs.workers)
    factor = 1.0 if law in ("table", "parameter-server") else jobs.workers / capped
    changes: dict[str, Any] = {"workers": capped, "work": jobs.work * factor}
    if jobs.servers is not None:
        changes["servers"] = jobs.servers_for(np.arange(len(jobs)), capped)
    if jobs.min_workers is not None:
        changes["min_workers"] = np.minimum(jobs.min_workers, capped)
    return jobs.with_columns(**changes)


def _refusal(scenario: Scenario, rows: Ints) -> InputError:
    jobs, cluster = scenario.workload, scenario.cluster
    of_cores = not jobs.gpus[rows].any() and scenario.counted == CPU
    asked, word = (jobs.requested[:, CPU], "cores") if of_cores else (jobs.gpus, "GPUs")
    widest = rows[int(np.argmax(asked[rows]))]
    size = f"{cluster.num_nodes} {'slots' if cluster.free_slots else 'nodes'}"
    if of_cores and not cluster.free_slots:
        size += f" with {cluster.nodes.capacity[:, CPU].sum():,.0f} cores in total"
    elif cluster.num_gpus:
        size += f" with {cluster.num_gpus:,} GPUs in total"
    number = f"{len(rows)} job{'s' if len(rows) > 1 else ''}"
    return InputError(
        f"{number} of {len(jobs)}",
        f"can never fit the cluster ({size}); the largest is {jobs.job_id[widest]!r} with {asked[widest]:g} {word} "
        f"in {jobs.workers[widest]} workers",
        "Set the option oversize to drop (leave them out) or cap (reduce their "
        f"{'size' if of_cores else 'GPU count'}), or enlarge the cluster",
    )
