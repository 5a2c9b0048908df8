"""One run: the compiled kernel where it can stand in, else the engine."""

from __future__ import annotations

from dlsched.domain.policy import ListRule, Policy
from dlsched.sim.engine import run_engine
from dlsched.sim.log import RunLog
from dlsched.sim.meter import ProgressCall
from dlsched.sim.prepare import Prepared

FEW_EVENTS = 1_500
"""Up to so many jobs and absences, the engine ends a run before compiled code is loaded, which takes 0.4 CPU s."""


class Cancelled(Exception):
    """Raised by a progress callable to stop a run."""


def run_policy(
    prepared: Prepared,
    policy: Policy,
    run_seed: int = 0,
    progress: ProgressCall | None = None,
    *,
    use_kernel: bool = True,
) -> RunLog:
    """Return the log of a freshly built policy on a prepared scenario; the same with and without the kernel.

    Raises PlanError when the policy asks for something impossible, and lets what ``progress`` raises through. However a
    run ends, the policy is closed, if it has a method ``close``.
    """
    try:
        return _run(prepared, policy, run_seed, progress, use_kernel=use_kernel)
    finally:
        close = getattr(policy, "close", None)
        if close is not None:
            close()


def _run(
    prepared: Prepared, policy: Policy, run_seed: int, progress: ProgressCall | None, *, use_kernel: bool
) -> RunLog:
    rule = policy.kernel_rule
    if use_kernel and rule is not None:
        from dlsched.sim import kernels  # importing a compiler costs time, so only where a rule can use it

        if kernels.eligible(prepared, policy):
            return kernels.run_kernel(prepared, rule, progress)
    return run_engine(prepared, policy, run_seed, progress)


def soon_done(prepared: Prepared, policy: Policy) -> bool:
    """Whether the engine ends the run sooner than compiled code can be loaded: worth it where no other run follows."""
    rule, scenario = policy.kernel_rule, prepared.scenario
    simple = isinstance(rule, ListRule) and not rule.preemptive and rule.backfill != "conservative"
    return simple and len(scenario.workload) + len(scenario.cluster.absences) <= FEW_EVENTS
