"""The stream of training jobs: the paper's table by hand, independence of the jobs, load, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dlsched.domain.errors import InputError
from dlsched.speed.queueing import StepTimes
from dlsched.workload.speed_curves import seconds_per_work
from dlsched.workload.studies.hell_knee import (
    BATCH,
    K520_TFLOPS,
    LARGE,
    LEAST_EPOCHS,
    TABLE_III,
    StreamSpec,
    TrainingNetwork,
    from_paper,
    mean_alone_s,
    mean_gap_s,
    on_nodes,
    speed_of_stream,
)
from dlsched.workload.studies.registry import canonical, draw, parse
from tests.support.known import known

QUICK = {
    "name": "quick",
    "times": {"worker_s": 1.0, "uplink_s": 0.5, "server_s": 0.0, "downlink_s": 0.5},
    "steps_per_epoch": 10,
    "epochs": 5,
    "epoch_variance": 0,
}
SLOW = QUICK | {"name": "slow", "share": 3, "steps_per_epoch": 100}


def spec(**changes):
    return {"kind": "training-stream", **changes}


def test_table_3_by_hand():
    nin, googlenet, alexnet, vgg = TABLE_III
    assert alexnet.times.worker_s == pytest.approx(5.6957, abs=1e-4)  # 7.0 TFLOP over 1.229 TFLOP/s
    assert (alexnet.times.uplink_s, alexnet.times.downlink_s) == pytest.approx((1.992, 1.992))  # 249 MB over 1 Gbit/s
    assert alexnet.times.server_s == 0
    assert alexnet.steps_per_epoch == 1_171.875  # 1.2 million over 1,024
    # (worker + uplink + downlink) x steps: AlexNet 9.6797 s x 105,468.75 = 11.8 days, as the study says
    hours = [mean_alone_s(StreamSpec(networks=(one,))) / 3600 for one in (nin, googlenet, alexnet, vgg)]
    assert hours == pytest.approx([16.09, 570.1, 283.58, 2573.6], rel=2e-4)
    assert hours[2] / 24 == pytest.approx(11.8, abs=0.05)
    assert mean_alone_s(StreamSpec()) / 3600 == pytest.approx(sum(hours) / 4)


def test_other_nodes_by_hand():
    faster = on_nodes(TABLE_III[2], batch=512, tflops_per_s=2.458, gbit_per_s=10)
    assert faster.times.worker_s == pytest.approx(TABLE_III[2].times.worker_s / 4)  # half the examples, twice as fast
    assert (faster.times.uplink_s, faster.times.downlink_s) == pytest.approx((0.1992, 0.1992))
    assert faster.steps_per_epoch == 2 * 1_171.875  # the same examples
    assert on_nodes(TABLE_III[2], BATCH, K520_TFLOPS, 1) == TABLE_III[2]


@pytest.mark.parametrize(("network_model", "at_30", "at_100"), [("exact", 4.69, 4.81), ("hybrid", 4.71, 4.81)])
def test_alexnet_saturates_near_4_8(network_model, at_30, at_100):
    chosen = StreamSpec(network_model=network_model)
    speed_up = chosen.curve(TABLE_III[2]) * chosen.one_node_s(TABLE_III[2])
    assert (speed_up[30], speed_up[99]) == pytest.approx((at_30, at_100), abs=0.01)  # 30 and 99 workers
    assert speed_up.max() < 9.6797 / 1.992  # the uplink is the bottleneck


def test_fcfs_saturates_early():
    chosen = StreamSpec(network_model="fcfs")
    speed_up = chosen.curve(TABLE_III[2]) * chosen.one_node_s(TABLE_III[2])
    assert (speed_up[10], speed_up[99]) == pytest.approx((4.84, 4.86), abs=0.01)


def test_presets():
    assert canonical(spec(networks="large")) == canonical(spec(networks=[one.model_dump() for one in LARGE]))
    assert canonical(spec(networks="table-iii")) == canonical(spec())
    assert [one["name"] for one in canonical(spec(networks="large"))["networks"]] == ["AlexNet", "VGG19"]


def test_two_networks_by_hand():
    chosen = spec(nodes=4, jobs=400, load=0.5, networks=[QUICK, SLOW], network_model="exact")
    jobs = draw(chosen, 5)
    names = known(jobs.profile)
    assert list(names) == list(known(jobs.model))
    # one node: 2 s a step; 50 and 500 steps
    np.testing.assert_allclose(jobs.work, np.where(names == "slow", 1000.0, 100.0))
    assert (jobs.workers == 1).all()
    assert (jobs.gpus_per_worker == 1).all()
    assert (names == "slow").mean() == pytest.approx(0.75, abs=0.07)  # shares 1 : 3
    parsed = StreamSpec.model_validate(chosen)
    assert mean_alone_s(parsed) == pytest.approx((100 + 3 * 1000) / 4)
    assert mean_gap_s(parsed) == pytest.approx(775 / (0.5 * 4))
    row = known(speed_of_stream(parsed).times).rows["quick"]["K520"]
    # 2 workers: at each link 0.25 in the queue, 0.625 s; X(2) = 2 / 2.25; 2 nodes are 1 worker and 1 server
    assert row[:3] == pytest.approx((1, 1, 0.5 * 2.25 / 2))
    assert len(row) == 4


def test_where_the_server_sits():
    own, shared = (
        known(speed_of_stream(StreamSpec.model_validate(spec(shared_server=share))).times) for share in (False, True)
    )
    alone, beside = own.rows["VGG19"]["K520"], shared.rows["VGG19"]["K520"]
    assert beside[:99] == pytest.approx((alone[0], *alone[2:]))  # one worker more on the same nodes


def test_epochs_are_normal_in_each_network():
    common = {"epochs": 200, "epoch_variance": 2}
    jobs = draw(spec(jobs=40_000, networks=[QUICK | common, SLOW | common]), 3)
    is_quick = known(jobs.profile) == "quick"
    for mine, step_s, sample in ((is_quick, 20, 10_000), (~is_quick, 200, 30_000)):
        epochs = jobs.work[mine] / step_s
        assert epochs.mean() == pytest.approx(200, abs=4 * math.sqrt(2 / sample))
        assert epochs.var() == pytest.approx(2, rel=0.06)
        assert (epochs < 200 - math.sqrt(2)).mean() == pytest.approx(0.1587, abs=0.015)


@given(st.floats(0.01, 20), st.floats(0, 50))
def test_the_mean_of_the_cut_epochs(mean, variance):
    network = TrainingNetwork.model_validate(QUICK | {"epochs": mean, "epoch_variance": variance})
    deviation = math.sqrt(variance)
    values = [max(LEAST_EPOCHS, mean + deviation * z) for z in norm.ppf((np.arange(20_000) + 0.5) / 20_000)]
    assert network.mean_epochs == pytest.approx(np.mean(values), rel=1e-3, abs=1e-3)


def test_few_epochs_are_cut():
    chosen = spec(jobs=5_000, networks=[QUICK | {"epochs": 0.5, "epoch_variance": 4}])
    work = draw(chosen, 2).work
    assert work.min() == pytest.approx(LEAST_EPOCHS * 10 * 2)
    assert (work == work.min()).mean() == pytest.approx(norm.cdf((LEAST_EPOCHS - 0.5) / 2), abs=0.03)
    assert work.mean() == pytest.approx(mean_alone_s(StreamSpec.model_validate(chosen)), rel=0.05)


@settings(max_examples=25)
@given(
    st.integers(0, 1000),
    st.integers(1, 60),
    st.integers(0, 60),
    st.floats(0.05, 0.95),
    st.sampled_from(["exact", "fcfs"]),
)
def test_what_a_job_is_depends_on_seed_and_number_only(seed, few, more, load, network_model):
    base = draw(spec(jobs=few, load=0.5), seed)
    longer = draw(spec(jobs=few + more, load=0.5), seed)
    assert longer.select(slice(few)).content_hash == base.content_hash
    stretched = draw(spec(jobs=few, load=load, nodes=17, network_model=network_model), seed)
    np.testing.assert_array_equal(stretched.work, base.work)  # on one node links make no difference
    assert list(known(stretched.profile)) == list(known(base.profile))
    np.testing.assert_allclose(stretched.submit_s * load * 17, base.submit_s * 0.5 * 100, rtol=1e-6, atol=0.1)


def test_arrivals_are_poisson():
    chosen = spec(jobs=20_001, load=0.3)
    gaps = np.diff(draw(chosen, 3).submit_s) / mean_gap_s(StreamSpec.model_validate(chosen))
    assert draw(chosen, 3).submit_s[0] == 0
    assert gaps.mean() == pytest.approx(1, abs=4 / math.sqrt(20_000))
    assert gaps.std() == pytest.approx(1, rel=0.03)
    assert (gaps > 1).mean() == pytest.approx(math.exp(-1), abs=0.015)


def test_another_seed_draws_other_jobs():
    first, second = draw(spec(jobs=50), 1), draw(spec(jobs=50), 2)
    assert (first.work != second.work).all()
    assert (first.submit_s[1:] != second.submit_s[1:]).all()


def test_where_a_curve_has_no_rate_more_nodes_bring_nothing():
    assert seconds_per_work(np.array([2.0, 0.0, 0.0, 4.0])) == (1, 1, 1, 0.5)
    assert seconds_per_work(np.array([2.0, 4.0, 3.0]), width=2) == (2, 1, 4 / 3)


def test_the_plain_form_is_stable():
    plain = canonical(spec())
    assert canonical(plain) == plain
    assert plain["networks"][2]["times"]["worker_s"] == 7.0 / 1.229


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"load": 1.0}, "generator, load: .*bring more work than the cluster can do and the queue grows .*got 1.0"),
        ({"load": 0}, "generator, load: .*greater than or equal to 0.001"),
        ({"nodes": 0}, "generator, nodes"),
        ({"nodes": 1025}, "generator, nodes: .*less than or equal to 1024"),
        ({"jobs": 0}, "generator, jobs"),
        ({"servers": 0}, "generator, servers"),
        ({"network_model": "best"}, "generator, network_model: .*'exact', 'fcfs' or 'hybrid'"),
        ({"networks": "small"}, "generator, networks: a preset is one of table-iii, large, got 'small'"),
        ({"networks": []}, "generator, networks"),
        ({"networks": [QUICK, QUICK]}, "two networks are called 'quick'"),
        ({"networks": [QUICK | {"epochs": 0}]}, "networks.0.epochs: .*greater than or equal to 0.01"),
        ({"networks": [QUICK | {"share": 0}]}, "networks.0.share"),
        ({"networks": [QUICK | {"epoch_variance": -1}]}, "networks.0.epoch_variance"),
        ({"networks": [QUICK | {"steps_per_epoch": 0}]}, "networks.0.steps_per_epoch"),
        ({"networks": [QUICK | {"times": QUICK["times"] | {"worker_s": -1}}]}, "networks.0.times.*worker_s"),  # type: ignore[operator]
        (
            {"networks": [QUICK | {"steps_per_epoch": 1e12, "epochs": 1e6}]},
            "generator: jobs run .* on average, at most",
        ),
        ({"speed": 1}, "generator, speed: Extra inputs"),
    ],
)
def test_wrong_specifications_name_the_field(changes, message):
    with pytest.raises(InputError, match=message):
        parse(spec(**changes))


def test_a_network_by_what_a_paper_says():
    made = from_paper("one", 2048, 125, 2.458, 3)
    assert made.times == StepTimes(worker_s=2.0, uplink_s=1.0, server_s=0.0, downlink_s=1.0)
    assert (made.steps_per_epoch, made.epochs, made.epoch_variance, made.share) == (2, 3, 2, 1)
