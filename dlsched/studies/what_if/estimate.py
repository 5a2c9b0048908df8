"""How long a what-if will take, roughly, before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dlsched.domain.policy import ListRule, SlurmRule
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import realise
from dlsched.sim import kernels
from dlsched.sim.prepare import Prepared
from dlsched.studies.design import ResolvedVariant
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.what_if.spec import WhatIfPlan, WhatIfSpec, planned

if TYPE_CHECKING:
    from dlsched.store import Store

RUN_S = 0.006
JOB_S, PREEMPTED_JOB_S, SLURM_JOB_S = 6e-6, 1e-5, 1.2e-4
"""CPU seconds of a run and of each of its jobs in a compiled loop, about, with metrics and audit: where no job is
stopped, where jobs are, and in passes as Slurm's."""
TURN_S = 8e-6
"""The same for each turn of a policy that decides again at intervals, over the time in which jobs arrive."""
ENGINE_JOB_S, ENGINE_PREEMPTED_JOB_S = 2.5e-4, 5e-4
"""CPU seconds of a job of a list policy in the general engine."""


def estimate_s(spec: WhatIfSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds a question takes."""
    return LIST_RUN_S * 2 * len(spec.futures.seeds) if scenario is None else guess_s(spec, scenario)


def guess_s(
    spec: WhatIfSpec,
    scenario: Scenario,
    store: Store | None = None,
    run_cpu_s: float | None = None,
    workers: int = 1,
) -> float:
    """Return about how many seconds a question takes on so many workers; on one these are CPU seconds.

    ``run_cpu_s``: CPU seconds of a run where one like it was answered already.
    """
    return plan_s(planned(spec, scenario), store, run_cpu_s, workers)


def plan_s(plan: WhatIfPlan, store: Store | None = None, run_cpu_s: float | None = None, workers: int = 1) -> float:
    """Return about how many seconds a question takes, as :func:`guess_s`."""
    draws = 1 if plan.basis.is_exact else len(plan.spec.futures.seeds)
    sides = plan.sides
    future_s = sum(run_s(side, store) for side in sides) if run_cpu_s is None else len(sides) * run_cpu_s
    return max(future_s, draws * future_s / workers)  # one worker runs both sides of the recorded month


def run_s(side: ResolvedVariant, store: Store | None = None) -> float:
    """Return about how many CPU seconds one run of a side takes: by earlier runs where its loop is not known."""
    made, spec = side.first, side.policy.spec
    if spec.clairvoyant:
        return estimate_run(made, spec.key, store).seconds
    built = side.policy.build(made.workload)
    rule, jobs = built.kernel_rule, len(made.workload)
    compiled = rule is not None and kernels.eligible(Prepared(made, realise(made)), built)
    if isinstance(rule, SlurmRule) and compiled:
        return RUN_S + jobs * SLURM_JOB_S
    if not isinstance(rule, ListRule):
        return estimate_run(made, spec.key, store).seconds
    if not compiled:
        return RUN_S + jobs * (ENGINE_PREEMPTED_JOB_S if rule.preemptive else ENGINE_JOB_S)
    turns = 0.0 if rule.quantum_s is None else float(np.ptp(made.workload.submit_s)) / rule.quantum_s
    return RUN_S + jobs * (PREEMPTED_JOB_S if rule.preemptive else JOB_S) + turns * TURN_S
