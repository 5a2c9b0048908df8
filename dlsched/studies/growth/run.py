"""Every month as a variant: more jobs, other nodes, the same draws."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.design import Futures, RunResult, Variant, check_variant, run_variants
from dlsched.studies.design.factors import factor_of
from dlsched.studies.design.run import is_exact
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.growth.answer import Growth, Month
from dlsched.studies.growth.spec import GrowthSpec
from dlsched.studies.simulation import Progress
from dlsched.studies.sizing.answer import Counts
from dlsched.studies.sizing.rule import Replicate, Rule, require_numbers
from dlsched.studies.sizing.sizes import ALL, Sizes, default_types, sizes_of
from dlsched.studies.sizing.spec import TypeRange
from dlsched.studies.sizing.trials import draw_of
from dlsched.studies.study import require_scenario


def run_growth(
    spec: GrowthSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Growth:
    """Return the answer; parameters and errors as :func:`studies.design.run_variants`.

    A month whose cluster cannot be made, such as one with fewer than no nodes or one too small for a job, has its
    error and fails.

    Raises
    ------
    InputError
        Also for another scenario than the question names, a step of a VM type the scenario has not, or a target that
        has no number on today's cluster.
    """
    sizes = check(spec, scenario)
    variants = {month: _variant(spec, sizes, month) for month in range(spec.months + 1)}
    errors = {month: _error(scenario, variant, spec.futures) for month, variant in variants.items()}
    good = [month for month, error in errors.items() if not error]
    exact = all(is_exact(scenario, variants[month], spec.futures) for month in good)  # which jobs are added is drawn
    whole = Rule(targets=spec.targets, claim=spec.claim, level=spec.level, exact=exact)
    futures = spec.futures.recorded if whole.exact else spec.futures
    seeds = futures.seeds
    batch = run_variants(scenario, [variants[month] for month in good], futures, executor, store, progress)
    results = dict(zip(good, batch.results, strict=True))
    needed = {seed: _done(result) for seed, result in zip(seeds, results[0], strict=True)}
    months = tuple(
        _month(spec, sizes, month, seeds, results.get(month, []), needed, errors[month]) for month in variants
    )
    require_numbers(spec.targets, months[0].draws)
    return Growth(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        policy=spec.policy,
        label=registry.find(spec.policy).label,
        params=spec.params,
        futures=futures,
        rule=whole,
        types=sizes.types,
        percent=spec.percent,
        lead_months=spec.lead_months,
        begin=spec.begin,
        steps=spec.steps,
        months=months,
    )


def check(spec: GrowthSpec, scenario: Scenario) -> Sizes:
    """Return the VM types whose numbers may change; InputError when the question cannot be answered."""
    require_scenario("growth", spec.scenario, scenario)
    keys = list(dict.fromkeys(step.key for step in spec.steps))
    if ALL in keys and len(keys) > 1:
        raise InputError("growth, steps", "name the whole cluster and single VM types", "Name one or the other")
    sizes = sizes_of(scenario, tuple(_kept(scenario, key) for key in keys) or default_types(scenario))
    check_variant(scenario, _variant(spec, sizes, 0), spec.futures)
    return sizes


def estimate_s(spec: GrowthSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    return spec.runs * (LIST_RUN_S if scenario is None else estimate_run(scenario, spec.policy).seconds)


def _kept(scenario: Scenario, key: str) -> TypeRange:
    own = factor_of(scenario, key).own(scenario)
    return TypeRange(key=key, least=0, most=max(1, int(own or 0)))


def counts_in(spec: GrowthSpec, sizes: Sizes, month: int) -> Counts:
    """Return the nodes of each VM type in a month: today's and what came or went until then."""
    return tuple(
        vm.today + sum(step.nodes for step in spec.steps if step.key == vm.key and step.month <= month)
        for vm in sizes.types
    )


def _variant(spec: GrowthSpec, sizes: Sizes, month: int) -> Variant:
    counts = counts_in(spec, sizes, month)
    moved = sizes.changes(counts) if spec.steps else {}
    # Twelve figures, so that the factor is the same in tables, hashes and links.
    changes = moved | {"demand": float(f"{spec.load_in(month):.12g}")}
    return Variant(policy=spec.policy, changes=changes, params=spec.params)


def _error(scenario: Scenario, variant: Variant, draws: Futures) -> str:
    try:
        check_variant(scenario, variant, draws)
    except InputError as error:
        return error.clause
    return ""


def _done(result: RunResult) -> float:
    """Return the share of the jobs that today's month ends."""
    draw = draw_of(result, 0, [])
    return draw.done / draw.jobs if draw.jobs else 0.0


def _month(
    spec: GrowthSpec,
    sizes: Sizes,
    month: int,
    seeds: tuple[int, ...],
    results: list[RunResult],
    needed: Mapping[int, float],
    error: str,
) -> Month:
    counts = counts_in(spec, sizes, month)
    draws = tuple(_draw(result, seed, spec, needed[seed]) for seed, result in zip(seeds, results, strict=bool(results)))
    return Month(
        month=month,
        load=spec.load_in(month),
        counts=counts,
        usd_month=None if min(counts) < 0 else sizes.usd_month(counts),
        draws=draws,
        error=error,
    )


def _draw(result: RunResult, seed: int, spec: GrowthSpec, share: float) -> Replicate:
    """Return a draw of which as large a share of the jobs has to be done as today's cluster does of it."""
    found = draw_of(result, seed, [target.metric for target in spec.targets])
    return found.model_copy(update={"needed": round(share * found.jobs)})
