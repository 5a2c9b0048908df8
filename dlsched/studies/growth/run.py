"""Every month as a size at a load, in the same futures as a search for a size; then the nodes that would hold."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.design import Variant, check_variant
from dlsched.studies.design.factors import factor_of
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.growth.answer import Growth, Month, Order
from dlsched.studies.growth.spec import MOST_RUNS, GrowthSpec
from dlsched.studies.simulation import Progress
from dlsched.studies.sizing.answer import Counts
from dlsched.studies.sizing.conditions import condition_at
from dlsched.studies.sizing.rule import require_numbers
from dlsched.studies.sizing.search import OutOfRuns, cheapest
from dlsched.studies.sizing.sizes import ALL, Sizes, default_types, most_nodes, sizes_under
from dlsched.studies.sizing.spec import SizeSpec, TypeRange
from dlsched.studies.sizing.trials import Means, SizeTrials
from dlsched.studies.study import require_scenario

ORDER_RUNS = 6
"""About so many times the futures of a month are run to find what to order."""


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
    trials = SizeTrials(_as_sizing(spec), scenario, sizes, Means(executor, store, progress), usual_runs(spec))
    trials.use_reserve()
    trials.complete(sizes.today)
    require_numbers(spec.targets, trials.size(sizes.today).draws)
    growth = Growth(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        policy=spec.policy,
        label=registry.find(spec.policy).label,
        params=spec.params,
        futures=spec.futures.recorded if trials.rule_at(spec.load_in(spec.months)).exact else spec.futures,
        condition=spec.condition,
        rule=trials.rule_at(spec.load_in(spec.months)),
        types=sizes.types,
        rented_nodes=sizes.rented_nodes,
        percent=spec.percent,
        lead_months=spec.lead_months,
        begin=spec.begin,
        steps=spec.steps,
        months=tuple(_month(spec, trials, month) for month in range(spec.months + 1)),
    )
    bad = [one for one in growth.months if growth.check(one.month).verdict != "meets"]
    orders = dict.fromkeys((bad[0].month, bad[-1].month)) if bad else {}
    return growth.model_copy(update={"orders": tuple(_order(trials, growth.months[month]) for month in orders)})


def check(spec: GrowthSpec, scenario: Scenario) -> Sizes:
    """Return the VM types whose numbers may change; InputError when the question cannot be answered."""
    require_scenario("growth", spec.scenario, scenario)
    keys = list(dict.fromkeys(step.key for step in spec.steps))
    if ALL in keys and len(keys) > 1:
        raise InputError("growth, steps", "name the whole cluster and single VM types", "Name one or the other")
    types = tuple(_kept(scenario, key) for key in keys) or default_types(scenario)
    sizes = sizes_under(spec.condition, scenario, types)
    changes = condition_at(spec.condition, spec.load_in(spec.months))
    check_variant(scenario, Variant(policy=spec.policy, changes=changes, params=spec.params), spec.futures)
    return sizes


def estimate_s(spec: GrowthSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    return usual_runs(spec) * (LIST_RUN_S if scenario is None else estimate_run(scenario, spec.policy).seconds)


def usual_runs(spec: GrowthSpec) -> int:
    """Return about how many runs the answer takes."""
    return spec.runs + 2 * ORDER_RUNS * len(spec.futures.seeds)


def _as_sizing(spec: GrowthSpec) -> SizeSpec:
    """Return the search for a size that asks the same of a cluster."""
    return SizeSpec(
        scenario=spec.scenario,
        targets=spec.targets,
        policy=spec.policy,
        params=spec.params,
        claim=spec.claim,
        level=spec.level,
        condition=spec.condition,
        futures=spec.futures,
        most_runs=3 * MOST_RUNS,
    )


def _kept(scenario: Scenario, key: str) -> TypeRange:
    own = factor_of(scenario, key).own(scenario)
    return TypeRange(key=key, least=0, most=max(1, int(own or 0)))


def counts_in(spec: GrowthSpec, sizes: Sizes, month: int) -> Counts:
    """Return the nodes of each VM type in a month: today's and what came or went until then."""
    return tuple(
        vm.today + sum(step.nodes for step in spec.steps if step.key == vm.key and step.month <= month)
        for vm in sizes.types
    )


def _month(spec: GrowthSpec, trials: SizeTrials, month: int) -> Month:
    counts, load = counts_in(spec, trials.sizes, month), spec.load_in(month)
    trials.complete(counts, load)
    found = trials.loaded(counts, load)
    return Month(
        month=month,
        load=load,
        counts=counts,
        basis=found.basis,
        usd_month=None if min(counts) < 0 else trials.sizes.usd_month(counts),
        draws=found.draws,
        error=found.error,
    )


# ---- what to order -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _AtLoad:
    """Sizes with the jobs of one month; a ``search.Trials``."""

    trials: SizeTrials
    load: float

    def promises(self, counts: Counts, *, served: bool = False) -> bool:
        return self.trials.promises(counts, self.load, served=served)

    def meets(self, counts: Counts) -> bool:
        return self.trials.meets(counts, self.load)

    def cost(self, counts: Counts) -> float:
        return self.trials.cost(counts)

    def may_fall(self) -> bool:
        return self.trials.may_fall()

    def use_reserve(self) -> None:
        self.trials.use_reserve()


def _order(trials: SizeTrials, month: Month) -> Order:
    """Return the cheapest nodes, none fewer than planned, that hold in a month; they may replace all rented ones."""
    planned, rented = tuple(max(0, count) for count in month.counts), trials.sizes.rented_nodes
    ranges = [
        TypeRange(key=vm.key, least=count, most=max(count + 1, most_nodes(max(count, vm.today) + rented)))
        for vm, count in zip(trials.sizes.types, planned, strict=True)
    ]
    try:
        counts = cheapest(_AtLoad(trials, month.load), ranges, planned)
    except OutOfRuns:
        counts = None
    now, then = trials.sizes.usd_month(planned), None if counts is None else trials.sizes.usd_month(counts)
    return Order(
        month=month.month,
        load=month.load,
        planned=planned,
        counts=counts,
        usd_more=None if now is None or then is None else then - now,
        most=tuple(one.most for one in ranges),
    )
