"""Jobs that book machines by the slot, as in the PD-ORS study: ranges, speed by place, arrivals, refusals."""

from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.speed import build_speed
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.pd_ors import (
    SlottedJobsSpec,
    sample_slotted_jobs,
    slotted_jobs_scenario,
    with_arrivals_of,
)
from dlsched.workload.studies.registry import canonical, draw, drawn_scenario
from tests.support.assumptions import words_of
from tests.support.sim_fakes import jobs, scenario


def made(seed: int, **changes: Any) -> Any:
    """Return the jobs; any column may be there."""
    return draw({"kind": "slotted-jobs", **changes}, seed)


MANY = made(5, jobs=4000)


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("gpus_per_worker", 0, 4),
        ("cpus_per_worker", 1, 10),
        ("mem_gib_per_worker", 2, 32),
        ("disk_gib_per_worker", 5, 10),
        ("cpus_per_server", 1, 10),
        ("max_workers", 1, 200),
        ("workers_per_server", 1, 10),
        ("utility_1", 1, 100),
        ("utility_3", 1, 15),
    ],
)
def test_ranges_of_section_v(column, low, high):
    values = getattr(MANY, column)
    assert low <= values.min() <= low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) <= values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=0.03 * (high - low))


def test_work_is_epochs_times_samples():
    assert MANY.work.mean() == pytest.approx(125 * 260_000, rel=0.03)
    assert MANY.work.min() >= 50 * 20_000
    assert MANY.work.max() <= 200 * 500_000


def test_speed_is_equation_1_near_and_far():
    """Fixed bandwidths tell the terms apart: far minus near is the transfer over 1e6 MB per slot less a tenth of it."""
    jobs = made(2, jobs=30, slowest_mb_per_slot=1e6, fastest_mb_per_slot=1e6, slot_s=100.0)
    transfer = jobs.spread_s / 100 / (1e-6 - 1e-7)  # MB a sample
    model_mb = transfer * jobs.max_workers / (2 * jobs.workers_per_server)
    assert (model_mb >= 30 - 1e-6).all()
    assert (model_mb <= 575 + 1e-6).all()
    tau = jobs.step_s / 100 - transfer * 1e-7
    assert (tau >= 1e-5 - 1e-12).all()
    assert (tau <= 1e-4 + 1e-12).all()
    given = slotted_jobs_scenario(SlottedJobsSpec(jobs=30), 2)
    speed = build_speed(given.speed, given.workload, given.cluster.vm_types)
    row = int(np.argmax(given.workload.workers))
    workers, servers = int(given.workload.workers[row]), int(given.workload.servers[row])  # type: ignore[index]
    near_s, far_s = (float(getattr(given.workload, name)[row]) for name in ("step_s", "spread_s"))
    assert speed.rate(row, workers, servers, {0}, 1) == pytest.approx(workers / near_s)
    assert speed.rate(row, workers, servers, {0}, 2) == pytest.approx(workers / (near_s + far_s))


def test_widths_and_servers_are_legal():
    assert (MANY.workers <= np.minimum(MANY.max_workers, 30)).all()
    assert (MANY.servers * MANY.workers_per_server >= MANY.workers - 1e-6).all()
    assert ((MANY.servers - 1) * MANY.workers_per_server < MANY.workers).all()


@pytest.mark.parametrize(
    ("shares", "expected"), [({}, (0.1, 0.55, 0.35)), ({"insensitive": 0.3, "critical": 0.01}, (0.3, 0.69, 0.01))]
)
def test_how_time_matters(shares, expected):
    jobs = made(3, jobs=4000, **shares)
    names = ("time-insensitive", "time-sensitive", "time-critical")
    for name, share, (low, high) in zip(names, expected, ((0, 0), (0.01, 1), (4, 6)), strict=True):
        of_class = jobs.job_class == name
        assert of_class.mean() == pytest.approx(share, abs=0.03)
        assert (jobs.utility_2[of_class] >= low).all()
        assert (jobs.utility_2[of_class] <= high).all()


def test_every_second_slot_gets_twice_as_many():
    slot = MANY.submit_s / 3600
    assert (slot == np.floor(slot)).all()
    counts = np.bincount(slot.astype(int), minlength=20)
    assert len(counts) == 20
    assert counts[1::2].sum() / counts[::2].sum() == pytest.approx(2, abs=0.15)


def test_jobs_do_not_depend_on_how_many_there_are():
    few, many = made(4, jobs=10), made(4, jobs=40)
    for name, values in few.columns().items():
        by_id = dict(zip(many.job_id, getattr(many, name), strict=True))
        assert [by_id[job_id] for job_id in few.job_id] == list(values), name


def test_scenarios_count_slots():
    given = slotted_jobs_scenario(SlottedJobsSpec(machines=7, slot_s=60.0), 2)
    options = given.options
    assert (options.slot_s, options.utility_unit_s, options.utility_clock) == (60, 60, "slots")
    assert given.cluster.nodes.capacity[0].tolist() == [36, 99, 306, 135]
    assert drawn_scenario(given.generator or {}, 2).content_hash == given.content_hash


def test_the_sample_runs_clean_under_fixed_widths():
    done = simulate(sample_slotted_jobs(), "fifo")
    assert done.audit() == []
    assert done.metrics["completed"] == 50


def test_arrivals_of_another_scenario_are_scaled_to_the_slots():
    # 4 of 5 jobs in the first tenth of the time; from 1000 s to 1400 s there are 4 slots, of 100 s each
    source = scenario(jobs((1000, 1, 1), (1000, 1, 1), (1020, 1, 1), (1100, 1, 1), (1400, 1, 1)))
    spec = SlottedJobsSpec(jobs=5, slots=4, slot_s=60.0, machines=3)
    made = with_arrivals_of(source, spec, 7)
    assert made.workload.submit_s.tolist() == [0, 0, 0, 60, 180]  # the last submission is within the last slot
    drawn = slotted_jobs_scenario(spec, 7)
    by_id = {job_id: row for row, job_id in enumerate(drawn.workload.job_id)}
    same = [by_id[job_id] for job_id in made.workload.job_id]
    for name, values in drawn.workload.columns().items():
        if name != "submit_s":
            assert getattr(made.workload, name).tolist() == values[same].tolist(), name
    assert made.generator is None
    assert (made.cluster, made.options, made.speed) == (drawn.cluster, drawn.options, drawn.speed)
    assert words_of(made)[-1] == "jobs arrive as those of “scenario” do, its 0.111 h scaled to 4 slots"


@pytest.mark.parametrize(("count", "expected"), [(2, [0, 9]), (10, [0] * 5 + [9] * 5), (1, [9])])
def test_more_or_fewer_jobs_than_arrivals(count: int, expected: list[int]):
    source = scenario(jobs((50, 1, 1), (90, 1, 1)))
    made = with_arrivals_of(source, SlottedJobsSpec(jobs=count, slots=10, slot_s=1.0))
    assert made.workload.submit_s.tolist() == expected


def test_jobs_that_all_come_at_once_have_no_arrivals_to_take():
    with pytest.raises(InputError, match="all jobs arrive at the same time"):
        with_arrivals_of(scenario(jobs((5, 1, 1), (5, 2, 1))), SlottedJobsSpec())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"insensitive": 0.7, "critical": 0.4}, "at most 100%"),
        ({"slowest_mb_per_slot": 2e6}, "slowest_mb_per_slot must be at most"),
        ({"machines": 0}, "generator, machines"),
        ({"slot_s": 0}, "generator, slot_s"),
    ],
)
def test_bad_specifications(changes, message):
    with pytest.raises(InputError, match=message):
        canonical({"kind": "slotted-jobs", **changes})
