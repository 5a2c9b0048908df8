"""Time limits: what policies believe, how a job ends at its limit, and when they play no part. Values by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.slurm import SlurmOptions, SlurmPartition, SlurmSetup
from dlsched.domain.truth import realise
from dlsched.policies.registry import find
from dlsched.sim import kernels
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from dlsched.studies.design.factors import changed
from dlsched.studies.simulation import simulate
from dlsched.testing.logs import first_difference
from tests.support.sim_fakes import jobs, nodes, scenario

NONE = float("nan")
# a leaves room for one GPU; b, the head, needs all four; c and d want that one GPU meanwhile
FOUR = jobs((0, 100, 3), (1, 10, 4), (2, 150, 1), (3, 50, 1), limit_s=[200.0, 20.0, 150.0, 250.0])


def starts(policy: str, **options: Any) -> list[float]:
    run = simulate(scenario(FOUR, nodes(1, 4), **options), policy)
    assert run.audit() == []
    return run.log.job_first_start_s.tolist()


def test_easy_promises_the_head_the_end_of_a_limit() -> None:
    """The head may start at 200 s by the limit of a: c is done by 152 s, d not before 253 s."""
    assert starts("easy-backfill") == [0, 152, 2, 162]


def test_without_limits_easy_knows_that_the_first_job_ends_earlier() -> None:
    """The head starts at 100 s: c would still run, d is done by 53 s."""
    assert starts("easy-backfill", limits="ignore") == [0, 100, 110, 3]


def test_shortest_first_goes_by_the_limit() -> None:
    two = jobs((0, 5, 8), (1, 10, 8), (2, 40, 8), limit_s=[5.0, 100.0, 50.0])
    for rule, expected in (("believe", [0, 45, 5]), ("ignore", [0, 5, 15])):
        run = simulate(scenario(two, limits=rule), "sjf")
        assert run.log.job_first_start_s.tolist() == expected


def test_a_job_runs_past_its_limit_unless_limits_end_jobs() -> None:
    late = jobs((0, 100, 8), (1, 10, 8), limit_s=[30.0, 60.0])
    kept, killed = (simulate(scenario(late, limits=rule), "fifo") for rule in ("believe", "kill"))
    assert (kept.log.job_end_s.tolist(), kept.metrics["failed"]) == ([100, 110], 0)
    assert (killed.log.job_end_s.tolist(), killed.metrics["failed"]) == ([30, 40], 1)
    assert killed.jobs["status"].tolist() == ["failed", "completed"]
    assert killed.audit() == []


@pytest.mark.parametrize(("over_time", "ends"), [(None, [30, 40]), (50.0, [80, 90]), (70.0, [100, 110]),
                                                 ("UNLIMITED", [100, 110])])  # fmt: skip
@pytest.mark.parametrize("policy", ["fifo", "slurm"])
def test_slurm_ends_jobs_at_the_limit_and_over_time_limit(policy: str, over_time: Any, ends: list[float]) -> None:
    """The first job runs 100 s with a limit of 30 s: it ends at min(100, 30 + OverTimeLimit); belief stays 30 s."""
    late = jobs((0, 100, 8), (1, 10, 8), limit_s=[30.0, 60.0])
    setup = SlurmSetup(options=SlurmOptions(OverTimeLimit_s=over_time, batch_sched_delay=0))
    run = simulate(scenario(late, limits="kill").replace(slurm=setup), policy)
    assert run.audit() == []
    assert run.log.job_end_s[0] == ends[0]
    assert run.metrics["failed"] == (1 if ends[0] < 100 else 0)
    assert run.truth.believed_work.tolist() == [30, 60]
    if policy == "fifo":
        assert run.log.job_end_s.tolist() == ends


@pytest.mark.parametrize("policy", ["fifo", "slurm"])
def test_the_over_time_limit_of_a_partition_counts(policy: str) -> None:
    """Both run 100 s with a limit of 30 s: one ends 10 s beyond it, by its partition, the other 50 s beyond."""
    late = jobs((0, 100, 1), (0, 100, 1), limit_s=[30.0, 30.0], partition=["short", "long"])
    setup = SlurmSetup(
        options=SlurmOptions(OverTimeLimit_s=50.0, batch_sched_delay=0),
        partitions=(SlurmPartition(name="short", OverTimeLimit_s=10.0), SlurmPartition(name="long")),
    )
    both = nodes(1, 4).model_copy(
        update={"pools": (nodes(1, 4).pools[0].model_copy(update={"partition": "short|long"}),)}
    )
    run = simulate(scenario(late, both, limits="kill").replace(slurm=setup), policy)
    assert run.audit() == []
    assert (run.log.job_end_s - run.log.job_first_start_s).tolist() == [40, 80]


def test_the_limit_is_of_the_request_where_jobs_are_faster_with_more_gpus() -> None:
    """At the request 30 s are 30 units of work, also for a job that is given more GPUs."""
    given_ = scenario(jobs((0, 100, 2), limit_s=[30.0]), speed="scaling", limits="kill")
    truth = realise(given_)
    assert (truth.work.tolist(), truth.believed_work.tolist(), truth.is_bug.tolist()) == ([30], [30], [True])


def test_the_estimate_error_is_of_jobs_without_a_limit() -> None:
    some = jobs((0, 100, 1), (0, 100, 1), limit_s=[500.0, NONE])
    believed = realise(scenario(some, estimate_error=0.5)).believed_work
    assert believed[0] == 500
    assert 50 <= believed[1] <= 150
    assert believed[1] != 100


def test_what_ifs_change_limits() -> None:
    base = scenario(FOUR, nodes(1, 4))
    for change, expected in (({"limit_length": 0.5}, [100, 10, 75, 125]), ({"durations": 2.0}, [400, 40, 300, 500])):
        assert np.array_equal(changed(base, change).workload.columns()["limit_s"], expected)
    assert changed(base, {"limits": "kill"}).options.limits == "kill"
    with pytest.raises(ValueError, match="there is no rule"):
        changed(base, {"limits": "maybe"})
    with pytest.raises(ValueError, match="have no time limits"):
        changed(base.replace(workload=FOUR.with_columns(limit_s=None)), {"limit_length": 2.0})


def test_older_scenarios_keep_their_hash() -> None:
    assert "limits" not in SimulationRules().model_dump()
    assert SimulationRules(limits="kill").model_dump()["limits"] == "kill"


@given(
    st.lists(
        st.tuples(
            st.integers(0, 30), st.integers(1, 40), st.integers(1, 8), st.sampled_from([NONE, 5.0, 20.0, 60.0])
        ),
        min_size=1, max_size=12,
    ),
    st.sampled_from(["easy-backfill", "sjf", "srtf", "fifo"]),
    st.sampled_from(["believe", "kill", "ignore"]),
)  # fmt: skip
def test_kernel_and_engine_agree(
    rows: list[tuple[int, int, int, float]], key: str, rule: Literal["believe", "kill", "ignore"]
) -> None:
    workload = jobs(*(row[:3] for row in rows), limit_s=np.array([row[3] for row in rows]))
    prepared = prepare(Scenario(workload, nodes(2, 4), SimulationRules(limits=rule)))
    policy = find(key).build(find(key).parse(None))
    assert kernels.eligible(prepared, policy)
    assert policy.kernel_rule is not None
    fast = kernels.run_kernel(prepared, policy.kernel_rule)
    assert first_difference(fast, run_engine(prepared, find(key).build(find(key).parse(None)))) == ""


def test_starts_of_hand_made_cases_whose_rules_differ(shared_data: Path) -> None:
    """First come, first served; EASY by limits; EASY by true run times: starts from another implementation."""
    cases = json.loads((shared_data / "slurm" / "easy_cases.json").read_text())["cases"]
    for case in cases:
        rows = case["jobs"]
        workload = jobs(
            *((one["submit"], one["run"], one["procs"]) for one in rows), limit_s=[float(one["est"]) for one in rows]
        )
        for key, policy, rule in (
            ("fcfs", "fifo", "believe"),
            ("easy_requested", "easy-backfill", "believe"),
            ("easy_real_run_times", "easy-backfill", "ignore"),
        ):
            run = simulate(scenario(workload, nodes(case["processors"], 1), limits=rule), policy)
            assert run.log.job_first_start_s.tolist() == case["start"][key]
