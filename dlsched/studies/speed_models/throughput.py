"""What is said of a speed curve: knee and HELL point, what limits it, how far measurements and model are apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.speed.measurements import ENOUGH, Measurements
from dlsched.speed.network_fit import NetworkFits
from dlsched.speed.queueing import (
    NETWORKS,
    STATIONS,
    Network,
    StepTimes,
    bottleneck,
    bounds,
    check_count,
    node_rates,
    station_shares,
)
from dlsched.speed.widths import hell_widths, knee_widths
from dlsched.wording.cautions import Caution, Level
from dlsched.wording.formats import amount, factor, share

LITTLE = 0.1
"""A node that adds less speed than this share adds little, as the sentence puts it."""
MEASURED = "measured"
NETWORK_WORDS: Mapping[str, str] = {"hybrid": "hybrid", "exact": "exact", "fcfs": "FCFS", MEASURED: "measured"}


@dataclass(frozen=True)
class Layout:
    """How a job lies on its nodes: on one node a worker with its server, on more nodes servers of their own.

    With ``shared_server`` every node has a worker, and servers lie beside them.
    """

    nodes: int
    servers: int = 1
    shared_server: bool = False

    def __post_init__(self) -> None:
        check_count("nodes", self.nodes)
        check_count("servers", self.servers)

    @cached_property
    def num_servers(self) -> Ints:
        """Servers on 1, 2, ... nodes, shape (nodes,); fewer than asked for where they would leave no worker."""
        widths = np.arange(1, self.nodes + 1)
        most = widths if self.shared_server else np.maximum(widths - 1, 1)
        return np.minimum(self.servers, most)

    @cached_property
    def num_workers(self) -> Ints:
        """Workers on 1, 2, ... nodes, shape (nodes,)."""
        widths = np.arange(1, self.nodes + 1)
        return widths if self.shared_server else np.maximum(widths - self.num_servers, 1)

    def words(self, width: int) -> str:
        """Return "8 nodes (7 workers)"; nodes alone where every node has a worker."""
        nodes = amount(width, "node")
        return nodes if self.shared_server else f"{nodes} ({amount(int(self.num_workers[width - 1]), 'worker')})"

    def by_node(self, rows: Callable[[int, int], Floats]) -> Floats:
        """Return on 1, 2, ... nodes what ``rows(workers, servers)`` says for 1..workers; shape (nodes, ...)."""
        found = [np.empty(0)] * self.nodes
        for servers in sorted(set(self.num_servers.tolist())):
            mine = np.flatnonzero(self.num_servers == servers)
            told = rows(int(self.num_workers[mine].max()), servers)
            for place in mine.tolist():
                found[place] = told[self.num_workers[place] - 1]
        return np.array(found)


def measured_curve(measured: Measurements, layout: Layout) -> Floats:
    """Return the measured speed curve, mini-batches/s on 1, 2, ... nodes up to the most workers that were measured.

    Straight lines in between; below the fewest workers that were measured, in proportion to workers.
    """
    workers = layout.num_workers[layout.num_workers <= measured.workers[-1]].astype(np.float64)
    return np.asarray(np.interp(workers, [0, *measured.workers], [0.0, *measured.throughput]))


@dataclass(frozen=True, eq=False)
class SpeedCurves:
    """Speed curves of a job in the three networks, and the one that is looked at.

    ``times`` by network: the same for all, or those fitted to ``measured``. ``chosen`` is a network or "measured";
    ``beside`` is the network whose stations, bound and limit are told beside a measured curve.
    """

    times: Mapping[Network, StepTimes]
    layout: Layout
    chosen: str = "hybrid"
    alpha: float = 0.01
    measured: Measurements | None = None
    beside: Network = "hybrid"

    def __post_init__(self) -> None:
        if self.chosen == MEASURED and self.measured is None:
            raise InputError("speed curve", "nothing was measured", "Choose a network, or upload measurements")

    @cached_property
    def rates(self) -> Mapping[Network, Floats]:
        """Mini-batches/s on 1, 2, ... nodes, by network."""
        lay = self.layout
        return {
            network: node_rates(self.times[network], lay.nodes, network, lay.servers, shared_server=lay.shared_server)
            for network in NETWORKS
        }

    @property
    def model(self) -> Network:
        """The network whose stations, bound and limit are told."""
        return next((network for network in NETWORKS if network == self.chosen), self.beside)

    @cached_property
    def curve(self) -> Floats:
        """The curve that is looked at, mini-batches/s on 1, 2, ... nodes; a measured one ends where measuring did."""
        if self.chosen == MEASURED and self.measured is not None:
            return measured_curve(self.measured, self.layout)
        return self.rates[self.model]

    @property
    def one_node(self) -> float:
        """Mini-batches/s on one node, to which all speed-ups relate: measured where one worker was, else modelled."""
        if self.measured is not None and self.measured.workers[0] == 1:
            return float(self.measured.throughput[0])
        return float(self.curve[0])

    @property
    def hell(self) -> int:
        """Nodes at the HELL point."""
        return int(hell_widths(self.curve)[-1])

    @property
    def knee(self) -> int:
        """Nodes at the knee."""
        return int(knee_widths(self.curve, self.alpha)[-1])

    @property
    def last_worth(self) -> int:
        """Nodes beyond which none of the nodes looked at adds LITTLE or more to the speed."""
        return last_worth(self.curve)

    def speed_up(self, width: int) -> float:
        """Return the speed-up of the curve that is looked at on so many nodes."""
        return float(self.curve[width - 1]) / self.one_node

    @cached_property
    def bound(self) -> Floats:
        """Asymptotic bound of the model, mini-batches/s on 1, 2, ... nodes."""
        return self.layout.by_node(lambda workers, servers: bounds(self.times[self.model], workers, servers))

    @cached_property
    def shares(self) -> Floats:
        """Share of an iteration's time at each of STATIONS in the model, shape (nodes, 4)."""
        return self.layout.by_node(
            lambda workers, servers: station_shares(self.times[self.model], workers, self.model, servers)
        )

    @property
    def limit(self) -> float:
        """Largest speed-up of any number of workers in the model; infinite where only workers take time."""
        slowest_s = max(self.times[self.model].with_servers(self.layout.servers).stations_s[1:])
        return float("inf") if slowest_s == 0 else 1.0 / slowest_s / self.one_node

    @property
    def bottleneck(self) -> str:
        """What limits many workers: links, uplink, downlink, server, workers; for fitted times links or server."""
        times = self.times[self.model]
        found = bottleneck(times)
        if found == "worker":
            return "workers"
        if self.measured is not None:
            return "links or server"
        return "links" if found == "uplink" and times.uplink_s == times.downlink_s else found


def last_worth(rates: Floats, least: float = LITTLE) -> int:
    """Return the last width that adds ``least`` of the speed or more for each node added; 1 where none does.

    ``rates`` as in ``speed.widths``, work per second on 1, 2, ... nodes. Steps go between efficient widths, so that
    one node that brings nothing alone (the server's) does not end them.
    """
    found, held = 1, 0
    for place, rate in enumerate(rates.tolist()):
        if place == 0 or rate <= rates[held]:
            continue
        if rate >= rates[held] * (1.0 + least) ** (place - held):
            found = place + 1
        held = place
    return found


def throughput_sentence(curves: SpeedCurves) -> str:
    """Return from where on nodes add little, what the limit is, and where KNEE and HELL stop."""
    lay, last, end = curves.layout, curves.last_worth, len(curves.curve)
    if last == end:
        begin = f"Each further node adds {share(LITTLE)} or more up to {lay.words(end)}, the last one looked at"
    elif last == 1:
        begin = f"No further node adds {share(LITTLE)}"
    else:
        begin = f"Beyond {lay.words(last)} each adds under {share(LITTLE)}"
    limit = _limit_words(curves)
    return f"{begin}; {limit}. {_stops(curves)}" if limit else f"{begin}. {_stops(curves)}"


def _stops(curves: SpeedCurves) -> str:
    """Return where KNEE and HELL stop; at the last width looked at they might go on."""
    lay, end = curves.layout, len(curves.curve)
    if curves.hell == curves.knee:
        return f"KNEE and HELL {'take all' if curves.knee == end else 'stop at'} {lay.words(curves.knee)}."
    knee, hell = ("takes all" if width == end else "stops at" for width in (curves.knee, curves.hell))
    return f"KNEE {knee} {lay.words(curves.knee)}, HELL {hell} {lay.words(curves.hell)}."


def _limit_words(curves: SpeedCurves) -> str:
    if curves.chosen == MEASURED:
        return ""
    if curves.bottleneck == "workers":
        return "nothing limits more workers"
    verb = "are" if curves.bottleneck == "links" else "is"
    found = curves.bottleneck.replace("links or", "link or the")
    return f"the {found} {verb} the limit ({factor(curves.limit)})"


def fit_guards(fits: NetworkFits) -> list[Caution]:
    """Return what must be read with care before a fit is used: a bad one, few points, measurements no network has."""
    best, measured = fits.best, fits.best.measured
    guards = [Caution("orange", f"{best.finding}.", "")] if best.finding else []
    if len(measured) < ENOUGH:
        text = (
            f"{amount(len(measured), 'number')} of workers are too few to judge a network: any of them comes near. "
            f"Measure {ENOUGH} or more."
        )
        guards.append(Caution("orange", text))
    level: Level = "orange" if best.finding else "info"  # where a network comes near, a fall may be noise
    return [*guards, *(Caution(level, f"{found}.", "") for found in measured.findings)]


def fit_table(fits: NetworkFits) -> pd.DataFrame:
    """Return a row for each network: fitted times in ms, and the max, mean and min error in % (Table II)."""
    return pd.DataFrame(
        [
            {"network": NETWORK_WORDS[fit.network]}
            | {f"{name} (ms)": 1000 * time_s for name, time_s in zip(STATIONS, fit.times.stations_s, strict=True)}
            | {"error, max (%)": 100 * fit.max_error, "error, mean (%)": 100 * fit.mean_error}
            | {"error, min (%)": 100 * fit.min_error}
            for fit in fits.fits
        ]
    )


def width_table(curves: SpeedCurves, batch: float | None = None) -> pd.DataFrame:
    """Return a row for each width: nodes, workers, servers, speed-up, efficiency, mini-batches/s of each network.

    Where there are measurements also those, and the error of each network in % of them. With ``batch`` also examples/s.
    """
    lay = curves.layout
    widths = np.arange(1, lay.nodes + 1)
    looked_at = np.full(lay.nodes, np.nan)
    looked_at[: len(curves.curve)] = curves.curve
    table = pd.DataFrame({"nodes": widths, "workers": lay.num_workers, "servers": lay.num_servers})
    word = NETWORK_WORDS[curves.chosen]
    table[f"speed-up, {word}"] = looked_at / curves.one_node
    table[f"efficiency, {word} (%)"] = 100 * looked_at / curves.one_node / widths
    if batch is not None:
        table[f"examples/s, {word}"] = batch * looked_at
    for network in NETWORKS:
        table[f"{NETWORK_WORDS[network]} (mini-batches/s)"] = curves.rates[network]
    if curves.measured is not None:
        known = dict(zip(curves.measured.workers.tolist(), curves.measured.throughput.tolist(), strict=True))
        measured = np.array([known.get(workers, np.nan) for workers in lay.num_workers.tolist()])
        table["measured (mini-batches/s)"] = measured
        for network in NETWORKS:
            table[f"error, {NETWORK_WORDS[network]} (%)"] = 100 * np.abs(curves.rates[network] / measured - 1)
    return table


def station_table(curves: SpeedCurves) -> pd.DataFrame:
    """Return a row for each width: nodes, and the share of an iteration at each station in %."""
    columns = {name: 100 * curves.shares[:, place] for place, name in enumerate(STATIONS)}
    return pd.DataFrame({"nodes": np.arange(1, curves.layout.nodes + 1), **columns})
