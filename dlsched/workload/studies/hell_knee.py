"""A stream of training jobs for a cluster of equal nodes of one GPU (Section V of the HELL/KNEE study).

A job trains one of a few networks, by asynchronous steps with a parameter server, for a drawn number of epochs. How its
rate grows with the nodes it holds follows from a queueing network (:mod:`dlsched.speed.queueing`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from scipy.special import ndtr, ndtri

from dlsched.domain.assumptions import Assumption, stated
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.timetable import MOST_GPUS, TimeTable
from dlsched.domain.workload import Floats, Workload
from dlsched.speed.queueing import Network, StepTimes, node_rates
from dlsched.workload.generators.drawing import (
    MOST_JOBS,
    at_least_1_ms,
    check_distinct,
    drawn,
    made_from,
    pick,
    whole_ms,
)
from dlsched.workload.speed_curves import seconds_per_work

K520_TFLOPS = 1.229
"""Speed of the study's GPU, an NVIDIA Grid K520, TFLOP/s."""
LINK_BITS_PER_S = 1e9
BATCH = 1024
"""Examples in a mini-batch."""
LEAST_EPOCHS = 0.01
"""Draws of epochs below this are raised to it; with the study's means, 37 and more deviations away, none is."""
LONGEST_S = 1e13
"""Longest stream and longest mean run time, seconds: times in milliseconds stay exact."""
_NETWORK, _EPOCHS = range(2)  # which of a job's uniforms decides what; new draws go to the end


class TrainingNetwork(FrozenModel):
    """A network that jobs train: seconds of a step with one worker and one server, and steps of a job."""

    name: str = Field(min_length=1, max_length=80, description="Name of the network.")
    share: float = Field(1.0, gt=0, le=1e9, description="Share of the jobs, relative to the other networks.")
    times: StepTimes = Field(description="Seconds per mini-batch at the worker, uplink, server and downlink.")
    measured_per_s: tuple[Annotated[float, Field(gt=0, le=1e12)], ...] | None = Field(
        None,
        min_length=1,
        max_length=MOST_GPUS,
        description="Measured mini-batches per second on 1, 2, ... nodes, used instead of the times; more nodes bring "
        "no further gain.",
    )
    steps_per_epoch: float = Field(gt=0, le=1e12, description="Mini-batches per epoch.")
    epochs: float = Field(ge=LEAST_EPOCHS, le=1e6, description="Mean number of epochs per job (normal distribution).")
    epoch_variance: float = Field(2.0, ge=0, le=1e12, description="Variance of the number of epochs.")

    @property
    def mean_epochs(self) -> float:
        """Mean epochs of a job: E[max(LEAST_EPOCHS, N(epochs, epoch_variance))]."""
        deviation = math.sqrt(self.epoch_variance)
        if deviation == 0:
            return self.epochs
        cut = (LEAST_EPOCHS - self.epochs) / deviation
        density = math.exp(-cut * cut / 2) / math.sqrt(2 * math.pi)
        return float(LEAST_EPOCHS * ndtr(cut) + self.epochs * ndtr(-cut) + deviation * density)

    def steps(self, uniforms: Floats) -> Floats:
        """Return mini-batches of jobs, by inverse distribution function; shape of ``uniforms``, in (0, 1)."""
        epochs = self.epochs + math.sqrt(self.epoch_variance) * ndtri(uniforms)
        steps: Floats = self.steps_per_epoch * np.maximum(epochs, LEAST_EPOCHS)
        return steps


def from_paper(name: str, examples: float, model_mb: float, tflops_per_1024: float, epochs: float) -> TrainingNetwork:
    """Return a network by what Table III says of it, on nodes with one K520 and a link of 1 Gbit/s.

    ``examples`` in the data set, ``model_mb`` in MB of 1e6 bytes, ``tflops_per_1024`` TFLOP forward and backward for a
    mini-batch of 1,024. The server takes no time.
    """
    link_s = model_mb * 8e6 / LINK_BITS_PER_S
    times = StepTimes(worker_s=tflops_per_1024 / K520_TFLOPS, uplink_s=link_s, server_s=0.0, downlink_s=link_s)
    return TrainingNetwork(name=name, times=times, steps_per_epoch=examples / BATCH, epochs=epochs)


def on_nodes(network: TrainingNetwork, batch: float, tflops_per_s: float, gbit_per_s: float) -> TrainingNetwork:
    """Return a network of ``TABLE_III`` on nodes with another GPU, link or mini-batch.

    Assumed: a mini-batch computes in proportion to its examples, over nominal TFLOP/s; what is sent stays.
    """
    slower = LINK_BITS_PER_S / (gbit_per_s * 1e9)
    times = StepTimes(
        worker_s=network.times.worker_s * (batch / BATCH) * (K520_TFLOPS / tflops_per_s),
        uplink_s=network.times.uplink_s * slower,
        server_s=network.times.server_s,
        downlink_s=network.times.downlink_s * slower,
    )
    steps = network.steps_per_epoch * BATCH / batch
    return network.model_copy(update={"times": times, "steps_per_epoch": steps})


TABLE_III = (
    from_paper("NiN", 50_000, 30, 6.7, 200),
    from_paper("GoogLeNet", 1.2e6, 54, 9.7, 200),
    from_paper("AlexNet", 1.2e6, 249, 7.0, 90),
    from_paper("VGG19", 1.2e6, 575, 120, 74),
)
LARGE = TABLE_III[2:]
PRESETS = {"table-iii": TABLE_III, "large": LARGE}
"""Names that stand for networks: the four of Table III (Fig. 12a), the two large ones (Fig. 12b)."""


def _preset(networks: Any) -> Any:
    if not isinstance(networks, str):
        return networks
    if networks not in PRESETS:
        raise ValueError(f"a preset is one of {', '.join(PRESETS)}")
    return PRESETS[networks]


def _stable(load: float) -> float:
    if load >= 1:
        raise ValueError(
            "must be below 1: at load 1 and above, jobs bring more work than the cluster can do and the "
            "queue grows without end"
        )
    return load


Networks = Annotated[tuple[TrainingNetwork, ...], BeforeValidator(_preset), Field(min_length=1, max_length=100)]


class StreamSpec(FrozenModel):
    """Training jobs for ``nodes`` nodes of one GPU: load = jobs per second x mean run time on one node / nodes."""

    kind: Literal["training-stream"] = "training-stream"
    nodes: int = Field(100, ge=1, le=MOST_GPUS, description="Nodes in the cluster, with one GPU each.")
    jobs: int = Field(4000, ge=1, le=MOST_JOBS, description="Number of jobs.")
    load: Annotated[float, AfterValidator(_stable)] = Field(
        0.7,
        ge=0.001,
        title="Load, mean",
        description="Work submitted divided by the capacity of the cluster, with each job on one node, averaged over "
        "many draws; below 1.",
        json_schema_extra={"shown_in": "%"},
    )
    networks: Networks = Field(
        TABLE_III,
        description="The four of Table III (table-iii), equally likely, or its two large ones (large).",
    )
    network_model: Network = Field(
        "hybrid",
        title="Links",
        description="How transfers share the server's link: all at once (exact), one at a time (fcfs), or the study's "
        "hybrid, all at once when busy and one at a time otherwise.",
    )
    servers: int = Field(1, ge=1, le=MOST_GPUS, description="Server nodes per job on several nodes.")
    shared_server: bool = Field(False, description="Whether servers run on the nodes of workers.")
    gpu_type: str = Field("K520", min_length=1, max_length=80, description="GPU type of the nodes.")

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        check_distinct("networks", [one.name for one in self.networks])
        return self

    @model_validator(mode="after")
    def _fits_a_clock(self) -> Self:
        run_s, span_s = mean_alone_s(self), self.jobs * mean_gap_s(self)
        if max(run_s, span_s) > LONGEST_S:
            raise ValueError(
                f"jobs run {run_s:.2g} s and arrive for {span_s:.2g} s on average, at most {LONGEST_S:g} s each: "
                "choose fewer epochs or jobs, or a higher load"
            )
        return self

    def curve(self, network: TrainingNetwork, nodes: int | None = None) -> Floats:
        """Return mini-batches per second of a job on 1, 2, ... nodes, shape (``nodes``,), else of the cluster."""
        if network.measured_per_s is not None:
            measured = np.array(network.measured_per_s[: nodes or self.nodes])
            return np.pad(measured, (0, (nodes or self.nodes) - len(measured)), mode="edge")
        return node_rates(
            network.times, nodes or self.nodes, self.network_model, self.servers, shared_server=self.shared_server
        )

    def one_node_s(self, network: TrainingNetwork) -> float:
        """Return seconds of a mini-batch on one node."""
        return 1.0 / float(self.curve(network, 1)[0])


def mean_alone_s(spec: StreamSpec) -> float:
    """Return E[S(1)], the mean run time of a job on one node, seconds."""
    shares = np.array([one.share for one in spec.networks])
    means_s = [one.mean_epochs * one.steps_per_epoch * spec.one_node_s(one) for one in spec.networks]
    return float(shares @ np.array(means_s) / shares.sum())


def mean_gap_s(spec: StreamSpec) -> float:
    """Return the mean time between submissions, 1 / lambda = E[S(1)] / (load x nodes), seconds."""
    return mean_alone_s(spec) / (spec.load * spec.nodes)


def draw_stream(spec: StreamSpec, seed: int) -> Workload:
    """Return the jobs at a seed, in a Poisson stream; the first comes at 0 s.

    What a job is depends on (seed, its number) only; ``work`` is its run time on one node, seconds.
    """
    job_ids = [f"j{number:04d}" for number in range(1, spec.jobs + 1)]
    uniforms = job_uniforms(seed, "workload", job_ids, _EPOCHS + 1)
    which = pick(uniforms[:, _NETWORK], np.array([one.share for one in spec.networks]))
    work = np.empty(spec.jobs)
    for number, network in enumerate(spec.networks):
        mine = which == number
        work[mine] = spec.one_node_s(network) * network.steps(uniforms[mine, _EPOCHS])
    gaps_s = mean_gap_s(spec) * stream(seed, "workload").standard_exponential(spec.jobs - 1)
    names = np.array([one.name for one in spec.networks], dtype=object)[which]
    columns = {
        "job_id": job_ids,
        "submit_s": whole_ms(np.append(0.0, np.cumsum(gaps_s))),
        "work": at_least_1_ms(work),
        "model": names,
        "profile": names,
    }
    return made_from(columns, seed)


def speed_of_stream(spec: StreamSpec) -> SpeedSpec:
    """Return the time table of the networks: X(1) / X(w) on w = 1, 2, ... nodes of the cluster."""
    rows = {one.name: {spec.gpu_type: seconds_per_work(spec.curve(one))} for one in spec.networks}
    return SpeedSpec(kind="table", times=TimeTable(rows=rows))


LINKS = {
    "exact": "links shared (exact)",
    "fcfs": "links serve one transfer at a time (approximate)",
    "hybrid": "links between shared and one at a time, depending on their use (hybrid, approximate)",
}


def stream_scenario(spec: StreamSpec, seed: int = 0, name: str = "Training jobs") -> Scenario:
    """Return the jobs of a specification on ``spec.nodes`` nodes of one GPU, with their speed curves; no prices."""
    node = VmType(name=f"{spec.gpu_type} node"[:80], gpu_type=spec.gpu_type, gpus=1)
    cluster = Cluster(pools=(Pool(vm=node, count=spec.nodes),))
    return drawn(spec, seed, draw_stream(spec, seed), cluster, name, assumptions_of(spec), speed=speed_of_stream(spec))


def sample_stream() -> Scenario:
    """Return the bundled sample: 400 jobs of the four networks on 100 nodes at load 0.7."""
    spec = StreamSpec(nodes=100, jobs=400, load=0.7)
    return stream_scenario(spec, 1, f"Training jobs, {spec.nodes} nodes").replace(data_kind="example")


def assumptions_of(spec: StreamSpec) -> tuple[Assumption, ...]:
    """Return the assumptions of a drawn stream."""
    published = {(one.name, one.times, one.steps_per_epoch) for one in TABLE_III}
    from_table = [one.name for one in spec.networks if (one.name, one.times, one.steps_per_epoch) in published]
    variances = sorted({one.epoch_variance for one in spec.networks})
    measured = [one.name for one in spec.networks if one.measured_per_s is not None]
    curves, words = [], []
    if len(measured) < len(spec.networks):
        curves.append(f"closed queueing network, {LINKS[spec.network_model]}")
    if measured:
        curves.append(f"measured for {', '.join(measured)}, flat beyond the last number of nodes")
    curves.append(f"one node is a worker with its server; {_nodes_words(spec)}")
    words += [
        "the same number of steps on any number of nodes: the cost of stale gradients is not modelled",
        f"epochs: normal, variance {' or '.join(f'{value:g}' for value in variances)}, at least {LEAST_EPOCHS:g}",
    ]
    if from_table:
        words.append(
            f"{', '.join(from_table)} as in Table III of the HELL/KNEE study: batches of {BATCH:,}; worker: TFLOP over "
            f"{K520_TFLOPS:g} TFLOP/s; links: model size over 1 Gbit/s; server: 0 s"
        )
    words.append(f"Poisson arrivals, load {spec.load:g} with each job on one node, averaged over many draws")
    return stated(*(Assumption(kind="speed-curve", text=one) for one in curves), *words)


def _nodes_words(spec: StreamSpec) -> str:
    many = "one server" if spec.servers == 1 else f"{spec.servers} servers"
    if spec.shared_server:
        return f"on several, {many} beside the workers"
    return "of several, one is the server" if spec.servers == 1 else f"of several, {spec.servers} are servers"
