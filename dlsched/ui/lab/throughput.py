"""The part Throughput of the page Speed-up: its controls, what it says of a speed curve, and what comes after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.domain.timetable import MOST_GPUS
from dlsched.domain.workload import Floats
from dlsched.figures.throughput import speed_up_chart, station_chart
from dlsched.speed.network_fit import BAD_FIT
from dlsched.speed.queueing import node_rates
from dlsched.studies.speed_models.throughput import (
    LONGEST_NAME,
    MEASURED,
    NETWORK_WORDS,
    Layout,
    Source,
    SpeedCurves,
    curve_words,
    fit_cautions,
    generated_why,
    measured_curve,
    throughput_assumptions,
    throughput_cards,
    throughput_sentence,
)
from dlsched.ui.frame import charts, session, writing
from dlsched.ui.frame.parts import cards, chips, error_box, guard_rails, mistakes_shown, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.lab import stream_network
from dlsched.ui.lab.step_times import (
    SOURCES,
    TIMES,
    UPLOAD,
    fit_section,
    four_times,
    layout_form,
    measurements_file,
    series_of,
    study_network,
)
from dlsched.wording.formats import amount, count
from dlsched.workload.speed_curves import give_curve
from dlsched.workload.studies.hell_knee import StreamSpec, TrainingNetwork

# ---- controls -------------------------------------------------------------------------------------------


LINKS = {NETWORK_WORDS[network]: network for network in ("hybrid", "exact", "fcfs")}
LINKS_HELP = (
    "How transfers meet on the server's link. Hybrid: one after the other on idle links, shared on busy ones. "
    "Exact: shared. FCFS: one after the other."
)
ALPHA_HELP = "The knee is the last width whose nodes each still cut the time by this share or more"


@dataclass(frozen=True, eq=False)
class TimingsInput:
    """What the controls say: the curves, where they come from, and examples of a mini-batch where given."""

    curves: SpeedCurves
    source: Source
    batch: float | None


def chosen() -> tuple[TimingsInput | None, DeltaGenerator]:
    """Show the controls; return what they say, None while there is no curve, and a place for the next steps."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.segmented_control(
            "Time of a training step", SOURCES, default=TIMES, required=True, key="source", bind="query-params",
            help="Four timings of one mini-batch, a network of the HELL/KNEE paper, or your own measurements",
        )  # fmt: skip
        st.space("stretch")
        action = st.container(width="content")
    try:
        return _asked(source), action
    except DlschedError as error:
        error_box(error)
        return None, action


def _asked(kind: str | None) -> TimingsInput | None:
    given = measurements_file() if kind == UPLOAD else None
    if kind == UPLOAD and given is None:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = series_of(*given) if given else four_times() if kind == TIMES else study_network()
        looked_at = _network(source)
        alpha = st.slider(
            "Knee at (alpha)", 0.001, 0.2, 0.01, 0.001, key="alpha", bind="query-params", format="percent", width=150,
            help=ALPHA_HELP,
        )  # fmt: skip
        layout, batch = layout_form(source)
    best = None if source.fits is None else source.fits.best
    curves = SpeedCurves(
        source.times, layout, looked_at, alpha,
        measured=None if best is None else best.measured, beside="hybrid" if best is None else best.network,
    )  # fmt: skip
    return TimingsInput(curves, source, batch)


def _network(source: Source) -> str:
    """Ask which curve is looked at; start with the measured one where no network comes near it."""
    if source.fits is None:
        word = st.segmented_control(
            "Links", list(LINKS), default="hybrid", required=True, key="links", bind="query-params", help=LINKS_HELP
        )
        return LINKS[word or "hybrid"]
    best = source.fits.best
    begin = NETWORK_WORDS[MEASURED if best.mean_error > BAD_FIT else best.network]
    word = st.segmented_control(
        "Curve", [*LINKS, MEASURED], default=begin, required=True, key=f"curve-{source.tag}",
        help=f"The one that is looked at and goes to your jobs. {LINKS_HELP}",
    )  # fmt: skip
    return LINKS.get(word or begin, MEASURED)


# ---- the answer -----------------------------------------------------------------------------------------


def show(timings: TimingsInput) -> None:
    """Show banners, sentence, cards, assumptions, the two charts and how well measurements fit."""
    curves, source = timings.curves, timings.source
    guard_rails(fit_cautions(source.fits) if source.fits is not None else [])
    sentence(throughput_sentence(curves), ())
    cards(throughput_cards(curves))
    with st.container(horizontal=True, vertical_alignment="center"):
        if source.generated:
            st.badge("generated measurements", color="orange", help=generated_why())
        chips(throughput_assumptions(curves, source), "throughput")
    theme = charts.page_theme()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        charts.show(speed_up_chart(curves, theme, timings.batch), "throughput")
    with right:
        charts.show(station_chart(curves, theme), "iteration")
    fit_section(source)


# ---- next steps -----------------------------------------------------------------------------------------


USE = "Use this curve for my jobs"
SIMULATE = "Test a cluster under such jobs"
STEPS = 100_000
EPOCHS = 100


def nothing_yet(action: DeltaGenerator) -> None:
    """Show the next step before there is a curve to take it with."""
    action.button(USE, disabled=True, key="use-none", help="There is no curve yet")


def next_steps(timings: TimingsInput, current: Scenario, action: DeltaGenerator) -> None:
    """Show the next steps in ``action``; give the jobs of the scenario the curve when asked to."""
    curves, source = timings.curves, timings.source
    with action.container(horizontal=True, vertical_alignment="bottom"):
        _simulate(curves, source)
        used = any(one.kind == "speed-curve" for one in current.assumptions)
        rates = rates_for(curves, current)
        reason = why_not(rates, current)
        pressed = writing.button(
            "Use this curve instead" if used else USE, key="use-curve", type="secondary" if used else "primary",
            disabled=bool(reason), help=safe(reason, 300) or _use_help(current),
        )  # fmt: skip
        if used and st.button("Next: run policies", type="primary", key="curve-to-run"):
            session.go("Run")
    if pressed:
        with mistakes_shown():
            changed = give_curve(current, {source.name[:LONGEST_NAME]: rates.tolist()}, curve_words(curves, source))
            session.keep(changed, based_on=current.content_hash)
            st.rerun()


def _use_help(current: Scenario) -> str:
    return (
        f"Makes a new version of “{safe(current.name, 40)}”: each of its jobs speeds up by this curve with the GPUs it "
        "gets, one GPU as one node of the curve, and runs as long as now with what it asks for."
    )


def rates_for(curves: SpeedCurves, scenario: Scenario) -> Floats:
    """Return the curve on as many GPUs as a job of the scenario may get: a measured one ends where measuring did."""
    widest = float(scenario.workload.gpus.max(initial=1.0))
    most = int(np.clip(np.ceil(max(widest, _gpus_of(scenario.cluster))), 1, MOST_GPUS))
    lay = Layout(most, curves.layout.servers, curves.layout.shared_server)
    if curves.chosen == MEASURED and curves.measured is not None:
        return measured_curve(curves.measured, lay)
    times = curves.times[curves.model]
    return node_rates(times, most, curves.model, lay.servers, shared_server=lay.shared_server)


def _gpus_of(cluster: Cluster) -> int:
    """Return the GPUs a job could get at most, with the largest machine types that it may rent."""
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


def _simulate(curves: SpeedCurves, source: Source) -> None:
    """Ask how long a job is, where nothing says so, and open the Load test with it."""
    with st.popover(SIMULATE):
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
            st.markdown("The jobs use the measured curve; nodes beyond the measured range bring no speed-up.")
        if st.button("Open Load test", key="to-steady"):
            stream_network.hand_over(stream_of(curves, source, mini_batches))
            session.go("Load test")


def stream_of(curves: SpeedCurves, source: Source, mini_batches: float) -> StreamSpec:
    """Return a stream of such jobs; ``mini_batches`` of a job on average, if the study does not say."""
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
