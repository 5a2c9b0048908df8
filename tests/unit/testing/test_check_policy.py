"""Each check of the suite finds the mistake that it is made for; a sound policy passes all."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.domain.plan import Plan, Share, WaitReason, run_on
from dlsched.domain.policy import ListRule, Need, PolicySpec, ReviewRule
from dlsched.testing import CHECKS, Outcome, PolicyCheckFailed, check_policy, run_check
from dlsched.testing.cases import random_scenario
from dlsched.testing.scenarios import fixed_nodes, full_workload, scenario
from dlsched.testing.subject import Subject

BY_KEY = {check.key: check for check in CHECKS}


class Greedy:
    """Starts whatever fits, in order of submission."""

    review = ReviewRule()
    kernel_rule: ListRule | None = None

    def order(self, state: Any) -> list[int]:
        return state.waiting.tolist()

    def plan(self, state: Any) -> Plan:
        placer, starts = state.placer(), {}
        for row in self.order(state):
            if shares := placer.place(row, int(state.requested(np.array([row]))[0])):
                starts[row] = run_on(shares)
        return Plan(starts)


class PeeksAtLaterJobs(Greedy):
    """Holds jobs back while more than two are still to come."""

    def order(self, state):
        to_come = len(state._world.jobs) - len(state.jobs)
        return super().order(state)[: 1 if to_come > 2 else None]


class PeeksAtTrueWork(Greedy):
    """Shortest true run time first."""

    def order(self, state):
        truth = state._world.truth.work
        return sorted(super().order(state), key=lambda row: truth[row])


class Oversubscribes(Greedy):
    """Puts everything on node 0."""

    def plan(self, state):
        return Plan(
            {row: run_on((Share(0, int(state.requested(np.array([row]))[0])),)) for row in state.waiting.tolist()}
        )


class Unseeded(Greedy):
    """Draws with a generator of its own."""

    def order(self, state):
        return random.SystemRandom().sample(super().order(state), len(state.waiting))


class Starves(Greedy):
    """Never starts jobs of more than 4 workers."""

    def order(self, state):
        return [row for row in super().order(state) if state.jobs.workers[row] <= 4]


class Mutates(Greedy):
    """Sorts the state's own rows by work."""

    def plan(self, state):
        plan = super().plan(state)
        state.nodes.free = np.zeros_like(state.nodes.free)
        return plan


class Raises(Greedy):
    """Divides by the number of running jobs."""

    def plan(self, state):
        if not len(state.running):
            return super().plan(state)
        raise KeyError("no such queue")


class NeedsUsersSilently(Greedy):
    """Orders by user without saying that it needs users."""

    def order(self, state):
        return sorted(super().order(state), key=lambda row: state.jobs.user[row])


class GivesNonsense(Greedy):
    """Says of every job that it is split, also in an idle cluster."""

    def plan(self, state):
        rows = state.waiting
        return Plan(wake_at_s=state.now_s + 60, reasons=(rows, np.full(len(rows), int(WaitReason.SPLIT))))


class NamesEndedJobs(Greedy):
    """Gives a reason for row 0 for ever."""

    def plan(self, state):
        plan = super().plan(state)
        return replace(plan, reasons=(np.array([0]), np.array([int(WaitReason.HELD_BACK)])))


class ClaimsToBeFifo(Greedy):
    """Skips jobs that do not fit, but lets the compiled loop of FIFO stand in."""

    kernel_rule = ListRule("submit", blocking=True)


class LoseParams(FrozenModel):
    bad: float = 0.0


class UnitlessParams(FrozenModel):
    wait_s: float = Field(0.0, ge=0, description="How long.")


def outcome(policy: Any, check: str) -> Outcome:
    from dlsched.policies.registry import given

    return run_check(Subject(given(policy)), BY_KEY[check], (0, 1))


@pytest.mark.parametrize(
    ("policy", "check", "says"),
    [
        (PeeksAtLaterJobs, "no-look-ahead", "depends on jobs submitted from then on"),
        (PeeksAtTrueWork, "beliefs", "true run times"),
        (Oversubscribes, "ends", "would use"),
        (Unseeded, "same-seed", "two runs at one seed differ"),
        (Starves, "ends", "never end"),
        (Starves, "failures", "never end"),
        (Mutates, "state", "state.nodes.free"),
        (Raises, "ends", "KeyError"),
        (NeedsUsersSilently, "bare", "TypeError"),
        (GivesNonsense, "reasons", "idle"),
        (NamesEndedJobs, "reasons", "not submitted or has ended"),
        (ClaimsToBeFifo, "compiled", "compiled loop"),
    ],
)
def test_a_wrong_policy_is_found_with_a_small_scenario(policy: Any, check: str, says: str):
    found = outcome(policy, check)
    assert found.status == "failed"
    assert says in str(found)
    assert found.smallest is not None
    assert len(found.smallest.workload) <= 6
    assert "smallest scenario found" in str(found)
    assert outcome(Greedy, check).status == "passed"


def test_the_smallest_scenario_of_starving_is_one_job():
    found = outcome(Starves, "ends").smallest
    assert found is not None
    assert len(found.workload) == 1
    assert found.workload.workers[0] > 4
    assert len(found.cluster.pools) <= 2


def spec(**changes: Any) -> PolicySpec:
    given: dict[str, Any] = {"key": "mine", "label": "Mine", "family": "Test", "summary": "Greedy."}
    return PolicySpec(**{**given, "build": lambda params: Greedy(), **changes})


@pytest.mark.parametrize(
    ("changes", "check", "says"),
    [
        ({"params": LoseParams}, "parameters", "bad has no description"),
        ({"params": UnitlessParams}, "parameters", "wait_s has no unit"),
        ({"summary": "Greedy"}, "words", "full stop"),
    ],
)
def test_a_wrong_specification_is_found(changes: dict[str, Any], check: str, says: str):
    found = outcome(spec(**changes), check)
    assert found.status == "failed"
    assert says in found.why


def test_a_policy_that_ignores_bounds_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PolicySpec, "parse", lambda self, values: NoChecks())
    assert outcome(spec(), "parameters").why == "an unknown parameter is not refused"


class NoChecks(FrozenModel):
    pass


def test_a_sound_policy_passes_all_and_the_report_says_so():
    report = check_policy(spec(needs=frozenset({Need.FIXED_NODES})), seeds=(0,))
    assert report.ok, str(report)
    assert report.raise_for_failures() is report
    assert str(report).startswith("Policy mine: ")
    assert "audit is clean (9 scenarios)" in str(report)


def test_a_policy_that_opens_no_machines_is_told_what_to_say():
    found = outcome(Greedy, "rented")
    assert found.status == "failed"
    assert "needs=frozenset({Need.FIXED_NODES})" in str(found)


def test_failures_are_raised_as_assertions_when_asked_for():
    own = {"mine": scenario(cluster=fixed_nodes(12))}
    report = check_policy(Starves(), scenarios=own)
    assert not report.ok
    with pytest.raises(PolicyCheckFailed, match="never end") as caught:
        report.raise_for_failures()
    assert caught.value.report is report
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(PolicyCheckFailed):
        check_policy(Starves(), scenarios=own, strict=True)


def test_own_scenarios_replace_ours():
    report = check_policy(Starves(), scenarios=[scenario(workload=full_workload(8, widths=(1, 2)))])
    assert report.ok, str(report)
    assert {one.num_cases for one in report.outcomes if one.status == "passed"} == {0, 1}


def test_a_policy_that_no_scenario_suits_fails():
    report = check_policy(spec(needs=frozenset({Need.SERVERS})), scenarios=[scenario()])
    assert [one.check for one in report.failures] == ["any"]
    assert "parameter-server demands" in str(report)


def test_a_scenario_of_a_seed_is_always_the_same_and_others_differ():
    hashes = {random_scenario(spec(), seed).content_hash for seed in range(8)}
    assert len(hashes) == 8
    assert random_scenario(spec(), 3).content_hash == random_scenario(spec(), 3).content_hash


def test_nothing_of_the_tests_tools_is_loaded():
    """The package is used from other test suites, and from none at all."""
    import subprocess
    import sys

    code = "import sys, dlsched.testing; print([n for n in ('pytest', 'hypothesis') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_slow_search_for_the_smallest_scenario_gives_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dlsched.testing.shrinking.MOST_S", 0.0)
    before_s = time.monotonic()
    found = outcome(Starves, "ends")
    assert found.smallest is not None
    assert len(found.smallest.workload) == 36
    assert time.monotonic() - before_s < 60
