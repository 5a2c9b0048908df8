"""Times of the queueing network that come nearest to measured throughput.

Throughput alone leaves much open. It never tells uplink from downlink, which get the same time here (our assumption),
and often not all of worker, links and server. Of fits that are as good the one with the fewest stations is taken, and
what it leaves out is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import isclose

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.optimise.least_squares import least_squares
from dlsched.speed.measurements import ENOUGH, Measurements
from dlsched.speed.queueing import NETWORKS, Network, StepTimes, check_network, throughput

BAD_FIT = 0.15
"""Mean relative error above which the measured curve is the better guide."""
AS_GOOD = 1.02
"""A station more must lower the sum of squares by about 2%."""
EXACT_ERROR = 1e-7
"""Relative errors below this are rounding; nothing is gained by another station."""
ALIKE = 1e-3
"""Two times this close, relative to the longer one, count as equal."""
PARTS = ("worker", "links", "server")
START_SPLITS = (0.02, 0.15, 0.4, 0.6, 0.85, 0.98)
"""Shares that a search starts from."""


@dataclass(frozen=True, eq=False)
class NetworkFit:
    """Times of a network that come nearest to measurements, and how near: ``predicted`` (points,) mini-batches/s."""

    network: Network
    times: StepTimes
    measured: Measurements
    predicted: Floats
    notes: tuple[str, ...]

    @cached_property
    def errors(self) -> Floats:
        """Relative error of each point, as a positive share."""
        return np.abs(self.predicted / self.measured.throughput - 1.0)

    @property
    def mean_error(self) -> float:
        """Mean of ``errors``."""
        return float(self.errors.mean())

    @property
    def max_error(self) -> float:
        """Largest of ``errors``."""
        return float(self.errors.max())

    @property
    def min_error(self) -> float:
        """Smallest of ``errors``."""
        return float(self.errors.min())

    @property
    def finding(self) -> str:
        """What to think of a bad fit; empty where it is good enough."""
        if self.mean_error <= BAD_FIT:
            return ""
        these = "these synchronous measurements" if self.measured.synchronous else "these measurements"
        return f"An asynchronous model misses {these} by {self.mean_error:.0%}: use the measured curve"


@dataclass(frozen=True, eq=False)
class NetworkFits:
    """One fit for each of ``NETWORKS``, in that order."""

    fits: tuple[NetworkFit, ...]

    def of(self, network: str) -> NetworkFit:
        """Return the fit of a network; InputError where it is unknown."""
        check_network(network)
        return self.fits[NETWORKS.index(network)]

    @property
    def best(self) -> NetworkFit:
        """The fit with the least mean error; the first of equally good ones."""
        return min(self.fits, key=lambda fit: max(fit.mean_error, EXACT_ERROR))


def fit_all(measured: Measurements) -> NetworkFits:
    """Return the fit of every network."""
    return NetworkFits(tuple(fit_times(measured, network) for network in NETWORKS))


def fit_times(measured: Measurements, network: str) -> NetworkFit:
    """Return the times with the least squared relative errors that a search from several starts found.

    Uplink = downlink. Every choice of stations (worker, links, server; the others 0) is fitted; the one with the
    fewest stations that is as good as the best is taken, the first in the order of PARTS among those.

    Raises
    ------
    InputError
        An unknown network.
    """
    check_network(network)
    choices = [parts for size in (1, 2, 3) for parts in combinations(range(3), size)]
    fits = [_fit_parts(measured, network, parts) for parts in choices]
    allowed = AS_GOOD * min(squares for _, squares in fits) + len(measured) * EXACT_ERROR**2
    good = [place for place, (_, squares) in enumerate(fits) if squares <= allowed]
    chosen = good[0]
    others = [choices[place] for place in good[1:] if len(choices[place]) == len(choices[chosen])]
    times, notes = fits[chosen][0], list(_notes(measured, network, choices[chosen], others))
    twin = exchanged(times)
    if twin and float(np.square(_at(measured, twin, network) / measured.throughput - 1.0).sum()) <= allowed:
        times, twin = sorted((times, twin), key=lambda either: either.server_s)
        notes.append(
            f"As good: worker {twin.worker_s:.3g} s, links {twin.uplink_s:.3g} s, server {twin.server_s:.3g} s; taken "
            "are the longer links (our assumption)"
        )
    return NetworkFit(NETWORKS[NETWORKS.index(network)], times, measured, _at(measured, times, network), tuple(notes))


def exchanged(times: StepTimes) -> StepTimes | None:
    """Return the times (W + L - S, S, L) of worker, links and server that fcfs cannot tell from (W, L, S); None if
    that is no network or nearly the same.

    With V = T - L/2, Eq. (2) is V(n) = L/2 + L X V(n-1), half of what it is at a server with time L: two equal links
    are one server of time L and a delay of L.
    """
    worker_s, link_s, server_s, _ = times.stations_s
    delay_s = worker_s + link_s - server_s
    if not (delay_s >= 0 and min(link_s, server_s) > 0 and not isclose(link_s, server_s, rel_tol=ALIKE)):
        return None
    return StepTimes(worker_s=delay_s, uplink_s=server_s, server_s=link_s, downlink_s=server_s)


def _fit_parts(measured: Measurements, network: str, parts: tuple[int, ...]) -> tuple[StepTimes, float]:
    """Return the best times with all but these parts 0, and the sum of squared relative errors.

    Searched are the shares of the parts: the first takes a share of all, the second of what is left. Their scale
    follows: with r = predicted / measured throughput, dividing all times by sum r / sum r^2 is best, because the error
    c r - 1 is linear in that c.
    """

    def times_at(splits: Floats, faster: float = 1.0) -> StepTimes:
        seconds = np.zeros(len(PARTS))
        left = np.concatenate([[1.0], np.cumprod(1.0 - splits)])
        seconds[list(parts)] = left * np.concatenate([splits, [1.0]]) / faster
        worker_s, link_s, server_s = seconds.tolist()
        return StepTimes(worker_s=worker_s, uplink_s=link_s, server_s=server_s, downlink_s=link_s)

    def scaled(splits: Floats) -> tuple[Floats, float]:
        ratio = _at(measured, times_at(splits), network) / measured.throughput
        return ratio, float(ratio.sum() / (ratio @ ratio))

    def residuals(splits: Floats) -> Floats:
        ratio, faster = scaled(splits)
        return faster * ratio - 1.0

    free = len(parts) - 1
    starts = [np.array(start) for start in product(START_SPLITS, repeat=free)]
    if free:
        best, squares = least_squares(residuals, starts, np.zeros(free), np.ones(free))
    else:
        best, squares = starts[0], float(np.square(residuals(starts[0])).sum())
    return times_at(best, scaled(best)[1]), squares


def _at(measured: Measurements, times: StepTimes, network: str) -> Floats:
    """Return the throughput of a network at the measured numbers of workers."""
    return np.asarray(throughput(times, int(measured.workers[-1]), network)[measured.workers - 1])


def _notes(
    measured: Measurements, network: str, parts: tuple[int, ...], others: list[tuple[int, ...]]
) -> tuple[str, ...]:
    notes = [*measured.findings]
    if PARTS.index("links") in parts:
        notes.append("Throughput does not separate uplink from downlink: both are assumed to take the same time")
    if network == "exact" and len(parts) == 3:
        notes.append("The exact network treats links and server alike, so which time belongs to which is open")
    zero = [name for place, name in enumerate(PARTS) if place not in parts]
    if zero:
        notes.append(f"{' and '.join(zero).capitalize()} at 0: a higher value would hardly improve the fit")
    if others:
        alike = "; ".join(" and ".join(PARTS[place] for place in other) for other in others)
        notes.append(f"As good with other stations instead ({alike}): the curve is determined, the times are not")
    if len(measured) < ENOUGH:
        notes.append(f"{len(measured)} numbers of workers are too few to judge a network: measure at least {ENOUGH}")
    return tuple(notes)


def error_table(fits: Mapping[str, NetworkFits]) -> list[dict[str, str | float]]:
    """Return max, mean and min relative error by series and network, as rows (Table II of the paper)."""
    return [
        {
            "series": name,
            "network": fit.network,
            "max_error": fit.max_error,
            "mean_error": fit.mean_error,
            "min_error": fit.min_error,
        }
        for name, of_series in fits.items()
        for fit in of_series.fits
    ]
