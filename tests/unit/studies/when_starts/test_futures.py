"""When jobs start: exact laws on small queues, what if one asks for less, and what a queue does not tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.intervals import binomial_interval
from dlsched.policies.registry import POLICIES
from dlsched.studies.when_starts import STUDY, When, WhenSpec, futures
from dlsched.studies.when_starts.futures import ahead_of, futures_of
from dlsched.studies.when_starts.queue_at import Record, queue_at
from dlsched.studies.when_starts.run import run_when
from dlsched.studies.when_starts.run_times import Ended
from dlsched.studies.when_starts.words import notes_of
from tests.support.queues_now import cluster, past, with_queue

AT_S = 10_000.0
SHARES = [0.25, 0.5, 0.75, 1.0]
FUTURES = 2000


def row(name: str, workers: int, **more: Any) -> dict[str, Any]:
    """Return a job submitted 100 s before AT_S with a limit of 100 s; ``ran``: seconds since its start."""
    given: dict[str, Any] = {"job_id": name, "submit_s": AT_S - 100, "workers": workers, "limit_s": 100.0}
    if "ran" in more:
        given["recorded_start_s"] = AT_S - more.pop("ran")
    return given | more


def starts(scenario: Scenario, policy: str = "fifo", count: int = FUTURES) -> dict[str, np.ndarray]:
    """Return the starts of the waiting jobs, seconds from AT_S, by name."""
    record = Record.of(scenario.workload)
    queue = queue_at(record, AT_S)
    ahead = ahead_of(queue, Ended.of(record.select(queue.ended)), scenario, policy)
    found = futures_of(ahead, policy, {}, 1, None, ahead.run_s(1, count))
    jobs = ahead.scenario.workload
    return {str(jobs.job_id[row]): found[:, row] - AT_S for row in ahead.waiting}


def asked(scenario: Scenario, **more: Any) -> When:
    return run_when(WhenSpec(scenario=scenario.content_hash, at_s=AT_S, **{"policy": "fifo"} | more), scenario)


def is_share_of(hits: np.ndarray, share: float) -> bool:
    low, high = binomial_interval(int(hits.sum()), len(hits), 0.9999)
    return low <= share <= high


def test_a_job_that_needs_the_node_waits_for_the_later_of_two_and_a_small_one_for_the_earlier() -> None:
    running = [row("a", 4, ran=0.0), row("b", 4, ran=0.0)]
    whole = starts(with_queue(past(SHARES), *running, row("w", 8), nodes=cluster(1)))["w"]
    small = starts(with_queue(past(SHARES), *running, row("w", 4), nodes=cluster(1)))["w"]
    assert set(np.unique(whole)) == set(np.unique(small)) == {25.0, 50.0, 75.0, 100.0}
    for number, end_s in enumerate((25.0, 50.0, 75.0), 1):
        assert is_share_of(whole <= end_s, (number / 4) ** 2)
        assert is_share_of(small <= end_s, 1 - (1 - number / 4) ** 2)


def test_a_job_that_has_run_for_a_while_ends_only_as_those_did_that_ran_longer() -> None:
    # 60 s of 100 s have passed: the shares left are 0.75 and 1.
    found = starts(with_queue(past(SHARES), row("a", 8, ran=60.0), row("w", 8), nodes=cluster(1)))["w"]
    assert set(np.unique(found)) == {15.0, 40.0}
    assert is_share_of(found == 15.0, 0.5)


def test_run_times_are_those_of_the_user_where_enough_of_its_jobs_have_ended() -> None:
    both = past([0.5])
    for name, values in past([1.0], each=25, user="bo").items():
        both[name] = both[name] + values
    queue = [row("a", 4, ran=0.0), row("b", 4, ran=0.0, user="bo"), row("w", 4), row("x", 4)]
    found = starts(with_queue(both, *queue, nodes=cluster(1)), count=20)
    assert set(found["w"]) == {50.0}
    assert set(found["x"]) == {100.0}  # behind w, beside b, of which the user always needs all of the limit
    few = {name: values[:40] for name, values in both.items()}  # ten jobs of bo: not enough
    found = starts(with_queue(few, *queue[1:3], nodes=cluster(1)), count=200)
    assert set(found["w"]) == {0.0}


def test_jobs_without_a_limit_go_by_seconds_and_a_queue_without_both_is_refused() -> None:
    free = {**past([0.5]), "limit_s": [np.nan] * 30}
    queue = [row("a", 8, ran=10.0, limit_s=np.nan), row("w", 8, limit_s=np.nan)]
    assert set(starts(with_queue(free, *queue, nodes=cluster(1)), count=20)["w"]) == {40.0}
    nothing: dict[str, list[Any]] = {name: [] for name in free}
    with pytest.raises(InputError, match="no time limit"):
        starts(with_queue(nothing, *queue, nodes=cluster(1)))


def test_without_ended_jobs_every_job_runs_to_its_limit() -> None:
    nothing: dict[str, list[Any]] = {name: [] for name in past([0.5])}
    answer = asked(with_queue(nothing, row("a", 8, ran=30.0), row("w", 8), row("x", 8), nodes=cluster(1)))
    assert [job.worst_s for job in answer.jobs] == [70.0, 170.0]
    assert {job.like for job in answer.jobs} == {"limit"}
    assert "running to its time limit" in STUDY.words(answer)


def test_a_running_job_stays_on_its_recorded_node() -> None:
    # On node n2, a leaves n1 free as a whole; placed anew by best fit it would be on n1 as well.
    held = [row("a", 4, ran=0.0, recorded_nodes="n2"), row("b", 4, ran=0.0, recorded_nodes="n2")]
    assert set(starts(with_queue(past([1.0]), *held, row("w", 8)), count=5)["w"]) == {0.0}
    held = [row("a", 4, ran=0.0, recorded_nodes="n1"), row("b", 4, ran=0.0, recorded_nodes="n2")]
    assert set(starts(with_queue(past([1.0]), *held, row("w", 8)), count=5)["w"]) == {100.0}


def test_the_queue_of_a_file_goes_by_its_priorities_and_a_log_by_submission() -> None:
    history = past([1.0])
    history["priority"] = [0.0] * 30
    queue = [row("a", 8, ran=0.0, priority=0.0), row("first", 8, priority=1.0), row("urgent", 8, priority=9.0)]
    found = asked(with_queue(history, *queue, nodes=cluster(1)), futures=10)
    assert [(job.job_id, job.place, job.starts and job.starts.median_s) for job in found.jobs] == [
        ("urgent", 1, 100.0), ("first", 2, 200.0),
    ]  # fmt: skip
    assert found.by_priority


def test_jobs_that_no_start_can_be_told_of_are_listed() -> None:
    queue = [
        row("a", 8, ran=0.0), row("w", 8), row("held", 1, recorded_status="held (Dependency)"), row("wide", 64),
        row("later", 1, submit_s=AT_S + 500.0),
    ]  # fmt: skip
    answer = asked(with_queue(past([1.0]), *queue, nodes=cluster(1), written="02:46:40"), futures=10)
    told = {job.job_id: job for job in answer.jobs}
    assert {name for name, job in told.items() if job.starts is None} == {"held", "wide"}
    assert (told["held"].reason, told["wide"].reason) == ("Dependency", "needs more than the cluster has")
    assert told["later"].starts is not None
    assert told["later"].starts.median_s == 500.0
    assert STUDY.answer.from_plain(answer.to_plain()) == answer


def test_a_job_that_asks_for_less_starts_earlier_in_the_same_futures() -> None:
    # The head needs the node; w asks for all of it too, half of it fits beside a.
    queue = [row("a", 4, ran=0.0, limit_s=200.0), row("head", 8, limit_s=200.0), row("w", 8, limit_s=200.0)]
    answer = asked(with_queue(past(SHARES), *queue, nodes=cluster(1)), policy="easy-backfill", job="w", futures=200)
    changes = {less.change: less for less in answer.changes}
    assert set(changes) == {"half-gpus", "half-limit"}
    half = changes["half-gpus"]
    assert (half.before, half.after, half.killed) == (8.0, 4.0, None)
    assert half.starts.median_s == 0.0  # the head is promised the end of a by its limit, which is that of w
    assert half.sooner == 1.0
    assert changes["half-limit"].killed == 0.5  # of the shares 0.25, 0.5, 0.75 and 1, two are above a half
    assert changes["half-limit"].sooner == 0.0  # still as wide as the node
    with pytest.raises(InputError, match="does not wait for room"):
        asked(with_queue(past(SHARES), *queue, nodes=cluster(1)), job="a")


def test_a_shorter_limit_lets_a_job_go_before_the_head() -> None:
    queue = [row("a", 4, ran=0.0, limit_s=60.0), row("head", 8), row("w", 4)]
    scenario = with_queue(past([0.1, 0.2, 0.3, 0.5]), *queue, nodes=cluster(1))
    limits = {less.change: less for less in asked(scenario, policy="easy-backfill", job="w").changes}
    assert limits["usual-limit"].after == 60.0  # 95% of like jobs used half of 100 s, in whole minutes
    assert limits["usual-limit"].starts.high_s == 0.0
    assert limits["usual-limit"].killed == 0.0
    assert limits["usual-limit"].sooner == 1.0


@pytest.mark.parametrize(("cores", "dropped"), [(8.0, True), (8.1, False)])
def test_cores_that_are_never_short_change_nothing(
    cores: float, dropped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = past(SHARES)
    history["cpus_per_worker"] = [1.0] * len(history["work"])
    rng = np.random.default_rng(0)
    queue = [row(f"r{n}", 2, ran=float(n), cpus_per_worker=8.0) for n in range(8)]
    queue += [row(f"w{n}", int(rng.choice([1, 2, 4])), cpus_per_worker=cores) for n in range(12)]
    scenario = with_queue(history, *queue, nodes=cluster(2, cpus=64.0))
    assert ("cpus_per_worker" in futures._never_short(scenario.workload, scenario.cluster)) == dropped
    found = starts(scenario, "easy-backfill", 20)
    monkeypatch.setattr(futures, "_never_short", lambda *_: set())
    whole = starts(scenario, "easy-backfill", 20)
    assert all((found[name] == whole[name]).all() for name in whole)


def test_a_policy_that_must_know_the_future_is_refused() -> None:
    scenario = with_queue(past([1.0]), row("a", 8, ran=0.0), row("w", 8), nodes=cluster(1))
    for spec in POLICIES:
        if spec.clairvoyant and not spec.needs:
            with pytest.raises(InputError, match="still to come"):
                asked(scenario, policy=spec.key)


def test_running_jobs_beyond_the_cluster_are_left_out_and_counted() -> None:
    queue = [row("a", 8, ran=0.0), row("b", 8, ran=10.0), row("w", 8)]
    answer = asked(with_queue(past([1.0]), *queue, nodes=cluster(1)), futures=10)
    assert (answer.running, answer.left_out) == (2, 1)
    assert any("not fit the cluster" in note for note in notes_of(answer))
