"""Run a simulation again up to some of its intervals, and ask all rules with both admissions in each of them.

Earlier intervals are decided again and not taken from what is stored: with the choices by random rounding (Algorithm 2
of the study) every later one depends on the numbers drawn before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.domain.plan import Plan
from dlsched.domain.scenario import Scenario
from dlsched.domain.state import State
from dlsched.policies.smd.params import RivalParams, SmdParams
from dlsched.policies.smd.policy import IntervalPolicy, admission, esw, optimus_policy, smd
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from dlsched.studies.inspect.admissions.answer import Admission
from dlsched.studies.inspect.admissions.interval import Asker, Started, admission_of
from dlsched.studies.inspect.re_execute import EnoughDecisions
from dlsched.studies.simulation import resolve_policy

POLICIES = ("smd", "esw", "optimus")
ADMISSIONS = ("first-come", "knapsack")
Params = SmdParams | RivalParams


def at(scenario: Scenario, policy: str, params: Mapping[str, Any], seed: int, number: int) -> Admission:
    """Return one interval of a run, numbered from 1; as :func:`window`, and InputError when the run has fewer."""
    found = window(scenario, policy, params, seed, number, number)
    if not found:
        raise InputError("interval", f"the run has fewer than {number}", "Choose an earlier one")
    return found[0]


def window(
    scenario: Scenario,
    policy: str,
    params: Mapping[str, Any],
    seed: int,
    first: int,
    last: int,
    progress: Callable[[float, str], None] | None = None,
) -> list[Admission]:
    """Return the intervals ``first`` to ``last`` of a run in which jobs waited, as many as it has.

    Raises
    ------
    InputError
        If the policy is none of ``POLICIES`` or cannot run the scenario.
    """
    if policy not in POLICIES:
        raise InputError(f"policy {policy!r}", "does not admit jobs by intervals", f"Choose {', '.join(POLICIES)}")
    spec, values = resolve_policy(scenario, policy, params)
    parsed = spec.parse(values)
    assert isinstance(parsed, SmdParams | RivalParams)
    prepared = prepare(scenario, seed)
    watcher = _Watcher(policy, parsed, first, last, progress)
    with suppress(EnoughDecisions):
        run_engine(prepared, watcher, seed)
    return watcher.found


class _Watcher:
    """A policy that plans as the one it watches, and notes its intervals."""

    kernel_rule = None

    def __init__(
        self, policy: str, params: Params, first: int, last: int, progress: Callable[[float, str], None] | None
    ) -> None:
        self._asker = _asker(policy, params)
        self.review = self._asker.own.review
        self._first, self._last, self._progress = first, last, progress
        self._decided = 0
        self._running: dict[int, Started] = {}
        self.found: list[Admission] = []

    def plan(self, state: State) -> Plan:
        """Return the plan of the watched policy; raise EnoughDecisions after the last interval wanted."""
        if not len(state.waiting):
            return Plan()
        self._decided += 1
        if self._progress is not None:
            self._progress(min(1.0, self._decided / self._last), f"interval {self._decided:,} of {self._last:,}")
        decided = self._asker.own.decide(state)
        if self._first <= self._decided <= self._last:
            self.found.append(admission_of(self._decided, state, self._asker, decided, self._running))
        if self._decided >= self._last:
            raise EnoughDecisions
        self._running |= self._asker.started(state, decided)
        return self._asker.own.plan_of(state, decided)


def _asker(policy: str, params: Params) -> Asker:
    """Return the policy of the run, and the other rules with the run's interval and knapsack.

    Only SMD with random rounding draws, and then it is the run's own: the others leave its random numbers alone.
    """
    shared = params.model_dump(include={"interval_s", "keep_share", "knapsack", "size"})
    rivals = params if isinstance(params, RivalParams) else RivalParams(**shared)
    rules: dict[str, IntervalPolicy] = {
        "smd": smd(params if isinstance(params, SmdParams) else SmdParams(**shared)),
        "esw": esw(rivals),
        "optimus": optimus_policy(rivals),
    }
    first_come, by_worth = (rivals.model_copy(update={"admission": name}) for name in ADMISSIONS)
    admits = dict(zip(ADMISSIONS, (admission(first_come), admission(by_worth)), strict=True))
    return Asker(policy, params.admission, params.keep_share, rules, admits)
