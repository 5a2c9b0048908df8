"""Kinds of jobs to draw on the page Jobs: a form each, from the fields of its specification; nothing is saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.ui.frame import session, tables
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.forms import Choices, model_fields, row_width
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import job_mix
from dlsched.wording.formats import duration, factor, number
from dlsched.wording.resources import UPDATES_WORDS
from dlsched.workload.generators.drawing import plain
from dlsched.workload.import_report import arrival_window_s
from dlsched.workload.studies.gpu_as_a_service import APPLICATIONS, GpuaasSpec, ServiceApplication
from dlsched.workload.studies.hell_knee import StreamSpec, mean_alone_s, mean_gap_s
from dlsched.workload.studies.modelarts import VARIANTS, ModelArtsSpec, node_hours_of, on_whole_nodes
from dlsched.workload.studies.pd_ors import SlottedJobsSpec, with_arrivals_of
from dlsched.workload.studies.registry import drawn_scenario
from dlsched.workload.studies.smd import ServerJobsSpec

Spec = TypeVar("Spec", bound=FrozenModel)
KIND_KEY = "gen-kind"
"""Key of the choice of a kind of jobs."""


@dataclass(frozen=True)
class DrawForm(Generic[Spec]):
    """The form of a kind of jobs: its name, the first part of its widgets' keys, what it shows of the specification.

    ``hidden`` fields keep their defaults; ``choices`` names values; ``start`` holds what a form starts with where that
    is not the specification's default. ``ask`` shows the form and returns the scenario it makes.
    """

    label: str
    key: str
    spec: type[Spec]
    ask: Callable[[DrawForm[Spec], Scenario], Scenario]
    hidden: Collection[str] = ()
    choices: Mapping[str, Choices] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> tuple[dict[str, Any], int]:
        """Show the fields of the specification and the seed; return what they hold."""
        with st.container(horizontal=True, vertical_alignment="bottom"):
            values = model_fields(
                self.spec, self.key, hidden=("kind", *self.hidden), choices=self.choices, start=self.start, in_row=True
            )
            seed = st.number_input(
                "Seed", 0, 10**6, 1, key=f"{self.key}-seed", persist_state="session", width=row_width("Seed"),
                help="Another seed draws different jobs of the same kind",
            )  # fmt: skip
        return values, int(seed)

    def checked(self, values: Mapping[str, Any]) -> Spec:
        """Return the specification of these values; InputError that names the field."""
        return validated(self.spec, values, "generator")


def generate(current: Scenario) -> Scenario:
    """Show the choice of a kind and its form; return the scenario it makes.

    Raises
    ------
    InputError
        When the form does not make a workload; it names the field, or the row and the column.
    """
    label = st.segmented_control(
        "Kind of jobs", (job_mix.LABEL, *(form.label for form in FORMS)), default=job_mix.LABEL, required=True,
        key=KIND_KEY, persist_state="session",
        help="Job mix: classes of jobs on the current cluster. GPU as a service: jobs with due dates for rented "
        "machines. Training jobs and elastic training: jobs that run faster on more nodes. Parameter-server jobs and "
        "jobs that book machines: workers and parameter servers that a full cluster admits or rejects",
    )  # fmt: skip
    chosen = next((form for form in FORMS if form.label == label), None)
    return job_mix.generate(current) if chosen is None else chosen.ask(chosen, current)


def open_form(form: DrawForm[Any]) -> None:
    """Open the page Jobs at the form of a kind."""
    st.session_state[KIND_KEY] = form.label
    session.go("Jobs", source="Generate")


def _drawn(spec: FrozenModel, seed: int) -> Scenario:
    with st.spinner("Drawing"):
        return _cached_draw(json.dumps(plain(spec)), seed)


@shared
def _cached_draw(spec: str, seed: int) -> Scenario:
    return drawn_scenario(json.loads(spec), seed)


def _ask(form: DrawForm[Any], current: Scenario) -> Scenario:
    """Show a form that is the specification and nothing else."""
    values, seed = form.fields()
    return _drawn(form.checked(values), seed)


# ---- GPU as a service --------------------------------------------------------------------------------

RATES = {
    "exponential": "Base", "low": "Low", "mixed": "Alternating high and low", "high450": "High", "high": "Very high",
}  # fmt: skip
_number = st.column_config.NumberColumn
COLUMNS: Mapping[str, Any] = {
    "name": st.column_config.TextColumn("Application", max_chars=80, help="Network and framework"),
    "share": _number("Share", min_value=0.0, default=1.0, help="Of the jobs, on any scale; 0 = left out"),
    "parallel": _number(
        "Speeds up (%)", min_value=0.0, max_value=100.0, default=90.0,
        help="Share of the run time that shrinks with more GPUs; the rest is fixed",
    ),
    "m60_ratio": _number(
        "M60 time (x)", min_value=0.0, default=1.0, help="Run time on an M60 over run time on a K80"
    ),
    "low": _number(
        "One K80, from (h)", min_value=0.0, default=40.0, help="Shortest run time on one K80 in hours; drawn uniformly"
    ),
    "high": _number(
        "One K80, to (h)", min_value=0.0, default=160.0, help="Longest run time on one K80 in hours; drawn uniformly"
    ),
}  # fmt: skip
TABLE = pd.DataFrame(
    [(one.name, one.share, 100 * one.parallel, one.m60_ratio, *one.k80_hours) for one in APPLICATIONS],
    columns=[*COLUMNS],
)


def _ask_service(form: DrawForm[GpuaasSpec], current: Scenario) -> Scenario:
    values, seed = form.fields()
    values["rate"] = _rate(values["nodes"])
    table = tables.editor(
        TABLE, "service-applications", COLUMNS,
        alt="Applications: share of the jobs, speed laws, run time",
    )  # fmt: skip
    st.markdown(
        ":gray[Run time on g GPUs = run time on one x (fixed share + share that speeds up / g). "
        "The run times are assumptions; replace them with your own.]"
    )
    used = [_application(row, record) for row, record in tables.filled_rows(table) if record["share"] != 0]
    if not used:
        raise InputError("GPU as a service", "has no application with a share above 0", "Add a row or give it a share")
    return _drawn(form.checked({**values, "applications": used}), seed)


def _rate(nodes: int) -> str:
    gaps = {rate: duration(float(GpuaasSpec(nodes=nodes, jobs=21, rate=rate).mean_gaps_s().mean())) for rate in RATES}
    return st.radio(
        "How fast jobs come", list(RATES), key="service-rate", persist_state="session", horizontal=True,
        format_func=RATES.__getitem__, captions=[f"one every {gaps[rate]}" for rate in RATES],
        help="Mean arrival rate for this number of nodes; gaps are exponential. As in the path-relinking study: rates "
        "are fitted to the numbers of concurrent jobs it reports",
    )  # fmt: skip


def _application(row: int, record: Mapping[Any, Any]) -> ServiceApplication:
    """Return one checked application; InputError that names the row and the column."""
    where = f"application row {row}"
    tables.need_filled(record, COLUMNS, where, COLUMNS)
    try:
        return ServiceApplication(
            name=str(record["name"]).strip(), share=record["share"], parallel=float(record["parallel"]) / 100,
            m60_ratio=record["m60_ratio"], k80_hours=(record["low"], record["high"]),
        )  # fmt: skip
    except ValidationError as error:
        raise tables.mistake_in(error, where, COLUMNS, {"0": "low", "k80_hours": "high"}) from error


# ---- training jobs of the HELL/KNEE study ------------------------------------------------------------

SHOWN_NODES = (4, 10, 40)


def _ask_stream(form: DrawForm[StreamSpec], current: Scenario) -> Scenario:
    values, seed = form.fields()
    spec = form.checked(values)
    st.markdown(
        f"On one node a job takes **{duration(mean_alone_s(spec))}** on average; "
        f"one arrives every **{duration(mean_gap_s(spec))}** on average. "
        "On several nodes, one of them is the parameter server."
    )
    widths = [nodes for nodes in SHOWN_NODES if nodes <= spec.nodes]
    rows = []
    for one in spec.networks:
        speed_up = spec.curve(one) * spec.one_node_s(one)
        on_one = duration(one.mean_epochs * one.steps_per_epoch * spec.one_node_s(one))
        rows.append((one.name, on_one, *(factor(float(speed_up[nodes - 1])) for nodes in widths)))
    columns = ["Network", "Run time on one node, mean", *(f"Speed-up on {nodes} nodes" for nodes in widths)]
    st.dataframe(
        pd.DataFrame(rows, columns=columns), hide_index=True, key="stream-table",
        alt="Networks: mean run time on one node, how much faster on more nodes",
    )  # fmt: skip
    return _drawn(spec, seed)


# ---- elastic training of the ModelArts study ---------------------------------------------------------

TRACE, OWN = "Synthetic trace", "Jobs of the scenario"
ON_NODES = ", whole nodes"
VARIANT_LABELS = {
    "baseline": "nothing (base case)",
    "estimates": "estimates off by up to 10%",
    "mishaps": "estimates, 15% of jobs crash, 10% are cancelled",
    "delay": "starts and scale-ups take 15 s",
}
WIDTHS = (1, 2, 4, 8, 16, 32, 64)


def _ask_elastic(form: DrawForm[ModelArtsSpec], current: Scenario) -> Scenario:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.segmented_control(
            "Which jobs", (TRACE, OWN), default=TRACE, required=True, key="elastic-source", persist_state="session",
            help="Drawn from the published statistics of the study's private trace, or the scenario's own jobs on "
            "whole nodes of 8 GPUs",
        )  # fmt: skip
        if source == TRACE:
            variant = st.selectbox(
                "What goes wrong", list(VARIANT_LABELS), key="elastic-variant", persist_state="session", width=300,
                format_func=VARIANT_LABELS.__getitem__,
                help="Sets the simulation rules of the study's Figs. 9 to 12, 13, 14 and 15",
            )  # fmt: skip
    if source == TRACE:
        values, seed = form.fields()
        made = _drawn(form.checked(values), seed).replace(options=VARIANTS[variant])
    else:
        made = _on_whole_nodes(form, current)
    hours = node_hours_of(made)
    busy = hours / (arrival_window_s(made.workload) / HOUR_S)
    st.markdown(
        f"On one node each, the jobs need **{number(hours)} node-hours**, which would keep **{number(busy)} nodes** "
        f"busy while jobs arrive; the cluster has {made.cluster.num_nodes:,}. Doubling the nodes makes a job 1.6 times "
        "as fast: 2.56 times on 4 nodes, 6.55 times on 16."
    )
    return made


def _on_whole_nodes(form: DrawForm[ModelArtsSpec], current: Scenario) -> Scenario:
    """Return the scenario's jobs on whole nodes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        nodes = st.number_input(
            "Nodes", 1, 100_000, None, placeholder="as it is", key="elastic-own-nodes", persist_state="session",
            width=140, help="Nodes of the cluster, with 8 GPUs each; empty = the scenario's if its nodes have 8 GPUs, "
            "else the default for these jobs",
        )  # fmt: skip
        others = set(form.spec.model_fields) - {"max_nodes"}
        most = model_fields(form.spec, form.key, hidden=others, choices=form.choices, in_row=True)["max_nodes"]
    st.markdown(
        f"Jobs of **{safe(current.name)}**: GPUs become whole nodes of 8, rounded up to a power of two. On the "
        "nodes it requests, a job runs as long as before; on other numbers, the law below applies."
    )
    name = current.name if current.name.endswith(ON_NODES) else current.name + ON_NODES
    return on_whole_nodes(current, nodes, most).replace(name=name)


# ---- jobs that book machines, of the PD-ORS study ----------------------------------------------------

ARRIVALS = {"drawn": "as in the study", "current": "as the current jobs"}


def _ask_slotted(form: DrawForm[SlottedJobsSpec], current: Scenario) -> Scenario:
    arrivals = st.segmented_control(
        "Arrivals", list(ARRIVALS), default="drawn", required=True, key="slotted-arrivals", persist_state="session",
        format_func=ARRIVALS.__getitem__,
        help="As the current jobs: the time from the first to the last job of the current scenario is scaled to "
        "the slots; the jobs are then fixed, and every future has the same",
    )  # fmt: skip
    values, seed = form.fields()
    spec = form.checked(values)
    return with_arrivals_of(current, spec, seed) if arrivals == "current" else _drawn(spec, seed)


# ---- the kinds ---------------------------------------------------------------------------------------

SERVICE = DrawForm(
    "GPU as a service", "service", GpuaasSpec, _ask_service,
    hidden=("rate", "gap_s", "applications", "in_turn", "most_gpus"),
)  # fmt: skip
STREAM = DrawForm(
    "Training jobs on a cluster (HELL/KNEE study)", "stream", StreamSpec, _ask_stream,
    hidden=("servers", "shared_server", "gpu_type"), start={"networks": "table-iii"},
    choices={
        "networks": {"table-iii": "four", "large": "two large"},
        "network_model": {"hybrid": "hybrid", "exact": "shared (exact)", "fcfs": "one at a time (FCFS)"},
    },
)  # fmt: skip
ELASTIC = DrawForm(
    "Elastic training (ModelArts study)", "elastic", ModelArtsSpec, _ask_elastic,
    hidden=("sigma", "requested", "min_nodes"),
    choices={"only_long": {False: "all", True: "5 minutes and more"}, "max_nodes": WIDTHS},
)  # fmt: skip
SERVERS = DrawForm(
    "Parameter-server jobs (SMD study)", "servers", ServerJobsSpec, _ask,
    choices={
        "updates": UPDATES_WORDS,
        "overlap": {"sequential": "not at all", "wait-free": "wait-free", "priority": "wait-free, first layer first"},
        "forward_per": ("sample", "mini-batch"),
    },
)  # fmt: skip
SLOTTED = DrawForm(
    "Jobs that book machines (PD-ORS study)", "slotted", SlottedJobsSpec, _ask_slotted, start={"machines": 30}
)
FORMS: tuple[DrawForm[Any], ...] = (SERVICE, STREAM, ELASTIC, SERVERS, SLOTTED)
