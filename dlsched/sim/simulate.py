"""One run: the compiled kernel where it can stand in, else the engine."""

from __future__ import annotations

from dlsched.domain.policy import Policy
from dlsched.sim.engine import run_engine
from dlsched.sim.log import RunLog
from dlsched.sim.meter import ProgressCall
from dlsched.sim.prepare import Prepared


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

    Raises PlanError when the policy asks for something impossible, and lets what ``progress`` raises through.
    """
    rule = policy.kernel_rule
    if use_kernel and rule is not None:
        from dlsched.sim import kernels  # importing a compiler costs time, so only where a rule can use it

        if kernels.eligible(prepared, policy):
            return kernels.run_kernel(prepared, rule, progress)
    return run_engine(prepared, policy, run_seed, progress)
