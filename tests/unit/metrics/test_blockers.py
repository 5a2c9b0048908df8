"""Which jobs kept another one waiting: small cases by hand; on random runs the named ones really were in the way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.metrics.blockers import Blockers, ahead_of, reserved_for
from dlsched.metrics.job_timeline import JobTimeline, timeline_of
from dlsched.studies.simulation import Run, simulate

RULES = SimulationRules(restart_s=1.0)


def scenario(
    submit_s: list[float], work: list[float], gpus: list[int], nodes: int, gpus_each: int = 1, **more: list[float]
) -> Scenario:
    names = [f"j{number}" for number in range(len(work))]
    jobs = Workload.from_columns({"job_id": names, "submit_s": submit_s, "work": work, "workers": gpus, **more})
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=gpus_each), count=nodes),))
    return Scenario(jobs, cluster, RULES)


def story(run: Run, job: str) -> JobTimeline:
    by_submission = run.record().policy == "easy-backfill"
    return timeline_of(job, run.jobs, run.segments, run.waits, run.log.end_s, by_submission=by_submission)


def test_behind_the_head_of_the_queue_the_head_is_named() -> None:
    """j0 takes one of two GPUs for 100 s; j1 needs both and is first; j2 would fit, but FIFO keeps it behind j1."""
    run = simulate(scenario([0, 1, 2], [100, 50, 10], [1, 2, 1], nodes=2), "fifo")
    told = story(run, "j2")
    assert told.blockers == Blockers((("j1", 2.0),), 1)
    assert told.sentence.startswith("waited 2 min 30 s, mainly because job j1 (2 GPUs) was ahead of it; ran")
    assert story(run, "j1").sentence.startswith(
        "waited 1 min 40 s because too few GPUs were free: job j0 (1 GPU) used n0 and n1; ran"
    )


def test_a_reservation_is_for_the_first_that_waits() -> None:
    """Under EASY backfill j2 would run 200 s, beyond the 100 s after which j1 gets both GPUs."""
    run = simulate(scenario([0, 1, 2], [100, 50, 200], [1, 2, 1], nodes=2), "easy-backfill")
    told = story(run, "j2")
    assert told.blockers.named == (("j1", 2.0),)
    assert "because the free GPUs were reserved for job j1 (2 GPUs)" in told.sentence


def test_on_the_node_it_got_the_job_with_most_gpu_time_is_named_first() -> None:
    run = simulate(scenario([0, 0, 1], [100, 40, 10], [3, 1, 4], nodes=1, gpus_each=4), "fifo")
    assert story(run, "j2").blockers.named == (("j0", 3.0), ("j1", 1.0))


def waits_of(*rows: tuple[int, float, float, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["row", "from_s", "to_s", "reason"])


JOBS = pd.DataFrame({"row": [0, 1, 2], "job_id": ["a", "b", "c"], "gpus": [1.0, 8.0, 1.0], "submit_s": [0.0, 1.0, 2.0]})


def test_where_the_log_does_not_tell_who_was_first_none_is_named() -> None:
    waits = waits_of((0, 0.0, 50.0, "no_room"), (1, 1.0, 50.0, "held_back"), (2, 2.0, 50.0, "behind"))
    assert ahead_of(JOBS.iloc[2], JOBS, waits, [(2.0, 50.0)]) == Blockers()
    one_after_the_other = waits_of((0, 0.0, 10.0, "no_room"), (1, 10.0, 50.0, "split"), (2, 2.0, 50.0, "behind"))
    assert ahead_of(JOBS.iloc[2], JOBS, one_after_the_other, [(2.0, 50.0)]).named == (("b", 8.0), ("a", 1.0))


def test_queues_of_other_partitions_are_not_ahead() -> None:
    apart = JOBS.assign(partition=["x", "y", "y"])
    waits = waits_of((0, 0.0, 50.0, "no_room"), (1, 1.0, 50.0, "no_room"), (2, 2.0, 50.0, "behind"))
    assert ahead_of(apart.iloc[2], apart, waits, [(2.0, 50.0)]).named == (("b", 8.0),)


def test_reservations_pass_to_the_next_when_the_first_has_started() -> None:
    waits = waits_of((0, 0.0, 10.0, "no_room"), (1, 1.0, 50.0, "no_room"), (2, 2.0, 50.0, "reserved"))
    assert reserved_for(JOBS.iloc[2], JOBS, waits, [(2.0, 50.0)]).named == (("b", 8.0), ("a", 1.0))


@pytest.mark.parametrize("policy", ["fifo", "easy-backfill", "edf", "sjf"])
@pytest.mark.parametrize("seed", range(4))
def test_who_is_named_was_in_the_way(policy: str, seed: int) -> None:
    """A job ahead waited meanwhile and comes first in the policy's order; one that used the GPUs had some then."""
    rng = np.random.default_rng(seed)
    count = 40
    submit_s = np.sort(rng.uniform(0, 400, count))
    given = scenario(
        submit_s.tolist(),
        rng.uniform(10, 200, count).tolist(),
        rng.choice([1, 2, 4, 8], count).tolist(),
        nodes=4,
        gpus_each=4,
        due_s=(submit_s + rng.uniform(100, 800, count)).tolist(),
    )
    run = simulate(given, policy)
    jobs = run.jobs.set_index("job_id")
    named_any = 0
    for job in jobs.index:
        told = story(run, job)
        for name, gpus in told.blockers.named:
            named_any += 1
            mine, other = jobs.loc[job], jobs.loc[name]
            assert name != job
            assert gpus == other["gpus"]
            if "ahead of it" in told.sentence or "reserved for" in told.sentence:
                assert other["submit_s"] < mine["first_start_s"]
                assert other["first_start_s"] > mine["submit_s"]
                if policy != "easy-backfill":  # there a job may pass the reservation later
                    assert other["first_start_s"] <= mine["first_start_s"]
                if policy in ("fifo", "easy-backfill"):
                    assert other["submit_s"] <= mine["submit_s"]
                if policy == "edf":
                    assert other["due_s"] <= mine["due_s"]
            else:
                held = run.segments[run.segments["job_id"] == name]
                during = (held["start_s"] < mine["first_start_s"]) & (held["end_s"] > mine["submit_s"])
                assert (during & (held["gpus"] > 0)).any()
    assert named_any > 5
