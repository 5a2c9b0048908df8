import pytest

from dlsched.store import Store
from dlsched.studies.estimate import estimate_run
from tests.support.runs_for_store import record, small_scenario


def test_first_guess_rests_on_the_number_of_jobs():
    guess = estimate_run(small_scenario(2_000), "fifo")
    assert guess.seconds == pytest.approx(2.0)
    assert guess.source == "number of jobs"
    assert estimate_run(small_scenario(2), "fifo").seconds == 0.5


def test_later_guesses_rest_on_earlier_runs(tmp_path):
    with Store(tmp_path / "s.duckdb") as store:
        for seed, wall_s in enumerate([4.0, 8.0, 100.0]):
            store.save_run(record(small_scenario(4), seed=seed, wall_s=wall_s))
        guess = estimate_run(small_scenario(10), "fifo", store)
        assert guess.seconds == pytest.approx(20.0)  # median 2 s a job
        assert guess.source == "earlier runs"
        assert estimate_run(small_scenario(10), "sjf", store).source == "number of jobs"


def test_runs_of_far_fewer_jobs_are_no_guide(tmp_path):
    with Store(tmp_path / "s.duckdb") as store:
        store.save_run(record(small_scenario(1), wall_s=0.05))
        assert estimate_run(small_scenario(10), "fifo", store).source == "earlier runs"
        assert estimate_run(small_scenario(11), "fifo", store).source == "number of jobs"
