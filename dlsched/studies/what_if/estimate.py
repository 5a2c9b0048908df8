"""How long a what-if will take, roughly, before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlsched.domain.policy import ListRule
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import realise
from dlsched.sim import kernels
from dlsched.sim.prepare import Prepared
from dlsched.studies.design import ResolvedVariant
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.what_if.spec import WhatIfPlan, WhatIfSpec, planned

if TYPE_CHECKING:
    from dlsched.store import Store

RUN_S = 0.01
JOB_S, PREEMPTED_JOB_S = 2e-5, 1.2e-4
"""CPU seconds of a run and of each of its jobs in the loop that is compiled for list policies, about."""
ENGINE_JOB_S = 2.5e-4
"""The same in the general engine, where a list policy does not stop jobs."""


def estimate_s(spec: WhatIfSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds a question takes."""
    return LIST_RUN_S * 2 * len(spec.futures.seeds) if scenario is None else guess_s(spec, scenario)


def guess_s(spec: WhatIfSpec, scenario: Scenario, store: Store | None = None, run_cpu_s: float | None = None) -> float:
    """Return CPU seconds of a question, rough; ``run_cpu_s`` of a run where one like it was answered already."""
    return plan_s(planned(spec, scenario), store, run_cpu_s)


def plan_s(plan: WhatIfPlan, store: Store | None = None, run_cpu_s: float | None = None) -> float:
    """Return CPU seconds of a question, as :func:`guess_s`."""
    draws = 1 if plan.basis.is_exact else len(plan.spec.futures.seeds)
    sides = plan.sides
    if run_cpu_s is not None:
        return len(sides) * draws * run_cpu_s
    return draws * sum(_run_s(side, store) for side in sides)


def _run_s(side: ResolvedVariant, store: Store | None) -> float:
    """Return seconds of one run: short where compiled code runs it, else by earlier runs or the number of jobs."""
    made = side.first
    if not side.policy.spec.clairvoyant:
        built = side.policy.build(made.workload)
        rule = built.kernel_rule
        if isinstance(rule, ListRule):
            compiled = kernels.eligible(Prepared(made, realise(made)), built)
            if compiled:
                return RUN_S + len(made.workload) * (PREEMPTED_JOB_S if rule.preemptive else JOB_S)
            if not rule.preemptive:
                return RUN_S + len(made.workload) * ENGINE_JOB_S
    return estimate_run(made, side.policy.spec.key, store).seconds
