"""Why no size tried meets the targets, as far as that can be said without trying more."""

from __future__ import annotations

import numpy as np

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.bounds.fluid import needs_of
from dlsched.metrics.run_facts import RunFacts
from dlsched.studies.design import changed
from dlsched.studies.simulation import simulate
from dlsched.studies.sizing.answer import Size, cost_of
from dlsched.studies.sizing.rule import Check, judge
from dlsched.studies.sizing.search import OutOfRuns
from dlsched.studies.sizing.sizes import Sizes
from dlsched.studies.sizing.spec import SizeSpec
from dlsched.studies.sizing.trials import SizeTrials
from dlsched.wording.formats import amount, money_per_month, share

DUE = ("late_share", "late_jobs", "tardiness_total", "tardiness_cost")


def reasons(spec: SizeSpec, scenario: Scenario, sizes: Sizes, trials: SizeTrials) -> tuple[str, ...]:
    """Return sentences without their full stop: what stands in the way, the most telling first."""
    rule = trials.rule_at(1.0)
    checked = [(size, judge(rule, size.draws, size.error)) for size in trials.all_sizes()]
    found = [*_cannot_run(sizes, checked)]
    met = {one.target.metric for _, check in checked for one in check.targets if one.verdict == "meets"}
    if any(target.metric in DUE and target.metric not in met for target in rule.targets):
        found += _due_too_soon(spec, scenario, sizes, trials)
    return (*found, *_too_dear(sizes, trials, checked))


def _cannot_run(sizes: Sizes, checked: list[tuple[Size, Check]]) -> list[str]:
    """Tell what keeps sizes from meeting anything, by the largest that has it: errors, jobs left undone."""
    troubled = [(size, check) for size, check in checked if check.why]
    if not troubled:
        return []
    size, check = troubled[-1]
    return [f"{sizes.words(size.counts)}: {check.why}"]


def _due_too_soon(spec: SizeSpec, scenario: Scenario, sizes: Sizes, trials: SizeTrials) -> list[str]:
    """Tell how many jobs are due sooner than they can run even alone on the largest size, in future 0."""
    largest = tuple(one.most for one in sizes.types)
    try:
        scenario = changed(scenario, sizes.changes(largest) | spec.condition)
        run = simulate(scenario, spec.policy, spec.params)
    except DlschedError:
        return []
    facts = RunFacts(run.prepared.scenario, run.truth, run.log)
    due_s = facts.jobs.due_s
    if due_s is None or not (judged := ~np.isnan(due_s)).any():
        return []
    soon = (needs_of(facts).alone_s > due_s - facts.jobs.submit_s)[judged]
    if not soon.any():
        return []
    return [
        f"{share(float(soon.mean()))} of the jobs with a due date ({int(soon.sum()):,} of {amount(soon.size, 'job')}) "
        "are due sooner than their own run time"
    ]


def _too_dear(sizes: Sizes, trials: SizeTrials, checked: list[tuple[Size, Check]]) -> list[str]:
    """Tell the cheapest size that meets all targets but those that rise with size."""
    rule = trials.rule_at(1.0)
    rising = [target for target in rule.targets if target.rises_with_size]
    if not rising or len(rising) == len(rule.targets):
        return []
    served = tuple(target for target in rule.targets if not target.rises_with_size)
    serving = rule.model_copy(update={"targets": served})
    promising = [size for size, _ in checked if judge(serving, size.draws, size.error).verdict == "meets"]
    for size in sorted(promising, key=lambda one: (trials.cost(one.counts), one.counts)):
        try:
            trials.complete(size.counts)
        except OutOfRuns:
            return []
        whole = trials.size(size.counts)
        if judge(serving, whole.draws).verdict == "meets":
            of = cost_of(whole, sizes.cost_by, rule)
            costs = "" if of is None else f" and costs {money_per_month(of.value)}"
            missed = ", ".join(target.words for target in rising)
            best = f"A cluster of {sizes.words(size.counts)} is the cheapest tried that meets the other targets{costs}"
            return [f"{best}: not {missed}"]
    return []
