"""Where the curve on the Throughput page comes from: four times, a network of the study, or measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from dlsched.speed.measurements import ProfiledTimes
from dlsched.speed.network_fit import NetworkFits
from dlsched.speed.queueing import NETWORKS, Network, StepTimes
from dlsched.studies.speed_models.throughput import Layout
from dlsched.wording.formats import duration
from dlsched.workload.studies.hell_knee import BATCH, K520_TFLOPS, TABLE_III, TrainingNetwork, on_nodes

TIMES, NETWORK, UPLOAD = "Four times", "Network of the study", "Upload"
SOURCES = (TIMES, NETWORK, UPLOAD)
MOST_NODES = 200
MOST_SERVERS = 64
STATION_HELP = {
    "worker": ("Worker", 29.0, "Computing the gradient of a mini-batch, without waiting for anything"),
    "uplink": ("Uplink", 72.0, "Sending the gradient to the server while nobody else sends"),
    "server": ("Server", 18.0, "Applying the gradient at the server"),
    "downlink": ("Downlink", 72.0, "Sending the new parameters back to the worker while nobody else receives"),
}


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


def four_times() -> Source:
    """Ask for the four times of a mini-batch in ms.

    Raises
    ------
    InputError
        When all are 0.
    """
    given_s: dict[str, float] = {}
    for name, (label, value, hint) in STATION_HELP.items():
        given_ms = st.number_input(
            f"{label}, ms", min_value=0.0, max_value=1e9, value=value, key=f"{name}_ms", format="%g",
            bind="query-params", width=105, help=f"{hint}. Milliseconds, measured with one worker and one server.",
        )  # fmt: skip
        given_s[f"{name}_s"] = given_ms / 1000
    times = StepTimes(**given_s)
    return Source("my training job", TIMES, dict.fromkeys(NETWORKS, times))


def study_network() -> Source:
    """Ask for a network of Table III and the nodes it trains on."""
    by_name = {one.name: one for one in TABLE_III}
    name = st.selectbox(
        "Network", list(by_name), index=2, key="net", bind="query-params", width=150,
        help="Table III of the HELL/KNEE study, which has its numbers from the literature",
    )  # fmt: skip
    batch = st.number_input(
        "Mini-batch", 1, 10**7, BATCH, key="mini_batch", bind="query-params", width=105,
        help=f"Examples: {BATCH:,} in the study. Assumed: computing takes time in proportion, sending does not.",
    )  # fmt: skip
    tflops = st.number_input(
        "TFLOP/s", 1e-3, 1e6, K520_TFLOPS, key="tflops", bind="query-params", width=105, format="%g",
        help=f"Of the GPU: {K520_TFLOPS:g} in the study, nominal for a Grid K520. Assumed: all of it is used.",
    )  # fmt: skip
    gbit = st.number_input(
        "Gbit/s", 1e-3, 1e5, 1.0, key="gbit", bind="query-params", width=105, format="%g",
        help="Of the link: 1 in the study. The bytes of the model over this are the time of a transfer each way.",
    )  # fmt: skip
    network = on_nodes(by_name[name], batch, tflops, gbit)
    own = network.times != by_name[name].times
    return Source(name, NETWORK, dict.fromkeys(NETWORKS, network.times), network, own, batch=float(batch))


def stations_words(times: StepTimes) -> str:
    """Return "worker 5.7 s, uplink 2 s, server 0 s, downlink 2 s"."""
    return ", ".join(f"{name} {duration(time_s)}" for name, time_s in zip(STATION_HELP, times.stations_s, strict=True))


def layout_form(source: Source) -> tuple[Layout, float | None]:
    """Ask on how many nodes, with how many servers, and whether these have nodes of their own; the batch is optional.

    Measured throughput is of one server; numbers for more would be a guess on a guess.
    """
    if source.fits is None:
        nodes = st.number_input(
            "Nodes, up to", 2, MOST_NODES, 16, key="most_nodes", bind="query-params", width=110, help=NODES_HELP
        )
        with st.popover("More", help="Servers, and examples a mini-batch"):
            servers = st.number_input(
                "Servers", 1, MOST_SERVERS, 1, key="servers", bind="query-params", help=SERVERS_HELP
            )
            shared = st.toggle("Server shares a node", key="shared", bind="query-params", help=SHARED_HELP)
            return Layout(int(nodes), int(servers), shared), _batch(source)
    measured = source.fits.best.measured
    wanted = min(max(16, int(measured.workers[-1]) + 1), MOST_NODES)
    nodes = st.number_input("Nodes, up to", 2, MOST_NODES, wanted, key=f"nodes-{source.tag}", width=110,
                            help=NODES_HELP)  # fmt: skip
    with st.popover("More", help="Whether servers have nodes of their own, and examples a mini-batch"):
        shared = st.toggle("Server shares a node", measured.synchronous, key=f"shared-{source.tag}", help=SHARED_HELP)
        return Layout(int(nodes), 1, shared), _batch(source)


def _batch(source: Source) -> float | None:
    if source.batch is not None:
        return source.batch
    return st.number_input(
        "Examples a mini-batch", min_value=1, max_value=10**7, value=None, key="examples", bind="query-params",
        placeholder="optional", help="Tells examples per second too; the curve does not depend on it",
    )  # fmt: skip


NODES_HELP = "The largest number of nodes to look at, for one job"
SERVERS_HELP = (
    "Servers that split the parameters evenly: links and server take 1/m of their time with m servers. "
    "The study found this too hopeful where the split is uneven."
)
SHARED_HELP = (
    "Off: on two and more nodes the servers have nodes of their own, so that w nodes are w - 1 workers and one server. "
    "On: every node has a worker, servers run beside them at no cost."
)
