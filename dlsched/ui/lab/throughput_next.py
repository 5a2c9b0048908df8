"""What comes after the Throughput page: the curve for the jobs of the scenario, or a stream of such jobs."""

from __future__ import annotations

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.cluster import Cluster
from dlsched.domain.scenario import Scenario
from dlsched.domain.timetable import MOST_GPUS
from dlsched.domain.workload import Floats
from dlsched.speed.queueing import node_rates
from dlsched.studies.speed_models.throughput import MEASURED, NETWORK_WORDS, Layout, SpeedCurves, measured_curve
from dlsched.ui.frame import session
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.lab import stream_network
from dlsched.ui.lab.throughput_source import Source, stations_words
from dlsched.wording.formats import amount, count
from dlsched.workload.notes import SPEED_CURVE
from dlsched.workload.speed_curves import give_curve
from dlsched.workload.studies.hell_knee import StreamSpec, TrainingNetwork

USE = "Use this curve for my jobs"
SIMULATE = "Simulate a stream of such jobs"
STEPS = 100_000
EPOCHS = 100
LONGEST_NAME = 60


def nothing_yet(action: DeltaGenerator) -> None:
    """Show the next step before there is a curve to take it with."""
    action.button(USE, disabled=True, key="use-none", help="There is no curve yet")


def steps(curves: SpeedCurves, source: Source, current: Scenario, action: DeltaGenerator) -> None:
    """Show the next steps in ``action``; give the jobs of the scenario the curve when asked to."""
    with action.container(horizontal=True, vertical_alignment="bottom"):
        _simulate(curves, source)
        used = any(note.startswith(SPEED_CURVE) for note in current.assumptions)
        rates = rates_for(curves, current)
        reason = why_not(rates, current)
        pressed = st.button(
            "Use this curve instead" if used else USE, key="use-curve", type="secondary" if used else "primary",
            disabled=bool(reason), help=safe(reason, 300) or _use_help(current),
        )  # fmt: skip
        if used and st.button("Next: run policies", type="primary", key="curve-to-run"):
            session.go("simulate/run.py")
    if pressed:
        with mistakes_shown():
            changed = give_curve(current, {source.name[:LONGEST_NAME]: rates.tolist()}, words(curves, source))
            session.keep(changed, based_on=current.content_hash)
            st.rerun()


def _use_help(current: Scenario) -> str:
    return (
        f"Makes a new version of “{safe(current.name, 40)}”: each of its jobs speeds up by this curve with the GPUs it "
        "gets, one GPU as one node of the curve, and runs as long as now with what it asks for."
    )


def rates_for(curves: SpeedCurves, scenario: Scenario) -> Floats:
    """Return the curve on as many GPUs as a job of the scenario may get: a measured one ends where measuring did."""
    asked = float(scenario.workload.gpus.max(initial=1.0))
    most = int(np.clip(np.ceil(max(asked, _gpus_of(scenario.cluster))), 1, MOST_GPUS))
    lay = Layout(most, curves.layout.servers, curves.layout.shared_server)
    if curves.chosen == MEASURED and curves.measured is not None:
        return measured_curve(curves.measured, lay)
    times = curves.times[curves.model]
    return node_rates(times, most, curves.model, lay.servers, shared_server=lay.shared_server)


def _gpus_of(cluster: Cluster) -> int:
    """Return the GPUs a job could get at most, with the largest machines in all free slots."""
    return cluster.num_gpus or cluster.slots * max((vm.gpus for vm in cluster.vm_types), default=0)


def why_not(rates: Floats, scenario: Scenario) -> str:
    """Return why the jobs of the scenario cannot have the curve; "" when they can."""
    if not _gpus_of(scenario.cluster):
        return "The cluster of this scenario has no GPUs."
    widest = int(np.ceil(scenario.workload.gpus.max(initial=0.0)))
    if widest > len(rates):
        beyond = int((scenario.workload.gpus > len(rates)).sum())
        verb = "asks" if beyond == 1 else "ask"
        return (
            f"{amount(beyond, 'job')} of this scenario {verb} for more than {amount(len(rates), 'GPU')}, up to "
            f"{count(widest)}, where the curve ends. Choose a network instead of the measured curve, or other jobs."
        )
    return ""


def words(curves: SpeedCurves, source: Source) -> str:
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


def _simulate(curves: SpeedCurves, source: Source) -> None:
    """Ask how long a job is, where nothing says so, and open the Steady state page with it."""
    with st.popover(SIMULATE, help="How long such jobs stay in a cluster, by load and policy"):
        mini_batches = float(STEPS)
        if source.study is None:
            mini_batches = float(
                st.number_input(
                    "Mini-batches of a job, mean", 1, 10**9, STEPS, key="job_steps", bind="query-params",
                    help=f"Drawn for each job: {EPOCHS} epochs, variance 2. It sets the hours, not the order of "
                    "policies.",
                )
            )  # fmt: skip
        else:
            st.markdown(f"{safe(source.name)}, {source.study.epochs:g} epochs as in Table III.")
        if curves.chosen == MEASURED:
            st.markdown("The stream takes the measured curve; more nodes than were measured bring nothing.")
        if st.button("Open Steady state", key="to-steady"):
            stream_network.keep(stream_of(curves, source, mini_batches))
            session.go("lab/steady_state.py")


def stream_of(curves: SpeedCurves, source: Source, mini_batches: float) -> StreamSpec:
    """Return a stream of such jobs; ``mini_batches`` of a job, in the mean, where the study does not say."""
    is_measured = curves.chosen == MEASURED and curves.measured is not None
    network = source.study or TrainingNetwork(
        name=source.name[:LONGEST_NAME],
        times=curves.times[curves.model],
        measured_per_s=_measured_on_all(curves) if is_measured else None,
        steps_per_epoch=mini_batches / EPOCHS,
        epochs=EPOCHS,
    )
    lay = curves.layout
    return StreamSpec(
        networks=(network,), network_model=curves.model, servers=lay.servers, shared_server=lay.shared_server
    )


def _measured_on_all(curves: SpeedCurves) -> tuple[float, ...]:
    """Return the measured curve up to the nodes that its most workers take."""
    assert curves.measured is not None
    lay = Layout(MOST_GPUS, curves.layout.servers, curves.layout.shared_server)
    return tuple(measured_curve(curves.measured, lay).tolist())
