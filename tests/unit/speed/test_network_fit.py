"""Fitted times: curves of the network come back, noise stays noise, what cannot be known is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.speed.measurements import Measurements
from dlsched.speed.network_fit import error_table, exchanged, fit_all, fit_times
from dlsched.speed.queueing import NETWORKS, StepTimes, throughput


def step(worker_s: float, link_s: float, server_s: float) -> StepTimes:
    return StepTimes(worker_s=worker_s, uplink_s=link_s, server_s=server_s, downlink_s=link_s)


def curve(times: StepTimes, network: str, workers: list[int]) -> Measurements:
    return Measurements(np.array(workers), throughput(times, max(workers), network)[np.array(workers) - 1])


PAPER = step(0.029, 0.072, 0.018)
seconds = st.one_of(st.just(0.0), st.floats(-2.5, 0).map(lambda power: 10**power))
some_times = st.tuples(seconds, seconds, seconds).filter(any).map(lambda given: step(*given))
counts = st.lists(st.integers(1, 16), min_size=3, max_size=10, unique=True)


@pytest.mark.parametrize("network", NETWORKS)
def test_times_come_back_from_their_own_curve(network):
    """From ten points without noise: the exact network knows links and server as a set, but two of one length can only
    be the links; fcfs has one other answer, with a longer server.
    """
    found = fit_times(curve(PAPER, network, list(range(1, 11))), network)
    assert found.times.stations_s == pytest.approx(PAPER.stations_s, rel=1e-4)
    assert found.max_error < 1e-6
    assert found.finding == ""
    assert any("does not separate uplink from downlink" in note for note in found.notes)
    other = "As good: worker 0.083 s, links 0.018 s, server 0.072 s; taken are the longer links (our assumption)"
    assert (other in found.notes) == (network == "fcfs")


@given(times=some_times)
def test_fcfs_has_a_twin_with_the_same_curve(times):
    twin = exchanged(times)
    link_s, server_s = times.uplink_s, times.server_s
    far_apart = abs(link_s - server_s) > 1e-3 * max(link_s, server_s)
    assert (twin is not None) == (0 < server_s <= times.worker_s + link_s and link_s > 0 and far_apart)
    if twin:
        assert throughput(twin, 20, "fcfs") == pytest.approx(throughput(times, 20, "fcfs"), rel=1e-9)


@settings(max_examples=15)
@given(times=some_times, workers=counts, network=st.sampled_from(NETWORKS))
def test_any_curve_is_met(times, workers, network):
    found = fit_times(curve(times, network, workers), network)
    assert found.max_error < 1e-6
    assert found.times.uplink_s == found.times.downlink_s


@settings(max_examples=10)
@given(
    network=st.sampled_from(NETWORKS),
    noise=st.floats(0.001, 0.2),
    signs=st.lists(st.floats(-1, 1), min_size=8, max_size=8),
)
def test_noise_gives_errors_of_its_size(network, noise, signs):
    """The true times are a candidate, so the root mean square error is at most that of the noise."""
    clean = curve(PAPER, network, list(range(1, 9)))
    noisy = Measurements(clean.workers, clean.throughput / (1 + noise * np.array(signs)))
    found = fit_times(noisy, network)
    allowed = np.sqrt(1.02 * np.mean((noise * np.array(signs)) ** 2)) + 1e-6
    assert np.sqrt(np.mean(found.errors**2)) <= allowed
    assert found.min_error <= found.mean_error <= found.max_error


def test_scale_does_not_matter():
    slow = curve(step(2.9e4, 7.2e4, 1.8e4), "hybrid", [1, 2, 4, 8])
    fast = curve(step(2.9e-6, 7.2e-6, 1.8e-6), "hybrid", [1, 2, 4, 8])
    seconds = [np.array(fit_times(measured, "hybrid").times.stations_s) for measured in (slow, fast)]
    assert seconds[0] == pytest.approx(1e10 * seconds[1], rel=1e-6)


def test_the_same_measurements_give_the_same_fit():
    measured = Measurements(np.array([1, 2, 3, 5, 8]), np.array([5.0, 8.8, 11.0, 12.5, 12.0]))
    first, second = fit_all(measured), fit_all(measured)
    assert [fit.times for fit in first.fits] == [fit.times for fit in second.fits]


def test_the_network_that_made_the_curve_is_the_best():
    for network in NETWORKS:
        fits = fit_all(curve(PAPER, network, list(range(1, 11))))
        assert fits.best.network == network
        assert fits.of(network) is fits.best
        assert [fit.network for fit in fits.fits] == list(NETWORKS)


def test_linear_growth_needs_a_worker_only():
    found = fit_times(Measurements(np.array([1, 2, 4]), np.array([2.0, 4.0, 8.0])), "exact")
    assert found.times == step(0.5, 0, 0)
    assert "Links and server at 0: a higher value would hardly improve the fit" in found.notes


def test_least_squared_relative_errors_by_hand():
    """Workers alone, c n mini-batches/s: (c - 1)^2 + (2 c / 3 - 1)^2 is least at c = 15/13."""
    found = fit_times(Measurements(np.array([1, 2]), np.array([1.0, 3.0])), "exact")
    assert found.times.worker_s == pytest.approx(13 / 15)
    assert found.errors == pytest.approx([2 / 13, 3 / 13])


def test_a_flat_curve_is_one_station_that_is_always_in_use():
    """Of the exact network only: a single link or server gives 1 / S whatever the workers; two links would not."""
    found = fit_times(Measurements(np.array([1, 2, 8]), np.array([4.0, 4.0, 4.0])), "exact")
    assert found.times == step(0, 0, 0.25)


def test_two_points_fit_several_ways_and_say_so():
    found = fit_times(curve(PAPER, "exact", [1, 4]), "exact")
    assert found.max_error < 1e-6
    assert found.times.server_s == 0  # the fewest stations, the first of those
    notes = " / ".join(found.notes)
    assert "As good with other stations instead (worker and server" in notes
    assert "the curve is determined, the times are not" in notes
    assert "2 numbers of workers are too few to judge a network: measure at least 3" in notes


def test_three_times_of_the_exact_network_are_a_set():
    found = fit_times(curve(step(0.05, 0.02, 0.09), "exact", list(range(1, 11))), "exact")
    assert any("treats links and server alike" in note for note in found.notes)


def test_falling_and_too_fast_measurements_are_fitted_and_named():
    falling = fit_times(Measurements(np.array([1, 4, 5, 6]), np.array([5.0, 12.0, 13.2, 9.0])), "hybrid")
    assert any(note.startswith("Throughput falls from 13.2") for note in falling.notes)
    assert falling.max_error > 0.1
    fast = fit_times(Measurements(np.array([1, 2, 4]), np.array([1.0, 3.0, 9.0])), "hybrid")
    assert any("faster than the workers" in note for note in fast.notes)
    assert fast.times.uplink_s == fast.times.server_s == 0
    assert (
        fast.finding
        == f"An asynchronous model misses these measurements by {fast.mean_error:.0%}: use the measured curve"
    )


def test_a_bad_fit_of_synchronous_steps_says_so():
    measured = Measurements(np.array([1, 2, 4]), np.array([1.0, 3.0, 9.0]), synchronous=True)
    assert fit_times(measured, "exact").finding.startswith(
        "An asynchronous model misses these synchronous measurements"
    )


def test_error_table_has_a_row_for_each_series_and_network():
    fits = fit_all(curve(PAPER, "exact", [1, 2, 3, 4, 6, 8]))
    rows = error_table({"a": fits, "b": fits})
    assert [(row["series"], row["network"]) for row in rows] == [
        (name, network) for name in "ab" for network in NETWORKS
    ]
    for row, fit in zip(rows, fits.fits, strict=False):
        errors = np.abs(fit.predicted / fit.measured.throughput - 1)
        assert (row["max_error"], row["mean_error"], row["min_error"]) == (errors.max(), errors.mean(), errors.min())


def test_an_unknown_network():
    measured = curve(PAPER, "exact", [1, 2])
    with pytest.raises(InputError, match="network 'mva': is not known"):
        fit_times(measured, "mva")
    with pytest.raises(InputError, match="network 'mva': is not known"):
        fit_all(measured).of("mva")
