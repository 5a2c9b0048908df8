"""Recorded against replayed waits: numbers by hand, properties, and what the words say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Workload
from dlsched.studies.calibration import words
from dlsched.studies.calibration.answer import (
    MOST_GROUPS,
    OTHERS,
    Calibration,
    calibrate,
)
from dlsched.studies.calibration.measures import explained_share
from dlsched.studies.calibration.record import RecordedTimes, gpu_classes, has_same_record, record_of, size_classes
from dlsched.studies.calibration.tables import measure_rows, policy_rows, rows_of
from tests.support.calibrations import HAND, jobs_of, replay
from tests.support.known import known
from tests.support.wording import says


def test_the_numbers_of_four_jobs_by_hand() -> None:
    answer = calibrate(record_of(HAND), [replay([0, 120, 120, 120])])
    found = answer.best
    assert (answer.jobs, answer.recorded, answer.judged, answer.compared) == (4, 4, 4, 4)
    assert answer.split_s == 20
    first, second = known(found.first), found.second
    assert (first.jobs, second.jobs) == (2, 2)
    # |log| of 1 and 180/120 on the first half, of 1 and 180/240 on the second.
    assert (first.typical_factor, first.mean_factor) == pytest.approx((1.5**0.5, 1.5**0.5))
    assert (second.typical_factor, second.mean_factor) == pytest.approx(((4 / 3) ** 0.5, (4 / 3) ** 0.5))
    assert (first.explained, second.explained) == pytest.approx((1 - 3600 / 1800, 1 - 3600 / 1800))
    assert known(first.rank_correlation) == pytest.approx(1)
    assert second.rank_correlation is None
    assert (first.mean_ratio, second.mean_ratio) == pytest.approx((120 / 90, 180 / 210))
    assert found.bias_s.mean == pytest.approx(0)
    assert found.bias_s.half_width is None  # one day
    assert (found.wait.recorded.mean_s, found.wait.recorded.median_s, found.wait.recorded.p95_s) == pytest.approx(
        (90, 90, 171)
    )
    assert (found.wait.replayed.mean_s, found.wait.replayed.median_s, found.wait.replayed.p95_s) == (90, 120, 120)
    a, b = found.groups["group"]
    assert (a.name, b.name) == ("a", "b")
    assert (a.wait.ratio, b.wait.ratio) == pytest.approx((120 / 90, 180 / 210))
    assert (found.second.recorded_p95_s, found.second.replayed_p95_s) == pytest.approx((177, 120))
    jct = known(found.jct)
    assert (jct.jobs, jct.recorded.mean_s, jct.ratio) == (4, 190, 1)


def test_the_bias_has_the_interval_of_two_days() -> None:
    record = record_of(HAND)
    record = replace(record, day=np.array([0, 0, 1, 1]))
    bias = calibrate(record, [replay([0, 120, 120, 120])]).best.bias_s
    # The days' means are +30 and -30 s: half width = t(1 degree of freedom) x 30 s.
    assert (bias.mean, known(bias.half_width)) == pytest.approx((0, 12.7062 * 30), rel=1e-4)
    assert bias.n == 2


def test_jobs_that_are_not_comparable_are_counted_not_compared() -> None:
    jobs = jobs_of(
        [np.nan, 60, 120, 180, -5],
        recorded_status=["cancelled", "failed", "running", "completed", "completed"],
        recorded_end_s=[5.0, 170, 240, np.nan, 140],
    )
    answer = calibrate(record_of(jobs), [replay([9, 60, 120, 180, 9]), replay([9, 60, 120, np.nan, 9], "sjf")])
    assert (answer.jobs, answer.recorded, answer.compared) == (5, 3, 2)
    assert answer.unlike_end == {"failed": 1, "running": 1}
    assert known(answer.best.jct).jobs == 1  # the end of a running job is that of the trace
    assert (answer.of("sjf").never_start, answer.of("sjf").second.never_start) == (1, 1)
    text = words.counted(answer)
    assert says(text, "2 of 5", "2 without a recorded start", "1 did not start", "1 under SJF", "1 failed", "1 running")


def test_statuses_are_read_in_any_case_and_other_words_for_completed_are_known() -> None:
    ends = {"recorded_status": ["COMPLETED", " Succeeded", "RUNNING", "Failed", "FAILED"], "recorded_end_s": [1e6] * 5}
    answer = calibrate(record_of(jobs_of([60] * 5, **ends)), [replay([60] * 5)])
    assert answer.unlike_end == {"failed": 2, "running": 1}
    assert known(answer.best.jct).jobs == 4


def test_without_any_recorded_start_there_is_a_way_out() -> None:
    bare = HAND.with_columns(recorded_start_s=None)
    early = jobs_of([-1, -2])
    for jobs in (bare, early):
        assert not jobs.has_recorded_starts
        with pytest.raises(InputError, match=r"has a recorded start.*start times, such as Philly"):
            record_of(jobs)
    with pytest.raises(InputError, match="none of 2 jobs with a recorded start in the second half"):
        calibrate(record_of(HAND), [replay([np.nan] * 4)])


def test_equal_recorded_waits_leave_nothing_to_explain() -> None:
    answer = calibrate(record_of(jobs_of([5, 5, 5])), [replay([5, 6, 7])])
    assert answer.best.second.explained is None
    assert answer.best.second.rank_correlation is None


def test_the_nearest_policy_leads_only_where_days_tell_it_apart() -> None:
    waits = np.tile([0.0, 600, 1200, 3600], 10)
    record = replace(record_of(jobs_of(waits)), day=np.repeat(np.arange(10), 4), complete_from_s=0.0)
    answer = calibrate(record, [replay(2 * waits, "sjf"), replay(waits), replay(waits, "las")])
    assert answer.nearest == "fifo"
    assert known(answer.lead).mean == 0
    assert "the nearest of 3 policies but not clearly nearer than the next" in words.sentence(answer)
    answer = calibrate(record, [replay(waits / 2, "sjf"), replay(waits)])
    assert known(answer.lead).tells_apart()
    first = waits[2:20]  # without the warm-up; shorter by a factor is off by it too
    assert known(answer.best.first).jobs == len(first)
    assert known(answer.lead).mean == pytest.approx(np.log((first + 60) / (first / 2 + 60)).mean())
    assert ", the nearest of 2 policies;" in words.sentence(answer)


def many(ratios: dict[str, float], each: int = 21, wait_s: float = 540.0) -> Calibration:
    """Groups of equal recorded waits (540 s, 600 s with the minute added) replayed at these ratios, one job in turn.

    Of 21 jobs each, the first is the warm-up.
    """
    names = list(ratios) * each
    recorded: Floats = wait_s + (np.arange(len(names)) // len(ratios) % 2).astype(np.float64)
    replayed = (recorded + 60) * [ratios[name] for name in names] - 60
    return calibrate(record_of(jobs_of(recorded, group=names)), [replay(replayed)])


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(1.0, "close"), (1.249, "close"), (1.251, "rough"), (1.999, "rough"), (2.001, "off"), (1 / 1.249, "close"),
     (1 / 1.999, "rough"), (1 / 2.001, "off")],
)  # fmt: skip
def test_verdicts_follow_the_stated_thresholds_in_both_directions(ratio: float, verdict: str) -> None:
    (group,) = many({"a": ratio}).best.groups["group"]
    assert words.verdict_of(group) == verdict
    (small,) = many({"a": ratio}, each=19).best.groups["group"]
    assert words.verdict_of(small) == "few"


def test_a_mean_that_agrees_by_chance_is_not_trusted() -> None:
    """Waits of 22 jobs in the opposite order: the mean is the same, no job has its own wait."""
    recorded = 1000.0 + 500 * np.arange(44.0)
    mirrored = np.concatenate([recorded[:22][::-1], recorded[22:][::-1]])
    (group,) = calibrate(record_of(jobs_of(recorded, group=["a"] * 44)), [replay(mirrored)]).best.groups["group"]
    assert group.second is not None
    assert (group.second.grade, round(group.wait.ratio, 1)) == ("fails", 1.0)
    assert words.verdict_of(group) == "rough"
    (group,) = calibrate(record_of(jobs_of(recorded, group=["a"] * 44)), [replay(recorded)]).best.groups["group"]
    assert words.verdict_of(group) == "close"


@pytest.mark.parametrize(
    ("ratios", "told"),
    [
        ({"a": 1.1, "vc7": 3.0}, "group vc7 is off by 3.0x: trust its what-ifs less"),
        ({"a": 0.2, "vc7": 3.0, "b": 1}, "group a is off by 5.0x, 1 more of 3 by over 2x: trust their what-ifs less"),
        ({"a": 1.1, "b": 0.8}, "by group, all 2 groups of 20 jobs or more within 1.3x"),
        ({"a": 1.1}, "by group, the only one of 20 jobs or more within 1.1x"),
    ],
    ids=["one-off", "two-off", "all-near", "one-group"],
)
def test_the_sentence_names_the_group_that_is_off_most(ratios: dict[str, float], told: str) -> None:
    assert words.group_words(many(ratios).best, "group") == told


def test_small_groups_only_are_said_to_tell_nothing() -> None:
    assert words.group_words(many({"a": 9.0}, each=3).best, "group") == "no group by group has 20 jobs to compare"


def replayed_off(off: Sequence[float], **groups: Any) -> Calibration:
    """Waits of 10 min with a minute added, replayed at e to the power of these numbers."""
    return calibrate(record_of(jobs_of([540] * len(off), **groups)), [replay(600 * np.exp(off) - 60)])


def test_the_grouping_that_tells_where_a_replay_is_off_is_the_default() -> None:
    off = [0, 0.1, 1, 1.1, 0, 0.1, 1, 1.1]
    answer = replayed_off(off, group=["x", "y"] * 4, user=["s", "s", "l", "l"] * 2, job_class=list("abcdefgh"))
    assert answer.default_by == "user"  # the groups hardly differ, each class is one job
    assert answer.groupings == ("group", "user", "job_class", "gpus")
    assert replayed_off([0, 0], user=["a", "b"]).default_by == "user"
    assert replayed_off([0, 1]).default_by == "gpus"


def test_the_default_grouping_is_about_the_nearest_replay() -> None:
    by_user, by_group = np.array([0, 0, 1, 1]), np.array([0, 2, 0, 2])
    jobs = jobs_of([540] * 4, group=list("xyxy"), user=list("ssll"))
    replays = [replay(600 * np.exp(by_group) - 60, "far"), replay(600 * np.exp(by_user) - 60, "near")]
    answer = calibrate(record_of(jobs), replays)
    assert (answer.nearest, answer.default_by) == ("near", "user")


def test_more_groups_that_tell_hardly_more_are_not_the_default() -> None:
    """Sums of squares within: 10 by group, 8 by user (tenths); over degrees of freedom: 10 / 6 and 8 / 4."""
    off = np.array([0, 1, 2, 3, 10, 11, 12, 13]) / 10
    assert replayed_off(off.tolist(), group=list("xxxxyyyy"), user=list("ababcdcd")).default_by == "group"


def test_many_groups_end_in_one_of_others() -> None:
    names = ["early"] * 5 + [f"u{number:03}" for number in range(MOST_GROUPS + 5)] + ["u104"]
    waits = [2000.0] * len(names)
    groups = calibrate(record_of(jobs_of(waits, user=names)), [replay(waits)]).best.groups["user"]
    assert (groups[0].name, groups[0].wait.jobs) == ("u104", 2)
    assert (groups[-1].name, groups[-1].wait.jobs) == (OTHERS, 5)
    assert sum(group.wait.jobs for group in groups) == len(names) - 5  # the warm-up


def test_classes_of_gpus() -> None:
    gpus = np.array([0, 0.5, 1, 1.5, 4, 5, 8, 16, 17])
    assert gpu_classes(gpus).tolist() == [
        "no GPU", "part of a GPU", "1 GPU", "2 to 4 GPUs", "2 to 4 GPUs", "5 to 8 GPUs", "5 to 8 GPUs",
        "9 to 16 GPUs", "over 16 GPUs",
    ]  # fmt: skip


def test_classes_of_cores_where_no_job_has_gpus() -> None:
    columns = {"job_id": ["a", "b"], "submit_s": [0.0, 0.0], "work": [1.0, 1.0], "cpus_per_worker": [1.0, 12.0]}
    cores = Workload.from_columns(columns | {"gpus_per_worker": [0.0, 0.0]})
    assert size_classes(cores).tolist() == ["1 core", "9 to 16 cores"]
    assert size_classes(Workload.from_columns(columns)).tolist() == ["1 GPU", "1 GPU"]


def test_the_answer_goes_through_plain_data_and_the_chip_says_the_share() -> None:
    answer = many({"a": 1.1, "vc7": 3.0})
    assert Calibration.from_plain(answer.to_plain()) == answer
    with pytest.raises(InputError, match="answer Calibration"):
        Calibration.from_plain({"scenario": "x"})


def test_the_caveat_names_grade_measures_n_and_policy() -> None:
    good = words.trust_caveat(graded(1.1))
    assert (
        good.label == "replays the log: typical factor 1.10x, rank correlation 1.00 on the second half (n = 22, FIFO)"
    )
    assert (good.kind, good.is_mild, good.is_bad) == ("calibration", True, False)
    ranked = words.trust_caveat(graded(2.5))
    assert ranked.label.startswith("ranks only: rank correlation 1.00, typical factor 2.50x on the second half (n = 22")
    assert (ranked.is_mild, ranked.is_bad) == (False, False)
    bad = words.trust_caveat(graded(2.5, backwards=True))
    assert bad.label.startswith("does not replay the log: typical factor")
    assert bad.is_bad
    assert words.trust_caveat(graded(1.1), stale=True).why.endswith("Computed with an earlier version.")
    assert "Replayed on version 2" in words.trust_caveat(graded(1.1), of="version 2").why


def test_the_caveat_is_of_the_policy_of_today_where_it_was_replayed() -> None:
    waits = many_waits()
    answer = calibrate(record_of(jobs_of(waits)), [replay(waits), replay(3 * waits, "sjf")])
    assert answer.nearest == "fifo"
    assert "(n = 22, SJF)" in words.trust_caveat(answer, "sjf").label
    assert "(n = 22, FIFO)" in words.trust_caveat(answer, "las").label


def test_capacity_that_the_record_left_idle_is_named_where_no_replay_explains_it() -> None:
    answer = graded(2.5, backwards=True, idle_wanted=0.43, left=0.01)
    chip = words.trust_caveat(answer)
    assert chip.label == (
        "does not replay the log: 43% of the cluster idle while jobs that fit waited, 1% under FIFO (n = 22)"
    )
    assert says(chip.why, "43% of the cluster was idle in the log", "would leave 1% idle", "holds jobs back")
    alike = words.trust_caveat(graded(2.5, backwards=True, idle_wanted=0.04, left=0.01))
    assert "typical factor" in alike.label


def test_no_grade_without_long_waits_or_with_few_jobs() -> None:
    log = jobs_of(300 + many_waits() / 20)
    short = words.trust_caveat(calibrate(record_of(log), [replay(many_waits() / 10)]))
    assert short.label.startswith("no waits to compare: none over 10 min in the log")
    busy = words.trust_caveat(calibrate(record_of(log), [replay(many_waits())]))
    assert busy.label == (
        "does not replay the log: 100% of jobs wait over 10 min in the replay, none in the log on the second half "
        "(n = 22, FIFO)"
    )
    assert busy.is_bad
    alike = calibrate(record_of(jobs_of([900.0] * 44)), [replay(900 + np.arange(44.0))])
    assert words.trust_caveat(alike).label.startswith("all recorded waits are equal")
    few = words.trust_caveat(calibrate(record_of(HAND), [replay([0, 120, 120, 120])]))
    assert few.label == "too few jobs to compare with the log on the second half (n = 2, FIFO)"
    assert (few.is_bad, few.is_mild) == (False, False)


def many_waits() -> Floats:
    """Waits of 44 jobs, of which the first 2 are the warm-up and 22 the second half."""
    return 1000.0 + 100 * (np.arange(44.0) % 7) ** 2  # at most 4,600 s


def graded(ratio: float, *, backwards: bool = False, idle_wanted: float | None = None, left: float = 0) -> Calibration:
    """Return an answer with waits replayed longer by a ratio, or in the opposite order."""
    recorded = many_waits()
    replayed = (recorded + 60) * ratio - 60
    shown = replay(replayed.max() - replayed if backwards else replayed)
    return calibrate(record_of(jobs_of(recorded)), [replace(shown, idle_wanted=left)], idle_wanted=idle_wanted)


def test_the_tables_have_both_halves_and_the_groups_of_the_second() -> None:
    answer = calibrate(record_of(HAND), [replay([0, 120, 120, 120])])
    second, first = policy_rows(answer)
    assert (second[:5], first[:5]) == (
        ("FIFO", "second", "2", "1.15x", "1.15x"), ("FIFO", "first", "2", "1.22x", "1.22x"),
    )  # fmt: skip
    assert [row[:2] for row in measure_rows(answer.best, "group")] == [("a", "0"), ("b", "2")]


def test_the_same_record_is_known_whatever_was_filled_in_since() -> None:
    assert has_same_record(HAND, HAND.with_columns(due_s=HAND.submit_s + 500))
    assert not has_same_record(HAND, HAND.with_columns(recorded_start_s=known(HAND.recorded_start_s) + 1))
    assert not has_same_record(HAND, HAND.with_columns(recorded_start_s=None))
    assert not has_same_record(HAND, jobs_of([0, 60]))


def test_rows_hold_all_jobs_and_every_group_of_every_grouping() -> None:
    rows = rows_of(calibrate(record_of(HAND), [replay([0, 120, 120, 120])]))
    assert [(row["by"], row["group"], row["jobs"]) for row in rows] == [
        ("all", "all jobs", 4), ("group", "a", 2), ("group", "b", 2), ("gpus", "1 GPU", 4),
    ]  # fmt: skip
    assert rows[1]["wait mean recorded, s"] == 30
    assert rows[1]["JCT p95 replayed, s"] == pytest.approx(214)
    assert rows[0]["second half: mean_ratio"] == pytest.approx(180 / 210)
    assert rows[1]["second half: jobs"] is None  # group a is the first half


WAITS = st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 50_000), st.sampled_from("abc")), min_size=2)


@given(rows=WAITS, data=st.data())
def test_the_order_of_jobs_changes_nothing(rows: list[tuple[int, int, str]], data: st.DataObject) -> None:
    recorded, replayed, groups = zip(*rows, strict=True)
    record = record_of(jobs_of(recorded, group=list(groups)))
    given_order = calibrate(record, [replay(replayed)])
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    moved = RecordedTimes(
        record.submit_s[order], record.wait_s[order], record.jct_s[order], record.status[order], record.day[order],
        {by: names[order] for by, names in record.groupings.items()}, record.complete_from_s,
    )  # fmt: skip
    found = calibrate(moved, [replay(np.array(replayed)[order].tolist())])
    assert _numbers(found.to_plain()) == pytest.approx(_numbers(given_order.to_plain()), rel=1e-9, abs=1e-6)
    assert [group.name for group in found.best.groups["group"]] == [
        group.name for group in given_order.best.groups["group"]
    ]


def _numbers(plain: Any) -> list[float]:
    if isinstance(plain, dict):
        return [number for part in plain.values() for number in _numbers(part)]
    if isinstance(plain, list | tuple):
        return [number for part in plain for number in _numbers(part)]
    return [float(plain)] if isinstance(plain, int | float) else []


@given(rows=WAITS)
def test_a_perfect_replay_is_right_in_every_number(rows: list[tuple[int, int, str]]) -> None:
    recorded, _, groups = zip(*rows, strict=True)
    found = calibrate(record_of(jobs_of(recorded, group=list(groups))), [replay(recorded)]).best
    for half in (found.first, found.second):
        if half is not None:
            assert half.explained in (None, 1)
            assert half.rank_correlation is None or half.rank_correlation == pytest.approx(1)
            assert (half.typical_factor, half.mean_factor, half.within_2x, half.mean_ratio) == (1, 1, 1, 1)
    assert found.bias_s.mean == 0
    assert {group.wait.ratio for groups in found.groups.values() for group in groups} == {1}
    assert {known(group.jct).ratio for groups in found.groups.values() for group in groups} == {1}


@given(rows=WAITS)
def test_no_replay_explains_more_than_everything(rows: list[tuple[int, int, str]]) -> None:
    recorded, replayed, _ = (np.array(values) for values in zip(*rows, strict=True))
    mean = np.full(len(recorded), recorded.mean())
    found = explained_share(recorded.astype(float), replayed.astype(float))
    assert found is None or found <= 1
    by_mean = explained_share(recorded.astype(float), mean)
    assert by_mean is None or by_mean == pytest.approx(0)
