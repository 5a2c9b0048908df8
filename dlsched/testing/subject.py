"""A policy under test: runs in the engine, with what it sees and answers watched where a check asks for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.plan import Plan, WaitReason
from dlsched.domain.policy import Policy, PolicySpec, ReviewRule
from dlsched.domain.scenario import Scenario
from dlsched.domain.state import State
from dlsched.policies.registry import unmet_needs
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared, prepare
from dlsched.sim.simulate import run_policy
from dlsched.studies.simulation import ResolvedPolicy

INTERVAL = {"interval_s": 60.0}
"""A policy that decides by intervals does so every minute: often enough for these scenarios."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy with parameters that differ from their defaults."""

    spec: PolicySpec
    params: Mapping[str, Any] = field(default_factory=dict)

    def lacks(self, scenario: Scenario) -> str:
        """Return what the policy needs and the scenario does not have, or why else it refuses it; "" = it can run."""
        unmet = ", ".join(need.value for need in unmet_needs(self.spec, scenario))
        if unmet or self.spec.check is None:
            return unmet
        try:
            self.spec.check(scenario)
        except InputError as error:
            return error.clause
        return ""

    def build(self, prepared: Prepared) -> Policy:
        """Return the policy for one run, watched as in any other run where it is from outside."""
        often = {name: value for name, value in INTERVAL.items() if name in self.spec.params.model_fields}
        params = self.spec.parse(often | dict(self.params))
        return ResolvedPolicy(self.spec, params, {}).build(prepared.scenario.workload)

    def run(
        self, scenario: Scenario, seed: int = 0, around: Callable[[Policy], Policy] = lambda policy: policy
    ) -> tuple[Prepared, RunLog]:
        """Return a run in the engine, without compiled loops; ``around`` wraps the policy."""
        prepared = prepare(scenario, seed)
        return prepared, run_policy(prepared, around(self.build(prepared)), seed, use_kernel=False)


class Overseer:
    """Passes all questions on to a policy; afterwards ``found`` says what is wrong, "" = nothing."""

    kernel_rule = None

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.found = ""

    @property
    def review(self) -> ReviewRule:
        """When the policy is asked."""
        return self._policy.review

    def plan(self, state: State) -> Plan:
        """Return its plan."""
        return self._policy.plan(state)

    def close(self) -> None:
        """End what the policy has opened."""
        close = getattr(self._policy, "close", None)
        if close is not None:
            close()

    def _report(self, found: str) -> None:
        self.found = self.found or found


class StateGuard(Overseer):
    """Finds whether a policy changes the state that it is shown."""

    def plan(self, state: State) -> Plan:
        """Return the plan; what is different in the state afterwards is found."""
        before = _snapshot(state)
        plan = self._policy.plan(state)
        after = _snapshot(state)
        for name, values in before.items():
            if values.shape != after[name].shape or not _same(values, after[name]):
                self._report(f"at {state.now_s:g} s it changed {name} from {values.tolist()} to {after[name].tolist()}")
        return plan


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def _snapshot(state: State) -> dict[str, NDArray[Any]]:
    nodes, jobs = state.nodes, state.jobs
    names = ("vm", "up", "capacity", "free", "speed", "partition", "gpu_type", "features")
    return (
        {f"state.nodes.{name}": np.array(getattr(nodes, name)) for name in names}
        | {f"state.jobs.{name}": np.array(values) for name, values in jobs.columns().items()}
        | {f"state.{name}": np.array(getattr(state, name)) for name in ("active", "waiting", "running", "now_s")}
    )


class ReasonReader(Overseer):
    """Finds reasons of waits that cannot be right."""

    def plan(self, state: State) -> Plan:
        """Return the plan; its reasons are read."""
        plan = self._policy.plan(state)
        if plan.reasons is not None:
            rows, codes = (np.asarray(part, dtype=np.int64) for part in plan.reasons)
            self._read(state, plan, rows, codes)
        return plan

    def _read(self, state: State, plan: Plan, rows: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        when = f"at {state.now_s:g} s"
        unknown = set(codes.tolist()) - {int(reason) for reason in WaitReason}
        strange = set(rows.tolist()) - set(state.active.tolist())
        if unknown:
            self._report(f"{when} it gave the reason {min(unknown)}, which is no WaitReason")
        elif strange:
            self._report(f"{when} it gave a reason for row {min(strange)}, which is not submitted or has ended")
        elif len(set(rows.tolist())) < len(rows):
            self._report(f"{when} it gave two reasons for one job")
        elif self._all_is_free(state, plan):
            placer, widths = state.placer(), state.requested(rows)
            for row, workers, code in zip(rows.tolist(), widths.tolist(), codes.tolist(), strict=True):
                if code in (WaitReason.NO_ROOM, WaitReason.SPLIT) and placer.fits(row, workers):
                    job = state.jobs.job_id[row]
                    self._report(f"{when} job {job!r} waits for room, it says, while the whole cluster is idle")

    @staticmethod
    def _all_is_free(state: State, plan: Plan) -> bool:
        """Whether no job holds or starts anything, and no node is down or booked."""
        quiet = not len(state.running) and not any(plan.allocations.values()) and bool(state.nodes.up.all())
        return quiet and not any(state.reserved(row) for row in state.active.tolist())
