"""What is said of a speed curve: knee and HELL point, what limits it, how far measurements and model are apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.speed.measurements import ENOUGH, Measurements, ProfiledTimes
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
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, Level
from dlsched.wording.formats import amount, duration, factor, share
from dlsched.workload.profiles.demo_throughput import NOISE, SEED
from dlsched.workload.studies.hell_knee import TrainingNetwork

LITTLE = 0.1
"""A node that adds less speed than this share adds little, as the sentence puts it."""
MEASURED = "measured"
LONGEST_NAME = 60
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
        rates = [np.empty(0)] * self.nodes
        for servers in sorted(set(self.num_servers.tolist())):
            mine = np.flatnonzero(self.num_servers == servers)
            by_workers = rows(int(self.num_workers[mine].max()), servers)
            for place in mine.tolist():
                rates[place] = by_workers[self.num_workers[place] - 1]
        return np.array(rates)


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
        station = bottleneck(times)
        if station == "worker":
            return "workers"
        if self.measured is not None:
            return "links or server"
        return "links" if station == "uplink" and times.uplink_s == times.downlink_s else station


def last_worth(rates: Floats, least: float = LITTLE) -> int:
    """Return the last width that adds ``least`` of the speed or more for each node added; 1 where none does.

    ``rates`` as in ``speed.widths``, work per second on 1, 2, ... nodes. Steps go between efficient widths, so that
    one node that brings nothing alone (the server's) does not end them.
    """
    last, held = 1, 0
    for place, rate in enumerate(rates.tolist()):
        if place == 0 or rate <= rates[held]:
            continue
        if rate >= rates[held] * (1.0 + least) ** (place - held):
            last = place + 1
        held = place
    return last


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
    where = "link or the server" if curves.measured is not None else curves.bottleneck
    return f"the {where} {verb} the limit ({factor(curves.limit)})"


def fit_cautions(fits: NetworkFits) -> list[Caution]:
    """Return what must be read with care before a fit is used: a bad one, few points, measurements no network has."""
    best, measured = fits.best, fits.best.measured
    guards = [Caution("orange", f"{best.finding}.")] if best.finding else []
    if len(measured) < ENOUGH:
        text = (
            f"{amount(len(measured), 'number')} of workers are too few to judge a network: any of them comes near. "
            f"Measure {ENOUGH} or more."
        )
        guards.append(Caution("orange", text))
    level: Level = "orange" if best.finding else "info"  # where a network comes near, a fall may be noise
    return [*guards, *(Caution(level, f"{finding}.") for finding in measured.findings)]


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
        by_workers = dict(zip(curves.measured.workers.tolist(), curves.measured.throughput.tolist(), strict=True))
        measured = np.array([by_workers.get(workers, np.nan) for workers in lay.num_workers.tolist()])
        table["measured (mini-batches/s)"] = measured
        for network in NETWORKS:
            table[f"error, {NETWORK_WORDS[network]} (%)"] = 100 * np.abs(curves.rates[network] / measured - 1)
    return table


def station_table(curves: SpeedCurves) -> pd.DataFrame:
    """Return a row for each width: nodes, and the share of an iteration at each station in %."""
    columns = {name: 100 * curves.shares[:, place] for place, name in enumerate(STATIONS)}
    return pd.DataFrame({"nodes": np.arange(1, curves.layout.nodes + 1), **columns})


@dataclass(frozen=True, eq=False)
class Source:
    """A training job: its times by network (all alike, or fitted), how it is called, and what is known besides.

    ``study`` is the network of Table III it stands for, on ``own_nodes`` where these are not the study's; ``fits`` is
    what measured throughput gave, ``profiled`` what measured times gave; ``tag`` is a short name for widget keys,
    ``generated`` says that the measurements are made up.
    """

    name: str
    tag: str
    times: Mapping[Network, StepTimes]
    study: TrainingNetwork | None = None
    own_nodes: bool = False
    fits: NetworkFits | None = None
    profiled: ProfiledTimes | None = None
    generated: bool = False
    batch: float | None = None


def stations_words(times: StepTimes) -> str:
    """Return "worker 5.7 s, uplink 2 s, server 0 s, downlink 2 s"."""
    return ", ".join(f"{name} {duration(time_s)}" for name, time_s in zip(STATIONS, times.stations_s, strict=True))


def throughput_cards(curves: SpeedCurves) -> list[tuple[str, str, str]]:
    """Return four cards (label, value, help): speed-up at the HELL point, the knee, the limit, the bottleneck."""
    lay, hell, knee = curves.layout, curves.hell, curves.knee
    hell_x, knee_x = factor(curves.speed_up(hell)), factor(curves.speed_up(knee))
    slowest = (
        "Only workers take time: more of them are never in each other's way."
        if curves.bottleneck == "workers"
        else "Where many workers wait for each other: the station with the largest time of its own."
    )
    limit = factor(curves.limit) if curves.limit < float("inf") else "none"
    return [
        ("Speed-up, HELL", hell_x, f"On {lay.words(hell)}, {share(curves.speed_up(hell) / hell)} "
         "efficiency. The HELL point has the best product of speed and efficiency: w / speed² is least."),
        ("Knee", amount(knee, "node"), f"{lay.words(knee)}, {knee_x} as fast: the last width whose nodes each still "
         f"cut the time by {share(curves.alpha)} (alpha) or more."),
        ("Limit of the speed-up", limit, "No number of workers gets past it in this model: the time of one mini-batch "
         "alone, over the longest time at a link or the server."),
        ("Bottleneck", curves.bottleneck.capitalize(), f"{slowest} One mini-batch alone: "
         f"{stations_words(curves.times[curves.model])}."),
    ]  # fmt: skip


def generated_why() -> str:
    """Return what the generated measurements are."""
    return (
        f"Made up: the hybrid network with {NOISE:.0%} noise, seed {SEED}. They show how the fit works and say nothing "
        "of your jobs."
    )


LINKS_WHY = {
    "exact": "Transfers share a link evenly; exact for such a network.",
    "fcfs": "A link carries one transfer after the other; an approximation that may fall with more workers.",
    "hybrid": "One transfer after the other on idle links, shared on busy ones (80% to 100% used); an approximation.",
}


def throughput_assumptions(curves: SpeedCurves, source: Source) -> list[Premise]:
    """Return the assumptions behind the curve."""
    lay = curves.layout
    entries: list[Premise] = []
    if source.generated:
        entries.append(Premise("generated measurements", generated_why()))
    if source.study is not None:
        where = "other nodes than in the study" if source.own_nodes else "1 Gbit/s, 1.229 TFLOP/s, batches of 1,024"
        why = "Times are model size over bandwidth and operations over nominal speed, not measured; the server takes 0."
        entries.append(Premise(f"Table III, {where}", why))
    if curves.chosen == MEASURED:
        entries.append(Premise("measured curve", "Straight lines between the numbers of workers that were measured."))
    entries.append(Premise(f"{NETWORK_WORDS[curves.model]} network", LINKS_WHY[curves.model]))
    if source.fits is not None:
        entries.append(Premise("uplink = downlink", "Throughput alone cannot separate them."))
        most = int(source.fits.best.measured.workers[-1])
        if curves.chosen != MEASURED and int(lay.num_workers[-1]) > most:
            entries.append(Premise(f"extrapolated beyond {amount(most, 'worker')}", "Nothing was measured there."))
    if lay.shared_server:
        entries.append(Premise("servers cost their nodes nothing", "Every node has a worker, servers run beside them."))
    else:
        why = "One node holds a worker with its server, as fast as on two nodes; more nodes are workers and servers."
        servers = "one server node" if lay.servers == 1 else f"{lay.servers} server nodes, fewer on few nodes"
        entries.append(Premise(servers, why))
    if lay.servers > 1:
        entries.append(Premise("parameters split evenly", "Links and server take 1/m of their time with m servers."))
    stale = "Workers do not wait for each other; that old gradients may need more steps is left out."
    return [*entries, Premise("the same steps on any number of nodes", stale)]


def curve_words(curves: SpeedCurves, source: Source) -> str:
    """Return in a few words where the curve comes from, for the scenario's assumptions."""
    made_up = "generated " if source.generated else ""
    if curves.chosen == MEASURED and curves.measured is not None:
        points = amount(len(curves.measured), "number")
        return f"{source.name[:LONGEST_NAME]}, {made_up}measurements at {points} of workers, straight lines between"
    fitted = f" fitted to {made_up}measurements" if source.fits is not None else ""
    lay = curves.layout
    servers = f"{amount(lay.servers, 'server')}{' sharing nodes' if lay.shared_server else ' on own nodes'}"
    stations = stations_words(curves.times[curves.model])
    return (
        f"{source.name[:LONGEST_NAME]}, {NETWORK_WORDS[curves.model]} queueing network{fitted} ({stations}), {servers}"
    )


HOW = """
Each worker always has one mini-batch under way. It computes a gradient, sends it over the uplink to the server, the
server applies it, and the new parameters come back over the downlink. Workers share links and server. With one worker
that takes the sum of the four times. With more, mini-batches meet at links and server and wait for each other there.

Mean value analysis tells how long, adding one worker at a time: a mini-batch that comes to a station finds there what a
network with one worker less has there on average. Mini-batches per second are then workers over the time of a round.

- **exact**: transfers share a link, the server takes one after the other in random times. Exact for such a network.
- **FCFS**: a link carries one transfer after the other, each as long as the last. Approximate.
- **hybrid**: FCFS on a link that is used below 80%, shared when always used, a mixture in between. Approximate. The
  study found it nearest to its measurements on CPU nodes; on GPU nodes FCFS was nearer for most of its jobs.

**Speed-up** is against one node, a worker with its server. **Efficiency** is speed-up over nodes. **Ideal** is one more
time the speed for each node. The **bound** says what no order of service can pass: workers that never wait, and the
slowest of links and server always busy.

**HELL point**: the width w with the least time over efficiency, that is the least w / speed². **Knee**: nodes are added
while each cuts the time by alpha or more; where a node brings nothing by itself (the first server's), the next one is
judged with it.

**Measurements** are fitted by least squares of the relative errors, from several starts. Throughput tells what the
sum and the slowest station are, not which station it is: uplink and downlink get the same time, and stations that would
not improve the fit stay at 0. Where an error stays above 15% the workers probably wait for each other (synchronous
training), which this network does not model: use the measured curve.
"""
