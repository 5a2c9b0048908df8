"""From a scenario in which a check fails to a small one in which it still does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.wording.formats import amount

MOST_TRIES = 300
MOST_S = 20.0
"""No further try after so many, or after so many seconds."""
MOST_TOLD = 8


def smallest(fails: Callable[[Scenario], bool], scenario: Scenario) -> Scenario:
    """Return a smaller scenario for which ``fails`` is still true: fewer options, nodes and jobs.

    Greedy: a part stays away if it fails without it. A scenario that the policy cannot run counts as one that does not
    fail.
    """
    until_s = time.monotonic() + MOST_S
    tries = 0

    def still(candidate: Scenario) -> bool:
        nonlocal tries
        tries += 1
        if tries > MOST_TRIES or time.monotonic() > until_s:
            return False
        try:
            return fails(candidate)
        except InputError:
            return False

    scenario = _fewer_jobs(still, scenario)
    for simpler in _simplifications(scenario):
        candidate = simpler(scenario)
        if candidate is not None and still(candidate):
            scenario = candidate
    return _fewer_jobs(still, scenario)


def _fewer_jobs(still: Callable[[Scenario], bool], scenario: Scenario) -> Scenario:
    size = len(scenario.workload) // 2
    while size:
        first = 0
        while first < len(scenario.workload) and len(scenario.workload) > 1:
            rows = np.arange(len(scenario.workload))
            kept = rows[(rows < first) | (rows >= first + size)]
            candidate = scenario.replace(workload=scenario.workload.select(kept))
            if len(kept) and still(candidate):
                scenario = candidate
            else:
                first += size
        size //= 2
    return scenario


def _simplifications(scenario: Scenario) -> Iterator[Callable[[Scenario], Scenario | None]]:
    """Yield changes that make a scenario simpler; None = it is so already."""

    def with_options(**changes: object) -> Callable[[Scenario], Scenario]:
        return lambda given: given.replace(options=given.options.model_copy(update=changes))

    plain = SimulationRules()
    yield lambda given: given.replace(queues=None) if given.queues is not None else None
    yield lambda given: given.replace(speed=SpeedSpec()) if given.speed.kind == "scaling" else None
    yield (
        lambda given: (
            given.replace(cluster=given.cluster.model_copy(update={"absences": ()})) if given.cluster.absences else None
        )
    )
    for name, value in plain:
        if getattr(scenario.options, name) != value:
            yield with_options(**{name: value})
    for pool in scenario.cluster.pools:
        yield lambda given, pool=pool: _without(given, pool)  # type: ignore[misc]


def _without(given: Scenario, pool: object) -> Scenario | None:
    left = tuple(one for one in given.cluster.pools if one is not pool)
    if not left or given.cluster.absences:  # which count nodes over all pools
        return None
    return given.replace(cluster=given.cluster.model_copy(update={"pools": left}))


def described(scenario: Scenario) -> str:
    """Return jobs, nodes and options of a small scenario in lines."""
    jobs, cluster, plain = scenario.workload, scenario.cluster, SimulationRules()
    lines = [f"{amount(len(jobs), 'job')} on {amount(cluster.num_nodes, 'node')}"]
    for row in range(min(len(jobs), MOST_TOLD)):
        gpus = amount(float(jobs.gpus[row]), "GPU")
        lines.append(
            f"  job {jobs.job_id[row]}: submitted at {jobs.submit_s[row]:g} s, {jobs.work[row]:g} s of work, {gpus}"
        )
    if len(jobs) > MOST_TOLD:
        lines.append(f"  and {len(jobs) - MOST_TOLD:,} more")
    nodes = [
        f"{pool.count} x {pool.vm.gpus} GPUs" + (f" in {pool.partition}" if pool.partition else "")
        for pool in cluster.pools
    ]
    lines.append("  nodes: " + (", ".join(nodes) or f"up to {cluster.slots} rented machines"))
    for absence in cluster.absences:
        lines.append(f"  node {absence.node} is away from {absence.start_s:g} s to {absence.until_s:g} s")
    changed = [
        f"{name}={getattr(scenario.options, name)}" for name, value in plain if getattr(scenario.options, name) != value
    ]
    if changed:
        lines.append("  options: " + ", ".join(changed))
    return "\n".join(lines)
