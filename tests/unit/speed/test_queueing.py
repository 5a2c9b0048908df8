"""Throughput with equal workers: published values, closed forms, a simulation of the network, properties."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.metrics.stats.intervals import mean_interval
from dlsched.speed.queueing import (
    NETWORKS,
    STATIONS,
    StepTimes,
    bottleneck,
    bounds,
    hybrid_rate,
    node_rates,
    residence_times,
    station_shares,
    throughput,
)
from tests.support.closed_network import simulated_throughput
from tests.support.known import known


def step(worker_s: float, uplink_s: float, server_s: float, downlink_s: float) -> StepTimes:
    return StepTimes(worker_s=worker_s, uplink_s=uplink_s, server_s=server_s, downlink_s=downlink_s)


PAPER = step(0.029, 0.072, 0.018, 0.072)
"""Measured for a model of 8 MB (Fig. 7)."""
FIGURE_7 = {
    "exact": [5.236, 8.098, 9.694, 10.643, 11.253, 11.672, 11.977, 12.208, 12.390, 12.536],
    "fcfs": [5.236, 9.098, 11.576, 12.922, 13.536, 13.774, 13.855, 13.879, 13.886, 13.888],
    "hybrid": [5.236, 9.098, 11.377, 12.066, 12.355, 12.534, 12.667, 12.773, 12.861, 12.936],
}
QUEUES = ["uplink_s", "server_s", "downlink_s"]
seconds = st.one_of(st.just(0.0), st.floats(-4, 1).map(lambda power: 10**power))
some_times = st.tuples(seconds, seconds, seconds, seconds).filter(any).map(lambda given: step(*given))


@pytest.mark.parametrize("network", NETWORKS)
def test_published_values(network):
    assert throughput(PAPER, 10, network).round(3).tolist() == FIGURE_7[network]


@pytest.mark.parametrize("network", NETWORKS)
@given(times=some_times)
def test_one_worker_takes_the_sum(network, times):
    assert throughput(times, 1, network)[0] == pytest.approx(1 / sum(times.stations_s))


@given(
    worker_s=st.floats(0.01, 10),
    link_s=st.floats(0.01, 10),
    place=st.sampled_from(["uplink_s", "server_s", "downlink_s"]),
)
def test_exact_is_the_machine_repair_model(worker_s, link_s, place):
    """One station with a queue: P(idle) = 1 / sum over i of n! / (n - i)! (S / Z)^i (M/M/1//n)."""
    times = StepTimes(**({"uplink_s": 0, "server_s": 0, "downlink_s": 0} | {place: link_s}), worker_s=worker_s)
    for workers, rate in enumerate(throughput(times, 12, "exact"), start=1):
        weights = [factorial(workers) / factorial(workers - i) * (link_s / worker_s) ** i for i in range(workers + 1)]
        assert rate == pytest.approx((1 - 1 / sum(weights)) / link_s)


def test_equal_links_alone_share_their_time_equally():
    """Balanced network of 3 stations without delay: X(n) = n / (S (n + 2))."""
    workers = np.arange(1, 21)
    assert throughput(step(0, 2, 2, 2), 20, "exact") == pytest.approx(workers / (2 * (workers + 2)))


def test_fcfs_by_hand():
    """W = 1, U = 1: X(1) = 1/2, Q = U = 1/2; T(2) = 1 + 1/2 - 1/4, X(2) = 2 / 2.25."""
    assert throughput(step(1, 1, 0, 0), 2, "fcfs").tolist() == [0.5, 2 / 2.25]


@pytest.mark.parametrize(
    ("times", "same"),
    [
        (step(1, 0.4, 0, 0), "fcfs"),  # utilisation of the link 0.54, with sharing 0.51
        (step(0, 4.0, 0, 0), "exact"),  # always in use
    ],
)
def test_hybrid_is_one_of_the_two_where_utilisation_is_clear(times, same):
    exact, fcfs = (throughput(times, 2, network)[1] for network in ("exact", "fcfs"))
    assert exact < fcfs
    assert throughput(times, 2, "hybrid")[1] == pytest.approx({"exact": exact, "fcfs": fcfs}[same])


@given(
    population=st.integers(1, 100),
    elsewhere_s=seconds,
    links=st.lists(
        st.tuples(st.floats(1e-4, 10), st.floats(1, 20), st.floats(0, 0.5)).map(
            lambda link: (link[0], link[0] * link[1], link[0] * link[2])
        ),
        min_size=1,
        max_size=2,
    ),
)
def test_hybrid_rate_agrees_with_bisection(population, elsewhere_s, links):
    def iteration_s(rate: float) -> float:
        weights = [min(1.0, max(0.0, (rate * demand - 0.8) / 0.2)) for demand, _, _ in links]
        return elsewhere_s + sum(first + g * more for g, (_, first, more) in zip(weights, links, strict=True))

    low, high = 0.0, population / iteration_s(0.0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * iteration_s(middle) < population else (low, middle)
    assert hybrid_rate(population, elsewhere_s, links) == pytest.approx(high, rel=1e-10)


@given(times=some_times)
def test_hybrid_weight_is_that_of_its_own_utilisation(times):
    rate, rows = throughput(times, 12, "hybrid"), residence_times(times, 12, "hybrid")
    for n in range(1, 12):
        for place in (1, 3):
            demand = times.stations_s[place]
            queue, more = rate[n - 1] * rows[n - 1, place], demand * demand * rate[n - 1] / 2
            weight = np.clip((rate[n] * demand - 0.8) / 0.2, 0, 1)
            assert rows[n, place] == pytest.approx(demand * (1 + queue) - more + weight * more)


@given(times=some_times, network=st.sampled_from(["exact", "hybrid"]), servers=st.integers(1, 4))
def test_exact_and_hybrid_keep_to_the_bounds_and_never_fall(times, network, servers):
    rates = throughput(times, 40, network, servers)
    assert (rates <= bounds(times, 40, servers) * (1 + 1e-12)).all()
    assert (rates[1:] >= rates[:-1] * (1 - 1e-12)).all()


@given(times=some_times)
def test_what_holds_of_the_approximation(times):
    """fcfs is the most hopeful of the three up to 2 workers, and never passes n / sum of S."""
    exact, fcfs, hybrid = (throughput(times, 40, network) for network in ("exact", "fcfs", "hybrid"))
    assert (exact[:2] <= hybrid[:2] * (1 + 1e-12)).all()
    assert (hybrid[:2] <= fcfs[:2] * (1 + 1e-12)).all()
    assert (fcfs <= np.arange(1, 41) / sum(times.stations_s) * (1 + 1e-12)).all()


def test_fcfs_passes_the_bound_and_falls():
    """One link alone can do 1 / S at most; the approximation says 4/3 of that with 2 workers, less with 3."""
    rates = throughput(step(0, 1, 0, 0), 3, "fcfs")
    assert rates == pytest.approx([1, 4 / 3, 9 / 7])
    assert bounds(step(0, 1, 0, 0), 3).tolist() == [1, 1, 1]


@pytest.mark.parametrize("network", NETWORKS)
def test_servers_split_links_and_server(network):
    """m servers take 1/m of each time at links and server (Section VII)."""
    third = step(0.029, 0.024, 0.006, 0.024)
    assert throughput(PAPER, 8, network, 3) == pytest.approx(throughput(third, 8, network))
    assert station_shares(PAPER, 8, network, 3) == pytest.approx(station_shares(third, 8, network))


SIMULATED = {
    "as measured": (PAPER, False),
    "worker-bound": (step(0.5, 0.05, 0.02, 0.03), False),
    "server-bound": (step(0.1, 0.02, 0.08, 0.02), False),
    "free server": (step(0.2, 0.1, 0, 0.1), True),
}


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.parametrize("workers", [2, 5])
def test_exact_lies_in_the_interval_of_a_simulation(name, workers):
    """Links shared, an exponential server, constant transmissions and constant or exponential workers.

    Product form needs some randomness: with everything constant the tasks run in step and stay so.
    """
    times, random_worker = SIMULATED[name]
    batches = simulated_throughput([times] * workers, exponential=(random_worker, False, True, False))
    found = mean_interval(batches, 0.99)
    assert abs(throughput(times, workers, "exact")[-1] - found.mean) < known(found.half_width)
    assert known(found.half_width) < 0.03 * found.mean


@pytest.mark.parametrize("name", ["as measured", "worker-bound", "server-bound"])
@pytest.mark.parametrize("workers", [2, 4, 7])
def test_fcfs_lies_within_12_percent_below_a_simulation(name, workers):
    """Constant transmissions one after the other: the approximation is cautious, worst (-11%) for 2 busy links."""
    times, _ = SIMULATED[name]
    found = mean_interval(simulated_throughput([times] * workers, shared=(False, False, False)), 0.99)
    rate = throughput(times, workers, "fcfs")[-1]
    assert 0.88 * found.mean < rate < found.mean + known(found.half_width)


@pytest.mark.parametrize("network", NETWORKS)
def test_shares_sum_to_one_and_follow_the_queue(network):
    shares = station_shares(PAPER, 10, network)
    assert shares.sum(axis=1) == pytest.approx(np.ones(10))
    assert shares[0] == pytest.approx(np.array(PAPER.stations_s) / 0.191)
    assert (np.diff(shares[:, 0]) < 0).all()  # a worker computes a smaller share the longer the others queue


@pytest.mark.parametrize("network", NETWORKS)
def test_one_node_of_two_is_the_server(network):
    rates = throughput(PAPER, 9, network)
    assert node_rates(PAPER, 10, network) == pytest.approx([rates[0], *rates])
    assert node_rates(PAPER, 9, network, shared_server=True) == pytest.approx(rates)
    assert node_rates(PAPER, 1, network, 5) == pytest.approx([rates[0]])


def test_several_server_nodes():
    """3 server nodes: fewer while a worker would be missing; with shared nodes never more servers than nodes."""
    of = {m: throughput(PAPER, 6, "exact", m) for m in (1, 2, 3)}
    assert node_rates(PAPER, 6, "exact", 3) == pytest.approx([of[1][0], of[1][0], of[2][0], *of[3][:3]])
    shared = [of[1][0], of[2][1], *of[3][2:6]]
    assert node_rates(PAPER, 6, "exact", 3, shared_server=True) == pytest.approx(shared)
    for nodes in range(1, 6):
        assert node_rates(PAPER, nodes, "exact", 3, shared_server=True) == pytest.approx(shared[:nodes])
        assert len(node_rates(PAPER, nodes, "exact", 9)) == nodes


@pytest.mark.parametrize(
    ("given", "station"),
    [
        ((9, 1, 2, 1), "server"),
        ((0, 3, 2, 3), "uplink"),
        ((0, 3, 2, 4), "downlink"),
        ((9, 0, 0, 0), "worker"),
    ],
)
def test_bottleneck_is_a_station_with_a_queue(given, station):
    assert bottleneck(step(*given)) == station
    assert station in STATIONS


def test_nothing_queues():
    times = step(2, 0, 0, 0)
    for network in NETWORKS:
        assert throughput(times, 5, network) == pytest.approx(bounds(times, 5))
    assert bounds(times, 4).tolist() == [0.5, 1, 1.5, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "the four times must sum to 1e-09 s or more, got 0 s"),
        ({"worker_s": -1}, "worker_s: Input should be greater than or equal to 0, got -1"),
        ({"server_s": float("nan")}, "server_s: Input should be a finite number"),
        ({"uplink_s": float("inf")}, "uplink_s: Input should be"),
        ({"downlink_s": 1e10}, "downlink_s: Input should be less than or equal to"),
        ({"worker_s": "slow"}, "worker_s: Input should be a valid number"),
        ({"disk_s": 1}, "disk_s: Extra inputs are not permitted"),
    ],
)
def test_bad_times(given, message):
    with pytest.raises(InputError, match="times of a mini-batch") as raised:
        StepTimes(**({"worker_s": 0, "uplink_s": 0, "server_s": 0, "downlink_s": 0} | given))
    assert message in str(raised.value)


def test_times_are_a_part_of_other_records():
    class Net(FrozenModel):
        times: StepTimes

    made = Net(times=PAPER)
    assert Net.model_validate_json(made.model_dump_json()) == made
    for bad in ({"worker_s": 1}, PAPER.model_dump() | {"more": 1}):
        with pytest.raises(ValueError, match="validation error"):
            Net.model_validate({"times": bad})


@pytest.mark.parametrize(
    ("workers", "network", "servers", "message"),
    [
        (0, "exact", 1, "number of workers: must be a whole number from 1 to 10,000, got 0"),
        (10_001, "exact", 1, "number of workers"),
        (2.5, "fcfs", 1, "number of workers"),
        (True, "fcfs", 1, "number of workers"),
        (2, "hybrid", 0, "number of servers"),
        (2, "Exact", 1, "network 'Exact': is not known; known: exact, fcfs, hybrid"),
    ],
)
def test_bad_questions(workers, network, servers, message):
    for question in (throughput, station_shares, residence_times):
        with pytest.raises(InputError, match=message.split(":")[0]) as raised:
            question(PAPER, workers, network, servers)
        assert message in str(raised.value)


def test_bad_nodes_and_bounds():
    with pytest.raises(InputError, match="number of nodes"):
        node_rates(PAPER, 0, "exact")
    with pytest.raises(InputError, match="number of workers"):
        bounds(PAPER, 0)


def test_the_most_workers_of_extreme_times():
    """Nothing overflows, and a link that is the limit is used fully."""
    for network in NETWORKS:
        rates = throughput(step(1e9, 1e-9, 0, 1e-30), 10_000, network)
        assert rates == pytest.approx(np.arange(1, 10_001) / 1e9)
        assert throughput(step(0, 1e9, 1, 0), 2_000, network)[-1] == pytest.approx(1e-9, rel=1e-3)
