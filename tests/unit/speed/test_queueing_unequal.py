"""Unequal workers: against the single chain, a recursion written down as it is printed, and a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.intervals import mean_interval
from dlsched.speed.queueing import NETWORKS, StepTimes, throughput
from dlsched.speed.queueing_unequal import MOST_UNEQUAL, unequal_throughput
from tests.support.closed_network import simulated_throughput
from tests.support.known import known

LINKS, SERVER = (1, 3), 2


def step(worker_s: float, uplink_s: float, server_s: float, downlink_s: float) -> StepTimes:
    return StepTimes(worker_s=worker_s, uplink_s=uplink_s, server_s=server_s, downlink_s=downlink_s)


PAPER = step(0.029, 0.072, 0.018, 0.072)
MIXED = (step(0.1, 0.05, 0.02, 0.03), step(0.3, 0.02, 0.04, 0.08), step(0.02, 0.09, 0.01, 0.05))
seconds = st.one_of(st.just(0.0), st.floats(-2, 1).map(lambda power: 10**power))
some_times = st.tuples(seconds, seconds, seconds, seconds).filter(any).map(lambda given: step(*given))
crews = st.lists(some_times, min_size=1, max_size=4)


def printed(times: Sequence[StepTimes], network: str) -> float:
    """Total throughput by Eqs. (1) and (2) as printed, class by class; no hybrid."""

    @cache
    def solved(members: frozenset[int]) -> dict[int, tuple[float, list[float]]]:
        answer = {}
        for k in members:
            own = times[k].stations_s
            others = solved(members - {k})
            response = [own[0]]
            for station in (1, 2, 3):
                if network == "exact" or station == SERVER:
                    waiting = own[station] * sum(x * t[station] for x, t in others.values())
                else:
                    waiting = sum(
                        times[j].stations_s[station] * (x * t[station] - x * times[j].stations_s[station] / 2)
                        for j, (x, t) in others.items()
                    )
                response.append(own[station] + waiting)
            answer[k] = (1 / sum(response), response)
        return answer

    return sum(x for x, _ in solved(frozenset(range(len(times)))).values())


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("servers", [1, 3])
def test_equal_workers_are_a_single_chain(network, servers):
    rates = unequal_throughput([PAPER] * 8, network, servers)
    assert rates == pytest.approx(throughput(PAPER, 8, network, servers), rel=1e-9)


@given(times=some_times, workers=st.integers(1, 5))
def test_any_equal_workers_are_a_single_chain(times, workers):
    for network in NETWORKS:
        rates = unequal_throughput([times] * workers, network)
        assert rates == pytest.approx(throughput(times, workers, network), rel=1e-9)


@given(times=crews, network=st.sampled_from(["exact", "fcfs"]))
def test_the_recursion_as_printed(times, network):
    wanted = [printed(times[:workers], network) for workers in range(1, len(times) + 1)]
    assert unequal_throughput(times, network) == pytest.approx(wanted)


def test_a_quick_worker_keeps_its_digits_beside_a_slow_one():
    """The slow one's uplink takes 1e15 times as long; the wait behind it must not swallow what the quick one needs."""
    crew = (step(0, 1e6, 0, 0), step(1e-9, 1e-9, 1e-9, 0))
    assert unequal_throughput(crew, "exact")[-1] == pytest.approx(printed(crew, "exact"), rel=1e-12)
    assert unequal_throughput(crew, "exact")[-1] == pytest.approx(0.25e9)


def two_workers(first: StepTimes, second: StepTimes, up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Total throughput of two workers with these weights of sharing, and how far the weights that the utilisations
    then ask for are above them, (..., 2).
    """
    weight = np.stack([np.ones_like(up), up, np.ones_like(up), down], axis=-1)
    seconds = [np.array(first.stations_s), np.array(second.stations_s)]
    rates = []
    for own, other in (seconds, seconds[::-1]):
        busy = other / other.sum()  # one alone waits nowhere: Q = U
        shared, queued = own * (1 + busy), own + other * busy / 2
        rates.append(1 / (own[0] + (weight * shared + (1 - weight) * queued)[..., 1:].sum(axis=-1)))
    used = rates[0][..., None] * seconds[0] + rates[1][..., None] * seconds[1]
    return rates[0] + rates[1], (np.clip((used - 0.8) / 0.2, 0, 1) - weight)[..., LINKS]


def corners(values: np.ndarray) -> np.ndarray:
    return np.stack([values[:-1, :-1], values[1:, :-1], values[:-1, 1:], values[1:, 1:]])


@given(first=some_times, second=some_times)
def test_hybrid_is_a_fixed_point_for_two_workers(first, second):
    """Of all cells of a fine grid of weights, the answer lies in one where both weights can be what they ask for."""
    total = unequal_throughput([first, second], "hybrid")[1]
    up, down = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    rates, above = two_workers(first, second, up, down)
    signs = corners(above)
    possible = ((signs.min(axis=0) <= 1e-9) & (signs.max(axis=0) >= -1e-9)).all(axis=-1)
    near = (0.999 * corners(rates).min(axis=0) <= total) & (total <= 1.001 * corners(rates).max(axis=0))
    assert (possible & near).any()


def test_far_unequal_links_can_have_several_fixed_points():
    """A link taken for 1 s and 10 s: both "always shared" and "half shared" agree with their own utilisation."""
    quick, slow = step(0, 0, 0, 1), step(0, 0, 0, 10)
    weights = np.linspace(0, 1, 100_001)
    rates, above = two_workers(quick, slow, np.zeros_like(weights), weights)
    change = np.flatnonzero(np.diff(np.sign(above[:-1, 1])) != 0)
    assert weights[change] == pytest.approx([0.516], abs=0.001)
    assert above[-1, 1] == pytest.approx(0, abs=1e-12)  # weight 1: a utilisation of 1
    total = unequal_throughput([quick, slow], "hybrid")[1]
    assert total == pytest.approx(rates[change[0]], rel=1e-4)
    assert rates[-1] > 1.7 * total


def test_hybrid_lies_between_the_two_where_all_send_equally_long():
    """Links of one length, unequal workers: sharing is the slower for everybody."""
    times = [step(worker_s, 0.072, 0.018, 0.072) for worker_s in (0.01, 0.03, 0.1, 0.3, 0.9)]
    exact, fcfs, hybrid = (unequal_throughput(times, network)[:3] for network in ("exact", "fcfs", "hybrid"))
    assert (exact <= hybrid).all()
    assert (hybrid <= fcfs).all()
    assert exact[2] < hybrid[2] < fcfs[2]


def test_exact_lies_in_the_interval_of_a_simulation():
    """All shared, the server too: product form whatever the times."""
    found = mean_interval(simulated_throughput(MIXED, shared=(True, True, True)), 0.99)
    assert abs(unequal_throughput(MIXED, "exact")[-1] - found.mean) < known(found.half_width)
    assert known(found.half_width) < 0.01 * found.mean


@pytest.mark.parametrize("network", ["fcfs", "hybrid"])
def test_one_after_the_other_is_near_a_simulation(network):
    found = mean_interval(simulated_throughput(MIXED, shared=(False, False, False)), 0.99)
    assert unequal_throughput(MIXED, network)[-1] == pytest.approx(found.mean, rel=0.02)


def test_order_of_the_workers_does_not_matter_for_all_of_them():
    for network in NETWORKS:
        forth, back = unequal_throughput(MIXED, network), unequal_throughput(MIXED[::-1], network)
        assert forth[-1] == pytest.approx(back[-1], rel=1e-8)
        assert forth[0] == pytest.approx(1 / 0.2)


def test_bad_questions():
    with pytest.raises(InputError, match=r"number of unequal workers: must be from 1 to 12, .* got 13"):
        unequal_throughput([PAPER] * (MOST_UNEQUAL + 1), "exact")
    with pytest.raises(InputError, match=r"number of unequal workers: .* got 0"):
        unequal_throughput([], "exact")
    with pytest.raises(InputError, match="network 'ps': is not known"):
        unequal_throughput([PAPER], "ps")
    with pytest.raises(InputError, match="number of servers"):
        unequal_throughput([PAPER], "exact", 0)
