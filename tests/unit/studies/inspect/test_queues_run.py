"""Numbers of a run with quotas, by hand: two teams of 8 GPUs that borrow from each other for 640 s."""

import pandas as pd
import pytest

from dlsched.domain.queue_lookup import QuotaClock
from dlsched.studies.inspect.queues.answer import Queues, jain_index
from dlsched.studies.inspect.queues.run import RunTables, queues_of_tables
from dlsched.studies.inspect.queues.words import (
    cards_of,
    cautions_of,
    fairness_words,
    often_frame,
    queues_frame,
    sentence_of,
    stopped_words,
    stops_frame,
)
from dlsched.wording.clock import Clock
from tests.support.quota_runs import TEAMS, queues_of_teams, scenario_of_teams, tables_of_teams

HOUR = 3600


@pytest.fixture(scope="module")
def teams():
    return queues_of_teams()


def test_hours_used_borrowed_lent_and_unused(teams):
    vision, language = teams.queues
    assert (vision.used_h, vision.borrowed_h, vision.lent_h) == pytest.approx((4880 / HOUR, 720 / HOUR, 0))
    assert (language.used_h, language.borrowed_h, language.lent_h) == pytest.approx((1600 / HOUR, 0, 720 / HOUR))
    assert vision.idle_h == pytest.approx((8 * 640 - (4880 - 720)) / HOUR)
    assert language.idle_h == pytest.approx((8 * 640 - 1600 - 720) / HOUR)
    assert vision.nominal_h == pytest.approx(8 * 640 / HOUR)
    for one in teams.queues:
        assert one.nominal_h == pytest.approx(one.used_h - one.borrowed_h + one.lent_h + one.idle_h)


def test_waits_until_the_first_start_by_cause(teams):
    vision, language = teams.queues
    assert vision.waited_s == {"quota": 5}  # the 200 s after it was stopped do not count
    assert language.waited_s == {"lent": 20, "leaving": 8, "other": 2}
    assert language.wait_p95_s == 30
    assert language.holders == ("vision",)
    assert (vision.jobs, vision.started, language.jobs) == (3, 3, 1)


def test_who_was_stopped_for_whom(teams):
    vision, language = teams.queues
    assert (vision.stopped, vision.caused, language.caused) == (1, 0, 1)
    assert vision.lost_h == pytest.approx(80 / HOUR)
    only = teams.stopped_for[0]
    assert (only.queue, only.for_queue, only.jobs, only.lost_h) == ("vision", "language", 1, pytest.approx(80 / HOUR))
    assert (teams.stops[0].job, teams.stops[0].for_job, teams.stops[0].earlier) == ("v3", "l1", 0)
    assert (teams.often[0].job, teams.often[0].times) == ("v3", 1)


def test_shares_and_jain(teams):
    vision = teams.queues[0]
    assert vision.share == pytest.approx((80 + 100) * 4 / 16 / 640)  # borrows 4 of 16 lendable for 180 s
    assert teams.jain == pytest.approx(0.5)  # one of two borrows all
    assert jain_index([0, 0]) is None
    assert jain_index([3, 3, 3]) == pytest.approx(1)


def test_bands_follow_the_quotas(teams):
    band = next(band for band in teams.bands if band.queue == "vision")
    told = zip(band.used, band.borrowed, band.waiting, band.running_jobs, strict=True)
    at = dict(zip(band.time_s, told, strict=True))
    assert at[20] == (12, 4, 0, 3)
    assert at[100] == (8, 0, 4, 2)
    assert at[300] == (12, 4, 0, 3)
    assert at[640] == (0, 0, 0, 0)
    assert max(band.share) == pytest.approx(4 / 16)
    assert teams.flavors == ()


def test_the_answer_goes_through_json_and_back(teams):
    assert Queues.from_plain(teams.to_plain()) == teams


def test_words(teams):
    assert sentence_of(teams) == "No queue waits: the longest p95 wait is 30 s, of language."
    longer = teams.model_copy(
        update={"queues": (teams.queues[0], teams.queues[1].model_copy(update={"wait_s": (9.0, 9, 9, 9, 7200)}))}
    )
    assert sentence_of(longer) == (
        "Language has the longest p95 wait, 2 h, with quota to spare: during 66.7% of its waiting, vision used quota "
        "lent by it, which its jobs may not reclaim."
    )
    assert [(card[0], card[1]) for card in cards_of(longer)] == [
        ("p95 wait of language", "2 h"), ("Borrowed, 11.1% of use", "0.2 GPU-h"),
        ("Stopped, 0.0222 GPU-h lost", "1 job"), ("Unused, 36.7% of quota", "1.04 GPU-h"),
    ]  # fmt: skip
    assert cautions_of(teams) == []
    often = teams.model_copy(update={"often": (teams.often[0].model_copy(update={"times": 31}),)})
    assert "Job v3 was stopped 31 times" in cautions_of(often)[0].text
    assert "1 job stopped" in stopped_words(teams)
    assert "0.50" in fairness_words(teams)


def test_tables(teams):
    assert queues_frame(teams)["Stopped others"].tolist() == [0, 1]
    assert stops_frame(teams, Clock())["For job"].tolist() == ["l1"]
    assert often_frame(teams)["Times stopped"].tolist() == [1]


def test_a_run_in_which_nothing_happened():
    run = tables_of_teams()
    empty = [table.iloc[:0] for table in run.journal]
    jobs = run.jobs.assign(first_start_s=float("nan"), wait_s=float("nan"))
    nothing = RunTables(type(run.journal)(*empty), jobs, run.waits.iloc[:0], run.queue, 640.0)
    answer = queues_of_tables(QuotaClock(TEAMS), nothing, scenario_of_teams())
    assert sentence_of(answer) == "No job of any queue started."
    assert answer.stopped == 0
    assert answer.jain is None
    assert len(cards_of(answer)) == 4
    assert stops_frame(answer, Clock()).empty
    assert isinstance(queues_frame(answer), pd.DataFrame)
