"""Every kind of caveat from a scenario that is built for it, their order, and their words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.assumptions import Assumption, stated
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.slurm import SlurmReservation, SlurmSetup
from dlsched.domain.units import DAY_S
from dlsched.policies.registry import POLICIES, find
from dlsched.wording.assumptions import assumptions
from dlsched.wording.caveats import KINDS, LONGEST, Caveat, caveats_of, mind_line, ordered, plain_caveats
from dlsched.workload.defaults import describe_default
from dlsched.workload.fill import fill, fill_prices
from dlsched.workload.generators.fill_rules import DueRule, LimitRule, PriorityRule, UserRule, WeightRule
from tests.support.runs_for_store import small_scenario
from tests.support.wording import check_wording

FIFO, SJF, EASY, EDF = (find(key) for key in ("fifo", "sjf", "easy-backfill", "edf"))
GOOD = Caveat("replays the log: typical factor 1.14x", "why.", "Jobs, Trust", kind="calibration", is_mild=True)
NONE = Caveat("does not replay the log: 43% idle", "why.", "Jobs, Trust", kind="calibration", is_bad=True)


def trace(days: int = 10, **more: Any) -> Scenario:
    """Return a trace of a job every 12 h over some days, with due dates and prices of its own."""
    bare = small_scenario(2 * days)
    jobs = bare.workload.with_columns(submit_s=DAY_S / 2 * np.arange(2 * days), due_s=np.full(2 * days, 1e9))
    return bare.replace(workload=jobs, **more)


def recorded(**more: Any) -> Scenario:
    plain = trace(**more)
    return plain.replace(workload=plain.workload.with_columns(recorded_start_s=plain.workload.submit_s + 60))


def bare(*columns: str) -> Scenario:
    plain = trace()
    return plain.replace(workload=plain.workload.with_columns(**dict.fromkeys(columns)))


def everything() -> Scenario:
    """Return a scenario with all that can be made up."""
    plain = recorded()
    jobs = plain.workload.with_columns(due_s=None, user=None)
    pools = tuple(pool.model_copy(update={"vm": pool.vm.model_copy(update={"usd_per_h": None})})
                  for pool in plain.cluster.pools)  # fmt: skip
    cluster = plain.cluster.model_copy(update={"pools": pools})
    made = plain.replace(workload=jobs, cluster=cluster, assumptions=(describe_default(cluster),))
    for rule in (DueRule(), WeightRule(), PriorityRule(), UserRule(), LimitRule()):
        made = fill(made, rule)
    return fill_prices(made)


def texts(scenario: Scenario, *policies: Any, **more: Any) -> dict[str, str]:
    return {one.kind: one.label for one in caveats_of(scenario, policies or (FIFO,), **more)}


def test_a_long_trace_of_ones_own_under_fifo_has_only_its_days() -> None:
    assert texts(trace(28)) == {"these-days-only": "these 28 days only"}
    assert texts(trace(28), resampled=True) == {"these-days-only": "reshuffled from these 28 days only"}


@pytest.mark.parametrize(("days", "few"), [(1, True), (4, True), (5, False)])
def test_fewer_than_five_days_say_nothing_of_other_months(days: int, few: bool) -> None:
    (one,) = caveats_of(trace(days), (FIFO,), resampled=True)
    assert ("too few for other months" in one.label) is few
    assert one.is_mild is not few


def test_jobs_that_are_drawn_or_all_there_at_once_are_of_no_days() -> None:
    once = trace().replace(workload=trace().workload.with_columns(submit_s=np.zeros(20)))
    assert texts(once) == {}
    assert texts(trace(generator={"kind": "job-mix"})) == {}


@pytest.mark.parametrize(
    ("policies", "text"),
    [
        ((SJF,), "SJF is told true run times"),
        ((SJF, EASY), "SJF and EASY backfill are told true run times"),
        ((SJF, EASY, find("srtf")), "3 policies are told true run times"),
        ((SJF, SJF, FIFO), "SJF is told true run times"),
    ],
)
def test_who_is_told_true_run_times(policies: Any, text: str) -> None:
    assert texts(trace(), *policies)["true-run-times"] == text
    assert "true-run-times" not in texts(trace(options=SimulationRules(estimate_error=0.2)), *policies)


def test_time_limits_are_told_instead_of_run_times() -> None:
    limited = fill(trace(), LimitRule())
    assert "true-run-times" not in texts(limited, SJF)
    assert texts(limited, SJF)["made-up-time-limits"] == "made-up time limits"
    assert "made-up-time-limits" not in texts(limited, FIFO)
    assert "true-run-times" in texts(limited.replace(options=SimulationRules(limits="ignore")), SJF)
    some = np.full(len(limited.workload), 3600.0)
    some[0] = np.nan
    assert "true-run-times" in texts(limited.replace(workload=limited.workload.with_columns(limit_s=some)), SJF)


def test_whoever_is_told_the_future_is_not_also_told_run_times() -> None:
    first, *_ = caveats_of(trace(), (replace(SJF, clairvoyant=True),))
    assert (first.kind, first.label, first.is_bad) == ("told-the-future", "SJF is told the future", True)
    assert "true-run-times" not in texts(trace(), replace(SJF, clairvoyant=True))


@pytest.mark.parametrize(("data_kind", "kind"), [("example", "example-data"), ("generated", "generated")])
def test_data_that_are_not_the_readers(data_kind: Any, kind: str) -> None:
    assert kind in texts(trace(data_kind=data_kind))


@pytest.mark.parametrize(
    ("scenario", "kind", "metrics", "policies"),
    [
        (fill(bare("due_s"), DueRule()), "made-up-due-dates", "late_share", (EDF,)),
        (fill(trace(), WeightRule()), "made-up-lateness-costs", "tardiness_cost", (find("gpuaas-greedy"),)),
        (fill(bare("user"), UserRule()), "made-up-users", "fairness_users_jain", ()),
        (fill(trace(), PriorityRule()), "made-up-priorities", "", (find("priority"),)),
        (trace(assumptions=(Assumption(kind="example-price", text="$2"),)), "made-up-prices", "cost_month", ()),
        (
            trace(assumptions=(Assumption(kind="list-prices", text="list (example price, not a quote)"),)),
            "made-up-prices", "usd_per_useful_gpu_h", (),
        ),
    ],
    ids=["due", "weight", "user", "priority", "price", "list"],
)  # fmt: skip
def test_what_was_made_up_counts_where_the_headline_or_a_policy_needs_it(
    scenario: Scenario, kind: str, metrics: str, policies: Any
) -> None:
    assert kind not in texts(scenario, FIFO, metrics=["wait_p95"])
    if metrics:
        assert kind in texts(scenario, FIFO, metrics=["wait_p95", metrics])
        assert kind in texts(scenario, FIFO)
    for policy in policies:
        assert kind in texts(scenario, policy, metrics=["wait_p95"])
    assert kind in {one.kind for one in caveats_of(scenario, ())}  # without a policy all that was filled


def test_prices_of_a_list_are_not_made_up() -> None:
    assert "made-up-prices" not in texts(trace(assumptions=stated(Assumption(kind="list-prices", text="list prices"))))


def test_a_cluster_that_nobody_described() -> None:
    made = trace(assumptions=(describe_default(trace().cluster),))
    assert texts(made)["made-up-cluster"] == "made-up cluster, not yours"


def test_calibration_is_told_only_where_starts_were_recorded() -> None:
    assert "calibration" not in texts(trace(), trust=GOOD)
    assert texts(recorded())["calibration"] == "not compared with the log yet"
    assert texts(recorded(), trust=GOOD)["calibration"] == GOOD.label
    assert caveats_of(recorded(), (SJF,), trust=NONE)[0] == NONE  # worse than all else
    assert caveats_of(recorded(), (SJF,), trust=GOOD)[-2:][0] == GOOD


def test_no_assumption_is_told_twice() -> None:
    made = everything()
    caveats = caveats_of(made, (find("priority"), SJF))
    assert {one.kind for one in caveats} >= {kind for kind in KINDS if kind.startswith("made-up")}
    told = " ".join(one.label for one in assumptions(made))
    assert not any(one.words in told for one in made.assumptions)


@given(st.permutations(KINDS), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_the_worst_comes_first_whatever_the_order(kinds: list[Any], bad: Any, mild: Any) -> None:
    found = [Caveat(kind, "why.", kind=kind, is_bad=kind == bad, is_mild=kind == mild != bad) for kind in kinds]
    told = ordered([*found, *found])
    assert len(told) == len(KINDS)
    assert told[0].kind == bad
    assert told[-1].kind == mild or mild == bad
    assert [one.kind for one in told if one.kind not in (bad, mild)] == [one for one in KINDS if one not in (bad, mild)]


@given(st.lists(st.sampled_from(POLICIES), max_size=6), st.booleans(), st.sampled_from([None, GOOD, NONE]))
def test_every_text_is_short_and_says_why(policies: Any, resampled: bool, trust: Caveat | None) -> None:
    for one in caveats_of(everything(), policies, trust=trust, resampled=resampled):
        assert len(one.label) <= LONGEST
        assert one.why.endswith(".")
        assert one.where in ("Jobs", "Jobs, Trust", "Cluster", "Run")


def test_the_wording() -> None:
    found = [
        *caveats_of(everything(), (SJF, EASY, find("priority"))),
        *caveats_of(trace(3, data_kind="example"), (replace(SJF, clairvoyant=True),)),
        *caveats_of(trace(data_kind="generated", seed=7), ()),
        *caveats_of(trace(28), (SJF,), resampled=True),
    ]
    labels = [one.label for one in found]
    check_wording(
        Path(__file__).parent / "wording.txt",
        {
            "caveats": [f"{one.label}: {one.why}" for one in found],
            "line": [mind_line(labels[:2])],
        },
    )
    assert mind_line([]) == ""
    assert plain_caveats(found[:1]) == [{"kind": found[0].kind, "text": found[0].label}]


def test_reservations_that_a_policy_ignores_are_said() -> None:
    kept = SlurmReservation(name="r", nodes="ALL", start_s=0, end_s=9)
    given = small_scenario().replace(slurm=SlurmSetup(reservations=(kept,)))
    found = caveats_of(given, [find("fifo")])
    assert [one.label for one in found if one.kind == "reservations-ignored"] == ["1 reservation ignored"]
    assert not [one for one in caveats_of(small_scenario(), [find("fifo")]) if one.kind == "reservations-ignored"]
