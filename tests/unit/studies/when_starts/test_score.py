"""The score of start times: what is known at an instant, coverage where the law is true, and what it rests on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.studies.when_starts import SCORE_STUDY, ScoreSpec
from dlsched.studies.when_starts.answer import Quantiles
from dlsched.studies.when_starts.futures import arrivals_of
from dlsched.studies.when_starts.queue_at import Record, queue_at
from dlsched.studies.when_starts.run_times import STRETCH, Ended, Pool, drawn_run_s, like_jobs
from dlsched.studies.when_starts.score import InstantTask, Told, instants_of, run_score, scored, told_at
from dlsched.studies.when_starts.words import score_sentence
from tests.support.queues_now import cluster, past, true_log

LOG = true_log(250, seed=3)


def spec(scenario: Scenario, **more: object) -> ScoreSpec:
    return ScoreSpec.model_validate({"scenario": scenario.content_hash} | more)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.3, 0.9))
def test_what_happens_later_changes_nothing_of_what_is_told(seed: int, part: float) -> None:
    jobs = LOG.workload
    at_s = float(np.quantile(jobs.submit_s, part)) + 0.5
    rng = np.random.default_rng(seed)
    start_s, end_s = (np.array(getattr(jobs, name)) for name in ("recorded_start_s", "recorded_end_s"))
    other_end_s = np.where(end_s > at_s, np.maximum(start_s, at_s) + rng.uniform(1, 1e5, len(jobs)), end_s)
    moved_s = rng.uniform(1, 1e4, len(jobs))
    other_start_s = np.where(start_s > at_s, at_s + moved_s, start_s)
    arrives_later = jobs.submit_s > at_s
    changed = jobs.with_columns(
        recorded_start_s=other_start_s, recorded_end_s=np.maximum(other_end_s, other_start_s + 1),
        work=np.where(end_s > at_s, rng.uniform(1, 1e5, len(jobs)), jobs.work),
        workers=np.where(arrives_later, 1, jobs.workers), user=np.where(arrives_later, "new", jobs.columns()["user"]),
    )  # fmt: skip
    changed = changed.select(np.flatnonzero(~(changed.submit_s > at_s) | (rng.random(len(changed)) < 0.5)))
    asked = spec(LOG, futures=10)
    one, other = (told_at(InstantTask(LOG.replace(workload=jobs), asked, at_s)) for jobs in (jobs, changed))
    if one is None or other is None:
        assert one is other
        return
    for name in ("low_s", "median_s", "high_s", "worst_s", "past_wait_s"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_where_the_law_is_true_the_intervals_hold() -> None:
    hits = jobs = 0
    for seed in range(3):
        log = true_log(700, seed)
        score = run_score(spec(log, futures=60, later=True), log)
        hits += round((score.coverage or 0.0) * score.jobs)
        jobs += score.jobs
    # Jobs of one instant start together: as many independent ones as instants, 75 in all; 4 standard errors.
    assert abs(hits / jobs - 0.8) < 4 * (0.8 * 0.2 / 75) ** 0.5
    assert hits / jobs < 0.97, "an interval that always holds says nothing"


def test_instants_lie_in_the_second_half_while_a_job_waits() -> None:
    record = Record.of(LOG.workload)
    at_s = instants_of(record, 40)
    assert (np.diff(at_s) > 0).all()
    assert (at_s >= np.median(LOG.workload.submit_s)).all()
    assert all((~queue_at(record, at).running).any() for at in at_s)
    no_waits = LOG.workload.with_columns(recorded_start_s=LOG.workload.submit_s)
    with pytest.raises(InputError, match="no job of the log waited"):
        instants_of(Record.of(no_waits), 5)


def told(at_s: float, low: list[float], high: list[float], real: list[float]) -> Told:
    low_s, high_s, real_s = np.array(low), np.array(high), np.array(real)
    return Told(at_s, low_s, (low_s + high_s) / 2, high_s, high_s * 2, low_s, real_s)


def test_an_interval_is_the_middle_80_percent() -> None:
    found = Quantiles.of(np.arange(1.0, 101.0))
    assert found is not None
    assert (found.low_s, found.median_s, found.high_s) == (10.0, 50.0, 90.0)


def test_a_job_that_was_cut_short_tells_nothing_of_run_times() -> None:
    columns = past([0.5], each=4)
    columns["recorded_status"] = ["completed", "preempted", "failed", "completed"]
    record = Record.of(Workload.from_columns(columns))
    assert queue_at(record, 1e6).ended.tolist() == [0, 2, 3]  # of which all but the second ended by themselves
    assert queue_at(record, 60.0).ended.tolist() == [0]


@pytest.mark.parametrize(("days", "back"), [(27, list(range(1, 28))), (28, [7, 14, 21, 28]), (30, [7, 14, 21, 28])])
def test_later_jobs_are_of_the_same_weekday_where_the_log_has_four_weeks(days: int, back: list[int]) -> None:
    columns = past([0.5], each=days + 1)
    for name in ("submit_s", "recorded_start_s"):
        columns[name] = [86_400.0 * day for day in range(days + 1)]
    columns["recorded_end_s"] = [at_s + 50.0 for at_s in columns["recorded_start_s"]]
    record = Record.of(Workload.from_columns(columns))
    at_s = 86_400.0 * days + 100.0
    scenario = Scenario(record.jobs, cluster(1))
    assert arrivals_of(record, np.arange(days + 1), scenario, at_s, 3600.0).back_days.tolist() == back


def test_coverage_counts_jobs_and_its_interval_instants() -> None:
    asked = spec(LOG)
    one = told(10.0, [0, 100, 100, 0], [500, 300, 300, 1], [0, 361, 359, np.nan])
    two = told(20.0, [1000], [2000], [900])
    score = scored(asked, LOG, [one, two])
    assert (score.jobs, score.never, score.coverage) == (4, 1, 0.5)
    assert [(at.jobs, at.within) for at in score.instants] == [(3, 2), (1, 0)]
    assert (score.early, score.late) == (0.25, 0.25)
    assert score.low == 0.0  # of two instants
    assert score.errors.futures == pytest.approx(np.exp(np.median(np.abs(np.log(np.array(
        [310 / 60, 260 / 421, 260 / 419, 1560 / 960]))))))  # fmt: skip
    assert "Too few jobs" in score_sentence(score)
    assert SCORE_STUDY.answer.from_plain(score.to_plain()) == score


def test_a_score_that_fails_says_so() -> None:
    asked = spec(LOG)
    late = [told(10.0 * k, [0.0] * 20, [100.0] * 20, [5000.0 + k] * 20) for k in range(5)]
    assert "most others started later" in score_sentence(scored(asked, LOG, late))
    both = [told(10.0 * k, [1000.0] * 20, [1001.0] * 20, [0.0] * 10 + [5000.0] * 10) for k in range(5)]
    assert "too narrow" in score_sentence(scored(asked, LOG, both))
    good = [told(10.0 * k, [0.0] * 20, [100.0] * 20, [5.0] * 16 + [900.0] * 4) for k in range(5)]
    assert "hold on this log" in score_sentence(scored(asked, LOG, good))
    within = (20, 16, 12, 16, 16)  # shares 1, 0.8, 0.6, 0.8, 0.8: standard deviation 0.1414, t with 4 degrees 2.776
    mixed = [told(float(k), [0.0] * 20, [100.0] * 20, [5.0] * n + [900.0] * (20 - n)) for k, n in enumerate(within)]
    score = scored(asked, LOG, mixed)
    assert (score.low, score.high) == pytest.approx((0.8 - 0.1756, 0.8 + 0.1756), abs=1e-3)


def test_jobs_in_campaigns_are_drawn_together_and_others_by_themselves() -> None:
    rng = np.random.default_rng(1)
    campaigns = np.repeat(rng.uniform(0.05, 0.95, 25), STRETCH) * rng.uniform(0.9, 1.1, 25 * STRETCH)
    assert Pool("c", campaigns).stretches is not None
    grouped = sum(Pool("i", rng.uniform(0, 1, 500)).stretches is not None for _ in range(400))
    assert grouped <= 40, "5% of 400 by chance, with room"
    jobs = Workload.from_columns({"job_id": [f"w{n}" for n in range(50)], "submit_s": [0.0] * 50, "work": [1.0] * 50,
                                  "limit_s": [100.0] * 50})  # fmt: skip
    for numbers, spread in ((campaigns, 20.0), (rng.permutation(campaigns), 7.0)):
        ended = Ended(numbers * 100, np.full(500, 100.0), np.full(500, "", object), np.full(500, "", object))
        total = drawn_run_s(like_jobs(ended, jobs, np.zeros(50)), jobs.job_id, 0, 300).mean(axis=1)
        assert (total.std() > spread) == (spread == 20.0)


def test_jobs_that_run_now_tell_in_which_campaign_their_user_is() -> None:
    numbers = np.tile(np.repeat([0.1, 0.9], STRETCH), 5) * np.random.default_rng(0).uniform(0.95, 1.05, 200)
    ended = Ended(numbers * 100, np.full(200, 100.0), np.full(200, "al", object), np.full(200, "", object))
    jobs = Workload.from_columns({
        "job_id": [f"r{n}" for n in range(6)], "submit_s": [0.0] * 6, "work": [1.0] * 6, "limit_s": [100.0] * 6,
        "user": ["al"] * 6,
    })  # fmt: skip
    fresh, late = (drawn_run_s(like_jobs(ended, jobs, np.array([passed] * 5 + [0.0])), jobs.job_id, 0, 400)[:, 5]
                   for passed in (0.0, 40.0))  # fmt: skip
    assert 0.4 < (fresh > 50).mean() < 0.6
    assert (late > 50).mean() > 0.99


def test_ended_jobs_count_from_their_own_start_to_their_own_end() -> None:
    columns = past([0.5], each=4)
    columns["recorded_status"] = ["completed", "preempted", "running", "failed"]
    columns["recorded_start_s"][3] = np.nan
    record = Record.of(Workload.from_columns(columns))
    assert record.whole.tolist() == [True, False, False, False]
    assert Ended.of(record.select(np.array([0]))).run_s.tolist() == [50.0]
    assert record.last_s == 80.0
