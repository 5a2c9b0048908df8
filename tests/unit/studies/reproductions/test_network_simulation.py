"""The simulated network: against closed forms, and against the general simulation of the tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.metrics.stats.intervals import mean_interval
from dlsched.speed.queueing import StepTimes, bounds, throughput
from dlsched.studies.reproductions.hell_knee.networks import EIGHT_MB, cloud_networks, cpu_networks
from dlsched.studies.reproductions.hell_knee.networks import simulated_throughput as simulated
from tests.support.closed_network import simulated_throughput as simulated_in_general
from tests.support.known import known


@given(
    worker_s=st.floats(0.001, 10),
    uplink_s=st.floats(0.001, 10),
    downlink_s=st.floats(0.001, 10),
    workers=st.integers(1, 12),
)
def test_without_chance_it_reaches_the_asymptotic_bounds(worker_s, uplink_s, downlink_s, workers):
    times = StepTimes(worker_s=worker_s, uplink_s=uplink_s, server_s=0, downlink_s=downlink_s)
    # 240 steps a batch hold whole rounds of most numbers of workers; the rest is one round in 20 batches
    found = simulated(times, workers, 240)
    assert found.mean == pytest.approx(bounds(times, workers)[-1], rel=workers / 240)


@pytest.mark.parametrize("workers", [1, 2, 5, 12])
def test_without_links_it_is_the_machine_repair_model(workers):
    times = StepTimes(worker_s=0.3, uplink_s=0, server_s=0.1, downlink_s=0)
    found = simulated(times, workers, 2000)
    # the repair model does not mind how worker times are distributed, so MVA is exact
    assert found.mean == pytest.approx(throughput(times, workers, "exact")[-1], abs=2 * known(found.half_width))


@pytest.mark.parametrize("workers", [2, 4])
def test_it_agrees_with_the_general_simulation(workers):
    found = simulated(EIGHT_MB, workers, 1000)
    other = mean_interval(simulated_in_general([EIGHT_MB] * workers, shared=(False, False, False)))
    assert found.mean == pytest.approx(other.mean, abs=2 * (known(found.half_width) + known(other.half_width)))


def test_a_seed_is_a_run():
    assert simulated(EIGHT_MB, 3, 50, seed=1) == simulated(EIGHT_MB, 3, 50, seed=1)
    assert simulated(EIGHT_MB, 3, 50, seed=1) != simulated(EIGHT_MB, 3, 50, seed=2)


def test_what_the_study_says_of_its_networks_holds_for_ours():
    networks = cpu_networks()
    for name, times in networks.items():
        traffic_s = times.uplink_s + times.downlink_s
        assert (times.worker_s > traffic_s) == (name != "InceptionV3"), name
    assert networks["InceptionV3"].uplink_s == pytest.approx(0.9)  # 100 MB at 9 ms per MB
    vgg = cloud_networks()["VGG16"]
    assert vgg.uplink_s == pytest.approx(528 * 8 / 5000)  # MB, bits, Mbit/s
    assert vgg.worker_s == pytest.approx(32 / 35.4)
