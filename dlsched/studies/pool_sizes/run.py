"""All runs of a sweep: at every size, variant and draw each policy on the same jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats
from dlsched.policies import registry
from dlsched.sim.prepare import prepare
from dlsched.studies.inspect.look_ahead.answer import unit_of
from dlsched.studies.pool_sizes.answer import Cell, Draw, PoolSizes, decisions_of_draws
from dlsched.studies.pool_sizes.outcome import draw_of, solved
from dlsched.studies.pool_sizes.sizing import is_exact, pool_of, scenario_at
from dlsched.studies.pool_sizes.spec import PoolSizesSpec
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, Run, resolve_policy, simulate
from dlsched.studies.study import require_scenario
from dlsched.wording.formats import amount

if TYPE_CHECKING:
    from dlsched.store import Store

_S_PER_JOB = {"modelarts-optimal": 0.05}
"""CPU seconds of a run for each job, about, on a pool that is neither empty nor full; a solver takes the most."""
_OTHERS_S_PER_JOB, _LEAST_S = 0.001, 0.5
USUAL_JOBS = 450
"""Jobs of a scenario that is not at hand."""


@dataclass(frozen=True, eq=False)
class Round:
    """All policies on one draw: the scenario at a size with a variant, and the seed of the draw."""

    scenario: Scenario
    nodes: int
    variant: str
    seed: int
    policies: tuple[str, ...]
    reference: str


@dataclass(frozen=True, eq=False)
class Played:
    """What a round says of a policy; ``cpu_s`` of decisions a solver answered, ``unproven`` how many have no proof."""

    draw: Draw
    cpu_s: Floats
    unproven: int


def run_pool_sizes(
    spec: PoolSizesSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> PoolSizes:
    """Return the answer of a sweep.

    Parameters
    ----------
    executor
        Where to compute, a task for each size, variant and draw; None = here, one after the other.
    store
        Not used: single runs are not kept.
    progress
        Told the share done; what it raises stops the sweep and comes through.

    Raises
    ------
    InputError
        Another scenario than the question names, a cluster that has no one size, a policy that cannot run the jobs, or
        jobs too large for the smallest size.
    """
    check(spec, scenario)
    rounds = list(_rounds(spec, scenario))
    played = run_all(rounds, play, executor, progress, noun="draw")
    by_cell: dict[tuple[int, str, str], list[Played]] = {}
    for one, found in zip(rounds, played, strict=True):
        for policy, part in zip(one.policies, found, strict=True):
            by_cell.setdefault((one.nodes, one.variant, policy), []).append(part)
    cells = product(spec.nodes, spec.variants, spec.policies)
    return PoolSizes(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        nodes=spec.nodes,
        present=pool_of(scenario).count,
        variants=spec.variants,
        exact=tuple(variant for variant in spec.variants if is_exact(scenario, variant, spec.policies)),
        policies=spec.policies,
        reference=spec.reference,
        draws=spec.draws,
        unit=unit_of(scenario),
        labels={key: registry.find(key).label for key in spec.policies},
        cells=tuple(_cell(*key, by_cell[key]) for key in cells),
    )


def check(spec: PoolSizesSpec, scenario: Scenario) -> None:
    """Raise InputError when the sweep cannot be run, before anything is computed."""
    require_scenario("pool size", spec.scenario, scenario)
    for variant in spec.variants:
        smallest = scenario_at(scenario, spec.nodes[0], variant)
        for policy in spec.policies:
            resolve_policy(smallest, policy)
    try:
        prepare(scenario_at(scenario, spec.nodes[0]))
    except InputError as error:
        raise InputError(f"pool sizes, {amount(spec.nodes[0], 'node')}: {error.what}", error.why, error.do) from error


def num_rounds(spec: PoolSizesSpec, scenario: Scenario) -> int:
    """Return on how many draws, sizes and variants together each policy runs."""
    exact = sum(is_exact(scenario, variant, spec.policies) for variant in spec.variants)
    return len(spec.nodes) * (exact + (len(spec.variants) - exact) * spec.draws)


def guess_s(policies: Sequence[str], jobs: int, rounds: int) -> float:
    """Return about how many CPU seconds so many rounds take; a solver's share depends much on how full the pool is."""
    each = [max(_LEAST_S, jobs * _S_PER_JOB.get(policy, _OTHERS_S_PER_JOB)) for policy in policies]
    return sum(each) * rounds


def estimate_s(spec: PoolSizesSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    if scenario is None:
        return guess_s(spec.policies, USUAL_JOBS, spec.runs // len(spec.policies))
    return guess_s(spec.policies, len(scenario.workload), num_rounds(spec, scenario))


def _rounds(spec: PoolSizesSpec, scenario: Scenario) -> Iterator[Round]:
    for nodes, variant in product(spec.nodes, spec.variants):
        changed = scenario_at(scenario, nodes, variant)
        draws = 1 if is_exact(scenario, variant, spec.policies) else spec.draws
        for seed in range(draws):
            yield Round(changed, nodes, variant, seed, spec.policies, spec.reference)


def play(one: Round, progress: Progress | None = None) -> list[Played]:
    """Run all policies of a round, the reference first, and return them in their order."""
    ordered = sorted(one.policies, key=lambda policy: policy != one.reference)

    def run(policy: str, inside: Progress | None = None) -> Run:
        return simulate(one.scenario, policy, seed=one.seed, progress=inside)

    def tell(share: float, _: str) -> None:
        if progress is not None:
            progress(share, f"{one.nodes:,} nodes, draw {one.seed + 1}")

    runs = dict(zip(ordered, run_all(ordered, run, None, tell), strict=True))
    found = []
    for policy in one.policies:
        cpu_s, unproven = solved(runs[policy])
        found.append(Played(draw_of(runs[policy], runs[one.reference]), cpu_s, unproven))
    return found


def _cell(nodes: int, variant: str, policy: str, played: Sequence[Played]) -> Cell:
    cpu_s = np.concatenate([one.cpu_s for one in played])
    proven = len(cpu_s) - sum(one.unproven for one in played)
    return Cell(
        nodes=nodes,
        variant=variant,
        policy=policy,
        draws=tuple(one.draw for one in played),
        decisions=decisions_of_draws(cpu_s, proven),
    )
