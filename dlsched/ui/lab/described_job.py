"""The form for a described job on the page Parameter servers: speed, layers, needs and limits, worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import SimulationRules
from dlsched.speed.pipeline import Layers, Overlap
from dlsched.studies.speed_models.server_split import UNITS_S
from dlsched.ui.frame.tables import editor
from dlsched.ui.frame.uploads import file_of, kept_file, read_once
from dlsched.wording.assumptions import Premise
from dlsched.wording.formats import amount
from dlsched.workload.described_job import COLUMNS, EXAMPLE, DescribedJob, layers_in_ms, read_layers
from dlsched.workload.studies.smd import ServerJobsSpec, layers_of

UPDATES = {"synchronous": "sync", "asynchronous": "async"}
OVERLAPS: dict[str, Overlap] = {"one after the other": "sequential", "wait-free": "wait-free", "priority": "priority"}
TABLE, DRAWN, UPLOAD = "Table", "Drawn", "Upload"
DROP = "ps-layers"
NEEDS = (
    ("GPUs", "gpus", (1.0, 0.0, 12.0)),
    ("CPUs", "cpus", (4.0, 4.0, 64.0)),
    ("Memory, GiB", "mem", (16.0, 8.0, 256.0)),
    ("Disk, GiB", "disk", (10.0, 10.0, 0.0)),
)
"""Label, part of the key, and what a worker, a server and the whole job have at first; 0 = no limit."""
MOST, WIDE_PX = 1e9, 145


def form(place: DeltaGenerator) -> tuple[DescribedJob, SimulationRules, Premise]:
    """Show the form, its rarer parts in ``place``; return the job, the unit of its worth, and whose layers it has.

    Raises
    ------
    InputError
        A number that no job can have; names it with rule and value.
    """
    with place.container(horizontal=True):
        with st.popover(":material/layers: Layer times"):
            layers, where = _layers()
        with st.popover("Needs and limits"):
            holds = _holds()
        others = st.popover("Overheads and worth")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        speed = _speed()
    with others:
        more, unit = _more(asynchronous=speed["updates"] == "async")
    job = DescribedJob(layers=layers, **speed, **holds, **more)
    return job, SimulationRules(utility_unit_s=UNITS_S[unit]), where


def _number(label: str, key: str, value: float, hint: str, most: float = MOST) -> float:
    return st.number_input(
        label, 0.0, most, value, key=f"ps_{key}", bind="query-params", help=hint, format="%g", width=WIDE_PX
    )


def _whole(label: str, key: str, value: int, hint: str, least: int = 1) -> int:
    return st.number_input(label, least, 10**9, value, key=f"ps_{key}", bind="query-params", help=hint, width=WIDE_PX)


def _speed() -> dict[str, Any]:
    updates = st.segmented_control(
        "Updates", list(UPDATES), default="synchronous", required=True, key="ps_updates", bind="query-params",
        help="Synchronous: workers share a batch and wait for each other. Asynchronous: each makes steps of its own.",
    )  # fmt: skip
    overlap = st.selectbox(
        "Transfers", list(OVERLAPS), index=1, key="ps_overlap", bind="query-params", width=170,
        help="One after the other: computing, then sending. Wait-free: a layer is sent once its gradient is there. "
        "Priority: also the layers nearest to the input go first.",
    )  # fmt: skip
    shared = updates == "synchronous"
    of = "all workers share (the global batch)" if shared else "one worker takes at a time (its mini-batch)"
    return {
        "updates": UPDATES[updates or "synchronous"],
        "overlap": OVERLAPS[overlap],
        "steps": _whole("Steps", "steps", 20_000, "Training steps (iterations) to make in all"),
        "samples": _whole(
            "Batch, samples" if shared else "Mini-batch, samples", "samples", 512, f"Samples of a step, which {of}"
        ),
        "model_mb": _number("Model, MB", "model", 400.0, "Size of the gradient or the parameters, sent each way"),
        "gbps": _number("Bandwidth, Gbit/s", "gbps", 5.0, "Of each server's link; above 0"),
    }


def _layers() -> tuple[Layers, Premise]:
    kind = st.segmented_control(
        "Times of the layers", (TABLE, DRAWN, UPLOAD), default=TABLE, required=True, key="ps_layers",
        bind="query-params", help="A table to edit, layers drawn from the ranges of the SMD study, or a CSV file",
    )  # fmt: skip
    if kind == DRAWN:
        seed = _whole("Seed", "seed", 1, "Another seed draws other layers", least=0)
        (layers,) = layers_of(ServerJobsSpec(jobs=1), seed).values()
        return layers, Premise(
            f"{amount(len(layers), 'layer')}, generated, seed {seed}",
            "Drawn evenly as in the SMD study: forward of a sample 1 to 500 ms, backward 1 to 300 ms, transfer 80 to "
            "500 ms.",
        )
    table, where = (
        EXAMPLE,
        Premise("example layers", "Made-up times of a small network, until you edit them."),
    )
    tag = "example"
    if kind == UPLOAD:
        kept_file("CSV: forward, backward, transfer in ms, a line for each layer", DROP, "First line: the names")
        file = file_of(DROP)
        if file is not None:
            table, tag = read_once(file.name, file.tag, read_layers, file.content, file.name), file.tag
            where = Premise(f"layers of {file.name[:60]}", "From your file.")
    st.markdown(":gray[One line for each layer, from the input to the output; transfer is one way. Edit any number.]")
    cells: dict[str, Any] = {name: st.column_config.NumberColumn(name, format="%g") for name in COLUMNS}
    edited = editor(table, f"ps-table-{tag}", cells, alt="Times of the layers in ms, one row for each layer")
    layers = layers_in_ms(edited)
    if kind == TABLE and not np.array_equal(edited.to_numpy(), EXAMPLE.to_numpy()):
        where = Premise(f"{amount(len(layers), 'layer')} typed in", "Times in the table of layers.")
    return layers, where


def _holds() -> dict[str, Any]:
    worker, server, limit = [], [], []
    for label, key, (of_worker, of_server, most) in NEEDS:
        left, middle, right = st.columns(3)
        with left:
            worker.append(_number(f"Worker: {label}", f"{key}_worker", of_worker, "Allocated to one worker"))
        with middle:
            if key == "gpus":
                server.append(0.0)
                st.markdown(":gray[A server uses no GPU.]")
            else:
                server.append(_number(f"Server: {label}", f"{key}_server", of_server, "Allocated to one server"))
        with right:
            hint = "Most that all workers and servers of the job may use together; 0 = no limit"
            limit.append(_number(f"Limit: {label}", f"{key}_limit", most, hint) or None)
    return {"worker": tuple(worker), "server": tuple(server), "limit": tuple(limit)}


def _more(*, asynchronous: bool) -> tuple[dict[str, Any], str]:
    left, right = st.columns(2)
    with left:
        values: dict[str, Any] = {
            "worker_overhead_s": _number(
                "Per worker, s", "per_worker", 0.05, "Seconds that each worker adds to a step"
            ),
            "server_overhead_s": _number(
                "Per server, s", "per_server", 0.02, "Seconds that each server adds to a step"
            ),
            "forward_samples": _whole(
                "Forward times are of, samples",
                "forward",
                32,
                "Samples of the forward pass that the layers' times tell",
            ),
        }
        if asynchronous:
            values["senders_share"] = _number(
                "Send at once", "alpha", 0.5, "Share of the workers that send to a server at the same time, 0 to 1 "
                "(alpha)", 1.0,
            )  # fmt: skip
    with right:
        unit = st.selectbox(
            "Worth counts", list(UNITS_S), index=2, key="ps_unit", bind="query-params",
            help="Unit of time of the utility: in a small one every long job is worth 0",
        )  # fmt: skip
        values["worth"] = _number("Worth at once", "worth", 50.0, "What the job is worth when done at once (gamma 1)")
        hint = f"Time to half of the worth, in {unit} (gamma 3)"
        values["half"] = _number(f"Half gone after, {unit}", "half", 12.0, hint)
        hint = f"How fast the worth falls around that, per {unit[:-1]} (gamma 2); 4 to 6 in the SMD study"
        values["slope"] = _number(f"Steepness, 1/{unit[:-1]}", "slope", 0.5, hint)
    return values, str(unit)
