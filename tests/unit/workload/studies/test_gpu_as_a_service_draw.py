"""Jobs of GPU as a service: hand calculations, distributions, independence of the jobs, refusals."""

import math

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.timetable import TimeTable
from dlsched.speed import build_speed
from dlsched.workload.studies.gpu_as_a_service import GpuaasSpec, speed_of_gpuaas, study_types
from dlsched.workload.studies.registry import canonical, draw, parse
from tests.support.known import known

HALF = {"name": "half", "parallel": 0.5, "m60_ratio": 2.0, "k80_hours": [10, 30]}
WHOLE = {"name": "whole", "parallel": 1.0, "m60_ratio": 0.5, "k80_hours": [10, 10]}


def spec(**changes):
    return {"kind": "gpuaas", **changes}


def test_two_applications_by_hand():
    chosen = spec(nodes=2, jobs=4, rate="even", gap_s=60, applications=[HALF, WHOLE], in_turn=True, most_gpus=4)
    jobs = draw(chosen, 5)
    u = job_uniforms(5, "workload", ["JJ1", "JJ2", "JJ3", "JJ4"], 4)
    assert list(jobs.job_id) == ["JJ1", "JJ2", "JJ3", "JJ4"]
    assert list(known(jobs.model)) == list(known(jobs.profile)) == ["half", "whole", "half", "whole"]
    assert jobs.submit_s.tolist() == [0, 60, 120, 180]
    # half: t(4 K80) = t1 x (0.5 + 0.5 / 4); whole: t(4 M60) = t1 / 2 / 4
    fastest = [3600 * (10 + 20 * u[0, 1]) * 0.625, 4500, 3600 * (10 + 20 * u[2, 1]) * 0.625, 4500]
    np.testing.assert_allclose(jobs.work, fastest, atol=1e-3)
    assert jobs.workers.tolist() == [4] * 4
    np.testing.assert_allclose(known(jobs.due_s), jobs.submit_s + (1 + 2 * u[:, 2]) * jobs.work, atol=1e-3)
    np.testing.assert_allclose(known(jobs.weight_usd_per_s), 0.003 + 0.012 * u[:, 3])
    rows = known(speed_of_gpuaas(GpuaasSpec.model_validate(chosen)).times).rows
    np.testing.assert_allclose(rows["whole"]["M60"], [4, 2, 4 / 3, 1])
    np.testing.assert_allclose(rows["whole"]["K80"], [8, 4, 8 / 3, 2])
    np.testing.assert_allclose(rows["half"]["K80"], [1.6, 1.2, 16 / 15, 1])


@pytest.mark.parametrize(
    ("name", "parallel", "ratio"),
    [
        ("DeepSpeech", 0.88, 0.85), ("VGG19-PyTorch", 0.82, 0.80), ("VGG19-TensorFlow", 0.80, 0.93),
        ("AlexNet", 0.72, 1.02), ("ResNet50-PyTorch", 0.95, 0.88), ("ResNet50-TensorFlow", 0.93, 0.95),
    ],
)  # fmt: skip
def test_times_of_the_six_applications(name, parallel, ratio):
    times: TimeTable = known(speed_of_gpuaas(GpuaasSpec.model_validate(spec())).times)
    for gpus in (1, 2, 3, 8):
        wanted = (1 - parallel + parallel / gpus) / ((1 - parallel + parallel / 8) * min(1, ratio))
        assert times.rows[name]["K80"][gpus - 1] == pytest.approx(wanted, rel=1e-12)
        assert times.rows[name]["M60"][gpus - 1] == pytest.approx(wanted * ratio, rel=1e-12)
    assert min(min(row) for row in times.rows[name].values()) == 1


def test_the_request_is_the_fastest_configuration():
    jobs = draw(spec(), 1)
    speed = build_speed(speed_of_gpuaas(GpuaasSpec.model_validate(spec())), jobs, study_types())
    rate = [[speed.rate(row, int(jobs.workers[row]), 0, [vm]) for vm in range(8)] for row in range(len(jobs))]
    np.testing.assert_allclose(np.max(rate, axis=1), 1)
    np.testing.assert_allclose(speed.fastest(), 1)


@pytest.mark.parametrize(
    ("rate", "node_gap_s"),
    [("exponential", 75_000), ("low", 140_000), ("high", 35_000), ("high450", 46_000), ("mixed", 87_500)],
)
def test_mean_gaps(rate, node_gap_s):
    submit_s = draw(spec(nodes=50, jobs=20_001, rate=rate), 3).submit_s
    gaps = np.diff(submit_s) * 50
    assert submit_s[0] == 0
    assert gaps.mean() == pytest.approx(node_gap_s, rel=4 / math.sqrt(20_000))
    if rate != "mixed":  # exponential: deviation = mean, a third is above 1.1 means
        assert gaps.std() == pytest.approx(node_gap_s, rel=0.03)
        assert (gaps > node_gap_s).mean() == pytest.approx(math.exp(-1), abs=0.015)


def test_mixed_goes_from_high_to_low_every_ten_submissions():
    drawn = GpuaasSpec(nodes=10, jobs=31, rate="mixed").mean_gaps_s()
    assert drawn.tolist() == [3500] * 10 + [14_000] * 10 + [3500] * 10
    # the same dice stretched: blocks of the mixed rate are blocks of the two others
    mixed, high, low = (np.diff(draw(spec(rate=rate), 4).submit_s) for rate in ("mixed", "high", "low"))
    np.testing.assert_allclose(mixed[:10], high[:10], atol=2e-3)
    np.testing.assert_allclose(mixed[10:20], low[10:20], atol=2e-3)


def test_ranges_are_drawn_evenly():
    jobs = draw(spec(jobs=20_000), 2)
    fastest = {one.name: one.profile(8).fastest_s for one in GpuaasSpec().applications}
    hours = jobs.work / 3600 / [fastest[name] for name in known(jobs.model)]
    factor = (known(jobs.due_s) - jobs.submit_s) / jobs.work
    for values, low, high in ((hours, 40, 160), (factor, 1, 3), (known(jobs.weight_usd_per_s), 0.003, 0.015)):
        assert values.min() >= low - 1e-6
        assert values.max() <= high + 1e-6
        assert values.mean() == pytest.approx((low + high) / 2, rel=0.01)
        assert values.std() == pytest.approx((high - low) / math.sqrt(12), rel=0.02)
    names, counts = np.unique(known(jobs.model).astype(str), return_counts=True)
    assert len(names) == 6
    np.testing.assert_allclose(counts / 20_000, 1 / 6, atol=0.01)
    assert abs(np.corrcoef(hours, factor)[0, 1]) < 0.03


def test_ten_jobs_for_each_node_unless_stated():
    assert [len(draw(spec(nodes=n), 0)) for n in (1, 10)] == [10, 100]
    assert len(draw(spec(nodes=3, jobs=7), 0)) == 7


def test_fewer_jobs_are_the_first_of_more():
    few, many = draw(spec(jobs=20), 9), draw(spec(jobs=50), 9)
    assert few.content_hash == many.select(slice(20)).content_hash
    assert draw(spec(jobs=20), 10).content_hash != few.content_hash


def test_another_rate_or_range_leaves_the_rest_as_it_is():
    base, other = draw(spec(), 6), draw(spec(rate="high", late_usd_per_s=[0, 0.001]), 6)
    assert (base.work == other.work).all()
    assert list(known(base.model)) == list(known(other.model))
    assert base.submit_s[-1] > other.submit_s[-1]
    np.testing.assert_allclose(known(base.due_s) - base.submit_s, known(other.due_s) - other.submit_s, atol=2e-3)


def test_shares_say_how_often():
    chosen = spec(jobs=9_000, applications=[HALF | {"share": 2}, WHOLE])
    assert (known(draw(chosen, 1).model) == "half").mean() == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "generator, nodes: .*greater than or equal to 1"),
        ({"jobs": 0}, "generator, jobs"),
        ({"rate": "fast"}, "generator, rate: .*'exponential', 'low'"),
        ({"due": [3, 1]}, "generator, due: a range must ascend, got 3 to 1"),
        ({"due": [0.5, 1]}, "generator, due.0: .*greater than or equal to 1"),
        ({"late_usd_per_s": [-1, 1]}, "late_usd_per_s.0"),
        ({"gap_s": 5, "rate": "high"}, "gap_s is only for the rates exponential and even, got rate high"),
        ({"gap_s": 0}, "generator, gap_s"),
        ({"applications": []}, "generator, applications"),
        ({"applications": [HALF, HALF]}, "two applications are called 'half'"),
        ({"applications": [HALF | {"parallel": 1.2}]}, "applications.0.parallel"),
        ({"applications": [HALF | {"k80_hours": [3, 1]}]}, "applications.0.k80_hours: a range must ascend"),
        ({"applications": [HALF | {"m60_ratio": 0}]}, "applications.0.m60_ratio"),
        ({"most_gpus": 65}, "generator, most_gpus"),
        ({"speed": 1}, "generator, speed: Extra inputs"),
    ],
)
def test_wrong_specifications_name_the_field(changes, message):
    with pytest.raises(InputError, match=message):
        parse(spec(**changes))


def test_the_plain_form_is_stable():
    plain = canonical(spec())
    assert canonical(plain) == plain
    assert "gap_s" not in plain
    assert [one["name"] for one in plain["applications"]][3] == "AlexNet"
