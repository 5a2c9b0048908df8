"""A sweep: every policy at every point, as variants; and the answer made of their results."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.batches import usual_seconds
from dlsched.studies.design import RunResult, factor_of, plan_of
from dlsched.studies.design.run import VariantPlan, run_plan
from dlsched.studies.design.variants import Value
from dlsched.studies.estimate import LIST_RUN_S
from dlsched.studies.simulation import Progress
from dlsched.studies.study import require_scenario
from dlsched.studies.sweep.answer import Axis, Cell, Sweep
from dlsched.studies.sweep.spec import AxisSpec, SweepSpec, policy_of, read_values
from dlsched.studies.sweep.words import question_words


@dataclass(frozen=True, eq=False)
class Swept:
    """An answer, and of its different runs how many were ``computed`` and how many came from the store."""

    answer: Sweep
    computed: int
    stored: int


def run_sweep(
    spec: SweepSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Return the answer of a sweep; parameters and errors as :func:`studies.design.run_variants`.

    Raises
    ------
    InputError
        Also for another scenario than the question names.
    """
    plan = planned(spec, scenario)
    batch = run_plan(plan, executor, store, progress)
    return Swept(answer_of(spec, scenario, batch.results, exact=plan.exact), batch.computed, batch.stored)


def check(spec: SweepSpec, scenario: Scenario) -> bool:
    """Raise InputError when the sweep cannot be run, before anything is computed; return whether nothing is random."""
    check_question(spec, scenario)
    return planned(spec, scenario).exact


def planned(spec: SweepSpec, scenario: Scenario) -> VariantPlan:
    """Return what has to be run; InputError as :func:`check`."""
    check_question(spec, scenario)
    return plan_of(scenario, spec.variants, spec.futures, spec.references)


def check_question(spec: SweepSpec, scenario: Scenario) -> None:
    """Raise InputError where the question is about another scenario, or about a parameter of no policy asked."""
    require_scenario("sweep", spec.scenario, scenario)
    for axis in spec.axes:
        if axis.policy and axis.policy not in spec.policies:
            why = f"is of a policy that is not swept, {axis.policy}"
            raise InputError(f"parameter {axis.key}", why, "Add it to the policies")


def read_axis(scenario: Scenario, key: str, text: str) -> list[Value]:
    """Return the typed values of an axis; those with a sign are added to what the scenario has, where that is meant.

    Raises
    ------
    InputError
        For a range that is none, and for an unknown key.
    """
    values = read_values(key, text)
    factor = None if policy_of(key) else factor_of(scenario, key)
    return values if factor is None or factor.base is None else [factor.read(value) for value in values]


def answer_of(
    spec: SweepSpec, scenario: Scenario, results: Sequence[Sequence[RunResult | None]], *, exact: bool = False
) -> Sweep:
    """Return the answer made of the results of ``spec.variants``, in their order, by seed; None = not run yet."""
    places = [(point, policy) for point in range(len(spec.points)) for policy in spec.policies]
    return Sweep(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        mode=spec.mode,
        axes=tuple(_axis(scenario, axis) for axis in spec.axes),
        points=spec.points,
        policies=spec.policies,
        labels={key: registry.find(key).label for key in spec.policies},
        reference=spec.reference,
        futures=spec.futures,
        metrics=spec.metrics,
        cells=tuple(
            _cell(spec, *place, seed, result)
            for place, by_seed in zip(places, results, strict=True)
            for seed, result in zip(spec.futures.seeds, by_seed, strict=True)
        ),
        exact=exact,
        days=scenario.workload.days if "days" in spec.futures.vary else 0,
    )


def question_of(spec: SweepSpec, scenario: Scenario) -> str:
    """Return what is asked in one line, see :func:`studies.sweep.words.question_words`."""
    labels = [registry.find(key).label for key in spec.policies]
    return question_words(spec.mode, [_axis(scenario, axis) for axis in spec.axes], labels)


def _axis(scenario: Scenario, axis: AxisSpec) -> Axis:
    if axis.policy:
        return Axis(key=axis.key, label=axis.key, unit="", values=axis.values)
    factor = factor_of(scenario, axis.key)
    present = factor.own(scenario)
    return Axis(key=axis.key, label=factor.label, unit=factor.unit, values=axis.values, present=present)


def _cell(spec: SweepSpec, point: int, policy: str, seed: int, result: RunResult | None) -> Cell:
    if result is None:
        return Cell(point=point, policy=policy, seed=seed, values=dict.fromkeys(spec.metrics), missing=True)
    metrics = result.metrics or {}
    values = {key: None if (value := metrics.get(key)) is None else float(value) for key in spec.metrics}
    jobs = {key: metrics.get(key) for key in ("completed", "rejected", "unfinished")}
    return Cell(point=point, policy=policy, seed=seed, values=values, audit=result.audit, error=result.error, **jobs)


def estimate_s(spec: SweepSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds a sweep takes, by the runs there are at most."""
    if scenario is None:
        return LIST_RUN_S * spec.runs
    return sum(spec.runs / len(spec.policies) * usual_seconds(scenario, policy)[0] for policy in spec.policies)
